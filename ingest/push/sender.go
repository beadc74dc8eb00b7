package push

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Sender is a client's end of the push protocol. Its fields are set before its
// first use; it is safe for concurrent use.
type Sender struct {
	URL    string // of the push endpoint
	Node   string // value of the agent's header; "" sends as a plain shipper
	Token  func() (string, error)
	Tenant string // X-Scope-OrgID, "" = none
	User   string // basic authentication, with Token as the password; "" = bearer
	Client *http.Client

	Cluster string // value of ClusterHeader, "" = none

	pace    atomic.Int64 // see Pace
	filedBy atomic.Value // a string, see FiledBy
}

// Refused is an answer that the same request will get again: sending it once
// more is of no use.
type Refused struct {
	Status int
	Text   string
}

func (e Refused) Error() string { return fmt.Sprintf("refused with status %d: %s", e.Status, e.Text) }

// Later is an answer that asks to try again, after a while if it says so.
type Later struct {
	Status    int
	After     time.Duration // 0 = it does not say
	Text      string
	Elsewhere bool // another server behind the same address may take it, see ElsewhereHeader
}

func (e Later) Error() string {
	return fmt.Sprintf("not taken now (status %d): %s", e.Status, e.Text)
}

// Post sends one encoded request. It returns nil once the receiver has it, a
// Refused, a Later, or what the network says.
func (s *Sender) Post(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := s.addHeaders(req); err != nil {
		return err
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(io.LimitReader(res.Body, 1024))
	text := strings.TrimSpace(string(data))
	switch {
	case res.StatusCode/100 == 2:
		s.notePace(res.Header)
		s.filedBy.Store(res.Header.Get(BookHeader))
		return nil
	case res.StatusCode/100 == 5 || slices.Contains(retried, res.StatusCode):
		after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
		return Later{res.StatusCode, time.Duration(after) * time.Second, text, res.Header.Get(ElsewhereHeader) != ""}
	}
	return Refused{res.StatusCode, text}
}

// PostToAny is Post to an address behind which there may be several servers. Where the one
// at the other end of the connection is away, or says that another one may take it, it tries
// once more at once, on a new connection: a Service leads that to any server that is ready.
func (s *Sender) PostToAny(ctx context.Context, body []byte) error {
	err := s.Post(ctx, body)
	if ctx.Err() != nil || !tryElsewhere(err) {
		return err
	}
	s.Client.CloseIdleConnections()
	return s.Post(ctx, body)
}

func tryElsewhere(err error) bool {
	var later Later
	var away *url.Error
	if errors.As(err, &later) {
		return later.Elsewhere
	}
	return errors.As(err, &away) && !away.Timeout()
}

// retried are the answers that another try can change: the server is busy, or not yet
// configured for this sender.
var retried = []int{
	http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
}

func (s *Sender) addHeaders(req *http.Request) error {
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	if s.Tenant != "" {
		req.Header.Set("X-Scope-OrgID", s.Tenant)
	}
	return s.Authorize(req)
}

// Authorize adds to a request who the sender is, and its credentials.
func (s *Sender) Authorize(req *http.Request) error {
	if s.Node != "" {
		req.Header.Set(AgentHeader, s.Node)
	}
	if s.Cluster != "" {
		req.Header.Set(ClusterHeader, s.Cluster)
	}
	if s.Token == nil {
		return nil
	}
	token, err := s.Token()
	switch {
	case err != nil:
		return err
	case s.User != "":
		req.SetBasicAuth(s.User, token)
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}
