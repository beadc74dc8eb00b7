package ledger

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coroner/rules"
)

// Every receiver gets each revision until it has it, over restarts, from when it was new on.
func TestDeliveries(t *testing.T) {
	path := newPlace(t)
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string, revision int) {
		t.Helper()
		now = now.Add(time.Second)
		v := rules.Verdict{Cluster: "east", Runner: id, Label: rules.NodeOOM, Revision: revision}
		err := l.Write(t.Context(), now, func(tx *Tx) error { return tx.AddVerdict(id, &v, now, false) })
		if err != nil {
			t.Fatal(err)
		}
	}
	due := func(receiver string) (out []string) {
		t.Helper()
		all, err := l.Deliveries(receiver).Due(t.Context(), now, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range all {
			out = append(out, fmt.Sprint(d.Case, "/", d.Verdict.Revision, "/", d.Attempts))
			if d.Verdict.Runner != d.Case || d.Recorded.IsZero() || d.Verdict.Cluster != "east" {
				t.Errorf("an item without its verdict: %+v", d)
			}
		}
		return out
	}
	want := func(receiver string, want ...string) {
		t.Helper()
		if got := due(receiver); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", receiver, got, want)
		}
	}
	put("old", 1)
	want("a")
	put("x", 1)
	want("b")
	put("x", 2)
	put("y", 1)
	want("a", "x/1/0", "x/2/0", "y/1/0")
	want("b", "x/2/0", "y/1/0")

	a := l.Deliveries("a")
	first, err := a.Due(t.Context(), now, 1)
	if err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	if err := a.Postpone(t.Context(), now, first[0], now.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	want("a", "x/2/0", "y/1/0")
	if err := a.Begin(t.Context(), now, first[0], "rerun: asked"); err != nil {
		t.Error(err)
	}
	rest, err := a.Due(t.Context(), now, 100)
	if err != nil {
		t.Fatal(err)
	}
	for i, note := range []string{"", "rerun it"} {
		if err := a.Done(t.Context(), now, rest[i], note); err != nil {
			t.Fatal(err)
		}
	}
	want("a")
	want("b", "x/2/0", "y/1/0") // it is another's
	for begins, n := range map[string]int{"rerun": 1, "rerun it": 1, "re%": 0} {
		if got, err := a.Noted(t.Context(), now.Add(-time.Hour), begins); got != n || err != nil {
			t.Errorf("%q: %d noted, %v", begins, got, err)
		}
	}
	if n, err := a.Noted(t.Context(), now.Add(time.Second), "rerun"); n != 0 || err != nil {
		t.Errorf("%d noted since, %v", n, err)
	}
	if n, err := a.Noted(t.Context(), time.Time{}, "rerun: "); n != 1 || err != nil {
		t.Errorf("%d begun, %v", n, err)
	}
	if note, err := a.Note(t.Context(), "x", 1); note != "rerun: asked" || err != nil {
		t.Errorf("%q %v", note, err)
	}
	if note, err := a.Note(t.Context(), "y", 1); note != "rerun it" || err != nil {
		t.Errorf("%q %v", note, err)
	}

	put("z", 1) // while nobody asks, and then the server ends
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want("a", "z/1/0")
	now = now.Add(time.Minute)
	want("a", "x/1/1", "z/1/0")
	want("b", "x/2/0", "y/1/0", "z/1/0")
	if n, err := l.Deliveries("a").Waiting(t.Context()); n != 2 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}

	// Verdicts that are swept take their deliveries with them, and what comes then is new.
	err = l.Write(t.Context(), now, func(tx *Tx) error {
		_, err := tx.Sweep(now.Add(time.Second), now.Add(-time.Hour))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want("a")
	if n, err := l.Deliveries("b").Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}
	put("late", 1)
	want("b", "late/1/0")
	put("long ago", 1)
	now = now.Add(3 * 24 * time.Hour)
	put("late", 2)
	want("b", "late/1/0", "late/2/0")
}

// A file of before has the table once it is opened.
func TestDeliveriesInAnEarlierFile(t *testing.T) {
	ofAFile(t)
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	err = l.Write(t.Context(), time.Now(), func(tx *Tx) error {
		_, err := tx.conn.Execute("DROP TABLE deliveries")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if l, err = Open(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Deliveries("a").Due(t.Context(), time.Now(), 1); err != nil {
		t.Error(err)
	}
}
