package docket

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coroner/classify/publish"
	"coroner/fixtures/bench"
	"coroner/fixtures/postgres"
	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/rules"

	lokipush "github.com/grafana/loki/pkg/push"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// How long after the push that completes its evidence a verdict is in Loki, with
// very many cases open and everything running as in coroner serve. This is time
// of the clock on the wall, so others on the machine show in it.
func TestBenchLatency(t *testing.T) {
	open, rates := 100_000, []int{500, 2000, 5000}
	if benched(t) {
		open, rates = 10_000, []int{500, 2000, 4000}
	}
	for _, perSecond := range rates {
		latency(t, filepath.Join(t.TempDir(), "l.db"), 1, perSecond, open)
	}
}

// The same of three servers on one PostgreSQL that syncs each commit, without and with a standby
// that each commit waits for. All of it is on this machine.
func TestBenchLatencyOverPostgres(t *testing.T) {
	benched(t)
	for _, standby := range []bool{false, true} {
		db := postgres.Start(t, true, "how soon three servers on one PostgreSQL judge")
		if standby {
			db.Standby(t)
		}
		for _, perSecond := range []int{300, 1000} {
			t.Logf("three servers, standby %v:", standby)
			latency(t, db.Database(t), 3, perSecond, 1000)
		}
	}
}

const (
	settle  = time.Second             // so long after a death its evidence must be complete
	soon    = 1500 * time.Millisecond // in which a verdict is to be there
	lasting = 15 * time.Second
)

// latency offers lines to servers on a ledger, and tells how soon they judge.
func latency(t *testing.T, place string, servers, perSecond, open int) {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	loki := &mailbox{arrived: map[string]time.Time{}}
	server := httptest.NewServer(loki)
	defer server.Close()
	var all []*Docket
	var tasks []func(context.Context) error
	for range servers {
		d, l := newDocket(t, place, loadBook(t),
			Options{MaxOpen: 1 << 30, Settle: settle, Silent: time.Hour, Deadline: time.Hour, Publish: true},
			&clock{time.Now()})
		defer l.Close()
		d.now = l.NewClock(time.Now).Now
		p := &publish.Loki{
			Ledger:  l,
			Sender:  &push.Sender{URL: server.URL, Client: server.Client()},
			Log:     zerolog.Nop(),
			Now:     d.now,
			Metrics: publish.NewMetrics(prometheus.NewRegistry()),
		}
		all, tasks = append(all, d), append(tasks, d.Run, p.Run)
	}
	d, began := all[0], time.Now()
	x := &load{
		t:      t,
		Docket: d,
		ledger: d.ledger,
		clock:  &clock{began.Add(-24 * time.Hour)},
		town:   town{nodes: 100},
		began:  began.Add(-25 * time.Hour),
	}
	var turn atomic.Int64
	x.send = func(entries []ingest.Entry) error {
		return all[int(turn.Add(1))%servers].Receive(context.Background(), entries)
	}
	x.fill(open)
	var running sync.WaitGroup
	for _, task := range tasks {
		running.Go(func() { _ = task(ctx) })
	}
	used := bench.CPU()
	last := x.offer(perSecond, lasting)
	took := bench.CPU() - used
	time.Sleep(3 * time.Second)
	stop()
	running.Wait()
	var waits []time.Duration
	for pod, at := range last {
		if got, ok := loki.arrived[pod]; ok {
			waits = append(waits, got.Sub(at))
		}
	}
	slices.Sort(waits)
	if len(waits) < len(last) {
		t.Errorf("%d of %d verdicts came", len(waits), len(last))
	}
	of := func(percent int) time.Duration { return waits[len(waits)*percent/100].Round(time.Millisecond) }
	t.Logf(
		"%d cases open, %d lines/s offered, %d verdicts: last evidence to Loki p50 %s, p99 %s (the bar is %s), "+
			"most %s; %.0f %% of a core",
		open,
		perSecond,
		len(waits),
		of(50),
		of(99),
		soon,
		waits[len(waits)-1].Round(time.Millisecond),
		100*took.Seconds()/lasting.Seconds(),
	)
}

// offer pushes so many lines a second, every node twice a second, and returns when
// the evidence of each runner that died was complete: when the push began by which
// its node, the last one, was read past the death.
func (x *load) offer(perSecond int, long time.Duration) map[string]time.Time {
	type death struct {
		node string
		at   time.Time
	}
	waiting, last := map[string]death{}, map[string]time.Time{}
	const steps = 10 // of half a second, each with a tenth of the nodes
	per := perSecond / (2 * steps)
	for start, i := time.Now(), 0; time.Since(start) < long; i++ {
		time.Sleep(time.Until(start.Add(time.Duration(i) * 500 * time.Millisecond / steps)))
		x.clock.at = time.Now()
		of, read := map[string][]ingest.Entry{"system-1": nil}, map[string]bool{}
		for n := 0; n < per; n += 30 {
			some := append(append(x.town.born(x.born, x.clock.at), x.town.lives((x.born+x.dead)/2,
				x.clock.at)...), x.town.dies(x.dead, x.clock.at)...)
			waiting[x.town.soul(x.dead, x.clock.at).pod] = death{x.town.node(x.dead), some[len(some)-1].At}
			x.born, x.dead = x.born+1, x.dead+1
			for _, e := range some {
				of[e.Node] = append(of[e.Node], e)
			}
		}
		for k := i % steps; k < x.town.nodes; k += steps {
			of[x.town.node(k)] = append(of[x.town.node(k)], x.town.marks(x.town.node(k), x.began, x.clock.at)...)
			read[x.town.node(k)] = true
		}
		of["system-1"] = append(of["system-1"], x.town.marks("system-1", x.began, x.clock.at)...)
		x.pushAll(of)
		for pod, died := range waiting {
			if read[died.node] && !x.clock.at.Before(died.at.Add(settle)) {
				last[pod] = x.clock.at
				delete(waiting, pod)
			}
		}
	}
	return last
}

func (x *load) pushAll(of map[string][]ingest.Entry) {
	var all sync.WaitGroup
	for _, some := range of {
		all.Go(func() {
			if err := x.send(some); err != nil {
				x.t.Error(err)
			}
		})
	}
	all.Wait()
}

// mailbox is a Loki that notes when a runner's verdict came.
type mailbox struct {
	mu      sync.Mutex
	arrived map[string]time.Time
}

func (m *mailbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer w.WriteHeader(http.StatusNoContent)
	at := time.Now()
	var body []byte
	buf := make([]byte, 64<<10)
	for n, err := 0, error(nil); err == nil; {
		n, err = r.Body.Read(buf)
		body = append(body, buf[:n]...)
	}
	data, _ := snappy.Decode(nil, body)
	var req lokipush.PushRequest
	if err := req.Unmarshal(data); err != nil {
		panic(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range req.Streams {
		for _, e := range s.Entries {
			var v rules.Verdict
			if err := json.Unmarshal([]byte(e.Line), &v); err != nil {
				panic(err)
			}
			if _, known := m.arrived[v.Runner]; !known {
				m.arrived[v.Runner] = at
			}
		}
	}
}
