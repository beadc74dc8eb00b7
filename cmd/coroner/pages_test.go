package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// browse asks the server as a browser does, and gives the status and the page.
func (s *liveServer) browse(t *testing.T, path, token string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, "http://"+s.daemon.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// Whatever a person comes to is a page in a frame: what there is none of, of the pages, of what
// they load and of the documentation, and what asks for a token. The frame's style needs none.
func TestEveryAnswerToAPersonIsAPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("sesame"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveFor(t, "--ledger="+filepath.Join(t.TempDir(), "l.db"), "--web.token-file="+file)
	defer s.stop()
	for _, path := range []string{"/nowhere", "/assets/nope.js", "/docs/nowhere", "/docs/incidents/nowhere.txt"} {
		code, body := s.browse(t, path, "sesame")
		if code != 404 || !strings.Contains(body, `<link rel="stylesheet" href="/`) ||
			!strings.Contains(body, `id="q"`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/", "/nowhere", "/runners/ci/x", "/docs/", "/docs/nowhere"} {
		code, body := s.browse(t, path, "wrong")
		if code != 401 || !strings.Contains(body, "--web.token-file") ||
			!strings.Contains(body, `<link rel="stylesheet" href="/assets/style.css`) {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, body := s.browse(t, "/assets/style.css", ""); code != 200 || !strings.Contains(body, "{") {
		t.Errorf("the style of a refusal: %d", code)
	}
	if code, body := s.browse(t, "/api/v1/verdicts", "wrong"); code != 401 || strings.Contains(body, "<") {
		t.Errorf("the API: %d %s", code, body)
	}
}
