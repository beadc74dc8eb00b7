package push

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Agents are told the pace, shippers are not; a sender keeps what it was told last, within
// bounds, and nothing that cannot be read.
func TestPaced(t *testing.T) {
	for _, x := range []struct {
		node string
		pace time.Duration
		want string
	}{{"n1", 20 * time.Second, "20"}, {"", 20 * time.Second, ""}, {"n1", 900 * time.Millisecond, ""}} {
		req := httptest.NewRequest(http.MethodPost, Path, nil)
		if x.node != "" {
			req.Header.Set(AgentHeader, x.node)
		}
		got := httptest.NewRecorder()
		Paced(http.NotFoundHandler(), func() time.Duration { return x.pace }).ServeHTTP(got, req)
		if said := got.Header().Get(PaceHeader); said != x.want {
			t.Errorf("%q, %s: %q", x.node, x.pace, said)
		}
	}
	said := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(PaceHeader, said)
	}))
	defer server.Close()
	s := Sender{URL: server.URL, Node: "n1", Client: server.Client()}
	for text, want := range map[string]time.Duration{
		"20": 20 * time.Second, "": 0, "-1": 0, "soon": 0, "99999999999999999999": time.Minute, "3600": time.Minute,
	} {
		said = text
		if err := s.Post(t.Context(), nil); err != nil || s.Pace() != want {
			t.Errorf("%q: %s, %v", text, s.Pace(), err)
		}
	}
}
