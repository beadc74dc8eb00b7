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

	rest time.Time // Loki is left in peace until then
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
		sent:   f.NewCounterVec(prometheus.CounterOpts{Name: "coroner_loki_pushes_total", Help: "Verdicts pushed to Loki, by result."}, []string{"result"}),
		outbox: f.NewGauge(prometheus.GaugeOpts{Name: "coroner_outbox_verdicts", Help: "Verdicts recorded and not yet taken by Loki."}),
	}
}

// pause is between two looks for what is due again, and the least that Loki rests
// after it did not take something; what is new wakes Run. Tests change it.
var pause = time.Second

const (
	batch    = 50
	longest  = 5 * time.Minute // between two attempts
	attempts = 30              // of what Loki refuses each time
)

// Run sends what the outbox holds until ctx is done.
func (p *Loki) Run(ctx context.Context) error {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for {
		if err := p.Flush(ctx); err != nil && ctx.Err() == nil {
			p.Log.Error().Err(err).Msg("reading the outbox; it is tried again")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-p.Ledger.Mail():
		}
	}
}

// Flush sends everything that is due once, unless Loki wants to rest.
func (p *Loki) Flush(ctx context.Context) error {
	for {
		letters, err := p.Ledger.Letters(ctx, p.Now(), batch)
		if err != nil {
			return err
		}
		if n, err := p.Ledger.Outbox(ctx); err == nil {
			p.Metrics.outbox.Set(float64(n))
		}
		if len(letters) == 0 || ctx.Err() != nil || p.Now().Before(p.rest) {
			return nil
		}
		if err := p.send(ctx, letters); err != nil {
			return err
		}
	}
}

// send tries all of the letters in one request, and one by one if Loki refuses
// that: one bad line must not hold up the others.
func (p *Loki) send(ctx context.Context, letters []ledger.Letter) error {
	body, err := p.encode(letters)
	if err != nil {
		return err
	}
	err = p.Sender.Post(ctx, body)
	var refused push.Refused
	switch {
	case err == nil:
		p.Metrics.sent.WithLabelValues("sent").Add(float64(len(letters)))
		return p.sent(ctx, letters)
	case ctx.Err() != nil:
		return nil
	case errors.As(err, &refused) && len(letters) > 1:
		for i := range letters {
			if err := p.send(ctx, letters[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	case errors.As(err, &refused):
		return p.refused(ctx, letters[0], refused)
	}
	p.Metrics.sent.WithLabelValues("postponed").Add(float64(len(letters)))
	p.Log.Warn().Err(err).Int("verdicts", len(letters)).Msg("Loki did not take verdicts; they are sent again")
	return p.postpone(ctx, letters, err)
}

func (p *Loki) sent(ctx context.Context, letters []ledger.Letter) error {
	return p.Ledger.Write(ctx, p.Now(), func(tx *ledger.Tx) error {
		for _, x := range letters {
			if err := tx.Sent(x); err != nil {
				return err
			}
		}
		return nil
	})
}

// refused handles a line that Loki will not have. The usual reason is that it
// is too old for its stream: then it goes under the time of its verdict, and
// under the present one where Loki was away so long that this is too old too.
func (p *Loki) refused(ctx context.Context, x ledger.Letter, why push.Refused) error {
	p.Log.Warn().Str("runner", x.Verdict.Runner).Int("status", why.Status).Str("answer", why.Text).Msg("Loki refused a verdict")
	if x.Stamp.After(x.Recorded) && x.Attempts >= attempts {
		p.Metrics.sent.WithLabelValues("given-up").Inc()
		p.Log.Error().Str("runner", x.Verdict.Runner).Msg("a verdict is given up for Loki; it stays in the ledger")
		return p.sent(ctx, []ledger.Letter{x})
	}
	p.Metrics.sent.WithLabelValues("refused").Inc()
	stamp := x.Recorded
	if !x.Stamp.Before(stamp) {
		stamp = p.Now()
	}
	return p.Ledger.Write(ctx, p.Now(), func(tx *ledger.Tx) error {
		return tx.Postpone(x, p.Now().Add(backoff(x.Attempts)), stamp)
	})
}

func (p *Loki) postpone(ctx context.Context, letters []ledger.Letter, why error) error {
	var later push.Later
	asked := time.Duration(0)
	if errors.As(why, &later) {
		asked = later.After
	}
	p.rest = p.Now().Add(max(asked, pause)) // new verdicts do not ask sooner either
	return p.Ledger.Write(ctx, p.Now(), func(tx *ledger.Tx) error {
		for _, x := range letters {
			if err := tx.Postpone(x, p.Now().Add(max(asked, backoff(x.Attempts))), time.Time{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// backoff doubles from a second.
func backoff(attempts int) time.Duration {
	return min(longest, time.Second<<min(attempts, 10))
}

// encode makes the push request: few labels, names in structured metadata, the
// JSON verdict as the line.
func (p *Loki) encode(letters []ledger.Letter) ([]byte, error) {
	streams := map[string]int{}
	var req logproto.PushRequest
	for i := range letters {
		v := &letters[i].Verdict
		line, err := json.Marshal(brief(v))
		if err != nil {
			return nil, err
		}
		labels := p.labels(v)
		at, ok := streams[labels]
		if !ok {
			at = len(req.Streams)
			streams[labels] = at
			req.Streams = append(req.Streams, logproto.Stream{Labels: labels})
		}
		req.Streams[at].Entries = append(req.Streams[at].Entries, logproto.Entry{
			Timestamp: letters[i].Stamp, Line: string(line), StructuredMetadata: metadata(letters[i].Case, v)})
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

// brief is the verdict with its telling evidence: what decides, and the other
// lines of this runner that are nearest to its death.
func brief(v *rules.Verdict) *rules.Verdict {
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

func (p *Loki) labels(v *rules.Verdict) string {
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
	add("missing", sources(v.Missing, ""))
	add("lost", sources(v.Missing, "lost "))
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

// sources names what is missing in a few words that a query can match, always
// in the same order; only what is missing for a reason that begins with why.
func sources(missing []string, why string) string {
	var out []string
	for _, r := range readable {
		if slices.ContainsFunc(missing, func(m string) bool { return strings.HasPrefix(m, r.noun+": "+why) }) {
			out = append(out, r.source)
		}
	}
	return strings.Join(out, ",")
}
