package docket

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/fixtures"
	"coroner/fixtures/postgres"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// clock is a time that a test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func loadBook(t testing.TB) *rules.Rulebook {
	t.Helper()
	return shipped.Rulebook(t)
}

// databases are those that stand for files, where the tests run over PostgreSQL.
var databases sync.Map

// Everything that the docket does it does over PostgreSQL, too.
//
// What it costs is counted over a file, and those that try every incident in many ways take
// too long twice.
func TestOverPostgres(t *testing.T) {
	postgres.Again(t, "-test.skip=Allocates|Bench|TestClustersStayApart|TestOnePush|TestMuch|TestWhatNames|"+
		"TestZombie|OfAZombie|NoZombie|NoZombies") // what a ledger has no part in, second after second
}

func newDocket(t testing.TB, path string, b *rules.Rulebook, o Options, c *clock) (*Docket, *ledger.Ledger) {
	t.Helper()
	if database, ok := databases.Load(path); ok { // a ledger that is opened again
		path = database.(string)
	} else if postgres.Second() {
		url := postgres.Place(t, path)
		databases.Store(path, url)
		path = url
	}
	l, err := ledger.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return New(l, b, o, NewMetrics(prometheus.NewRegistry()), zerolog.Nop(), c.now), l
}

// notLive are rules whose incidents the server does not judge alike: it gives no verdict
// of a pod that nothing ended, and in files the record of an end can be left out.
// And only a saved table can lack a pod.
var notLive = []string{"SIGTERM-drain-exit", "node-crash-panic-doubted", "zombie-podless"}

// each is how many incidents there are to each one that is filed: over PostgreSQL, what one
// asks of the ledger, others ask too. make postgres files them all.
func each() int {
	if postgres.Second() && os.Getenv("CORONER_POSTGRES") != "all" {
		return 4
	}
	return fixtures.Each()
}

// live are the incidents whose every record names its pod or its node, as live
// records do, with the verdict that their files give.
func live(
	t *testing.T, b *rules.Rulebook, check func(in fixtures.Incident, entries []ingest.Entry, want rules.Verdict),
) {
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	for i, in := range all {
		if in.Want.Runner == "" || i%each() > 0 {
			continue
		}
		files := bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{})
		entries := slices.Collect(files.Entries(nil))
		if slices.ContainsFunc(entries, Nameless) {
			continue
		}
		want := classify.Replay(slices.Values(entries), b, classify.Options{Runner: in.Want.Runner, Strict: true})[0]
		if string(want.Label) == in.Want.Verdict && string(want.Confidence) == in.Want.Confidence &&
			want.Label != rules.None && want.Kind == casefile.OfRunner && !slices.Contains(notLive, want.Rule) {
			check(in, entries, want)
		}
	}
}

// Whatever order evidence comes in, however it is cut into pushes, however
// often it is pushed and wherever the server is restarted: the verdict is the
// one that the files give, and there is one.
func TestLiveVerdictsAreThoseOfTheFiles(t *testing.T) {
	b := loadBook(t)
	count, differ, waiting := 0, 0, 0
	live(t, b, func(in fixtures.Incident, entries []ingest.Entry, want rules.Verdict) {
		count++
		c := &clock{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
		path := filepath.Join(t.TempDir(), "ledger.db")
		d, l := newDocket(t, path, b, Options{}, c)
		for i, part := range parts(entries, uint64(count)) {
			if i%3 == 2 { // the server is stopped and comes back
				l.Close()
				d, l = newDocket(t, path, b, Options{}, c)
			}
			for range 1 + i%2 {
				if err := d.Receive(context.Background(), part); err != nil {
					t.Fatal(err)
				}
			}
		}
		end := ingest.Entry{
			Source:    ingest.Runner,
			Namespace: want.Namespace,
			Pod:       want.Runner,
			PodUID:    want.PodUID,
			Mark:      &ingest.Mark{Kind: ingest.Ended},
		}
		if want.Waits && strings.Contains(want.Runner, "-runner-") { // nothing of it ends
			waiting++
		} else if err := d.Receive(context.Background(), []ingest.Entry{end}); err != nil {
			t.Fatal(err)
		}
		c.at = c.at.Add(10 * time.Minute)
		if err := d.Due(context.Background()); err != nil {
			t.Fatal(err)
		}
		got, err := l.Verdicts(context.Background(), ledger.Query{Runner: in.Want.Runner, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case len(got) != 1:
			differ++
			t.Errorf("%s: %d verdicts", in.Name, len(got))
		case got[0].Verdict.Label != want.Label || got[0].Verdict.Confidence != want.Confidence ||
			got[0].Verdict.Rule != want.Rule:
			differ++
			t.Errorf("%s: %s %s %s, the files give %s %s %s", in.Name, got[0].Verdict.Label,
				got[0].Verdict.Confidence, got[0].Verdict.Rule, want.Label, want.Confidence, want.Rule)
		}
		l.Close()
	})
	t.Logf("%d incidents, %d differ, %d wait to start", count, differ, waiting)
	if count < 55/each() || waiting < 5/each() {
		t.Errorf("only %d incidents were tried", count)
	}
}

// parts shuffles entries and cuts them.
func parts(entries []ingest.Entry, seed uint64) (out [][]ingest.Entry) {
	r := rand.New(rand.NewPCG(seed, 1))
	all := slices.Clone(entries)
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for len(all) > 0 {
		n := min(len(all), 1+r.IntN(len(all)/2+1))
		out, all = append(out, all[:n]), all[n:]
	}
	return out
}
