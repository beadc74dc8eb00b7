package docket

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// listener is a line of the log of the pool's listener.
func (w *world) listener(message, fields string) ingest.Entry {
	e := w.entry(ingest.Listener, "")
	e.Node, e.Namespace, e.Pod, e.Container = "n2", "arc-systems", "heron-754b578d-listener", "listener"
	e.Text = fmt.Sprintf("%s\tINFO\tlistener-app.listener\t%s\t%s", e.At.Format(time.RFC3339), message, fields)
	return e
}

// decision is what the listener wants for the jobs that are assigned.
func (w *world) decision(assigned, wanted int) ingest.Entry {
	const fields = `{"assigned job": %d, "decision": %d, "min": 0, "max": 10, "currentRunnerCount": 0}`
	return w.listener("Calculated target runner count", fmt.Sprintf(fields, assigned, wanted))
}

// stuck tells of assigned jobs for which no runner is wanted, for some minutes.
func (w *world) stuck(minutes int) {
	for range minutes {
		w.tell(w.decision(3, 0))
		w.pass(time.Minute)
		w.due()
	}
}

// pools are the verdicts on pools, the latest recorded last.
func (w *world) pools() (out []string) {
	w.t.Helper()
	pool := casefile.OfPool
	q := ledger.Query{Standing: ledger.Standing{Kind: &pool}, Limit: 100}
	records, err := w.ledger.Verdicts(context.Background(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range slices.Backward(records) {
		v := &r.Verdict
		out = append(out, fmt.Sprintf("%s %s %s %d", v.Pool, v.Label, v.State, v.Revision))
	}
	return out
}

func (w *world) wantPools(what string, want ...string) {
	w.t.Helper()
	if got := w.pools(); !slices.Equal(got, want) {
		w.t.Fatalf("%s: got %q, want %q", what, got, want)
	}
}

// A pool that stands still has an open verdict within two minutes; when it is served
// again a revision says so, and the next time is an episode of its own. A server that is
// started anew in between goes on.
func TestPoolIsJudgedWhileItLasts(t *testing.T) {
	w := newWorld(t, Options{})
	w.stuck(1)
	w.wantPools("one sample says nothing")
	w.stuck(2)
	w.wantPools("it stands still", "heron listener-down open 1")
	w.restart()
	w.stuck(3)
	w.wantPools("it still does", "heron listener-down open 1")
	w.tell(w.decision(3, 3))
	w.pass(time.Minute)
	w.due()
	w.wantPools("it is served again", "heron listener-down resolved 2")
	w.pass(time.Hour)
	w.restart()
	w.stuck(3)
	w.wantPools("the next time", "heron listener-down resolved 2", "heron listener-down open 1")
	w.tell(w.decision(0, 0))
	w.pass(time.Minute)
	w.due()
	w.wantPools("and its end", "heron listener-down resolved 2", "heron listener-down resolved 2")
}

// The times stay those of the first sign, however long it lasts.
func TestPoolVerdictKnowsSinceWhen(t *testing.T) {
	w := newWorld(t, Options{})
	began := w.clock.at
	w.stuck(3)
	w.pass(8 * time.Hour)
	w.stuck(1)
	w.tell(w.decision(1, 1))
	ended := w.clock.at
	w.pass(time.Minute)
	w.due()
	q := ledger.Query{Standing: ledger.Standing{State: rules.Resolved}, Limit: 10}
	found, err := w.ledger.Verdicts(context.Background(), q)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	v := found[0].Verdict
	if v.Since == nil || !v.Since.Equal(began) || v.Until == nil || !v.Until.Equal(ended) {
		t.Errorf("since %v until %v, want %v and %v", v.Since, v.Until, began, ended)
	}
}

// What is over before anybody felt it gives no verdict, and neither does a pool that is
// well, however much its listener says.
func TestPoolThatIsWellIsSilent(t *testing.T) {
	w := newWorld(t, Options{})
	for i := range 120 {
		w.tell(w.decision(i%3, i%3), w.listener("Getting next message", `{"lastMessageID": 4}`))
		if i%40 == 7 {
			w.tell(w.listener("Failed to get message, retrying", `{"error": "connection reset by peer"}`))
		}
		w.pass(20 * time.Second)
		w.due()
	}
	w.wantPools("a pool that is well")
}

// A listener that is there again says so once and then waits in silence. It had said the same
// a moment before it was taken away.
func TestListenerIsBackSoon(t *testing.T) {
	w := newWorld(t, Options{})
	polls := func() { w.tell(w.listener("Getting next message", `{"lastMessageID": 4}`)) }
	removed := func() {
		e := w.entry(ingest.Controller, "")
		e.Text = e.At.Format(time.RFC3339) + "\tINFO\tAutoscalingRunnerSet\tLatest runner set spec hash does not " +
			"match the current autoscaling runner set. Waiting for the running and pending runners to finish\t" +
			`{"version": "0.6.1", "autoscalingrunnerset": "ci/heron"}`
		w.tell(e)
	}
	polls()
	w.pass(5 * time.Second)
	removed()
	w.pass(46 * time.Second)
	w.due()
	w.wantPools("it is taken away", "heron listener-down open 1")
	w.pass(2 * time.Second)
	polls()
	w.pass(10 * time.Second)
	w.due()
	w.wantPools("it is back", "heron listener-down resolved 2")
}

// A set whose runners failed blocks its pool until it has others.
func TestSetThatFailedIsBlocked(t *testing.T) {
	w := newWorld(t, Options{})
	set := func(failed int) {
		e := w.entry(ingest.Kube, fmt.Sprintf("ephemeral runner set pool=heron wanted=2 failed=%d", failed))
		e.Node, e.Namespace = "", "ci"
		e.Fields = map[string]string{"msg": "ephemeral runner set", "pool": "heron", "wanted": "2",
			"failed": fmt.Sprint(failed)}
		w.tell(e)
		w.pass(time.Minute)
		w.due()
	}
	set(0)
	w.wantPools("all is well")
	set(2)
	w.wantPools("both failed", "heron pool-blocked open 1")
	set(0)
	w.wantPools("they are gone", "heron pool-blocked resolved 2")
}

// A pool of which nobody speaks any more counts as well after a day, and says why. What is wrong
// with it later is another episode; a pool that is spoken of goes on being what it is.
func TestSilentPoolIsResolved(t *testing.T) {
	w := newWorld(t, Options{})
	w.stuck(3)
	for range 60 {
		w.pass(time.Hour)
		w.tell(w.decision(3, 0))
		w.due()
	}
	w.wantPools("it is spoken of for days", "heron listener-down open 1")
	w.restart()
	w.pass(23 * time.Hour)
	w.due()
	w.wantPools("nobody speaks of it", "heron listener-down open 1")
	w.pass(time.Hour)
	w.due()
	w.wantPools("for a day", "heron listener-down resolved 2")
	records, err := w.ledger.Verdicts(context.Background(), ledger.Query{Limit: 1})
	const since = "Nobody has spoken of the pool since 2026-09-04 00:03:00Z"
	if err != nil || !strings.Contains(records[0].Verdict.Summary, since) {
		t.Errorf("%q, %v", records[0].Verdict.Summary, err)
	}
	w.stuck(3)
	w.wantPools("the next time", "heron listener-down resolved 2", "heron listener-down open 1")
}

// A pool whose object is deleted is over; that of another one changes nothing.
func TestDeletedPoolIsResolved(t *testing.T) {
	w := newWorld(t, Options{})
	w.stuck(3)
	for _, pool := range []string{"egret", "heron"} {
		w.wantPools("before it is deleted", "heron listener-down open 1")
		e := w.entry(ingest.Kube, "autoscaling runner set gone pool="+pool)
		e.Node, e.Namespace = "", "ci"
		e.Fields = map[string]string{"msg": "autoscaling runner set gone", "pool": pool}
		w.tell(e)
		w.pass(time.Minute)
		w.due()
	}
	w.wantPools("it is deleted", "heron listener-down resolved 2")
}

// Anybody who may push can say that all is well. That ends nothing that the listener itself
// told.
func TestClaimDoesNotResolve(t *testing.T) {
	w := newWorld(t, Options{})
	w.stuck(3)
	w.wantPools("it stands still", "heron listener-down open 1")
	claim := w.decision(3, 3)
	claim.Trust, claim.Doc = ingest.Claimed, "stranger"
	w.tell(claim)
	w.pass(time.Minute)
	w.due()
	w.wantPools("somebody says that it does not", "heron listener-down open 1")
	w.tell(w.decision(3, 3))
	w.pass(time.Minute)
	w.due()
	w.wantPools("its listener does", "heron listener-down resolved 2")
}

// Two pools, and one name in two clusters, are told apart.
func TestPoolsAreToldApart(t *testing.T) {
	w := newWorld(t, Options{})
	for range 3 {
		for _, cluster := range []string{"a", "b"} {
			for _, pod := range []string{"heron-754b578d-listener", "egret-754b578d-listener"} {
				wanted := 3
				if cluster == "a" && pod[0] == 'e' {
					wanted = 0
				}
				e := w.decision(3, wanted)
				e.Cluster, e.Pod = cluster, pod
				w.tell(e)
			}
		}
		w.pass(time.Minute)
		w.due()
	}
	w.wantPools("one of four", "egret listener-down open 1")
}

// A listener says the same each minute for days: what is filed of it is bounded.
func TestPoolEvidenceIsBounded(t *testing.T) {
	w := newWorld(t, Options{})
	for range 3600 {
		w.tell(w.listener("Getting next message", `{"lastMessageID": 4}`))
		w.pass(time.Second)
	}
	entries, err := w.ledger.Since(context.Background(), "pool/heron", time.Time{})
	if err != nil || len(entries) != 60 {
		t.Errorf("%d records of one hour, %v", len(entries), err)
	}
}

// A runner that lives on after its job has a verdict while it lives; its end resolves it.
func TestZombieIsJudgedAlive(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(w.born()...)
	w.tell(w.listener("Job completed message received.",
		`{"RequestId": 7, "Result": "canceled", "RunnerId": 3, "RunnerName": "`+pod+`"}`))
	for range 8 {
		w.pass(time.Minute)
		const line = "%s\tINFO\tEphemeralRunner\tRunner job is still running, cannot remove the runner\t" +
			"{\"ephemeralrunner\": {\"name\": %q, \"namespace\": \"ci\"}}"
		w.tell(w.entry(ingest.Controller, fmt.Sprintf(line, w.clock.at.Format(time.RFC3339), pod)))
		w.due()
	}
	found, err := w.ledger.Verdicts(context.Background(), ledger.Query{Standing: ledger.Standing{State: rules.Open}})
	if err != nil || len(found) != 1 || found[0].Verdict.Label != rules.Zombie || found[0].Verdict.Runner != pod {
		t.Fatalf("%+v, %v", found, err)
	}
	w.tell(w.died(0)...)
	w.pass(2 * time.Minute)
	w.due()
	w.want("after its end", pod+" zombie 2")
	open, err := w.ledger.CountOpen(context.Background(), 10)
	if err != nil || len(open) > 0 {
		t.Errorf("open after its end: %v, %v", open, err)
	}
}
