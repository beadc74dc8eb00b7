// Package publish sends recorded verdicts to Loki.
//
// Invariant: a verdict leaves the ledger's outbox only after Loki has taken it
// or said that it never will. It is sent under the same time, labels and line
// however often it is tried, so Loki keeps one of them.
//
// Crash behaviour: what was not taken out of the outbox is sent again.
package publish

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest/push"
	"coroner/rules"

	"github.com/grafana/loki/v3/pkg/logproto"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"
)

// Loki publishes the outbox to one Loki. Its fields are set before Run.
type Loki struct {
	Ledger  *ledger.Ledger
	Sender  *push.Sender
	Log     zerolog.Logger
	Now     func() time.Time
	Metrics *Metrics

	retryAt time.Time // nothing is sent to Loki before
}

// Metrics are what the publisher counts.
type Metrics struct {
	sent   *prometheus.CounterVec
	outbox prometheus.Gauge
}

// NewMetrics registers the publisher's metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	f := promauto.With(r)
	return &Metrics{
		sent: f.NewCounterVec(prometheus.CounterOpts{
			Name: "coroner_loki_pushes_total",
			Help: "Verdicts pushed to Loki, by result.",
		}, []string{"result"}),
		outbox: f.NewGauge(prometheus.GaugeOpts{
			Name: "coroner_outbox_verdicts",
			Help: "Verdicts recorded and not yet taken by Loki.",
		}),
	}
}

// pause is how often Run looks for items whose time has come, and how long it waits at
// least after Loki failed to take something. New verdicts wake Run. Tests change it.
var pause = time.Second

const (
	batch       = 50
	maxBackoff  = 5 * time.Minute // between two attempts
	maxAttempts = 30              // for an item that Loki refuses each time
)

// Run sends what the outbox holds until ctx is done.
func (p *Loki) Run(ctx context.Context) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if err := p.Flush(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error().Err(err).Msg("cannot read the outbox of verdicts; retrying")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-p.Ledger.Outbox.Ready():
		}
	}
}

// Flush sends everything that is due once, unless Loki asked for a pause.
func (p *Loki) Flush(ctx context.Context) error {
	for {
		if n, err := p.Ledger.Outbox.Count(ctx); err == nil {
			p.Metrics.outbox.Set(float64(n))
		}
		if ctx.Err() != nil || p.Now().Before(p.retryAt) {
			return nil
		}
		items, err := p.Ledger.Outbox.Take(ctx, p.Now(), batch)
		if err != nil || len(items) == 0 {
			return err
		}
		if err := p.sendItems(ctx, items); err != nil {
			return err
		}
	}
}

