// Package notify tells people and programs of verdicts: a webhook, Slack, Teams, an Alertmanager,
// or whoever takes CloudEvents. A file says who wants to hear of what.
//
// Invariant: a receiver is sent a revision until it took it, always under the same delivery
// name, so that it can tell a repetition. What is said of likeness and new-ness is a function of
// the record, not of what was sent. Text of logs is escaped as each form asks for it; redirects
// are not followed; no address or secret is logged.
//
// Crash behaviour: it keeps no state. What was sent right before a crash is sent again under the
// same name.
package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
)

// SignatureHeader holds the HMAC-SHA256 of the body where the receiver has a secret.
const SignatureHeader = "X-Coroner-Signature-256"

// DeliveryHeader names the revision that a message is about: the same at each attempt.
const DeliveryHeader = "X-Coroner-Delivery"

// Sender tells one receiver. Its fields are set before its first use.
type Sender struct {
	Receiver Receiver
	Routes   []Route // those that lead to it
	Ledger   *ledger.Ledger
	Pages    string // the address of coroner's pages, "" if it is not known
	HTTP     *http.Client
	Now      func() time.Time
}

// NewClient is how receivers are spoken to: none sends coroner elsewhere.
func NewClient() *http.Client {
	return &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// Send tells the receiver of one revision, if a route leads there.
func (s *Sender) Send(ctx context.Context, d ledger.Delivery) (string, error) {
	if !worthTelling(&d.Verdict) {
		return "", deliver.ErrSkip
	}
	for i := range s.Routes {
		if !s.Routes[i].fits(&d.Verdict) {
			continue
		}
		m, wanted, err := s.message(ctx, &s.Routes[i], &d.Record)
		if err != nil {
			return "", err
		}
		if wanted {
			return "", s.post(ctx, &m)
		}
	}
	return "", deliver.ErrSkip
}

func (s *Sender) post(ctx context.Context, m *Message) error {
	body, kind, err := s.Receiver.encode(m, s.Now())
	if err != nil {
		return deliver.Never{Err: err}
	}
	address, err := s.Receiver.address()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("receiver %s: its address is none", s.Receiver.Name)
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "coroner")
	req.Header.Set(DeliveryHeader, m.Case+"/"+strconv.Itoa(m.Verdict.Revision))
	if err := s.sign(req, body); err != nil {
		return err
	}
	res, err := s.HTTP.Do(req)
	if err != nil {
		return s.failure(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be used again
	return s.judge(res)
}

// failure is a transport's error without the address, which can be a secret.
func (s *Sender) failure(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return fmt.Errorf("receiver %s: %w", s.Receiver.Name, err)
}

func (s *Sender) sign(req *http.Request, body []byte) error {
	token, err := s.Receiver.token()
	if err == nil && token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	secret, other := s.Receiver.secret()
	if err = errors.Join(err, other); err != nil || secret == "" {
		return err
	}
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	req.Header.Set(SignatureHeader, "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return nil
}

func (s *Sender) judge(res *http.Response) error {
	err := fmt.Errorf("receiver %s answers %s", s.Receiver.Name, res.Status)
	switch code := res.StatusCode; {
	case code < 300:
		return nil
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable:
		seconds, bad := strconv.Atoi(res.Header.Get("Retry-After"))
		if bad != nil || seconds < 0 {
			return err
		}
		return deliver.Later{After: min(time.Duration(seconds)*time.Second, time.Hour)}
	case code >= 500 || code == http.StatusRequestTimeout || code == http.StatusUnauthorized ||
		code == http.StatusForbidden || code == http.StatusNotFound:
		return err // somebody can put that right
	}
	return deliver.Never{Err: err}
}

// pageOf is the permalink of a verdict, "" where the pages' address is not known.
func pageOf(pages, path string) string {
	if pages == "" {
		return ""
	}
	return strings.TrimRight(pages, "/") + path
}
