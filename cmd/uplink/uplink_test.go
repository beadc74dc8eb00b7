package uplink

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coroner/ingest"
	"coroner/ingest/push"
)

// A push goes to the server's own path, with the token that the file has at that time, as
// the agent of a node where there is one.
func TestSender(t *testing.T) {
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(
			got,
			strings.Join([]string{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get(push.AgentHeader),
				r.Header.Get(push.ClusterHeader)}, " "),
		)
	}))
	defer s.Close()
	token := filepath.Join(t.TempDir(), "token")
	f := Uplink{Server: s.URL + "/", Token: token}
	for _, c := range []struct{ token, node, want string }{
		{"first\n", "n1", push.Path + " Bearer first n1 east"},
		{"second\n", "", push.Path + " Bearer second  east"},
	} {
		if err := os.WriteFile(token, []byte(c.token), 0o600); err != nil {
			t.Fatal(err)
		}
		sender, err := f.Sender(c.node, "east")
		if err != nil {
			t.Fatal(err)
		}
		body, err := push.Encode([]ingest.Entry{{Node: c.node, Text: "x"}})
		if err == nil {
			err = sender.Post(t.Context(), body)
		}
		if err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%q, want %q; %v", got, c.want, err)
		}
		got = nil
	}
}

// A certificate that cannot be used is told by its flags, before anything is sent.
func TestBadCertificate(t *testing.T) {
	f := Uplink{Server: "https://127.0.0.1:1", CA: filepath.Join(t.TempDir(), "none")}
	if _, err := f.Sender("", ""); err == nil || !strings.HasPrefix(err.Error(), "--server.ca-file") {
		t.Error(err)
	}
}
