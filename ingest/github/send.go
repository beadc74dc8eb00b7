package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Refused says that GitHub will not take a request as it is: asking again will not help.
type Refused struct {
	Status int
	Text   string
}

func (r Refused) Error() string { return fmt.Sprintf("GitHub answers %d: %.200s", r.Status, r.Text) }

// Send sends a request with a body as JSON, nil for none, and reads the answer into out, nil
// for what is not wanted. An answer is not remembered. The error is a Later where GitHub asks
// for a pause, a Refused where it does not take the request.
func (c *Client) Send(ctx context.Context, method, path string, body, out any) error {
	if wait := c.limit.waitTime(c.Now()); wait > 0 {
		return Later{wait}
	}
	req, err := c.newRequest(ctx, path, "")
	if err != nil {
		return err
	}
	if req.Method = method; body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		req.Header.Set("Content-Type", "application/json")
	}
	return c.exchange(req, out)
}

func (c *Client) exchange(req *http.Request, out any) error {
	res, err := c.HTTP.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer res.Body.Close()
	if err := c.limit.readHeaders(res, c.Now()); err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	switch {
	case err != nil:
		return withoutURL(err)
	case res.StatusCode == http.StatusUnauthorized:
		return errors.New("GitHub rejects the credential: it is wrong or has expired")
	case res.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("GitHub answers %s", res.Status)
	case res.StatusCode >= http.StatusMultipleChoices:
		var said struct{ Message string }
		_ = json.Unmarshal(data, &said) // what is no JSON says nothing
		return Refused{res.StatusCode, said.Message}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("cannot read GitHub's answer: %w", err)
	}
	return nil
}
