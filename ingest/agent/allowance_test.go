package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/podlog"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// printed is a line of a container.
func printed(pod, text string) ingest.Entry {
	return ingest.Entry{At: now, Clock: ingest.WallClock, Source: ingest.Runner, Node: "n1", Namespace: "ci", Pod: pod,
		PodUID: "uid-" + pod, Container: "runner", Text: text}
}

// A container that prints what looks like signals without end uses up its own
// allowance: what is sent of it has a bound, and so has the time that it takes; of
// others nothing is lost, nor of the kernel. What is not looked at is counted.
func TestAFloodIsNobodyElses(t *testing.T) {
	a := newTestAgent(t, t.TempDir(), newServer(t).URL, 1<<30)
	clock := now
	a.allow = newAllowance(func() time.Time { return clock })
	junk := printed("evil", "é No space left on device "+strings.Repeat("Job failed ERROR pods \" ", 600))
	const turns, perTurn = 200, 20
	want, lines := 0, 0
	for i := range turns { // 60 MB
		var batch []ingest.Entry
		for range perTurn {
			batch = append(batch, junk)
		}
		good := printed("good", fmt.Sprintf("Job a-%d completed with result: Succeeded", i))
		kernel := line(ingest.Kernel, strings.Replace(oom, "process 7", fmt.Sprint("process ", i), 1))
		batch = append(batch, good, kernel)
		want += 2
		lines += len(batch)
		if err := a.takePods(podlog.Batch{Entries: batch, Lines: len(batch)}); err != nil {
			t.Fatal(err)
		}
	}
	m := a.metrics
	matched := testutil.ToFloat64(m.matched.WithLabelValues(fromPods))
	flood := testutil.ToFloat64(m.dropped.WithLabelValues(fromPods, "flood"))
	if matched+flood != float64(lines) || flood < turns*perTurn*9/10 {
		t.Errorf("%.0f lines are matched, %.0f dropped, of %d", matched, flood, lines)
	}
	if int(matched) < want {
		t.Errorf("%.0f lines are matched, %d are to be", matched, want)
	}
	clock = clock.Add(time.Minute)
	if !a.allow.hasSome(&junk) || !a.allow.hasSome(ptr(printed("good", ""))) {
		t.Error("after a minute nothing more may be printed")
	}
}

func ptr[T any](v T) *T { return &v }

// What waits is put into the spool in pushes of a size that the server takes.
func TestPushesAreBoundedInBytes(t *testing.T) {
	long, short := line(ingest.Kernel, strings.Repeat("x", ingest.MaxText)), line(ingest.Kernel, "x")
	many := func(e ingest.Entry, n int) (out []ingest.Entry) {
		for range n {
			out = append(out, e)
		}
		return out
	}
	for _, c := range []struct{ entries, want int }{{1, 1}, {64, 64}, {65, 64}, {1000, 64}} {
		if got := pushLen(many(long, c.entries)); got != c.want {
			t.Errorf("%d long entries: %d, want %d", c.entries, got, c.want)
		}
	}
	if got := pushLen(many(short, 1000)); got != maxEntries {
		t.Errorf("%d short entries", got)
	}
	a := newTestAgent(t, t.TempDir(), newServer(t).URL, 1<<30)
	for range 1000 {
		a.addEvidence(&long)
		if a.queue.held > maxHeldBytes {
			t.Fatalf("%d bytes wait", a.queue.held)
		}
	}
}
