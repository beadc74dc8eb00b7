package inquiry

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/github"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// GitHub is asked about every verdict since the last look that leaves room for doubt, and
// about no other: not where the cause is certain, nothing died, or no end is known.
func TestWhoIsAskedAbout(t *testing.T) {
	rulebook := shipped.Rulebook(t)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Date(2026, 10, 1, 9, 30, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	died := now.Add(-time.Minute)
	put := func(id string, label rules.Label, sure rules.Confidence, died *time.Time, at time.Time) {
		t.Helper()
		v := rules.Verdict{Runner: "runner-" + id, Namespace: "ci", Label: label, Confidence: sure, DiedAt: died,
			Revision: 1}
		err := l.Write(context.Background(), at, func(tx *ledger.Tx) error {
			return errors.Join(tx.AddVerdict(id, &v, at, false), tx.PutCase(ledger.Case{ID: id, Namespace: "ci",
				Name: v.Runner, Runner: true, State: ledger.StateJudged, Heard: at}))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("doubtful", rules.NetworkLoss, rules.Suspected, &died, now)
	put("probable", rules.NodeLost, rules.Probable, &died, now)
	put("certain", rules.CgroupOOM, rules.Confirmed, &died, now)
	put("idle", rules.IdleRemoved, rules.Probable, &died, now)
	put("living", rules.None, rules.Probable, &died, now)
	put("endless", rules.Unknown, rules.Suspected, nil, now)
	put("old", rules.NodeLost, rules.Probable, &died, now.Add(-time.Hour))

	metrics := prometheus.NewRegistry()
	client := github.NewClient("https://github.example/", nil, &http.Client{}, clock)
	var gathered []string
	q := &Inquiry{Ledger: l, Book: func() *rules.Rulebook { return rulebook }, Now: clock, Log: zerolog.Nop(),
		Poller: github.NewPoller(client, 60, nil, github.NewMetrics(metrics), zerolog.Nop()),
		Gather: func(_ context.Context, c ledger.Case) ([]ingest.Entry, error) {
			gathered = append(gathered, c.ID)
			return []ingest.Entry{{Source: ingest.Kube, Trust: ingest.Attested, Namespace: "ci", Pod: c.Name,
				Text: "ephemeral runner", Fields: map[string]string{
					"msg": "ephemeral runner", "job_repository": "mills/flour", "workflow_run_id": "7",
				}}}, nil
		}}
	if err := q.enqueueSince(context.Background(), now.Add(-github.Age)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(gathered)
	if want := []string{"doubtful", "probable"}; !slices.Equal(gathered, want) {
		t.Errorf("looked at %q, want %q", gathered, want)
	}
	if n := open(t, metrics); n != 2 {
		t.Errorf("%v questions wait, want 2", n)
	}

	q.Gather = func(context.Context, ledger.Case) ([]ingest.Entry, error) { return nil, errors.New("no disk") }
	if err := q.enqueueSince(context.Background(), now.Add(-github.Age)); err == nil {
		t.Error("evidence that cannot be read is no error: its verdicts would never be looked at again")
	}
}

// open is how many questions wait.
func open(t *testing.T, metrics *prometheus.Registry) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "coroner_github_open_questions" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}
