package github

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"

	"coroner/ingest"
	"coroner/ingest/workflow"

	"github.com/rs/zerolog"
)

// Webhook takes GitHub's deliveries of the event workflow_job: a job is queued, a runner
// took it, it is over. A delivery that comes twice is one record. Its fields are set
// before its first use.
type Webhook struct {
	Secret  func() (string, error) // that GitHub signs with
	Receive func(context.Context, []ingest.Entry) error
	Metrics *Metrics
	Log     zerolog.Logger
}

// WebhookPath is where deliveries go.
const WebhookPath = "/api/v1/github/webhook"

// maxDelivery is how large a delivery may be; those of workflow_job have some 30 kB.
const maxDelivery = 1 << 20

// ServeHTTP takes one delivery. It answers 204 once the record is filed; GitHub shows
// what went wrong and lets people send it again.
func (h *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code, outcome, text := h.take(r)
	h.Metrics.deliveries.WithLabelValues(outcome).Inc()
	if text != "" {
		http.Error(w, text, code)
		return
	}
	w.WriteHeader(code)
}

func (h *Webhook) take(r *http.Request) (code int, outcome, text string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxDelivery+1))
	switch {
	case err != nil:
		return http.StatusBadRequest, "refused", "the delivery broke off"
	case len(body) > maxDelivery:
		return http.StatusRequestEntityTooLarge, "refused", "the delivery is larger than 1 MiB"
	}
	secret, err := h.Secret()
	if err != nil {
		h.Log.Error().Err(err).Msg("cannot read the secret of GitHub's webhook")
		return http.StatusServiceUnavailable, "failed", "the server cannot read its secret"
	}
	if !signedWith(secret, body, r.Header.Get("X-Hub-Signature-256")) {
		return http.StatusUnauthorized, "refused",
			"the signature is not that of the secret; set the same in GitHub and in --github.webhook-secret-file"
	}
	if r.Header.Get("X-GitHub-Event") != "workflow_job" {
		return http.StatusNoContent, "ignored", ""
	}
	e, ok, err := workflow.ReadDelivery(body)
	switch {
	case err != nil:
		return http.StatusBadRequest, "refused", "this is no JSON of a workflow_job; want content type application/json"
	case !ok:
		return http.StatusNoContent, "ignored", ""
	}
	e.Doc = "github-webhook"
	if err := h.Receive(r.Context(), []ingest.Entry{e}); err != nil {
		return http.StatusServiceUnavailable, "failed", "the ledger did not take it; deliver it again"
	}
	return http.StatusNoContent, "taken", ""
}

// signedWith says whether a body has GitHub's signature by a secret.
func signedWith(secret string, body []byte, signature string) bool {
	said, err := hex.DecodeString(strings.TrimPrefix(signature, "sha256="))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return err == nil && secret != "" && hmac.Equal(said, mac.Sum(nil))
}
