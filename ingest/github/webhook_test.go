package github

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

const delivered = `{"action": "queued", "workflow_job": {"id": 41, "run_id": 7, "status": "STATUS", "name": "bake (x)",
	"labels": ["LABEL"], "created_at": "2026-10-01T09:00:00Z", "started_at": "2026-10-01T09:02:00Z",
	"completed_at": "2026-10-01T09:09:00Z", "runner_name": "RUNNER"}, "repository": {"full_name": "mills/flour"}}`

func deliver(status, label, runner string) string {
	return strings.NewReplacer("STATUS", status, "LABEL", label, "RUNNER", runner).Replace(delivered)
}

// hook is a webhook whose ledger keeps what it gets, or fails.
type hook struct {
	*Webhook
	filed []ingest.Entry
	fails error
}

func newHook() *hook {
	h := &hook{}
	h.Webhook = &Webhook{
		Secret:  func() (string, error) { return "s3cret", nil },
		Metrics: NewMetrics(prometheus.NewRegistry()),
		Log:     zerolog.Nop(),
		Receive: func(_ context.Context, some []ingest.Entry) error {
			h.filed = append(h.filed, some...)
			return h.fails
		},
	}
	return h
}

// post sends a body with the signature of a secret; it returns the status.
func (h *hook) post(body, secret, event string) int {
	r := httptest.NewRequest(http.MethodPost, WebhookPath, strings.NewReader(body))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	r.Header.Set("X-GitHub-Event", event)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// Each step of a job is a record at its own time, and names the runner once there is one.
func TestDeliveriesAreFiled(t *testing.T) {
	for _, tt := range []struct{ status, runner, at, text string }{
		{"queued", "", "2026-10-01T09:00:00Z", "github job status=queued repository=mills/flour run_id=7 job_id=41"},
		{"in_progress", "mill-1", "2026-10-01T09:02:00Z", "github job status=in_progress runner_name=mill-1"},
		{"completed", "mill-1", "2026-10-01T09:09:00Z", "github job status=completed runner_name=mill-1"},
	} {
		h := newHook()
		body := deliver(tt.status, "heron", tt.runner)
		if code := h.post(body, "s3cret", "workflow_job"); code != http.StatusNoContent {
			t.Fatalf("%s: %d", tt.status, code)
		}
		e := h.filed[0]
		if e.At.Format(time.RFC3339) != tt.at || !strings.HasPrefix(e.Text, tt.text) || e.Pod != tt.runner ||
			e.Source != ingest.GitHub || e.Fields["labels"] != "heron" ||
			e.Fields["created_at"] != "2026-10-01T09:00:00Z" {
			t.Errorf("%s: %+v", tt.status, e)
		}
	}
}

// Only what GitHub signed is taken, and only what is about runners of one's own.
func TestDeliveriesThatAreNotTaken(t *testing.T) {
	own := deliver("queued", "heron", "")
	for _, tt := range []struct {
		what, body, secret, event string
		code                      int
		outcome                   string
	}{
		{"another secret", own, "guess", "workflow_job", 401, "refused"},
		{"an empty secret", own, "", "workflow_job", 401, "refused"},
		{"another event", own, "s3cret", "ping", 204, "ignored"},
		{"no JSON", "payload=%7B%7D", "s3cret", "workflow_job", 400, "refused"},
		{"no job", "{}", "s3cret", "workflow_job", 204, "ignored"},
		{"a runner of GitHub's", deliver("queued", "ubuntu-24.04", ""), "s3cret", "workflow_job", 204, "ignored"},
		{"too large", own + strings.Repeat(" ", maxDelivery), "s3cret", "workflow_job", 413, "refused"},
	} {
		h := newHook()
		if code := h.post(tt.body, tt.secret, tt.event); code != tt.code || len(h.filed) > 0 {
			t.Errorf("%s: %d, %d records, want %d and none", tt.what, code, len(h.filed), tt.code)
		}
		if n := testutil.ToFloat64(h.Metrics.deliveries.WithLabelValues(tt.outcome)); n != 1 {
			t.Errorf("%s: not counted as %s", tt.what, tt.outcome)
		}
	}
	h := newHook()
	if code := h.post(deliver("queued", `ubuntu-22.04", "self-hosted`, ""), "s3cret", "workflow_job"); code != 204 ||
		len(h.filed) != 1 {
		t.Errorf("a runner of one's own with the label of GitHub's: %d, %d records", code, len(h.filed))
	}
	h = newHook()
	h.fails = errors.New("disk full")
	if code := h.post(own, "s3cret", "workflow_job"); code != http.StatusServiceUnavailable {
		t.Errorf("what could not be filed: %d", code)
	}
}
