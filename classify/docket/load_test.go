package docket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/bench"
	"coroner/fixtures/postgres"
	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/rules"
	"coroner/rules/book"

	"golang.org/x/sync/errgroup"
)

// These measure and print; they run with CORONER_BENCH=1 (make bench) and fail
// only when something does not work. All times are of the processor, all of the
// process's threads together: what one core can do, whoever else is there.

func benched(t *testing.T) (quick bool) {
	t.Helper()
	quick = bench.Asked(t, "what the server takes with many open cases")
	was := debug.SetGCPercent(200) // as coroner serve has it
	t.Cleanup(func() { debug.SetGCPercent(was) })
	return quick
}

// load drives a docket with a town.
type load struct {
	t testing.TB
	*Docket
	ledger *ledger.Ledger
	clock  *clock
	town   town
	began  time.Time

	born, dead int // runners are born and die in the order of their numbers
	lines      int // evidence and last words that were sent, no marks
	send       func([]ingest.Entry) error
	judging    time.Duration // processor time of Due
	old        int           // verdicts of the day before
	busy       bool          // the nodes do not wait for each other, as where the server has more to do than it can
}

func newLoad(t testing.TB, b *rules.Rulebook, nodes int) *load {
	c := &clock{time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)}
	o := Options{MaxOpen: 1 << 30, Deadline: time.Hour, Silent: time.Hour, Publish: true}
	d, l := newDocket(t, filepath.Join(t.TempDir(), "l.db"), b, o, c)
	t.Cleanup(func() { l.Close() })
	x := &load{t: t, Docket: d, ledger: l, clock: c, town: town{nodes: nodes}, began: c.at}
	x.send = func(entries []ingest.Entry) error { return d.Receive(context.Background(), entries) }
	return x
}

// tell sends each node's lines, with its marks, as agents do.
func (x *load) tell(entries []ingest.Entry) {
	x.t.Helper()
	of := map[inCluster][]ingest.Entry{{x.town.cluster(0), "system-1"}: nil}
	for _, e := range entries {
		on := inCluster{e.Cluster, e.Node}
		of[on] = append(of[on], e)
	}
	x.lines += len(entries)
	var pushes errgroup.Group
	if !x.busy {
		pushes.SetLimit(1)
	}
	for on, some := range of {
		some = append(some, x.marks(on)...)
		pushes.Go(func() error { return x.send(some) })
	}
	if err := pushes.Wait(); err != nil {
		x.t.Fatal(err)
	}
}

// marks say that a node was read up to now.
func (x *load) marks(on inCluster) []ingest.Entry {
	all := x.town.marks(on.name, x.began, x.clock.at)
	for i := range all {
		all[i].Cluster = on.cluster
	}
	return all
}

// fill opens cases until so many are open.
func (x *load) fill(open int) {
	x.t.Helper()
	for x.born-x.dead < open {
		var some []ingest.Entry
		for range min(max(x.town.nodes*20, 500), open-(x.born-x.dead)) {
			some = append(some, x.town.born(x.born, x.clock.at)...)
			x.born++
		}
		x.clock.at = x.clock.at.Add(time.Second)
		x.tell(some)
	}
}

// second is one second of the town's life: so many lines of births, lives and
// deaths, and what the docket does beside.
func (x *load) second(lines int) {
	x.t.Helper()
	var some []ingest.Entry
	for len(some) < lines {
		some = append(some, x.town.born(x.born, x.clock.at)...)
		some = append(some, x.town.lives((x.born+x.dead)/2, x.clock.at)...)
		some = append(some, x.town.dies(x.dead, x.clock.at)...)
		x.born, x.dead = x.born+1, x.dead+1
	}
	x.clock.at = x.clock.at.Add(time.Second)
	x.tell(some)
	x.due(dues)
}

// dues is how often in a second the docket looks for what is settled.
const dues = 10

func (x *load) due(times int) {
	x.t.Helper()
	start := bench.CPU()
	for range times {
		if err := x.Due(context.Background()); err != nil {
			x.t.Fatal(err)
		}
	}
	x.judging += bench.CPU() - start
}

// drain lets everything settle.
func (x *load) drain() {
	x.t.Helper()
	for range 8 {
		x.clock.at = x.clock.at.Add(time.Second)
		var some []ingest.Entry
		for i := range x.town.nodes {
			some = append(some, x.marks(inCluster{x.town.cluster(i), x.town.node(i)})...)
		}
		for i := range max(1, x.town.clusters) {
			some = append(some, x.marks(inCluster{x.town.cluster(i), "system-1"})...)
		}
		if err := x.Receive(context.Background(), some); err != nil {
			x.t.Fatal(err)
		}
		x.due(1)
	}
}

