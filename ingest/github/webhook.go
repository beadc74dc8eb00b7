package github

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"coroner/ingest"

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
	e, ok, err := readDelivery(body)
	switch {
	case err != nil:
		return http.StatusBadRequest, "refused", "this is no JSON of a workflow_job; want content type application/json"
	case !ok:
		return http.StatusNoContent, "ignored", ""
	}
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

// delivery is what is read of one.
type delivery struct {
	Job        wholeJob `json:"workflow_job"`
	Repository struct {
		Name string `json:"full_name"`
	} `json:"repository"`
}

// wholeJob is a job with what GitHub tells of it from the beginning.
type wholeJob struct {
	Job
	Created time.Time `json:"created_at"`
	Labels  []string  `json:"labels"`
}

// readDelivery makes a record of a delivery; ok is false for a job that no runner of one's
// own is to take.
func readDelivery(body []byte) (e ingest.Entry, ok bool, err error) {
	var d delivery
	if err = json.Unmarshal(body, &d); err != nil {
		return e, false, err
	}
	e, ok = d.entry()
	e.Doc = "github-webhook"
	return e, ok, nil
}

// entry is the record of a job; ok is false for one that no runner of one's own is to take.
func (d *delivery) entry() (e ingest.Entry, ok bool) {
	j := &d.Job
	if j.ID == 0 || len(j.Labels) == 0 || isHosted(j.Labels) {
		return e, false
	}
	e = jobEntry(&j.Job, cmp.Or(d.Repository.Name, repositoryOf(j.Page)), j.changed())
	e.Pod = oneLine(j.Runner)
	addField(&e, "created_at", timestamp(j.Created))
	addField(&e, "labels", poolLabel(j.Labels))
	return e, true
}

// hosted are the labels of runners that GitHub itself runs.
var hosted = []string{
	"ubuntu-latest", "ubuntu-[0-9]*", "windows-latest", "windows-[0-9]*", "macos-latest*", "macos-[0-9]*",
}

// isHosted says whether a runner of GitHub's is to take a job with these labels.
func isHosted(labels []string) bool {
	own := slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, "self-hosted") })
	return !own && slices.ContainsFunc(labels, func(label string) bool {
		return slices.ContainsFunc(hosted, func(glob string) bool {
			is, _ := path.Match(glob, strings.ToLower(label))
			return is
		})
	})
}

// poolLabel is the label that says which pool a job is for: the first that is not one of
// those that every runner of one's own has.
func poolLabel(labels []string) string {
	for _, l := range labels {
		switch strings.ToLower(l) {
		case "self-hosted", "linux", "windows", "macos", "x64", "arm", "arm64":
		default:
			return l
		}
	}
	return "self-hosted"
}
