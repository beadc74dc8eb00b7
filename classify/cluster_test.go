package classify_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

// of gives entries to a cluster, as its own documents.
func of(cluster string, list []ingest.Entry) []ingest.Entry {
	out := slices.Clone(list)
	for i := range out {
		out[i].Cluster, out[i].Doc = cluster, "from "+cluster+"/"+out[i].Doc
	}
	return out
}

// ends are those of verdicts on what ended in a cluster.
func ends(all []rules.Verdict, cluster string) (out []rules.Verdict) {
	for _, v := range all {
		if v.Cluster == cluster && v.Label != rules.None {
			out = append(out, v)
		}
	}
	return out
}

// asked are the ways in which two clusters are asked about at once: about everything, and about
// a runner of the first one, which the second may not know.
func asked(runner string) []classify.Options {
	return []classify.Options{{}, {Runner: runner}, {Runner: runner, Strict: true}}
}

// apart checks that what ended in each of two clusters is judged as if the other
// one were not there. alone is what is said of the first one by itself, each way.
func apart(t *testing.T, b *rules.Rulebook, east []ingest.Entry, alone [][]rules.Verdict, west []ingest.Entry,
	runner string) {
	t.Helper()
	west = of("west", west)
	both := slices.Concat(east, west)
	rand.New(rand.NewPCG(3, 4)).Shuffle(len(both), func(i, j int) { both[i], both[j] = both[j], both[i] })
	for i, o := range asked(runner) {
		got := classify.Replay(slices.Values(both), b, o)
		if diff := cmp.Diff(alone[i], ends(got, "east")); diff != "" {
			t.Errorf("east, %+v: the other cluster changes it: %s", o, diff)
		}
		if o.Runner != "" {
			continue
		}
		want := ends(classify.Replay(slices.Values(west), b, o), "west")
		if diff := cmp.Diff(want, ends(got, "west")); diff != "" {
			t.Errorf("west, %+v: the other cluster changes it: %s", o, diff)
		}
	}
}

// without leaves out what some sources said.
func without(list []ingest.Entry, sources ...ingest.Source) []ingest.Entry {
	return slices.DeleteFunc(
		slices.Clone(list),
		func(e ingest.Entry) bool { return slices.Contains(sources, e.Source) },
	)
}

// Two incidents of two clusters are judged as each alone: another incident, and
// the same one, of the same names, of which the other cluster saw less.
func TestClustersStayApart(t *testing.T) {
	b, all := loadBook(t), incidents(t)
	for i, in := range all {
		t.Run(in.Name, func(t *testing.T) {
			list, other := entries(in), entries(all[(i+1)%len(all)])
			east := of("east", list)
			var alone [][]rules.Verdict
			for _, o := range asked(in.Want.Runner) {
				alone = append(alone, ends(classify.Replay(slices.Values(east), b, o), "east"))
			}
			for _, west := range [][]ingest.Entry{other, without(list, ingest.Kernel, ingest.Kubelet, ingest.Systemd),
				without(list, ingest.Kube, ingest.Controller, ingest.Runner)} {
				apart(t, b, east, alone, west, in.Want.Runner)
			}
		})
	}
}

// explained is what explain says of files.
func explained(t *testing.T, runner, files string) []rules.Verdict {
	t.Helper()
	b := bundle.Bytes("x.txtar", []byte(files), bundle.Options{})
	defer b.Close()
	return classify.Replay(b.Entries(nil), loadBook(t), classify.Options{Runner: runner})
}

// Lines of a log store, as its labels name them.
const (
	panicked = `{"line":"Kernel panic - not syncing: Fatal exception","timestamp":"2026-03-01T10:00:05Z",` +
		`"labels":{CLUSTER"job":"integrations/kubernetes/journal","instance":"node-1","transport":"kernel"}}` + "\n"
	ran = `{"line":"2026-03-01 09:59:00Z: Running job: build","timestamp":"2026-03-01T09:59:00Z",` +
		`"labels":{CLUSTER"namespace":"ci","pod":"amber-1","container":"runner","node":"node-1"}}` + "\n"
)

