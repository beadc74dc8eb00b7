package ledger

import (
	"context"
	"testing"
	"time"
)

// People's questions can take long, and there can be many at one time. Neither the
// filing nor the judging nor the publishing waits for them.
func TestPeopleDoNotHoldUpTheJudging(t *testing.T) {
	l := fresh(t)
	putCases(t, l, Case{ID: "c", Name: "p", Runner: true, State: StateEnding, Died: t0, Due: t0})
	for range readers {
		asked, err := l.Search.pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = asked.Close() })
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := l.Revisions(ctx, "c"); err == nil {
		t.Fatal("one more question found a free connection: this test shows nothing")
	}
	write(t, l, t0, func(tx *Tx) error { return tx.AddVerdict("c", verdict("p", 1), t0, true) })
	if due := get(l.Pending(t.Context(), after(1), 0))(t); len(due) != 1 {
		t.Errorf("%d cases are due, want 1", len(due))
	}
	get(l.Quiet(t.Context(), t0))(t)
	if items := get(l.Outbox.Due(t.Context(), after(1), 10))(t); len(items) != 1 {
		t.Errorf("%d items in the outbox, want 1", len(items))
	}
	err := l.View(t.Context(), func(q Questions) error {
		_, ok, err := q.LastVerdict(t.Context(), "c")
		if !ok {
			t.Error("a view finds no verdict")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// A view answers every question as of its begin, whatever is written meanwhile.
func TestAViewIsConsistent(t *testing.T) {
	l := fresh(t)
	putCases(t, l, Case{ID: "a", Name: "a"})
	err := l.View(t.Context(), func(q Questions) error {
		if _, ok, err := q.Case(t.Context(), "a"); !ok || err != nil {
			t.Error("case a is not there", err)
		}
		putCases(t, l, Case{ID: "b", Name: "b"})
		_, ok, err := q.Case(t.Context(), "b")
		if ok {
			t.Error("the view sees a case that was written after its begin")
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if _, ok, err := l.Case(t.Context(), "b"); !ok || err != nil {
		t.Error("case b is not there after the view", err)
	}
}
