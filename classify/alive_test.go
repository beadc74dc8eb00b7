package classify_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// suspicions are the incidents in which a death is suspected that the runner's life afterwards
// can refute: nothing ended, and nobody asked for it.
func suspicions(t *testing.T) (out []gate) {
	t.Helper()
	for _, g := range gates(t) {
		r := g.book.Rule(g.was.Rule)
		if !g.was.Death() || g.was.Confidence != rules.Suspected || r.LivesOn || g.ask == "" && g.was.Runner != "" {
			continue
		}
		if g.was.Exit.Code == nil && !slices.ContainsFunc(g.was.Evidence, tellsOfAnEnd(g.book)) {
			out = append(out, g)
		}
	}
	return out
}

// beforeStart says whether what was found is of a runner that never spoke: it is none that speaks.
func (g *gate) beforeStart() bool {
	when := g.book.Rule(g.was.Rule).When()
	return g.was.Label.BeforeStart() ||
		strings.Contains(when, "not runner_spoke") || strings.Contains(when, "not started")
}

// tellsOfAnEnd says whether a line of a verdict tells of the runner's end or of who asks for it.
func tellsOfAnEnd(b *rules.Rulebook) func(rules.EvidenceLine) bool {
	asks := []string{"kubelet.killing", "kube.deleting", "kubelet.delete-asked", "containerd.stop-asked", "kube.event",
		"runner.exiting", "runner.finished", "runner.listener-exit", "controller.pod-deleted", "runner.shutdown"}
	return func(e rules.EvidenceLine) bool {
		d := b.Signal(e.Signal)
		return d != nil && e.Mine && (d.Ends || d.Exit) || slices.Contains(asks, e.Signal)
	}
}

// with gives the incident's lines and one more, of a runner, at a time.
func (g *gate) with(at time.Time, pod, uid, text string) []ingest.Entry {
	last := g.list[len(g.list)-1]
	e := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Runner, Trust: ingest.Claimed, Doc: last.Doc,
		Line: 1 << 20, Namespace: g.was.Namespace, Pod: pod, PodUID: uid, Cluster: last.Cluster, Text: text}
	if at.IsZero() {
		e.Clock, e.After = ingest.NoClock, last.After
	}
	if from, _ := g.span(); at.Before(from) {
		e.Line = 1
	}
	return append(slices.Clone(g.list), e)
}

const renewed = "[RUNNER 2026-01-02 03:04:05Z INFO JobDispatcher] Successfully renew job 1b2c, job is valid till then"

// Life: a runner that lives on after all that a suspicion of its death stands on did not die.
// Another runner's life says nothing of it, and neither does what it said before.
func TestGateLife(t *testing.T) {
	tried := 0
	for _, g := range suspicions(t) {
		from, to := g.span()
		if !to.IsZero() {
			from, to = from.Add(-time.Hour), to.Add(time.Hour)
		}
		for _, text := range []string{renewed, "2026-01-02 03:04:05Z: Listening for Jobs",
			"[WORKER 2026-01-02 03:04:05Z INFO StepsRunner] Processing step: DisplayName='make'"} {
			tried++
			v := g.judge(g.with(to, g.was.Runner, g.was.PodUID, text))
			if v.Death() && !g.book.Rule(v.Rule).LivesOn {
				t.Errorf("%s: lives on (%s), and is %s, was %s", g.name, text, said(v), said(g.was))
			}
			v = g.judge(g.with(to, "another-9x", "0f0f0f0f-0000-4000-8000-000000000009", text))
			if g.ask != "" && said(v) != said(g.was) {
				t.Errorf("%s: another runner lives, and it is %s, was %s", g.name, said(v), said(g.was))
			}
			v = g.judge(g.with(from, g.was.Runner, g.was.PodUID, text))
			if !v.Death() && !from.IsZero() && !g.beforeStart() {
				t.Errorf("%s: lived before, and is %s, was %s", g.name, said(v), said(g.was))
			}
		}
		checkAnEndAfterLife(t, g)
	}
	if tried < 150 {
		t.Errorf("%d lives only", tried)
	}
}

