package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"coroner/classify/alike"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Charts count each runner once, by its latest verdict, when that was recorded;
// those of a narrow question are the same as those of everything.
func TestCounts(t *testing.T) {
	l := fresh(t)
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	add := func(id string, revision int, label rules.Label, node string, recorded time.Duration) {
		v := &rules.Verdict{Runner: id, Node: node, Pool: "p", Label: label, Revision: revision}
		if err := l.Write(t.Context(), start.Add(recorded),
			func(tx *Tx) error { return tx.AddVerdict(id, v, start, false) }); err != nil {
			t.Fatal(err)
		}
	}
	add("early", 1, rules.CgroupOOM, "n1", 10*time.Minute)
	add("a", 1, rules.Unknown, "n1", 20*time.Minute)
	add("a", 2, rules.CgroupOOM, "n1", 90*time.Minute)
	add("b", 1, rules.CgroupOOM, "n2", 59*time.Minute)
	add("c", 1, rules.HostTeardown, "n1", 60*time.Minute)
	add("d", 1, rules.HostTeardown, "", 119*time.Minute)
	add("e", 1, rules.Completed, "n2", 70*time.Minute)
	add("late", 1, rules.CgroupOOM, "n1", 120*time.Minute)
	died := []rules.Label{rules.CgroupOOM, rules.HostTeardown}
	spans := Spans{start, start.Add(2 * time.Hour), time.Hour}
	for _, q := range []Query{{Labels: died}, {Labels: died, Pool: "p"}} {
		q.Since, q.Until = start.Add(15*time.Minute), spans.To
		over, err1 := l.CountsOverTime(t.Context(), q, spans)
		by, err2 := l.CountsByNode(t.Context(), q, spans.To, 2)
		long, err3 := l.CountsByNode(t.Context(), q, spans.To.Add(1000*time.Hour), 2)
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"cgroup-OOM 10:00 1", "cgroup-OOM 11:00 1", "host-teardown 11:00 2"},
			words(over)); diff != "" {
			t.Error(diff)
		}
		for _, by := range [][]Count{by, long} {
			if diff := cmp.Diff([]string{"host-teardown 00:00 1", "cgroup-OOM n1 1", "host-teardown n1 1", " n2 1"},
				words(by)); diff != "" {
				t.Error(diff)
			}
		}
		if all, err := l.CountsByNode(t.Context(), q, spans.To, 9); err != nil || len(all) != 4 ||
			all[3].Label != rules.CgroupOOM {
			t.Errorf("%v %v", words(all), err)
		}
	}
	all, err := l.CountsOverTime(t.Context(), Query{Since: start}, spans)
	if err != nil || len(all) != 4 || all[2].Label != rules.Completed {
		t.Errorf("%v %v", words(all), err)
	}
}

func words(all []Count) (out []string) {
	for _, c := range all {
		where := c.Node
		if where == "" {
			where = c.From.UTC().Format("15:04")
		}
		out = append(out, fmt.Sprintf("%s %s %d", c.Label, where, c.N))
	}
	return out
}

