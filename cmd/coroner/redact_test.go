package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/fixtures"
)

// plainPush is a push of one stream, as any shipper sends it.
func plainPush(labels map[string]string, at time.Time, lines []string) []byte {
	values := make([][2]string, len(lines))
	for i, l := range lines {
		values[i] = [2]string{fmt.Sprint(at.Add(time.Duration(i) * time.Millisecond).UnixNano()), l}
	}
	body, _ := json.Marshal(map[string]any{"streams": []any{map[string]any{"stream": labels,
		"values": values}}}) // of texts alone
	return body
}

// A secret that a job prints is on no page and in no answer of the server.
func TestNoAnswerHoldsASecret(t *testing.T) {
	s := serveFor(t, "--ledger="+filepath.Join(t.TempDir(), "l.db"))
	defer s.stop()
	base, at := "http://"+s.daemon.Addr(), time.Now().Add(-time.Minute).UTC()
	ask := func(path string, body []byte) string {
		t.Helper()
		method := http.MethodGet
		if body != nil {
			method = http.MethodPost
		}
		req, err := http.NewRequest(method, base+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode >= 300 {
			t.Fatalf("%s: %s %v\n%s", path, res.Status, err, answer)
		}
		return string(answer)
	}
	told, last := []string{"√ Connected to GitHub"}, []string{}
	for kind, secret := range fixtures.Secrets() {
		told = append(told, at.Format("2006-01-02 15:04:05Z")+": Running job: "+kind+" "+secret.Line())
		last = append(last, kind+" "+secret.Line())
	}
	pod := map[string]string{"namespace": "ci", "pod": "mill-runner-1", "container": "runner"}
	controller := map[string]string{"namespace": "arc-systems", "pod": "arc-controller-0", "container": "manager"}
	ended := at.Add(time.Second).Format(time.RFC3339) + ` INFO runner pod terminated pod=mill-runner-1 phase=Failed ` +
		`exitCode=1 signal=0 reason=Error message="DB_PASSWORD=swordfish7" pool=p`
	ask("/loki/api/v1/push", plainPush(pod, at, append(told, last...)))
	ask("/loki/api/v1/push", plainPush(controller, at.Add(time.Second), []string{ended}))
	wait(t, "the verdict", func() bool { return s.verdict(t, "mill-runner-1") != "" })
	all := ""
	var v struct{ Verdicts []struct{ ID, Case string } }
	list := ask("/api/v1/verdicts?runner=mill-runner-1", nil)
	if err := json.Unmarshal([]byte(list), &v); err != nil || len(v.Verdicts) != 1 {
		t.Fatalf("%s: %v", list, err)
	}
	for _, path := range []string{"/", "/runners/ci/mill-runner-1", "/api/v1/runners/mill-runner-1",
		"/api/v1/search?q=mill-runner-1", "/metrics",
		"/api/v1/incidents/" + v.Verdicts[0].Case + v.Verdicts[0].ID} {
		all += ask(path, nil)
	}
	all += list
	if !strings.Contains(all, "[redacted:github-token]") {
		t.Errorf("nothing of what the job printed is shown")
	}
	for kind, secret := range fixtures.Secrets() {
		for _, text := range []string{secret.Value, strings.ReplaceAll(secret.Value, `\`, `\\`)} {
			if strings.Contains(all, text) {
				t.Errorf("a %s is shown", kind)
			}
		}
	}
}
