package push

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Agents are told by which rulebook a push was filed, shippers are not.
func TestFiledBy(t *testing.T) {
	took := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server := httptest.NewServer(FiledBy(took, func() string { return "abc" }))
	defer server.Close()
	for node, want := range map[string]string{"n1": "abc", "": ""} {
		s := Sender{URL: server.URL, Node: node, Client: server.Client()}
		if before := s.FiledBy(); before != "" {
			t.Errorf("%q of nothing", before)
		}
		if err := s.Post(t.Context(), nil); err != nil || s.FiledBy() != want {
			t.Errorf("%q: %q, %v", node, s.FiledBy(), err)
		}
	}
}