// checkAnEndAfterLife holds that an end that comes after the life is one as it is without it.
func checkAnEndAfterLife(t *testing.T, g gate) {
	t.Helper()
	_, to := g.span()
	if to.IsZero() {
		return
	}
	const bye = "Runner listener exited with error code null"
	end := func() rules.Verdict { return g.judge(g.with(to.Add(2*time.Hour), g.was.Runner, g.was.PodUID, bye)) }
	without := end()
	g.list = g.with(to.Add(time.Hour), g.was.Runner, g.was.PodUID, renewed)
	if v := end(); v.Death() != without.Death() {
		t.Errorf("%s: lives and ends, and is %s, was %s without its life", g.name, said(v), said(without))
	}
}

// What is more than suspected is not dropped for a line that a job can print.
func TestLifeRefutesSuspicionsOnly(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		_, to := g.span()
		if g.was.Death() && g.was.Confidence != rules.Suspected && !to.IsZero() && !g.beforeStart() {
			tried++
			v := g.judge(g.with(to.Add(time.Hour), g.was.Runner, g.was.PodUID, renewed))
			if !v.Death() {
				t.Errorf("%s: a renewal makes %s of %s", g.name, said(v), said(g.was))
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d deaths only", tried)
	}
}

// A node that was not ready hours before and is again, or that began the pod since, lost nothing.
func TestNodesThatCameBack(t *testing.T) {
	const notReady, ready = "   Normal    NodeNotReady   node/build-7   Node build-7 status is now: NodeNotReady\n",
		"   Normal    NodeReady      node/build-7   Node build-7 status is now: NodeReady\n"
	events := func(rows ...string) string {
		return "LAST SEEN   TYPE      REASON         OBJECT         MESSAGE\n" + strings.Join(rows, "")
	}
	for what, c := range map[string]struct {
		text string
		want rules.Label
	}{
		"it is gone":                  {events("9m " + notReady), rules.NodeLost},
		"it is back":                  {events("9h "+notReady, "8h "+ready), rules.None},
		"back, read newest first":     {events("8h "+ready, "9h "+notReady), rules.None},
		"back in the same hour":       {events("9h "+notReady, "9h "+ready), rules.None},
		"gone again":                  {events("9h "+ready, "9m "+notReady), rules.NodeLost},
		"its pod is ready":            {describedOn("9h", "True"), rules.None},
		"its pod is not ready":        {describedOn("2m", "False"), rules.NodeLost},
		"the kubelet's condition too": {events("9h "+notReady) + "\n" + events("3m "+ready), rules.None},
	} {
		for _, v := range replayText(loadBook(t), "describe.txt", c.text) {
			if v.Label != c.want || v.Confidence == rules.Confirmed {
				t.Errorf("%s: %s, want %s", what, said(v), c.want)
			}
		}
	}
}

// describedOn is a pod that runs on a node that was called not ready some time before.
func describedOn(age, ready string) string {
	return "Name:             teal-runner-4kx2m\nNamespace:        ci\nNode:             build-7/10.0.0.7\n" +
		"Status:           Running\nContainers:\n  runner:\n    State:          Running\n      Started:      " +
		"Sun, 01 Mar 2026 10:00:00 +0000\n    Ready:          True\nConditions:\n  Type              Status\n" +
		"  Ready             " + ready + "\nEvents:\n  Type     Reason        Age   From             Message\n" +
		"  ----     ------        ----  ----             -------\n  Warning  NodeNotReady  " + age +
		"    node-controller  Node is not ready\n"
}

// What goes on after a trouble shows that it passed; without that, or with it before the trouble,
// it may have ended something.
func TestGoingOnAfterTrouble(t *testing.T) {
	for _, c := range [][2]string{
		{"2026-03-01T10:00:50Z\tERROR\tlistener-app.listener\tfailed to get message, retrying\t" +
			`{"error": "Get \"https://sedge.example/runnerscalesets/3/messages\": net/http: TLS handshake timeout"}`,
			"2026-03-01T10:01:43Z\tINFO\tlistener-app.listener\tJob started message received.\t" +
				`{"RequestId": 55, "RunnerId": 8}`},
		{`2026-03-01 10:05:10 WARN   Failed to ping: Get "https://agent.buildkite.com/v3/ping": ` +
			"context deadline exceeded",
			"2026-03-01 10:06:00 INFO   Assigned job 0191-aa. Accepting..."},
		{`{"level":"error","time":"2026-03-01T10:00:00Z","message":"grpc error: next(): code: Unavailable desc = ` +
			`transport: Error while dialing: dial tcp 10.0.0.1:9000: connect: connection refused"}`,
			`{"level":"info","time":"2026-03-01T10:01:30Z","message":"received new workflow","workflow_id":"7"}`},
		{`time="2026-03-01T10:00:00Z" level=error msg="failed to fetch task" error="unavailable: dial tcp ` +
			`10.0.0.1:3000: connect: connection refused"`,
			`time="2026-03-01T10:00:10Z" level=info msg="task 12 repo is sedge/mill https://act.example ` +
				`https://git.example"`},
		{"[2026-04-01 09:00:00,100]   WARN - buildServer.AGENT.registration - Error while asking server. " +
			"Will try later. Cause: java.net.ConnectException: Connection refused",
			"[2026-04-01 09:00:30,100]   INFO - buildServer.AGENT.registration - Registered: id:12"},
		{`{"level":"error","error":"Post \"https://drone.example/rpc/v2/stage\": dial tcp: i/o timeout",` +
			`"msg":"cannot request stage","time":"2026-04-01T09:00:00Z"}`,
			`{"level":"debug","msg":"stage received","stage.id":7,"time":"2026-04-01T09:01:30Z"}`},
		{`Apr 01 09:00:00 build-3 kubelet[900]: E0401 09:00:00.100000     900 controller.go:145] "Failed to ensure ` +
			`lease exists, will retry" err="Get \"https://10.0.0.1:6443/apis/coordination.k8s.io/v1/leases/b-3\": ` +
			`net/http: request canceled (Client.Timeout exceeded while awaiting headers)" interval="200ms"`,
			`Apr 01 09:00:10 build-3 kubelet[900]: I0401 09:00:10.100000     900 kubelet_node_status.go:724] ` +
				`"Recording event message for node" node="build-3" event="NodeReady"`},
		{"[RUNNER 2026-03-01 10:01:00Z ERR  JobDispatcher] Catch exception during renew runner job 1b2c.",
			"[RUNNER 2026-03-01 10:01:20Z INFO JobDispatcher] Successfully renew job 1b2c, job is valid till then"},
		{"2026-03-01 10:02:00Z: Runner connect error: The HTTP request timed out. Retrying until reconnected.",
			"[WORKER 2026-03-01 10:03:00Z INFO StepsRunner] Processing step: DisplayName='Run tests'"},
		{`WARNING: Failed to pull image with policy "always": image pull failed: Back-off pulling image "sedge:4"`,
			"Job succeeded"},
	} {
		trouble, passed := c[0]+"\n", c[1]+"\n"
		if v := firstDeath(replayText(loadBook(t), "runner.log", trouble+passed)); v != "" {
			t.Errorf("%s though it passed: %q", v, c[0])
		}
		if firstDeath(replayText(loadBook(t), "runner.log", trouble)) == "" {
			t.Errorf("alone it is none: %q", c[0])
		}
	}
}

// firstDeath is the first verdict that tells of a death, "" where none does.
func firstDeath(all []rules.Verdict) string {
	for _, v := range all {
		if v.Death() {
			return said(v)
		}
	}
	return ""
}