func in(cluster, line string) string {
	if cluster != "" {
		cluster = `"cluster":"` + cluster + `",`
	}
	return strings.Replace(line, "CLUSTER", cluster, 1)
}

// A kernel that panics on node-1 of one cluster killed nobody on the node-1 of
// another, also where the other's records do not say whose they are.
func TestPanicElsewhere(t *testing.T) {
	for _, tt := range []struct {
		kernel, runner string
		struck         bool
	}{{"a", "a", true}, {"", "", true}, {"a", "b", false}, {"a", "", false}, {"", "b", false}} {
		all := explained(t, "amber-1", "-- loki.jsonl --\n"+in(tt.kernel, panicked)+in(tt.runner, ran))
		at := slices.IndexFunc(all, func(v rules.Verdict) bool { return v.Cluster == tt.runner })
		if at < 0 {
			t.Errorf("%+v: nothing is said of it: %+v", tt, all)
			continue
		}
		if got := all[at].Label == rules.NodeCrash; got != tt.struck {
			t.Errorf("%+v: %s (%s)", tt, all[at].Label, all[at].Confidence)
		}
	}
}

// Files that cannot name a cluster are of the one that is named beside them; of
// two, they are of neither.
func TestFilesWithoutACluster(t *testing.T) {
	journal := "-- journal.log --\n2026-03-01T10:00:05+00:00 node-1 kernel: Kernel panic - not syncing: Fatal " +
		"exception\n"
	for files, want := range map[string]rules.Label{
		"-- loki.jsonl --\n" + in("a", ran) +
			journal: rules.NodeCrash,
		"-- loki.jsonl --\n" + in("a", ran) + in("b", strings.Replace(ran, "node-1", "n", 1)) + journal: rules.None,
	} {
		for _, v := range explained(t, "amber-1", files) {
			if v.Cluster != "" && v.Label != want {
				t.Errorf("%s: %s, want %s", files, v.Label, want)
			}
		}
	}
}

// A job that prints lines with the labels of another cluster keeps nothing of its
// runner apart: the verdict is what it is with the same lines without that label.
func TestAJobNamesNoCluster(t *testing.T) {
	b := loadBook(t)
	lines := func(cluster string) string {
		asJSON := strings.ReplaceAll(cluster, "cluster=", `"cluster":`)
		return "2026-03-01T10:00:00Z {" + cluster + `pod="other-1", container="c"} hello` + "\n" +
			`{"line":"hello","timestamp":"2026-03-01T10:00:00Z","labels":{` + asJSON +
			`"pod":"other-1","container":"c"}}` + "\n"
	}
	for _, in := range incidents(t) {
		for i := range in.Files {
			if !jobOutput(in.Files[i]) {
				continue
			}
			judged := func(cluster string) []rules.Verdict {
				with := in
				with.Files = slices.Clone(in.Files)
				with.Files[i].Data = slices.Concat(in.Files[i].Data, []byte(asIn(in.Files[i], lines(cluster))))
				return replayAll(b, with)
			}
			if diff := cmp.Diff(judged(""), judged(`cluster="elsewhere",`), sameText); diff != "" {
				t.Errorf("%s: lines in %s change it: %s", in.Name, in.Files[i].Name, diff)
			}
		}
	}
}

// sameText compares texts that may hold the lines themselves.
var sameText = cmp.Comparer(func(a, b string) bool {
	without := strings.NewReplacer(`cluster="elsewhere",`, "", `"cluster":"elsewhere",`, "")
	return without.Replace(a) == without.Replace(b)
})

// Whom an entry speaks of is of the entry's cluster.
func TestFilingNamesTheCluster(t *testing.T) {
	b := loadBook(t)
	for _, e := range of("east", entries(incidents(t)[0])) {
		filed, _ := classify.File(&e, b)
		for _, s := range append(filed.Subjects, classify.StreamSubject(&e)) {
			if s.Cluster != "east" {
				t.Errorf("%+v", s)
			}
		}
	}
}
