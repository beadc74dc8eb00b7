package forge

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// asked is a forge that answers with a status, headers and a text, and a client of it.
func asked(
	t *testing.T,
	prefix string,
	answer func(w http.ResponseWriter, r *http.Request),
) (*Client, *time.Time, *int) {
	t.Helper()
	n, clock := 0, time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { n++; answer(w, r) }))
	t.Cleanup(s.Close)
	return New(Options{Name: "Forge", URL: s.URL, HTTP: s.Client(), Prefix: prefix,
		Header: map[string]string{"Accept": "application/json"}, Now: func() time.Time { return clock },
		Token: func() (string, error) { return "s3cret", nil }}), &clock, &n
}

// What is sent has the token and the body; what comes back is read.
func TestSend(t *testing.T) {
	c, _, _ := asked(t, "", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" || r.Header.Get("Accept") != "application/json" ||
			r.Header.Get("Content-Type") != "application/json" || r.Method != http.MethodPut {
			t.Errorf("%s %v", r.Method, r.Header)
		}
		_, _ = w.Write([]byte(`{"body":"flour"}`))
	})
	var out struct{ Body string }
	if err := c.Send(t.Context(), http.MethodPut, "/x", out, &out); err != nil || out.Body != "flour" {
		t.Error(out, err)
	}
}

// What will never be taken is a Refused, with the text that the forge gives in any form; what may
// be taken later is not; no error holds the token or the address.
func TestRefused(t *testing.T) {
	for text, says := range map[string]string{`{"message":"no such thing"}`: "no such thing",
		`{"message":{"note":["is too long"]}}`: "is too long", `<html>`: "Forge answers 422"} {
		c, _, _ := asked(t, "", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = w.Write([]byte(text))
		})
		var refused Refused
		if err := c.Send(t.Context(), http.MethodPost, "/x", nil, nil); !errors.As(err, &refused) ||
			refused.Status != 422 || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for status, says := range map[int]string{401: "rejects the credential", 502: "Forge answers 502"} {
		c, _, _ := asked(t, "", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		var refused Refused
		if err := c.Send(t.Context(), http.MethodPost, "/x", nil, nil); err == nil || errors.As(err, &refused) ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%d: %v", status, err)
		}
	}
	c := New(Options{Name: "Forge", URL: "http://127.0.0.1:1", HTTP: http.DefaultClient, Now: time.Now,
		Token: func() (string, error) { return "s3cret", nil }})
	if err := c.Send(t.Context(), http.MethodGet, "/secret-path", nil, nil); err == nil ||
		strings.Contains(err.Error(), "secret-path") || !strings.Contains(err.Error(), "Forge does not answer") {
		t.Error(err)
	}
}

// A forge is left alone until the time that it names, whatever its headers are called.
func TestLimits(t *testing.T) {
	for prefix, headers := range map[string]map[string]string{
		"RateLimit-":   {"Retry-After": "30"},
		"X-RateLimit-": {"X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "3", "X-RateLimit-Reset": "1777888830"},
		"Other-":       {"Other-Limit": "100", "Other-Remaining": "3", "Other-Reset": "1777888830"},
	} {
		status := http.StatusOK
		if headers["Retry-After"] != "" {
			status = http.StatusTooManyRequests
		}
		c, clock, n := asked(t, prefix, func(w http.ResponseWriter, _ *http.Request) {
			for k, v := range headers {
				w.Header().Set(k, v)
			}
			w.WriteHeader(status)
		})
		_ = c.Send(t.Context(), http.MethodGet, "/x", nil, nil)
		var later Later
		err := c.Send(t.Context(), http.MethodGet, "/x", nil, nil)
		if !errors.As(err, &later) || later.After < 29*time.Second || later.After > 32*time.Second || *n != 1 {
			t.Errorf("%s: %v, asked %d times", prefix, err, *n)
		}
		*clock = clock.Add(time.Minute)
		if _ = c.Send(t.Context(), http.MethodGet, "/x", nil, nil); *n != 2 {
			t.Errorf("%s: asked %d times after the pause", prefix, *n)
		}
	}
}
