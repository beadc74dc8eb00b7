package lookup

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
	"coroner/rules/casefile"
)

// onPool is a verdict on a pool.
func onPool(name string, state rules.State) *rules.Verdict {
	since := t0.Add(-time.Hour)
	v := &rules.Verdict{Pool: name, Label: rules.PoolBlocked, Confidence: rules.Probable, Revision: 1,
		Summary: "It makes no runners.", Evidence: []rules.EvidenceLine{}, RuledOut: []rules.RuledOut{},
		Open: []rules.OpenLabel{}, Missing: []string{}}
	v.Kind, v.State, v.Since = casefile.OfPool, state, &since
	if state == rules.Resolved {
		v.Until = &t0
	}
	return v
}

// servePools is the API over two pools, of which one is well again, and a runner whose
// name begins like a pool's.
func servePools(t *testing.T) *API {
	a, _ := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		for _, v := range []*rules.Verdict{onPool("heron", rules.Open), onPool("egret", rules.Resolved)} {
			id := ledger.NewStandingID(casefile.OfPool, "", v.Pool)
			c := ledger.Case{
				ID:    id,
				Kind:  casefile.OfPool,
				Name:  v.Pool,
				State: ledger.StateJudged,
				Turn:  ledger.Turn{Episodes: 1},
			}
			put(t0, func(tx *ledger.Tx) error { return tx.PutCase(c) })
			put(t0, func(tx *ledger.Tx) error { return tx.AddVerdict(id, v, t0, false) })
		}
		put(t0, func(tx *ledger.Tx) error {
			return tx.AddVerdict("1", verdict("heron-x7k2m-runner-aq2wz", 1), t0, false)
		})
	})
	return a
}

// A pool is found by its name, beside the runners whose names begin so.
func TestPoolIsFoundByItsName(t *testing.T) {
	a := servePools(t)
	got, err := a.Search(context.Background(), "", "heron")
	if err != nil || len(got.Runners) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	pool := got.Runners[0]
	if pool.Kind != casefile.OfPool || pool.Pool != "heron" || pool.Runner != "" || pool.Verdict == nil {
		t.Errorf("%+v", pool)
	}
	if page := pool.Page(); page != "/pools/heron?case="+pool.ID {
		t.Errorf("page %s", page)
	}
	runner := got.Runners[1]
	if home := "/runners/arc/" + runner.Runner + "?case=1"; runner.Kind != casefile.OfRunner || runner.Page() != home {
		t.Errorf("%+v", runner)
	}
}

// What is wrong now is one question, whatever it is about.
func TestFiltersByKindAndState(t *testing.T) {
	a := servePools(t)
	pool, runner := casefile.OfPool, casefile.OfRunner
	for _, tt := range []struct {
		of   ledger.Standing
		want []string
	}{
		{ledger.Standing{Kind: &pool}, []string{"egret", "heron"}},
		{ledger.Standing{Kind: &runner}, []string{"heron-x7k2m-runner-aq2wz"}},
		{ledger.Standing{State: rules.Open}, []string{"heron"}},
		{ledger.Standing{State: rules.Resolved}, []string{"egret"}},
		{ledger.Standing{Kind: &runner, State: rules.Open}, nil},
	} {
		got, err := a.List(context.Background(), ledger.Query{Standing: tt.of, Limit: 10})
		names := map[string]bool{}
		for i := range got {
			names[got[i].About()] = true
		}
		for _, name := range tt.want {
			if !names[name] {
				t.Errorf("%+v: %s is missing", tt.of, name)
			}
		}
		if len(got) != len(tt.want) || err != nil {
			t.Errorf("%+v: %d verdicts, %v", tt.of, len(got), err)
		}
	}
}

// The words of the wire are public.
func TestPoolOnTheWire(t *testing.T) {
	data, err := json.Marshal(Recorded{Verdict: *onPool("heron", rules.Resolved)})
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]any{}
	if err := json.Unmarshal(data, &said); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"kind": "pool", "state": "resolved", "since": "2026-05-04T09:00:00Z", "until": "2026-05-04T10:00:00Z",
		"pool": "heron", "runner": "",
	} {
		if said[name] != want {
			t.Errorf("%s is %v, want %v", name, said[name], want)
		}
	}
}
