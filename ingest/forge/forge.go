// Package forge sends requests to the REST API of a code forge, GitHub's or GitLab's, within
// its limits.
//
// Invariant: a forge is not asked before the time that it names, and a part of what it allows
// is left to others. No error holds an address or a token.
//
// Crash behaviour: it keeps no state.
package forge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Client asks one forge as one user. Its fields are set before its first use.
type Client struct {
	Options
	limit limit
}

// Refused says that a forge will not take a request as it is: asking again will not help.
type Refused struct {
	Forge  string
	Status int
	Text   string
}

func (r Refused) Error() string {
	return fmt.Sprintf("%s answers %d: %.200s", r.Forge, r.Status, r.Text)
}

// MaxBody bounds an answer, in bytes.
const MaxBody = 16 << 20

// New returns a client.
func New(o Options) *Client { return &Client{Options: o} }

// Send sends a request with a body as JSON, nil for none, and reads the answer into out, nil
// for what is not wanted. The error is a Later where the forge asks for a pause, a Refused where
// it does not take the request.
func (c *Client) Send(ctx context.Context, method, path string, body, out any) error {
	req, err := c.Request(ctx, method, path)
	if err != nil {
		return err
	}
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		req.Header.Set("Content-Type", "application/json")
	}
	return c.exchange(req, out)
}

// Request makes a request of a path below the API's address.
func (c *Client) Request(ctx context.Context, method, path string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.URL+path, nil)
	if err != nil {
		return nil, err
	}
	token, err := c.Token()
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("User-Agent", "coroner")
	for name, value := range c.Header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// Do sends a request when the forge may be asked, else it is a Later.
func (c *Client) Do(req *http.Request) (*http.Response, error) {
	if wait := c.limit.waitTime(c.Now()); wait > 0 {
		return nil, Later{c.Name, wait}
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, c.WithoutURL(err)
	}
	if err := c.readLimits(res); err != nil {
		res.Body.Close()
		return nil, err
	}
	return res, nil
}

// WithoutURL is a transport's error without the address in it.
func (c *Client) WithoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return fmt.Errorf("%s does not answer: %w", c.Name, at.Err)
	}
	return err
}

func (c *Client) exchange(req *http.Request, out any) error {
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, MaxBody))
	switch {
	case err != nil:
		return c.WithoutURL(err)
	case res.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("%s rejects the credential: it is wrong or has expired", c.Name)
	case res.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("%s answers %s", c.Name, res.Status)
	case res.StatusCode >= http.StatusMultipleChoices:
		var said struct{ Message any }
		_ = json.Unmarshal(data, &said) // what is no JSON says nothing
		return Refused{c.Name, res.StatusCode, textOf(said.Message)}
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("cannot read %s's answer: %w", c.Name, err)
	}
	return nil
}

// textOf is a message that GitHub writes as a text, and GitLab as a text or an object.
func textOf(message any) string {
	if message == nil {
		return ""
	}
	return fmt.Sprint(message)
}