// counted fails unless every runner that died was judged, and no other.
func (x *load) counted() {
	x.t.Helper()
	n, err := x.ledger.CountCases(context.Background())
	if err != nil || n[ledger.StateJudged] != x.dead+x.old || n[ledger.StateOpen] != x.born-x.dead {
		x.t.Fatalf("%v %v, %d born, %d dead", n, err, x.born, x.dead)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (x *load) used() int64 {
	n, err := x.ledger.Used(context.Background())
	if err != nil {
		x.t.Fatal(err)
	}
	return n
}

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// figures are what a town costs.
type figures struct {
	opening, living time.Duration // processor time for a line, with its share of the marks
	best            time.Duration // the same, of the quietest second
	busy            time.Duration // the same, where pushes wait for the server and are filed together
	judging         time.Duration // for a verdict
	disk, heap      int64         // bytes for an open case
}

// measure fills a town and lets it live for some seconds.
func (x *load) measure(open int) (f figures) {
	x.t.Helper()
	mem, disk, start := heap(), x.used(), bench.CPU()
	x.fill(open)
	f.opening = (bench.CPU() - start) / time.Duration(x.lines)
	f.heap, f.disk = (heap()-mem)/int64(open), (x.used()-disk)/int64(open)
	x.judging = 0
	f.living, f.best = x.live()
	x.busy = true
	f.busy, _ = x.live()
	f.judging = x.judging / time.Duration(x.dead)
	x.counted()
	return f
}

// live lets the town live for some seconds. It returns what a line took on
// average and in the best second.
func (x *load) live() (mean, best time.Duration) {
	x.t.Helper()
	x.lines, best = 0, time.Hour
	start, judged := bench.CPU(), x.judging
	for range seconds {
		began, had, judged := bench.CPU(), x.lines, x.judging
		x.second(5000)
		best = min(best, (bench.CPU()-began-(x.judging-judged))/time.Duration(x.lines-had))
	}
	x.drain()
	return (bench.CPU() - start - (x.judging - judged)) / time.Duration(x.lines), best
}

// seconds is how long a town lives once it is filled.
const seconds = 5

// row prints figures. A runner's life is 30 lines and one verdict.
func (f figures) row(t *testing.T, what string, n int) {
	rate := func(line time.Duration) float64 {
		return float64(time.Second) / (float64(line) + float64(f.judging)/30)
	}
	t.Logf("%-6s %8d %10.1f %10.1f %10.1f %10.1f %10.0f %12.0f %12.0f %10d %10d", what, n, micros(f.opening),
		micros(f.living), micros(f.best), micros(f.busy), micros(f.judging),
		rate(f.living), rate(f.busy), f.disk, f.heap)
}

func head(t *testing.T) {
	t.Logf("%-6s %8s %10s %10s %10s %10s %10s %12s %12s %10s %10s", "", "", "opening µs", "line µs", "best µs",
		"busy µs", "verdict µs", "lines/cpu-s", "when busy", "disk/case", "heap/case")
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// growth measures for several sizes and prints the exponents.
func growth(t *testing.T, what string, sizes []int, measure func(n int) figures) {
	var xs, lines, verdicts []float64
	for _, n := range sizes {
		f := measure(n)
		f.row(t, what, n)
		xs, lines, verdicts = append(xs, float64(n)), append(lines, float64(f.best)), append(verdicts,
			float64(f.judging))
	}
	line, verdict := bench.Exponent(xs, lines), bench.Exponent(xs, verdicts)
	t.Logf("%-6s exponent: for a line %.2f, for a verdict %.2f (0 = the same however many, 1 = linear)", what,
		line, verdict)
	topic := "the server, growth with " + what
	if err := bench.Note(bench.Figure{Topic: topic, What: "a line", Value: line, Unit: "(0 the same, 1 linear)"},
		bench.Figure{Topic: topic, What: "a verdict", Value: verdict, Unit: "(0 the same, 1 linear)"}); err != nil {
		t.Error(err)
	}
}

// What one core takes while very many cases are open, and what those cost.
func TestBenchCases(t *testing.T) {
	benched(t)
	head(t)
	growth(t, "cases", []int{1000, 10_000, 100_000},
		func(n int) figures { return newLoad(t, loadBook(t), 100).measure(n) })
}

// The same by the number of nodes: each pushes for itself.
func TestBenchNodes(t *testing.T) {
	benched(t)
	head(t)
	growth(t, "nodes", []int{10, 100, 1000}, func(n int) figures { return newLoad(t, loadBook(t), n).measure(10_000) })
}

// The same by the number of clusters over which 1,000 nodes are spread.
func TestBenchClusters(t *testing.T) {
	benched(t)
	head(t)
	growth(t, "clusters", []int{5, 50, 500}, func(n int) figures {
		x := newLoad(t, loadBook(t), 1000)
		x.town.clusters = n
		return x.measure(10_000)
	})
}

// The same by the number of verdicts that are kept.
func TestBenchVerdicts(t *testing.T) {
	benched(t)
	head(t)
	growth(t, "verdicts", []int{1000, 10_000, 100_000}, func(n int) figures {
		x := newLoad(t, loadBook(t), 100)
		x.history(n)
		return x.measure(1000)
	})
}

// history records n verdicts of the day before.
func (x *load) history(n int) {
	x.t.Helper()
	before := x.clock.at.Add(-24 * time.Hour)
	for done := 0; done < n; {
		err := x.ledger.Write(context.Background(), before, func(tx *ledger.Tx) error {
			var err error
			for range min(1000, n-done) {
				s := x.town.soul(1_000_000+done, before)
				id := ledger.NewCaseID("", "ci", s.pod, s.uid)
				v := rules.Verdict{Revision: 1, Namespace: "ci", Runner: s.pod, PodUID: s.uid, Node: s.node,
					Label: rules.CgroupOOM, Confidence: rules.Confirmed, DiedAt: &before}
				c := ledger.Case{ID: id, Namespace: "ci", Name: s.pod, UID: s.uid, Node: s.node, Runner: true,
					Opened: before, Heard: before, State: ledger.StateJudged, Revision: 1}
				err = errors.Join(err, tx.PutCase(c), tx.AddVerdict(id, &v, before, false))
				done++
			}
			return err
		})
		if err != nil {
			x.t.Fatal(err)
		}
	}
	x.old = n
}

// One busy node: as many runners as live and die on it in a day, one after the
// other, with all that its kernel and its programs say of them. A verdict must not
// grow dearer with what the node had to say of all the others before it.
func TestBenchDay(t *testing.T) {
	quick := benched(t)
	sizes := []int{1000, 3000, 10_000}
	if quick {
		sizes = sizes[:2]
	}
	t.Logf("%8s %12s %14s %14s", "a day", "line µs", "verdict µs", "heap/case")
	var xs, verdicts []float64
	for _, n := range sizes {
		x := newLoad(t, loadBook(t), 1)
		before, start := heap(), bench.CPU()
		last := x.day(n)
		line := (bench.CPU() - start - x.judging) / time.Duration(x.lines)
		t.Logf("%8d %12.1f %14.0f %14d", n, micros(line), micros(last), (heap()-before)/int64(n))
		x.counted()
		xs, verdicts = append(xs, float64(n)), append(verdicts, float64(last))
	}
	t.Logf("exponent: for a verdict %.2f (0 = the same however many, 1 = linear)", bench.Exponent(xs, verdicts))
}

// day lets a day pass in which n runners live and die. It returns what one of the
// last tenth of the verdicts took.
func (x *load) day(n int) time.Duration {
	x.t.Helper()
	var early time.Duration
	for i := range n {
		some := x.town.born(x.born, x.clock.at)
		some = append(some, x.town.lives(x.born, x.clock.at)...)
		some = append(some, x.town.dies(x.dead, x.clock.at)...)
		x.born, x.dead = x.born+1, x.dead+1
		x.clock.at = x.clock.at.Add(24 * time.Hour / time.Duration(n))
		x.tell(some)
		x.due(1)
		if i == n-n/10-1 {
			early = x.judging
		}
	}
	x.drain()
	return (x.judging - early) / time.Duration(n/10)
}

// The same by the number of verdict rules, and of signals up to what a rulebook
// can have.
func TestBenchRules(t *testing.T) {
	benched(t)
	head(t)
	b := loadBook(t)
	growth(t, "rules", []int{len(b.Rules), 10 * len(b.Rules), 100 * len(b.Rules)},
		func(n int) figures { return newLoad(t, grown(t, 1, n-len(b.Rules)), 100).measure(1000) })
	growth(t, "signs", []int{len(b.Signals), 2 * len(b.Signals), 1000},
		func(n int) figures { return newLoad(t, grown(t, n-len(b.Signals), 0), 100).measure(1000) })
}

// grown is the rulebook with more signals and rules, which nothing shows and
// nothing fits.
func grown(t *testing.T, signals, rulesToo int) *rules.Rulebook {
	var y strings.Builder
	y.WriteString("signals:\n")
	for i := range max(signals, 1) {
		fmt.Fprintf(
			&y,
			"  - {name: more.m%d, source: systemd, doc: One more., printed: nothing, "+
				"match: 'more of the same %d (?P<n>\\d+)', captures: {n: int}}\n",
			i,
			i,
		)
	}
	if rulesToo > 0 {
		y.WriteString("verdicts:\n")
	}
	for i := range rulesToo {
		fmt.Fprintf(
			&y,
			"  - {id: runner-crash-more-%d, verdict: runner-crash, precedence: %d, confidence: probable, "+
				"doc: One more., when: 'exit.known and exit.code == %d', decisive: 'filter(more.m0, "+
				".near and .n == %d)', initiator: x, summary: 'More.'}\n",
			i,
			1000+i,
			i,
			i,
		)
	}
	b, err := rules.Load(book.Files, fstest.MapFS{"more.yaml": {Data: []byte(y.String())}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sentPush is a push as it travels.
type sentPush struct {
	node string
	body []byte
}

// pushes are some seconds of the town's life as agents would send them, of nodes that are spread
// over so many clusters.
func (x *load) pushes(clusters int) (out []sentPush) {
	x.t.Helper()
	x.send = func(entries []ingest.Entry) error {
		of := map[string][]ingest.Entry{}
		for _, e := range entries {
			if clusters > 1 {
				e.Cluster = fmt.Sprint("cluster-", crc32.ChecksumIEEE([]byte(e.Node))%uint32(clusters))
			}
			of[e.Node] = append(of[e.Node], e)
		}
		for node, its := range of {
			body, err := push.Encode(its)
			if out = append(out, sentPush{node, body}); err != nil {
				return err
			}
		}
		return nil
	}
	x.lines = 0
	for range seconds {
		x.second(5000)
	}
	return out
}

// pushAll hands pushes to servers, 16 at a time to each, and returns how long each took.
func pushAll(t *testing.T, servers []*push.Handler, all []sentPush) []time.Duration {
	t.Helper()
	took := make([]time.Duration, len(all))
	groups := make([]errgroup.Group, len(servers))
	var feeders sync.WaitGroup
	for n := range servers {
		groups[n].SetLimit(16)
	}
	give := func(i int) {
		p := all[i]
		groups[i%len(servers)].Go(func() error {
			began, w := time.Now(), httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodPost, push.Path, bytes.NewReader(p.body))
			r.Header.Set(push.AgentHeader, p.node)
			r.RemoteAddr = fmt.Sprintf("10.0.%d.%d:1", i/250%250, i%250)
			if servers[i%len(servers)].ServeHTTP(w, r); w.Code != http.StatusNoContent {
				return fmt.Errorf("%d %s", w.Code, w.Body)
			}
			took[i] = time.Since(began)
			return nil
		})
	}
	for n := range servers {
		feeders.Go(func() {
			for i := n; i < len(all); i += len(servers) {
				give(i)
			}
		})
	}
	feeders.Wait()
	for n := range groups {
		if err := groups[n].Wait(); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(took)
	return took
}

// The way through HTTP: what an agent encodes, the handler, many at one time.
func TestBenchPush(t *testing.T) {
	benched(t)
	x := newLoad(t, loadBook(t), 100)
	x.fill(10_000)
	h := push.NewHandler(push.Limits{}, nil, x.Receive, func(string) {})
	bodies := x.pushes(1)
	start, wall := bench.CPU(), time.Now()
	pushAll(t, []*push.Handler{h}, bodies)
	took := bench.CPU() - start
	t.Logf("%d pushes of %d lines, 16 at a time: %.1f µs a line with its marks, %.0f lines/cpu-s, %s", len(bodies),
		x.lines, micros(took/time.Duration(x.lines)), rate(x.lines, took), time.Since(wall).Round(time.Millisecond))
}

// What several servers file together in one PostgreSQL, which syncs each commit, with and without
// a standby that each commit waits for. All of it is on this machine: the database's processor time
// is not in the servers'.
func TestBenchReplicas(t *testing.T) {
	benched(t)
	b := loadBook(t)
	for _, c := range []struct {
		servers, clusters int
		standby           bool
	}{{1, 1, false}, {3, 1, false}, {3, 10, false}, {1, 10, true}, {3, 10, true}} {
		db := postgres.Start(t, true, "what servers on one PostgreSQL file")
		url := db.Database(t)
		if c.standby {
			db.Standby(t)
		}
		all := newLoad(t, b, 100)
		bodies := all.pushes(c.clusters)
		var servers []*push.Handler
		for range c.servers {
			d, l := newDocket(t, url, b, Options{MaxOpen: 1 << 30, Deadline: time.Hour, Silent: time.Hour}, all.clock)
			t.Cleanup(func() { _ = l.Close() })
			servers = append(servers, push.NewHandler(push.Limits{}, nil, d.Receive, func(string) {}))
		}
		start, wall := bench.CPU(), time.Now()
		took := pushAll(t, servers, bodies)
		cpu, passed := bench.CPU()-start, time.Since(wall)
		t.Logf("%d servers, %2d clusters, standby %-5v: %6.0f lines/s, %.0f µs of the servers' processors a line; "+
			"a push took %s at the median, %s at p99", c.servers, c.clusters, c.standby, rate(all.lines, passed),
			micros(cpu/time.Duration(all.lines)), took[len(took)/2].Round(time.Millisecond),
			took[len(took)*99/100].Round(time.Millisecond))
	}
}

// What it costs that 20,000 nodes in 50 clusters say that nothing happened, beside what happens.
// How often they say so is what the servers ask for (X-Coroner-Pace).
func TestBenchIdleNodes(t *testing.T) {
	benched(t)
	const nodes, clusters, servers = 20_000, 50, 3
	b, db := loadBook(t), postgres.Start(t, true, "what idle nodes cost a PostgreSQL")
	pace := paceOf(nodes, 2*time.Minute)
	url := db.Database(t)
	x := newLoad(t, b, nodes)
	var handlers []*push.Handler
	for range servers {
		d, l := newDocket(t, url, b, Options{MaxOpen: 1 << 30, Deadline: time.Hour, Silent: time.Hour}, x.clock)
		t.Cleanup(func() { _ = l.Close() })
		handlers = append(handlers, push.NewHandler(push.Limits{}, nil, d.Receive, func(string) {}))
	}
	idle := func() (all []sentPush) {
		x.clock.at = x.clock.at.Add(pace)
		for i := range nodes {
			node := x.town.node(i)
			marks := x.town.marks(node, x.began, x.clock.at)
			for j := range marks {
				marks[j].Cluster = fmt.Sprint("cluster-", i%clusters)
			}
			body, err := push.Encode(marks)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sentPush{node, body})
		}
		return all
	}
	pushAll(t, handlers, idle()) // after which the nodes are known
	busy := newLoad(t, b, 100)
	lines := busy.pushes(10)
	measure := func(all []sentPush) (each time.Duration, p99 time.Duration) {
		before := db.CPU()
		took := pushAll(t, handlers, all)
		return (db.CPU() - before) / time.Duration(len(all)), took[len(took)*99/100]
	}
	mark, p99 := measure(idle())
	push, _ := measure(lines)
	line := push * time.Duration(len(lines)) / time.Duration(busy.lines)
	each := time.Duration(nodes / pace.Seconds())
	idleWork, work := percent(each*mark), percent(5000*line)
	t.Logf("the database takes %s for a push that says that nothing happened, %s for a line: %d of those and 5,000 "+
		"of these in a second are %.1f %% and %.1f %% of a processor, the former %.1f %% of both",
		mark.Round(time.Microsecond), line.Round(time.Microsecond), each, idleWork, work, 100*idleWork/(idleWork+work))
	t.Logf("%d idle pushes, 16 at a time to each of %d servers: p99 %s", nodes, servers, p99.Round(time.Millisecond))
}

// percent is a share of a second.
func percent(d time.Duration) float64 { return 100 * d.Seconds() }

// What the sweep costs for a record, and how long one holds up who files.
func TestBenchSweep(t *testing.T) {
	benched(t)
	x := newLoad(t, loadBook(t), 100)
	x.fill(10_000)
	start, longest, n := bench.CPU(), time.Duration(0), int64(0)
	for {
		began := bench.CPU()
		swept, err := x.upkeep.sweepSome(context.Background(), func(tx *ledger.Tx) (ledger.Swept, error) {
			return tx.Sweep(x.began, x.clock.at.Add(time.Hour))
		})
		if err != nil {
			t.Fatal(err)
		}
		n, longest = n+swept.Evidence, max(longest, bench.CPU()-began)
		if !swept.More {
			break
		}
	}
	t.Logf("%d records swept: %.1f µs each, the longest sweep held the ledger for %s of processor time", n,
		micros((bench.CPU()-start)/time.Duration(n)), longest.Round(time.Millisecond))
}
