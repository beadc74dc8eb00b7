package docket

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"

	"github.com/google/go-cmp/cmp"
)

// What a batch has in hand makes it quicker and nothing else: the same lines in
// one push or one by one, in whatever order, make the same cases.
func TestOnePushIsAsManyPushes(t *testing.T) {
	for seed := range uint64(4) {
		w := town{nodes: 2}
		at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
		var all []ingest.Entry
		for i := range 6 {
			spoken := w.lives(i, at)[:8] // last words are filed at a push's end: they can come after what opens a case
			all = append(append(append(all, w.born(i, at)...), spoken...), w.dies(i, at)...)
		}
		all = append(all, w.marks(w.node(1), at, at)...)
		r := rand.New(rand.NewPCG(seed, 1))
		if seed > 0 {
			r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		}
		singly := make([][]ingest.Entry, len(all))
		for i := range all {
			singly[i] = all[i : i+1]
		}
		half := len(all) / 2
		want := casesOf(t, singly...)
		for what, got := range map[string]map[string]ledger.Case{
			"at once": casesOf(t, all), "in two": casesOf(t, all[:half], all[half:]),
		} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("seed %d, %s: %s", seed, what, diff)
			}
		}
	}
}

// Lines that come later move when a case was heard of, and nothing that they do
// not speak of.
func TestACaseIsHeardOf(t *testing.T) {
	x := newLoad(t, loadBook(t), 1)
	x.clock.at = x.clock.at.Add(time.Minute)
	tell := func(lines []ingest.Entry) (c ledger.Case) {
		x.tell(lines)
		all, err := x.ledger.Cases(context.Background(), ledger.StateOpen, 0)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if all[0].Version == 0 && len(lines) > 12 {
			t.Error("nobody who judges it can see that more was filed")
		}
		all[0].Version = 0
		return all[0]
	}
	want := tell(x.town.born(0, x.clock.at))
	x.clock.at = x.clock.at.Add(time.Minute)
	want.Heard = x.clock.at
	if diff := cmp.Diff(want, tell(x.town.lives(0, x.clock.at))); diff != "" {
		t.Error(diff)
	}
}

// casesOf are all cases after some pushes at one moment.
func casesOf(t *testing.T, pushes ...[]ingest.Entry) map[string]ledger.Case {
	x := newLoad(t, loadBook(t), 2)
	x.clock.at = x.clock.at.Add(time.Minute)
	for _, p := range pushes {
		if err := x.Receive(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	out := map[string]ledger.Case{}
	for _, state := range []ledger.State{ledger.StateOpen, ledger.StateEnding, ledger.StateJudged} {
		all, err := x.ledger.Cases(context.Background(), state, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range all {
			c.Version = 0 // how often it was written differs
			out[c.ID] = c
		}
	}
	return out
}

// A container's id leads to the case that took its pod's first case in, also when
// that one is of this very batch.
func TestTiesGoOverToACaseOfThisBatch(t *testing.T) {
	x := newLoad(t, loadBook(t), 1)
	err := x.ledger.Write(context.Background(), x.began, func(tx *ledger.Tx) error {
		h := newCaseCache(tx)
		twin := h.addCase(&cachedCase{Case: ledger.Case{ID: "first", Name: "p"}})
		whole := h.addCase(&cachedCase{Case: ledger.Case{ID: "whole", Name: "p", UID: "u"}})
		err := errors.Join(h.putCase(twin), tx.Tie("", "container", "first"), h.mergeInto(twin, whole))
		if id, _ := tx.FindID("", "", "", "", []string{"container"}); id != "whole" {
			t.Errorf("found %q", id)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
