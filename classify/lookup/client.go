package lookup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"coroner/rules"
)

// Client asks a server. Its fields are set before its first use.
type Client struct {
	Server string // its address, http://HOST:PORT
	Header http.Header
	HTTP   *http.Client
}

// Runner asks for a name, the start of one, namespace/name or a pod UID. No
// such runner is an empty answer. A cluster is all of them if it is "".
func (c *Client) Runner(ctx context.Context, cluster, name string) (Answer, error) {
	var out Answer
	err := c.get(ctx, "/api/v1/runners/"+escapePath(name)+query("cluster", cluster), &out)
	if err == nil && out.Runners == nil {
		err = fmt.Errorf("server %s: the answer is not coroner's: it has no list of runners", c.Server)
	}
	return out, err
}

// Search asks for the runners that a text means: what Runner takes, the address
// of a job or a run, or a node with a time. A cluster is all of them if it is "".
func (c *Client) Search(ctx context.Context, cluster, text string) (Answer, error) {
	var out Answer
	err := c.get(ctx, "/api/v1/search"+query("q", text, "cluster", cluster), &out)
	if err == nil && out.Runners == nil {
		err = fmt.Errorf("server %s: the answer is not coroner's: it has no list of runners", c.Server)
	}
	return out, err
}

// Incident asks for the incident file of a case.
func (c *Client) Incident(ctx context.Context, id string) ([]byte, error) {
	data, code, err := c.fetch(ctx, "/api/v1/incidents/"+url.PathEscape(id))
	if err == nil && code != http.StatusOK {
		err = c.refused(code, data)
	}
	return data, err
}

// Verdicts asks for the latest verdicts; q has the API's parameters.
func (c *Client) Verdicts(ctx context.Context, q url.Values) (Verdicts, error) {
	var out Verdicts
	err := c.get(ctx, "/api/v1/verdicts?"+q.Encode(), &out)
	if err == nil && out.Verdicts == nil {
		err = fmt.Errorf("server %s: the answer is not coroner's: it has no list of verdicts", c.Server)
	}
	return out, err
}

// Labels asks which labels verdicts there can have. A server of an earlier version does
// not say: it has the built-in ones only.
func (c *Client) Labels(ctx context.Context) ([]rules.Label, error) {
	var out labelList
	err := c.get(ctx, "/api/v1/labels", &out)
	if _, noJSON := errors.AsType[*json.SyntaxError](err); noJSON || err == nil && len(out.Labels) == 0 {
		return rules.Labels, nil
	}
	return out.Labels, err
}

// Label asks what the server's rulebook says of a label.
func (c *Client) Label(ctx context.Context, label rules.Label) (LabelPage, error) {
	var out LabelPage
	data, code, err := c.fetch(ctx, "/api/v1/labels/"+url.PathEscape(string(label)))
	if err == nil && code != http.StatusOK {
		err = c.refused(code, data)
	}
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	return out, err
}

// LabelNamed is LabelNamed for a server. One that is not built in may be of its rulebook.
func (c *Client) LabelNamed(ctx context.Context, name string) (label, near rules.Label, ok bool) {
	if label, near, ok = LabelNamed(name, rules.Labels); !ok {
		if all, err := c.Labels(ctx); err == nil {
			return LabelNamed(name, all)
		}
	}
	return label, near, ok
}

// KnownLabel is LabelNamed with an error that says what to do where there is none.
func (c *Client) KnownLabel(ctx context.Context, name string) (rules.Label, error) {
	label, near, ok := c.LabelNamed(ctx, name)
	switch {
	case ok:
		return label, nil
	case near != "":
		return "", fmt.Errorf("%q: no such label; did you mean %s? coroner rules list shows all", name, near)
	}
	return "", fmt.Errorf("%q: no such label; coroner rules list shows all", name)
}

// query is the parameters that have a value: name, value, ….
func query(pairs ...string) string {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			v.Set(pairs[i], pairs[i+1])
		}
	}
	if len(v) == 0 {
		return ""
	}
	return "?" + v.Encode()
}

func escapePath(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

const longestAnswer = 64 << 20

// Refusal is the error of a server that answered, but not with what was asked for.
type Refusal struct {
	server string
	code   int
	text   string
}

func (e Refusal) Error() string {
	return fmt.Sprintf("server %s: %d %s: %.200s", e.server, e.code, http.StatusText(e.code), e.text)
}

// Unauthorized says whether the server wants to know who asks.
func (e Refusal) Unauthorized() bool {
	return e.code == http.StatusUnauthorized || e.code == http.StatusForbidden
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	data, code, err := c.fetch(ctx, path)
	if err != nil {
		return err
	}
	if code != http.StatusOK && code != http.StatusNotFound {
		return c.refused(code, data)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("server %s: the answer is not coroner's: %w", c.Server, err)
	}
	return nil
}

// refused is the error of an answer that is none. The API's errors are JSON.
func (c *Client) refused(code int, data []byte) error {
	var said struct{ Error string }
	text := strings.Join(strings.Fields(string(data)), " ")
	if json.Unmarshal(data, &said) == nil && said.Error != "" {
		text = said.Error
	}
	return Refusal{c.Server, code, text}
}

func (c *Client) fetch(ctx context.Context, path string) (data []byte, code int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(c.Server, "/")+path, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("server %s: %w", c.Server, err)
	}
	for k, v := range c.Header {
		req.Header[k] = v
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return nil, 0, fmt.Errorf("server %s: %w", c.Server, err)
	}
	defer res.Body.Close()
	data, err = io.ReadAll(io.LimitReader(res.Body, longestAnswer))
	if err != nil {
		return nil, 0, fmt.Errorf("server %s: %w", c.Server, err)
	}
	return data, res.StatusCode, nil
}
