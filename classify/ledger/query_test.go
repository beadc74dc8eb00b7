package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

// Charts count each runner once, by its latest verdict, when it died; one that
// was judged long after, or whose death has no time, when it was judged.
func TestCounts(t *testing.T) {
	l, err := Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	start := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	add := func(id string, revision int, label rules.Label, node string, died, recorded time.Duration) {
		v := &rules.Verdict{Runner: id, Node: node, Label: label, Revision: revision}
		if at := start.Add(died); died != 0 {
			v.DiedAt = &at
		}
		if err := l.Write(t.Context(), start.Add(recorded), func(tx *Tx) error { return tx.AddVerdict(id, v, start, false) }); err != nil {
			t.Fatal(err)
		}
	}
	add("a", 1, rules.Unknown, "n1", 5*time.Minute, 20*time.Minute)
	add("a", 2, rules.CgroupOOM, "n1", 5*time.Minute, 90*time.Minute)
	add("b", 1, rules.CgroupOOM, "n2", 15*time.Minute, 65*time.Minute)
	add("c", 1, rules.HostTeardown, "n1", 0, 70*time.Minute)
	add("d", 1, rules.HostTeardown, "n1", -99*time.Hour, 70*time.Minute)
	q := Query{Since: start}
	over, err1 := l.CountsOverTime(t.Context(), q, time.Hour)
	by, err2 := l.CountsByNode(t.Context(), Query{Since: start, Labels: []rules.Label{rules.CgroupOOM}})
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"cgroup-OOM 10:00 1", "cgroup-OOM 11:00 1", "host-teardown 11:00 2"}, words(over)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"cgroup-OOM n1 1", "cgroup-OOM n2 1"}, words(by)); diff != "" {
		t.Error(diff)
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
	_, err = l.write.Exec("DROP INDEX verdicts_counts; CREATE INDEX verdicts_last ON verdicts (last, recorded)")
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var names string
	if err := l.read.QueryRow("SELECT group_concat(name) FROM sqlite_master WHERE name IN ('verdicts_counts', 'verdicts_last')").Scan(&names); err != nil || names != "verdicts_counts" {
		t.Errorf("%s %v", names, err)
	}
}
