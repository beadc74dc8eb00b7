package docket

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// story is what comes in of one incident, in some order, as its cluster's.
func story(cluster string, entries []ingest.Entry, want *rules.Verdict, seed uint64) []ingest.Entry {
	end := ingest.Entry{Source: ingest.Runner, Namespace: want.Namespace, Pod: want.Runner, PodUID: want.PodUID,
		Mark: &ingest.Mark{Kind: ingest.Ended}}
	all := append(slices.Clone(entries), end)
	for i := range all {
		all[i].Cluster = cluster
	}
	r := rand.New(rand.NewPCG(seed, 2))
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// woven puts stories together in one, each in its own order.
func woven(seed uint64, stories ...[]ingest.Entry) (out []ingest.Entry) {
	r := rand.New(rand.NewPCG(seed, 3))
	for {
		stories = slices.DeleteFunc(stories, func(s []ingest.Entry) bool { return len(s) == 0 })
		if len(stories) == 0 {
			return out
		}
		i := r.IntN(len(stories))
		out, stories[i] = append(out, stories[i][0]), stories[i][1:]
	}
}

// judgedLive are the verdicts of a docket that was told a story, by cluster.
func judgedLive(t *testing.T, b *rules.Rulebook, o Options, told []ingest.Entry) map[string][]rules.Verdict {
	t.Helper()
	c := &clock{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	d, l := newDocket(t, filepath.Join(t.TempDir(), "l.db"), b, o, c)
	return judgedBy(t, d, l, c, told)
}

// judgedBy are the verdicts of a docket that was told a story, after which its ledger is closed.
func judgedBy(t *testing.T, d *Docket, l *ledger.Ledger, c *clock, told []ingest.Entry) map[string][]rules.Verdict {
	t.Helper()
	defer l.Close()
	for part := range slices.Chunk(slices.Clone(told), 1+len(told)/3) {
		if err := d.Receive(context.Background(), part); err != nil {
			t.Fatal(err)
		}
	}
	c.at = c.at.Add(10 * time.Minute)
	if err := d.Due(context.Background()); err != nil {
		t.Fatal(err)
	}
	all, err := l.Verdicts(context.Background(), ledger.Query{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]rules.Verdict{}
	for _, r := range all {
		out[r.Verdict.Cluster] = append(out[r.Verdict.Cluster], r.Verdict)
	}
	for _, some := range out {
		slices.SortFunc(some,
			func(a, b rules.Verdict) int { return strings.Compare(a.Runner+a.PodUID, b.Runner+b.PodUID) })
	}
	return out
}

// Incidents of two clusters, in one docket, get the verdicts that each gets alone:
// two different ones, and one that the other cluster has, too, by the same names,
// but for what its kernel, kubelet and runner said. A cluster without a name is one
// like others.
func TestClustersStayApart(t *testing.T) {
	b := loadBook(t)
	type incident struct {
		name    string
		entries []ingest.Entry
		want    rules.Verdict
	}
	var all []incident
	live(t, b, func(in fixtures.Incident, entries []ingest.Entry, want rules.Verdict) {
		all = append(all, incident{in.Name, entries, want})
	})
	count := 0
	for i := range all {
		in, other := &all[i], &all[(i+1)%len(all)]
		less := slices.DeleteFunc(slices.Clone(in.entries), func(e ingest.Entry) bool {
			return e.Source == []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Runner}[i%3]
		})
		here, there := []string{"east", "", "east"}[i%3], []string{"west", "west", ""}[i%3]
		east := story(here, in.entries, &in.want, uint64(i))
		alone := judgedLive(t, b, Options{}, east)[here]
		for _, west := range [][]ingest.Entry{
			story(there, other.entries, &other.want, uint64(i)), story(there, less, &in.want, uint64(i)),
		} {
			count++
			want := map[string][]rules.Verdict{here: alone, there: judgedLive(t, b, Options{}, west)[there]}
			got := judgedLive(t, b, Options{}, woven(uint64(i), east, west))
			for cluster := range want {
				if diff := cmp.Diff(want[cluster], got[cluster]); diff != "" {
					t.Errorf("%s of %q beside %s of %q: %s", in.name, here, other.name, there, diff)
				}
			}
		}
	}
	if count < 110/each() {
		t.Errorf("only %d pairs were tried", count)
	}
}

// The names that all of fifty clusters use, and the moment at which the runner dies in each.
const sameRunner, sameNode, sameSpace, sameUID = "runner-7", "worker-3", "runners-of-ci",
	"6d1c9c2e-0a54-4d8f-9f0e-3b0d5c1f7a11"

var sameMoment = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// renamed are an incident's records by the names that all clusters use, as if it died when all
// do. Where each was read says of which cluster it is.
func renamed(cluster string, entries []ingest.Entry, want *rules.Verdict) []ingest.Entry {
	names := strings.NewReplacer(want.PodUID, sameUID, want.Runner, sameRunner, want.Node, sameNode,
		want.Namespace, sameSpace)
	later := sameMoment.Sub(*want.DiedAt)
	move := func(t *time.Time) {
		if !t.IsZero() {
			*t = t.Add(later)
		}
	}
	all := slices.Clone(entries)
	for i := range all {
		e := &all[i]
		for _, text := range []*string{&e.Text, &e.Node, &e.Namespace, &e.Pod, &e.PodUID} {
			*text = names.Replace(*text)
		}
		e.Cluster, e.Doc, e.Fields = cluster, cluster+"/"+e.Doc, maps.Clone(e.Fields)
		for k, v := range e.Fields {
			e.Fields[k] = names.Replace(v)
		}
		move(&e.At)
		move(&e.After)
		if e.Mark != nil {
			mark := *e.Mark
			move(&mark.From)
			move(&mark.To)
			e.Mark = &mark
		}
	}
	return all
}

// oneOfFifty is what comes in of one of the clusters, and the verdict that it gets alone.
type oneOfFifty struct {
	cluster string
	told    []ingest.Entry
	alone   rules.Verdict
}

// fiftyAlike are the stories of fifty clusters in which a runner of one name dies on a node of one
// name at one moment, each of something else, with the verdicts that they have alone, in a file.
func fiftyAlike(t *testing.T, b *rules.Rulebook, seed uint64) (all []oneOfFifty) {
	for len(all) < 50 {
		before := len(all)
		live(t, b, func(_ fixtures.Incident, entries []ingest.Entry, want rules.Verdict) {
			tellable := want.DiedAt != nil && len(want.Node) > 4 && len(want.Namespace) > 4 && want.PodUID != ""
			if len(all) == 50 || !tellable {
				return
			}
			cluster := fmt.Sprintf("cluster-%02d", len(all))
			dead := rules.Verdict{Runner: sameRunner, Namespace: sameSpace, PodUID: sameUID}
			told := story(cluster, renamed(cluster, entries, &want), &dead, seed+uint64(len(all)))
			c := &clock{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
			l, err := ledger.Open(filepath.Join(t.TempDir(), "alone.db"))
			if err != nil {
				t.Fatal(err)
			}
			d := New(l, b, Options{}, NewMetrics(prometheus.NewRegistry()), zerolog.Nop(), c.now)
			alone := judgedBy(t, d, l, c, told)[cluster]
			if len(alone) == 1 && alone[0].Label == want.Label {
				all = append(all, oneOfFifty{cluster, told, alone[0]})
			}
		})
		if len(all) == before {
			t.Fatal("no incident keeps its verdict by other names")
		}
	}
	return all
}

// Fifty clusters have a node, a namespace and a runner of the same names, and the runner dies at
// the same moment in each. Their records come in any order: each has the verdict that it has
// alone, and no line of another's.
func TestFiftyClustersOfTheSameNames(t *testing.T) {
	b := loadBook(t)
	for seed := range uint64(2) {
		fifty := fiftyAlike(t, b, 100*seed)
		var stories [][]ingest.Entry
		labels := map[rules.Label]bool{}
		for _, one := range fifty {
			stories = append(stories, one.told)
			labels[one.alone.Label] = true
		}
		got := judgedLive(t, b, Options{}, woven(seed, stories...))
		lines := 0
		for _, one := range fifty {
			some := got[one.cluster]
			if len(some) != 1 {
				t.Errorf("seed %d: %s has %d verdicts", seed, one.cluster, len(some))
				continue
			}
			for _, e := range some[0].Evidence {
				if lines++; !strings.HasPrefix(e.Where, one.cluster+"/") {
					t.Errorf("seed %d: the verdict of %s has a line of %s: %s", seed, one.cluster, e.Where, e.Text)
				}
			}
			if diff := cmp.Diff(one.alone, some[0]); diff != "" {
				t.Errorf("seed %d: %s: %s", seed, one.cluster, diff)
			}
		}
		t.Logf("seed %d: %d clusters, %d labels, %d lines of evidence", seed, len(got), len(labels), lines)
		if len(got) != 50 || len(labels) < 5/each() || lines < 300/each() {
			t.Errorf("seed %d: too little was tried", seed)
		}
	}
}

// Records that name no cluster are of the server's own, also where others of the
// same runner name it.
func TestWhatNamesNoClusterIsTheServers(t *testing.T) {
	b, i := loadBook(t), 0
	live(t, b, func(in fixtures.Incident, entries []ingest.Entry, want rules.Verdict) {
		if i++; i%5 > 0 {
			return
		}
		named := story("east", entries, &want, 1)
		some := slices.Clone(named)
		for j := range some {
			if j%2 == 0 {
				some[j].Cluster = ""
			}
		}
		o := Options{Cluster: "east"}
		if diff := cmp.Diff(judgedLive(t, b, o, named), judgedLive(t, b, o, some)); diff != "" {
			t.Errorf("%s: %s", in.Name, diff)
		}
	})
}

// from are records of a cluster.
func from(cluster string, all ...ingest.Entry) []ingest.Entry {
	for i := range all {
		all[i].Cluster = cluster
	}
	return all
}

// A kernel that panics on n1 of one cluster is not why the n1 of another vanished
// with its runner, nor where one of them names no cluster.
func TestPanicOnANodeOfAnotherCluster(t *testing.T) {
	for _, tt := range []struct {
		kernel, runner, want string
	}{
		{"west", "west", "node-crash"}, {"", "", "node-crash"},
		{"east", "west", "node-lost"}, {"", "west", "node-lost"}, {"east", "", "node-lost"},
	} {
		w := newWorld(t, Options{})
		w.tell(from(tt.runner, append(w.born(), w.reached("n1"))...)...)
		w.pass(10 * time.Second)
		w.tell(from(tt.kernel, w.entry(ingest.Kernel, "Kernel panic - not syncing: Fatal exception"),
			w.reached("n1"))...)
		w.pass(3 * time.Minute)
		w.due()
		w.pass(3 * time.Minute)
		w.due()
		w.want(fmt.Sprintf("%+v", tt), pod+" "+tt.want+" 1")
	}
}

// A node that falls silent, and one that is heard of again, is of its cluster: who
// runs on the node of that name in another one is not judged for it.
func TestSilenceOfANodeOfAnotherCluster(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(from("west", append(w.born(), w.reached("n1"))...)...)
	w.tell(from("east", w.reached("n1"))...)
	for range 4 {
		w.pass(time.Minute)
		w.tell(from("west", w.reached("n1"))...)
		w.due()
	}
	nodes, err := w.ledger.Nodes(context.Background())
	if err != nil || len(nodes) != 2 || !nodes[0].Silent || nodes[1].Silent {
		t.Errorf("east is silent, west is not: %+v %v", nodes, err)
	}
	w.tell(from("east", w.reached("n1"))...)
	w.due()
	w.want("a runner that lives on")
}

// A controller's log that is behind holds up the verdicts of its own cluster only.
func TestControllerOfAnotherCluster(t *testing.T) {
	for cluster, want := range map[string][]string{"east": {pod + " cgroup-OOM 1"}, "west": nil} {
		w := newWorld(t, Options{})
		behind := w.reached("n9")
		behind.Source = ingest.Controller
		w.tell(from(cluster, behind)...)
		w.tell(from("west", append(w.born(), w.oom())...)...)
		w.tell(from("west", w.died(137)...)...)
		w.pass(10 * time.Second)
		w.tell(from("west", w.reached("n1"))...)
		w.due()
		w.want("a controller of "+cluster+" that is behind", want...)
	}
}
