package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

func openNew(t *testing.T) *Ledger {
	t.Helper()
	return fresh(t)
}

// A list that is read some at a time is the whole list, once, in its order, however
// many verdicts were recorded at one time.
func TestNextGivesAll(t *testing.T) {
	l := openNew(t)
	const n = 3*perBriefPage + 7
	for i := 0; i < n; i += 50 {
		err := l.Write(t.Context(), t0.Add(time.Duration(i/200)*time.Second), func(tx *Tx) (err error) {
			for j := i; j < min(i+50, n) && err == nil; j++ {
				err = tx.AddVerdict(fmt.Sprintf("%06d", (j*7919)%1_000_003), verdict(fmt.Sprint("r-", j), 1), t0, false)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, brief := range []bool{false, true} {
		for _, limit := range []int{0, 1, perPage, perPage + 1, perBriefPage, n, n + 1} {
			got := get(l.Verdicts(t.Context(), Query{Limit: limit, Brief: brief}))(t)
			want := n
			if limit > 0 {
				want = min(limit, n)
			}
			seen := map[string]bool{}
			for i, r := range got {
				if i > 0 {
					before := got[i-1]
					if r.Recorded.After(before.Recorded) || r.Recorded.Equal(before.Recorded) && r.Case <= before.Case {
						t.Fatalf("limit %d: %s at %s after %s at %s", limit, r.Case, r.Recorded, before.Case,
							before.Recorded)
					}
				}
				seen[r.Case] = true
			}
			if len(got) != want || len(seen) != want {
				t.Errorf("limit %d: %d verdicts of %d cases, want %d", limit, len(got), len(seen), want)
			}
		}
	}
}

// A brief verdict is a whole one but for its evidence and what follows it, whatever
// its texts look like; of one that is as large as they once were it is said how much
// is not read.
func TestParts(t *testing.T) {
	l := openNew(t)
	tricky := verdict("tricky", 1)
	tricky.Summary = `x","evidence":[{}],"y":"` + "\x00\xff" + `é,"evidence":`
	tricky.Job.Name = `,"evidence":`
	fat := verdict("fat", 1)
	for range 300 {
		fat.Evidence = append(fat.Evidence, rules.EvidenceLine{Text: strings.Repeat("x", 16<<10) + `"evidence":`})
	}
	for id, v := range map[string]*rules.Verdict{"tricky": tricky, "fat": fat, "usual": verdict("usual", 1)} {
		if err := l.Write(t.Context(), t0, func(tx *Tx) error { return tx.AddVerdict(id, v, t0, true) }); err != nil {
			t.Fatal(err)
		}
	}
	whole := func(name string) rules.Verdict {
		all := get(l.Revisions(t.Context(), name))(t)
		if len(all) != 1 {
			t.Fatalf("%s: %d revisions", name, len(all))
		}
		return all[0].Verdict
	}
	for _, r := range get(l.Verdicts(t.Context(), Query{Brief: true}))(t) {
		want := whole(r.Verdict.Runner)
		want.Evidence, want.RuledOut, want.Open, want.Missing = r.Verdict.Evidence, r.Verdict.RuledOut, r.Verdict.Open,
			r.Verdict.Missing
		want.EvidenceOmitted = 0
		if diff := cmp.Diff(want, r.Verdict); diff != "" || len(r.Verdict.Evidence) != 0 || r.Verdict.Evidence == nil {
			t.Errorf("%s: %s", r.Verdict.Runner, diff)
		}
	}
	if v := whole("fat"); len(v.Evidence) != 0 || v.EvidenceOmitted != 301 || v.Summary != "limit" {
		t.Errorf("%d lines, %d omitted, %q", len(v.Evidence), v.EvidenceOmitted, v.Summary)
	}
	if v := whole("usual"); len(v.Evidence) != 1 || v.EvidenceOmitted != 0 || len(v.Missing) != 1 {
		t.Errorf("%+v", v)
	}
	for _, x := range get(l.Outbox.Due(t.Context(), t0, 10))(t) {
		if len(x.Verdict.Evidence) > 1 {
			t.Errorf("%s is published with %d lines", x.Verdict.Runner, len(x.Verdict.Evidence))
		}
	}
}

// Of very many revisions the latest are read.
func TestManyRevisions(t *testing.T) {
	l := openNew(t)
	const n = maxRevisions + 20
	for i := range n {
		if err := l.Write(t.Context(), t0,
			func(tx *Tx) error { return tx.AddVerdict("a", verdict("a", i+1), t0, false) }); err != nil {
			t.Fatal(err)
		}
	}
	all := get(l.Revisions(t.Context(), "a"))(t)
	if len(all) != maxRevisions || all[0].Verdict.Revision != 21 || all[len(all)-1].Verdict.Revision != n {
		t.Errorf("%v", revisions(all))
	}
}
