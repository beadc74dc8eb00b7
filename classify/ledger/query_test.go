package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

// Charts count each runner once, by its latest verdict, when that was recorded;
// those of a narrow question are the same as those of everything.
func TestCounts(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	add := func(id string, revision int, label rules.Label, node string, recorded time.Duration) {
		v := &rules.Verdict{Runner: id, Node: node, Pool: "p", Label: label, Revision: revision}
		if err := l.Write(t.Context(), start.Add(recorded), func(tx *Tx) error { return tx.AddVerdict(id, v, start, false) }); err != nil {
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
		if diff := cmp.Diff([]string{"cgroup-OOM 10:00 1", "cgroup-OOM 11:00 1", "host-teardown 11:00 2"}, words(over)); diff != "" {
			t.Error(diff)
		}
		for _, by := range [][]Count{by, long} {
			if diff := cmp.Diff([]string{"host-teardown 00:00 1", "cgroup-OOM n1 1", "host-teardown n1 1", " n2 1"}, words(by)); diff != "" {
				t.Error(diff)
			}
		}
		if all, err := l.CountsByNode(t.Context(), q, spans.To, 9); err != nil || len(all) != 4 || all[3].Label != rules.CgroupOOM {
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
	l, err := Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, label := range rules.Labels {
		err := l.Write(t.Context(), time.Unix(int64(i), 0), func(tx *Tx) error {
			return tx.AddVerdict(string(label), &rules.Verdict{Label: label, Revision: 1}, time.Unix(1, 0), false)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range len(rules.Labels) + 1 {
		want := rules.Labels[:n]
		if n == 0 {
			want = rules.Labels // none asked for is all
		}
		got, err := l.Verdicts(t.Context(), Query{Labels: rules.Labels[:n]})
		var labels []rules.Label
		for _, r := range slices.Backward(got) {
			labels = append(labels, r.Verdict.Label)
		}
		if diff := cmp.Diff(want, labels); diff != "" || err != nil {
			t.Errorf("%d labels: %v %s", n, err, diff)
		}
	}
}

// The runners on a node are those that had come and had not gone; one that
// lives counts however quiet it is.
func TestRunnersOn(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	at := func(m int) time.Time { return start.Add(time.Duration(m) * time.Minute) }
	err = l.Write(t.Context(), start, func(tx *Tx) error {
		put := func(id, node string, runner bool, state State, opened, heard int) error {
			return tx.PutCase(Case{ID: id, Name: id, Node: node, Runner: runner, State: state, Opened: at(opened), Heard: at(heard)})
		}
		return errors.Join(put("there", "n1", true, StateJudged, 0, 30), put("gone", "n1", true, StateJudged, 0, 9), put("quiet", "n1", true, StateOpen, 0, 1),
			put("later", "n1", true, StateOpen, 40, 50), put("elsewhere", "n2", true, StateOpen, 0, 30), put("no-runner", "n1", false, StateOpen, 0, 30))
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := l.RunnersOn(t.Context(), "n1", at(10), at(30)); n != 2 || err != nil {
		t.Errorf("%d %v", n, err)
	}
}

// A ledger of an earlier version gets the index that it lacks.
func TestOlderLedger(t *testing.T) {
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = l.pen.conn.ExecContext(t.Context(), "DROP INDEX last_node; CREATE INDEX verdicts_last ON verdicts (last, recorded)")
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var names string
	if err := l.read.QueryRow("SELECT group_concat(name) FROM sqlite_master WHERE name IN ('last_node', 'verdicts_last')").Scan(&names); err != nil || names != "last_node" {
		t.Errorf("%s %v", names, err)
	}
}