// However many labels are asked for, those and no others come.
func TestLabels(t *testing.T) {
	l := fresh(t)
	all := append(slices.Clone(rules.Labels), "rack-fire") // the last is of a rulebook's own
	for i, label := range all {
		err := l.Write(t.Context(), time.Unix(int64(i), 0), func(tx *Tx) error {
			return tx.AddVerdict(string(label), &rules.Verdict{Label: label, Revision: 1}, time.Unix(1, 0), false)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range len(all) + 1 {
		want := all[:n]
		if n == 0 {
			want = all // none asked for is all
		}
		checkLabels(t, l, Query{Labels: all[:n]}, want)
		checkLabels(t, l, Query{Except: all[:n]}, all[n:])
	}
	checkLabels(t, l, Query{Labels: all[:9], Except: all[2:]}, all[:2])
	known, err := l.Labels(t.Context())
	slices.Sort(all)
	if diff := cmp.Diff(all, known); diff != "" || err != nil {
		t.Errorf("labels: %v %s", err, diff)
	}
}

// checkLabels compares the labels that a query finds, and those that it counts.
func checkLabels(t *testing.T, l *Ledger, q Query, want []rules.Label) {
	t.Helper()
	got, err := l.Verdicts(t.Context(), q)
	labels := []rules.Label{}
	for _, r := range slices.Backward(got) {
		labels = append(labels, r.Verdict.Label)
	}
	if diff := cmp.Diff(want, labels, cmpopts.EquateEmpty()); diff != "" || err != nil {
		t.Errorf("%v except %v: %v %s", q.Labels, q.Except, err, diff)
	}
	spans := Spans{From: time.Unix(0, 0), To: time.Unix(60, 0), Width: time.Minute}
	counts, err := l.CountsOverTime(t.Context(), q, spans)
	if len(counts) != len(want) || err != nil {
		t.Errorf("%v except %v: %d labels are counted of %d, %v", q.Labels, q.Except, len(counts), len(want), err)
	}
}

// A verdict is found by its case's name, by its pod's UID and by what it calls its
// runner, where only records said so and the case has no name or another.
func TestVerdictsByEveryName(t *testing.T) {
	l := fresh(t)
	err := l.Write(t.Context(), time.Unix(1e9, 0), func(tx *Tx) error {
		return errors.Join(
			tx.PutCase(Case{ID: "nameless", UID: "u1", State: StateOpen}),
			tx.AddVerdict("nameless", &rules.Verdict{Runner: "amber-1", PodUID: "u1", Revision: 1}, time.Time{}, false),
			tx.PutCase(Case{ID: "other", UID: "u2", Name: "pod-2", State: StateOpen}),
			tx.AddVerdict("other", &rules.Verdict{Runner: "amber-2", PodUID: "u2", Revision: 1}, time.Time{}, false),
			tx.PutCase(Case{ID: "bare", Name: "pod-4", State: StateOpen}),
			tx.AddVerdict("bare", &rules.Verdict{Runner: "pod-4", PodUID: "w4", Revision: 1}, time.Time{}, false),
			tx.PutCase(Case{ID: "same", UID: "u3", Name: "amber-3", State: StateOpen}),
			tx.AddVerdict("same", &rules.Verdict{Runner: "amber-3", PodUID: "u3", Revision: 1}, time.Time{}, false))
	})
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string][]string{
		"amber": {"nameless", "other", "same"}, "amber-1": {"nameless"}, "amber-2": {"other"}, "pod": {"bare", "other"},
		"w4": {"bare"}, "amber-3": {"same"}, "u1": {"nameless"}, "u": {"nameless", "other", "same"}, "amber-4": nil,
	} {
		got, err := l.Verdicts(t.Context(), Query{Runner: asked})
		var ids []string
		for _, r := range got {
			ids = append(ids, r.Case)
		}
		slices.Sort(ids)
		if diff := cmp.Diff(want, ids); diff != "" || err != nil {
			t.Errorf("%s: %v %s", asked, err, diff)
		}
	}
}

// The runners on a node are those that had come and had not gone; one that
// lives counts however quiet it is.
func TestRunnersOn(t *testing.T) {
	l := fresh(t)
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	at := func(m int) time.Time { return start.Add(time.Duration(m) * time.Minute) }
	err := l.Write(t.Context(), start, func(tx *Tx) error {
		put := func(id, node string, runner bool, state State, opened, heard int) error {
			return tx.PutCase(Case{
				ID:     id,
				Name:   id,
				Node:   node,
				Runner: runner,
				State:  state,
				Opened: at(opened),
				Heard:  at(heard),
			})
		}
		return errors.Join(put("there", "n1", true, StateJudged, 0, 30), put("gone", "n1", true, StateJudged, 0, 9),
			put("quiet", "n1", true, StateOpen, 0, 1),
			put("later", "n1", true, StateOpen, 40, 50), put("elsewhere", "n2", true, StateOpen, 0, 30),
			put("no-runner", "n1", false, StateOpen, 0, 30))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.RunnersOn(t.Context(), "", "n1", at(10), at(30)); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

// What is counted of ends is that of the latest revisions, the latest recorded first, as many
// as are asked for; a pool's past is counted by label and cluster.
func TestEnds(t *testing.T) {
	l := fresh(t)
	if at, err := l.Oldest(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("of nothing the oldest is %s %v", at, err)
	}
	add := func(id string, revision int, at int, change func(*rules.Verdict)) {
		v := verdict(id, revision)
		v.Pool, v.Node, v.Job.Repository, v.Label = "p", "n", "o/r", rules.CgroupOOM
		if change != nil {
			change(v)
		}
		write(t, l, after(at), func(tx *Tx) error { return tx.AddVerdict(v.Cluster+id, v, after(at), false) })
	}
	died := after(5)
	add("a", 1, 10, nil)
	add("b", 1, 20, func(v *rules.Verdict) { v.Label, v.DiedAt = rules.Completed, &died })
	add("c", 1, 30, func(v *rules.Verdict) { v.Cluster, v.Pool = "east", "q" })
	add("a", 2, 40, func(v *rules.Verdict) { v.Label = rules.HostTeardown })
	ends := get(l.Ends(t.Context(), Query{Since: after(15)}, 9))(t)
	if len(ends) != 3 || ends[0].Label != rules.HostTeardown || !ends[0].Recorded.Equal(after(40)) ||
		ends[1].Cluster != "east" || ends[1].Pool != "q" || ends[1].Node != "n" || ends[1].Repository != "o/r" ||
		!ends[2].Died.Equal(died) {
		t.Errorf("%+v", ends)
	}
	if ends = get(l.Ends(t.Context(), Query{Except: []rules.Label{rules.HostTeardown}}, 1))(t); len(ends) != 1 ||
		ends[0].Cluster != "east" {
		t.Errorf("%+v", ends)
	}
	counts := get(l.CountsByPool(t.Context(), []string{"p", "q", "none"}, after(0), after(40)))(t)
	kind := alike.Of(verdict("a", 1)).Number()
	want := []PoolCount{{"", "p", rules.Completed, kind, 1}, {"east", "q", rules.CgroupOOM, kind, 1}}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Error(diff)
	}
	if counts = get(l.CountsByPool(t.Context(), nil, after(0), after(99)))(t); counts != nil {
		t.Errorf("of no pool: %v", counts)
	}
	if at := get(l.Arrived(t.Context()))(t); !at.IsZero() {
		t.Errorf("a record came at %s", at)
	}
	write(t, l, after(50), func(tx *Tx) error {
		told := line(after(1), "a line")
		_, err := tx.AddEvidence(&told, nil, false)
		return err
	})
	if at := get(l.Arrived(t.Context()))(t); !at.Equal(after(50)) {
		t.Errorf("the last record came at %s", at)
	}
	if at := get(l.Oldest(t.Context()))(t); !at.Equal(after(20)) {
		t.Errorf("the oldest is of %s", at)
	}
}
