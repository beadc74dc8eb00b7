package ledger

import (
	"fmt"
	"testing"
	"time"

	"coroner/rules"
)

// What a runner that ended well left is taken out of its verdict, a death's and what is still to
// be published stays, and so does all that is newer; more than one call has, the next has.
func TestThin(t *testing.T) {
	l := fresh(t)
	const many = maxSwept + 7
	add := func(at time.Time, id string, label rules.Label, publish bool) {
		write(t, l, at, func(tx *Tx) error {
			v := verdict(id, 1)
			v.Label = label
			v.Evidence = []rules.EvidenceLine{{Text: "a"}, {Text: "b"}}
			v.RuledOut = []rules.RuledOut{{Label: rules.CgroupOOM, Because: "none"}}
			return tx.AddVerdict(id, v, t0, publish)
		})
	}
	write(t, l, after(-5), func(tx *Tx) error { // of one moment
		for i := range many {
			v := verdict(fmt.Sprint("well-", i), 1)
			v.Label, v.Evidence = rules.Completed, []rules.EvidenceLine{{Text: "a"}}
			if err := tx.AddVerdict(fmt.Sprint("well-", i), v, t0, false); err != nil {
				return err
			}
		}
		return nil
	})
	add(after(-4), "idle", rules.IdleRemoved, false)
	add(after(-4), "dead", rules.CgroupOOM, false)
	add(after(-4), "unsent", rules.Completed, true)
	add(after(2), "late", rules.Completed, false)
	thinned := int64(0)
	for range 5 {
		write(t, l, after(9), func(tx *Tx) error {
			s, err := tx.Thin(after(0))
			thinned += s.Completed
			return err
		})
	}
	if thinned != many+1 {
		t.Errorf("%d verdicts were changed, want %d", thinned, many+1)
	}
	for id, kept := range map[string]int{"well-3": 0, "idle": 0, "dead": 2, "unsent": 2, "late": 2} {
		r, ok, err := l.LastVerdict(t.Context(), id)
		if err != nil || !ok {
			t.Fatalf("%s: %v %v", id, ok, err)
		}
		v := r.Verdict
		if len(v.Evidence) != kept || v.EvidenceRemoved != (kept == 0) {
			t.Errorf("%s: %d lines, removed: %v", id, len(v.Evidence), v.EvidenceRemoved)
		}
		if id == "idle" && (v.EvidenceOmitted != 2 || len(v.RuledOut) != 1 || v.Label != rules.IdleRemoved) {
			t.Errorf("%s: %+v", id, v)
		}
	}
	add(after(3), "next", rules.Completed, false)
	write(t, l, after(9), func(tx *Tx) error {
		if s, err := tx.Thin(after(4)); s.Completed != 2 || err != nil { // and the late one
			t.Errorf("%+v %v", s, err)
		}
		return nil
	})
}
