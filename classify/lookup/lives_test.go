package lookup_test

import (
	"path/filepath"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/rules"
)

// Who asks for a runner whose container died twice gets both deaths, the last one
// first, each under the runner's name and with an address of its own.
func TestEveryLifeIsFound(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "coroner.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	const uid = "0b1f6f52-7a3c-4c1f-9a52-6d1f3a7c2b10"
	base := ledger.NewCaseID("", "ci", "amber-4kx2p", uid)
	err = l.Write(t.Context(), now, func(tx *ledger.Tx) error {
		for attempt := 1; attempt <= 2; attempt++ {
			died := now.Add(time.Duration(attempt) * time.Minute)
			v := rules.Verdict{Label: rules.CgroupOOM, Confidence: rules.Confirmed, Runner: "amber-4kx2p",
				Namespace: "ci",
				PodUID:    uid, Node: "build-7", Standing: rules.Standing{Attempt: attempt}, Revision: 1, DiedAt: &died}
			if err := tx.AddVerdict(ledger.LifeID(base, attempt), &v, died, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	api := lookup.API{Source: l, Now: func() time.Time { return now }}
	for _, name := range []string{"amber-4kx2p", "ci/amber-4kx2p", uid} {
		got, err := api.Find(t.Context(), "", name)
		if err != nil || !got.Exact || len(got.Runners) != 2 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		for i, attempt := range []int{2, 1} {
			r := got.Runners[i]
			if r.Runner != "amber-4kx2p" || r.PodUID != uid || r.Node != "build-7" || r.Verdict == nil ||
				r.Verdict.Attempt != attempt {
				t.Errorf("%s: runner %d is %+v", name, i, r)
			}
		}
	}
	if one, err := api.Named(t.Context(), ledger.LifeID(base, 2)); err != nil || len(one.Runners) != 1 ||
		one.Runners[0].Runner != "amber-4kx2p" {
		t.Errorf("by its own address: %+v, %v", one, err)
	}
}
