package docket

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify"
	"coroner/classify/quota"
	"coroner/ingest"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A push waits for what stands before it, not for all that others have still to
// tell: much is filed in portions.
func TestMuchIsFiledInTurns(t *testing.T) {
	w := newWorld(t, Options{})
	filed := func() float64 { return testutil.ToFloat64(w.metrics.filed.WithLabelValues("evidence")) }
	ctx, stop := context.WithCancel(context.Background())
	var others sync.WaitGroup
	const clients, lines = 6, 100_000
	for i := range clients {
		others.Go(func() {
			all := make([]ingest.Entry, 0, lines)
			for j := range lines {
				e := w.entry(ingest.Runner, fmt.Sprintf("Successfully renew job %d", j))
				e.Pod, e.PodUID = fmt.Sprintf("p-%d-%d", i, j), ""
				all = append(all, e)
			}
			_ = w.Receive(ctx, all) // it is stopped
		})
	}
	for filed() < 1000 { // until they are at it
		runtime.Gosched()
	}
	for range 3 {
		before := filed()
		if err := w.Receive(context.Background(), w.born()); err != nil {
			t.Fatal(err)
		}
		if n := filed() - before; n > 3*maxTogether {
			t.Errorf("%.0f lines of others were filed first", n)
		}
	}
	stop()
	others.Wait()
	if n := filed(); n > clients*lines/2 {
		t.Errorf("%.0f lines were filed: there was nothing to wait for", n)
	}
}

// A portion is bounded by what its lines weigh.
func TestPortion(t *testing.T) {
	short, long := ingest.Entry{Text: "x"}, ingest.Entry{Text: strings.Repeat("x", ingest.MaxText)}
	many := func(e ingest.Entry, n int) (out []ingest.Entry) {
		for range n {
			out = append(out, e)
		}
		return out
	}
	for _, c := range []struct {
		entries    []ingest.Entry
		most, want int
	}{
		{many(short, 10), 100, 10}, {many(short, 500), 100, 100}, {many(long, 500), 170, 10}, {many(long, 2), 5, 1},
		{many(short, 1), 64, 1},
	} {
		if got := portionSize(c.entries, c.most); got != c.want {
			t.Errorf("%d entries, at most %d: %d, want %d", len(c.entries), c.most, got, c.want)
		}
	}
}

// Long recognised lines fill nothing: of a container a megabyte is kept, of a pod
// that names many three. The last words are kept.
func TestFloodOfBytes(t *testing.T) {
	w := newWorld(t, Options{})
	var flood []ingest.Entry
	for i := range 2000 {
		w.pass(time.Millisecond)
		e := w.entry(ingest.Runner, "Listening for Jobs "+strings.Repeat("x", 15<<10))
		if i >= 1000 {
			e.Container = fmt.Sprintf("c-%d", i)
		}
		flood = append(flood, e)
	}
	w.tell(flood...)
	found, err := w.ledger.Unseen(context.Background(), classify.KeyUID+uid, nil)
	size := 0
	for _, e := range found {
		size += len(e.Entry.Text)
	}
	if err != nil || size > quota.PodPrints*quota.MaxPrintedBytes+2*ingest.MaxText || size < quota.MaxPrintedBytes {
		t.Errorf("%d kB of %d records are kept: %v", size>>10, len(found), err)
	}
}

// However many pools logs speak of, few have a label of their own.
func TestPoolsAreBounded(t *testing.T) {
	w := newWorld(t, Options{})
	of := func(cluster, name string) pool { return w.metrics.whose(&rules.Verdict{Cluster: cluster, Pool: name}) }
	for i := range 3 * maxPools {
		of(fmt.Sprint("cluster-", i%2), fmt.Sprint("pool-", i))
	}
	known, other := of("cluster-1", "pool-7"), of("cluster-0", "pool-7")
	if known != (pool{"cluster-1", "pool-7"}) || other != (pool{name: "others"}) || len(w.metrics.pools) != maxPools {
		t.Errorf("%v %v; %d pools", known, other, len(w.metrics.pools))
	}
}
