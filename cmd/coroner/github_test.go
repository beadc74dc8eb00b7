package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/ingest/github"
)

// TestServeTakesTheWebhook: what GitHub signs is filed and judged, and what nobody
// signed is not; without a secret there is no such address.
func TestServeTakesTheWebhook(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	post := func(s *liveServer, id int, queued time.Time, key string) int {
		t.Helper()
		body := fmt.Sprintf(`{"workflow_job": {"id": %d, "run_id": 7, "status": "queued", "name": "bake",`+
			`"labels": ["self-hosted", "heron"], "created_at": %q}, "repository": {"full_name": "mills/flour"}}`,
			id, queued.UTC().Format(time.RFC3339))
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(body))
		address := "http://" + s.daemon.Addr() + github.WebhookPath
		r, err := http.NewRequest(http.MethodPost, address, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-GitHub-Event", "workflow_job")
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	s := serveFor(t, "--ledger="+filepath.Join(dir, "l.db"), "--github.webhook-secret-file="+secret)
	if code := post(s, 40, time.Now(), "guess"); code != http.StatusUnauthorized {
		t.Errorf("another secret: %d", code)
	}
	if code := post(s, 41, time.Now().Add(-time.Hour), "s3cret"); code != http.StatusNoContent {
		t.Errorf("the secret: %d", code)
	}
	for id, want := range map[string]int{"job/40": 0, "job/41": 1} {
		found, err := s.ledger.Since(context.Background(), id, time.Time{})
		if err != nil || len(found) != want {
			t.Errorf("%s: %d records, %v", id, len(found), err)
		}
	}
	open, err := s.ledger.CountOpen(context.Background(), 10)
	if err != nil || len(open) > 0 {
		t.Errorf("judged before anybody could have heard of a runner: %v, %v", open, err)
	}
	s.stop()
	s = serveFor(t, "--ledger="+filepath.Join(dir, "l2.db"))
	if code := post(s, 42, time.Now(), "s3cret"); code < 400 {
		t.Errorf("without a secret: %d", code)
	}
	s.stop()
}