// sendItems tries all of the items in one request, and one by one if Loki refuses
// that: one bad line must not hold up the others.
func (p *Loki) sendItems(ctx context.Context, items []ledger.OutboxItem) error {
	body, err := p.encodePush(items)
	if err != nil {
		return err
	}
	err = p.Sender.Post(ctx, body)
	var refused push.Refused
	switch {
	case err == nil:
		p.Metrics.sent.WithLabelValues("sent").Add(float64(len(items)))
		return p.markSent(ctx, items)
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &refused) && len(items) > 1:
		for i := range items {
			if err := p.sendItems(ctx, items[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case errors.As(err, &refused):
		return p.handleRefusal(ctx, items[0], refused)
	}
	p.Metrics.sent.WithLabelValues("postponed").Add(float64(len(items)))
	p.Log.Warn().Err(err).Int("verdicts", len(items)).Msg("Loki did not accept verdicts; they will be sent again")
	return p.postpone(ctx, items, err)
}

func (p *Loki) markSent(ctx context.Context, items []ledger.OutboxItem) error {
	return p.Ledger.Write(ctx, p.Now(), func(tx *ledger.Tx) error {
		for _, item := range items {
			if err := tx.Sent(item); err != nil {
				return err
			}
		}
		return nil
	})
}

// handleRefusal handles a line that Loki will not have. The usual reason is that it
// is too old for its stream: then it goes under the time of its verdict, and
// under the present one where Loki was away so long that this is too old too.
func (p *Loki) handleRefusal(ctx context.Context, item ledger.OutboxItem, why push.Refused) error {
	p.Log.Warn().Str("runner", item.Verdict.Runner).Int("status", why.Status).Str("answer", why.Text).
		Msg("Loki refused a verdict")
	if item.Stamp.After(item.Recorded) && item.Attempts >= maxAttempts {
		p.Metrics.sent.WithLabelValues("given-up").Inc()
		p.Log.Error().Str("runner", item.Verdict.Runner).
			Msg("Loki keeps refusing a verdict; no more attempts, the verdict stays in the ledger")
		return p.markSent(ctx, []ledger.OutboxItem{item})
	}
	p.Metrics.sent.WithLabelValues("refused").Inc()
	stamp := item.Recorded
	if !item.Stamp.Before(stamp) {
		stamp = p.Now()
	}
	return p.Ledger.Write(ctx, p.Now(), func(tx *ledger.Tx) error {
		return tx.Postpone(item, p.Now().Add(backoffTime(item.Attempts)), stamp)
	})
}

func (p *Loki) postpone(ctx context.Context, items []ledger.OutboxItem, why error) error {
	var later push.Later
	asked := time.Duration(0)
	if errors.As(why, &later) {
		asked = later.After
	}
	p.retryAt = p.Now().Add(max(asked, pause)) // also for new verdicts
	return p.Ledger.Write(ctx, p.Now(), func(tx *ledger.Tx) error {
		for _, item := range items {
			if err := tx.Postpone(item, p.Now().Add(max(asked, backoffTime(item.Attempts))), time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// backoffTime doubles from a second.
func backoffTime(attempts int) time.Duration {
	return min(maxBackoff, time.Second<<min(attempts, 10))
}

// encodePush makes the push request: few labels, names in structured metadata, the
// JSON verdict as the line.
func (p *Loki) encodePush(items []ledger.OutboxItem) ([]byte, error) {
	streams := map[string]int{}
	var req logproto.PushRequest
	for i := range items {
		v := &items[i].Verdict
		line, err := json.Marshal(briefVerdict(v))
		if err != nil {
			return nil, err
		}
		labels := p.streamLabels(v)
		at, ok := streams[labels]
		if !ok {
			at = len(req.Streams)
			streams[labels] = at
			req.Streams = append(req.Streams, logproto.Stream{Labels: labels})
		}
		req.Streams[at].Entries = append(req.Streams[at].Entries, logproto.Entry{
			Timestamp:          items[i].Stamp,
			Line:               string(line),
			StructuredMetadata: metadata(items[i].Case, v),
		})
	}
	data, err := req.Marshal()
	return snappy.Encode(nil, data), err
}

// What a line in Loki holds of a verdict's evidence: whole verdicts are some ten
// kilobytes, and Loki's answers have a limit that some hundred of those exceed.
// The ledger keeps the whole.
const (
	maxDecisive = 60  // lines that decide
	maxEvidence = 12  // lines that do not
	maxText     = 240 // bytes of each line's text
)

// briefVerdict is the verdict with its telling evidence: what decides, and the other
// lines of this runner that are nearest to its death.
func briefVerdict(v *rules.Verdict) *rules.Verdict {
	short := *v
	short.Evidence = []rules.EvidenceLine{}
	room := map[bool]int{true: maxDecisive, false: maxEvidence}
	for _, e := range slices.Backward(v.Evidence) {
		if !e.Decisive && !e.Mine || room[e.Decisive] == 0 {
			continue
		}
		room[e.Decisive]--
		if len(e.Text) > maxText {
			e.Text = strings.ToValidUTF8(e.Text[:maxText], "") + "…"
		}
		short.Evidence = append(short.Evidence, e)
	}
	slices.Reverse(short.Evidence)
	short.EvidenceOmitted += len(v.Evidence) - len(short.Evidence)
	return &short
}

func (p *Loki) streamLabels(v *rules.Verdict) string {
	out := `{job="coroner"`
	add := func(name, value string) {
		if value != "" {
			out += ", " + name + "=" + strconv.Quote(value)
		}
	}
	add("verdict", string(v.Label))
	add("confidence", string(v.Confidence))
	add("domain", v.Domain)
	add("namespace", v.Namespace)
	add("pool", v.Pool)
	add("cluster", v.Cluster)
	return out + "}"
}

func metadata(id string, v *rules.Verdict) (m []logproto.LabelAdapter) {
	add := func(name, value string) {
		if value != "" {
			m = append(m, logproto.LabelAdapter{Name: name, Value: value})
		}
	}
	add("runner", v.Runner)
	add("node", v.Node)
	add("pod_uid", v.PodUID)
	add("rule", v.Rule)
	add("initiator", v.Initiator)
	add("retry", v.Retry)
	add("resource", v.Resource)
	add("rulebook", v.Rulebook)
	add("revision", strconv.Itoa(v.Revision))
	add("change", v.Change())
	add("case", id)
	add("kind", v.Kind.Word())
	add("state", string(v.State))
	if v.DiedAt != nil {
		add("died_at", v.DiedAt.UTC().Format(time.RFC3339Nano))
	}
	if v.Exit.Code != nil {
		add("exit_code", strconv.Itoa(*v.Exit.Code))
	}
	add("job_name", v.Job.Name)
	add("job_id", v.Job.ID)
	add("run_id", v.Job.RunID)
	add("repository", v.Job.Repository)
	add("missing", missingSources(v.Missing, ""))
	add("lost", missingSources(v.Missing, "lost "))
	return m
}

// readable are the sources that a verdict can miss, in its order, and what it
// calls them.
var readable = []struct{ source, noun string }{
	{"kernel", rules.SourceNoun("kernel")},
	{"kubelet", rules.SourceNoun("kubelet")},
	{"containerd", rules.SourceNoun("containerd")},
	{"runner", rules.SourceNoun("runner")},
	{"kube", rules.SourceNoun("kube")},
	{"controller", rules.SourceNoun("controller")},
}

// missingSources names what is missing in a few words that a query can match, always
// in the same order; only what is missing for a reason that begins with why.
func missingSources(missing []string, why string) string {
	var out []string
	for _, r := range readable {
		if slices.ContainsFunc(missing, func(m string) bool { return strings.HasPrefix(m, r.noun+": "+why) }) {
			out = append(out, r.source)
		}
	}
	return strings.Join(out, ",")
}
