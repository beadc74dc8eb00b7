package lookup

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
)

// fat is a ledger of verdicts as large as they can be, all of runners of one name's
// begin.
func fat(t *testing.T, n int) http.Handler {
	t.Helper()
	line := rules.EvidenceLine{Source: "runner", Signal: "x.y", Text: strings.Repeat("x", 2<<10), Mine: true}
	_, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		for i := range n {
			put(t0.Add(time.Duration(i)*time.Second), func(tx *ledger.Tx) error {
				v := verdict(fmt.Sprintf("fat-runner-%04d", i), 1)
				for range 60 {
					v.Evidence = append(v.Evidence, line)
				}
				return tx.AddVerdict(fmt.Sprint(i), v, t0, false)
			})
		}
	})
	return h
}

// Who asks for very many verdicts gets all of them, and no more bytes than a client
// reads: the first in full, of the others what decides.
func TestManyFatVerdicts(t *testing.T) {
	h := fat(t, 200)
	code, body := ask(t, h, "/api/v1/verdicts?limit=200")
	var got Verdicts
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != http.StatusOK || len(got.Verdicts) != 200 {
		t.Fatalf("%d: %d verdicts: %v", code, len(got.Verdicts), err)
	}
	if len(body) > 8<<20 {
		t.Errorf("%d MiB", len(body)>>20)
	}
	for i, v := range got.Verdicts {
		full := len(v.Evidence) == 61 && v.EvidenceOmitted == 0
		thin := len(v.Evidence) == 1 && v.Evidence[0].Decisive && v.EvidenceOmitted == 60
		if i < 20 && !full || i > 100 && !thin || v.Runner != fmt.Sprintf("fat-runner-%04d", 199-i) ||
			len(v.Missing) != 1 {
			t.Fatalf("%d: %s has %d lines, %d omitted", i, v.Runner, len(v.Evidence), v.EvidenceOmitted)
		}
	}
	for _, path := range []string{
		"/api/v1/search?q=fat-runner", "/api/v1/runners/fat-runner", "/api/v1/runners/fat-runner-0007",
	} {
		if code, body := ask(t, h, path); code != http.StatusOK || len(body) > 4<<20 {
			t.Errorf("%s: %d, %d kB", path, code, len(body)>>10)
		}
	}
}

// Who does not read his answer keeps nobody from theirs.
func TestSlowReadersHoldUpNobody(t *testing.T) {
	server := httptest.NewServer(fat(t, 20))
	defer server.Close()
	for i := range 12 {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10) // so that the server notices
		path := []string{"/api/v1/verdicts?limit=1000", "/api/v1/search?q=fat-runner-000"}[i%2]
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	}
	client := &http.Client{Timeout: 20 * time.Second}
	for range 20 {
		res, err := client.Get(server.URL + "/api/v1/verdicts?limit=1")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d beside slow readers", res.StatusCode)
		}
	}
	server.CloseClientConnections()
}

// More questions than are answered at one time wait, and a panic gives its place
// back.
func TestPlacesAreGivenBack(t *testing.T) {
	var p Places
	h := p.Bounded(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("panic") {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte("x"))
	})
	for range 3 * atOnce {
		func() {
			defer func() { _ = recover() }()
			h(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/?panic", nil))
		}()
	}
	w := httptest.NewRecorder()
	if h(w, httptest.NewRequest(http.MethodGet, "/", nil)); w.Code != http.StatusTeapot || w.Body.String() != "x" {
		t.Errorf("%d %q", w.Code, w.Body)
	}
}
