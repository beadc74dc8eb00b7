package rules_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

func builtIn(t *testing.T) *rules.Rulebook {
	t.Helper()
	return shipped.Rulebook(t)
}

// evidence scans a line and attributes what it says to the case.
func evidence(t *testing.T, b *rules.Rulebook, proven bool, e ingest.Entry) casefile.Evidence {
	t.Helper()
	found := b.Scan(&e)
	if len(found) == 0 {
		t.Fatalf("nothing recognised in %q", e.Text)
	}
	return casefile.Evidence{Signal: &found[0], Mine: true, Proven: proven}
}

var at = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func said(source ingest.Source, text string) ingest.Entry {
	return ingest.Entry{At: at, Clock: ingest.WallClock, Source: source, Trust: ingest.Attested, Text: text}
}

// What a runner prints of its job counts only where nobody else names the job.
func TestJobIsWhatTheListenerSays(t *testing.T) {
	b := builtIn(t)
	listener := evidence(t, b, true, said(
		ingest.Listener,
		`{"severity":"info","message":"Updating job info for the runner","runnerName":"r-1","ownerName":"o",`+
			`"repoName":"r","jobId":"2001","workflowRunId":12,"jobDisplayName":"build"}`,
	))
	printed := evidence(t, b, false, said(ingest.Runner, "Job request 7 for plan 8 job 1001 received."))
	both := b.Judge(&casefile.Case{Name: "r-1", Evidence: []casefile.Evidence{listener, printed}})
	if both.Job.ID != "2001" || both.Job.Name != "build" || both.Job.Claimed {
		t.Errorf("with the listener the job is %+v", both.Job)
	}
	alone := b.Judge(&casefile.Case{Name: "r-1", Evidence: []casefile.Evidence{printed}})
	if alone.Job.ID != "1001" || !alone.Job.Claimed {
		t.Errorf("without it the job is %+v, want what the runner printed, as a claim", alone.Job)
	}
}

// A source is covered from half a minute before a death, or from the start of
// the pod where that was read; that something was heard of the pod is no start.
func TestCoverageBeginsWithAStart(t *testing.T) {
	b := builtIn(t)
	exit := said(
		ingest.Kubelet,
		`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): container finished" `+
			`podID="0a0b0c0d-1111-2222-3333-444455556666" `+
			`containerID="1111111111111111111111111111111111111111111111111111111111111111" exitCode=137`,
	)
	start := said(
		ingest.Kubelet,
		`I0301 09:59:58.000000     812 kubelet.go:2405] "SyncLoop ADD" source="api" pods=["ci/r-1"]`,
	)
	start.At = at.Add(-2 * time.Second)
	read := func(before time.Duration) []casefile.Coverage {
		return []casefile.Coverage{{Source: ingest.Kernel, From: at.Add(-before), To: at.Add(10 * time.Second)}}
	}
	for _, c := range []struct {
		name     string
		lines    []ingest.Entry
		coverage []casefile.Coverage
		ruledOut bool
	}{
		{"a second before the end, no start", []ingest.Entry{exit}, read(time.Second), false},
		{"half a minute before", []ingest.Entry{exit}, read(30 * time.Second), true},
		{"since before the start", []ingest.Entry{start, exit}, read(3 * time.Second), true},
		{"since after the start", []ingest.Entry{start, exit}, read(time.Second), false},
		{"with a hole", []ingest.Entry{start, exit},
			append(read(time.Hour), casefile.Coverage{Source: ingest.Kernel, From: at, To: at, Why: "masked"}), false},
	} {
		rc := &casefile.Case{Name: "r-1", Coverage: c.coverage}
		for _, e := range c.lines {
			rc.Evidence = append(rc.Evidence, evidence(t, b, true, e))
		}
		v := b.Judge(rc)
		got := slices.ContainsFunc(v.RuledOut, func(r rules.RuledOut) bool { return r.Label == rules.CgroupOOM })
		if got != c.ruledOut {
			t.Errorf(
				"%s: cgroup-OOM ruled out: %v, want %v (%s by %s, missing %q)",
				c.name,
				got,
				c.ruledOut,
				v.Label,
				v.Rule,
				v.Missing,
			)
		}
	}
}

// Another container's end ends no runner: an init container's, a sidecar's, a
// debug container's. The sandbox's, the pod's and the runner's own do.
func TestWhoseEndItIs(t *testing.T) {
	b := builtIn(t)
	id := func(c string) string { return strings.Repeat(c, 64) }
	died := func(c string, code int) ingest.Entry {
		return said(
			ingest.Kubelet,
			fmt.Sprintf(
				`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): container finished" `+
					`podID="0a0b0c0d-1111-2222-3333-444455556666" containerID=%q exitCode=%d`,
				id(c),
				code,
			),
		)
	}
	gone := said(
		ingest.Kubelet,
		fmt.Sprintf(
			`I0301 10:00:00.000000     812 kubelet.go:2437] "SyncLoop (PLEG): event for pod" pod="ci/r-1" `+
				`event={"ID":"0a0b0c0d-1111-2222-3333-444455556666","Type":"ContainerDied","Data":%q}`,
			id("5"),
		),
	)
	removed := said(
		ingest.Kubelet,
		`I0301 10:00:00.000000     812 kubelet.go:2421] "SyncLoop REMOVE" source="api" pods=["ci/r-1"]`,
	)
	arc := map[string]string{id("1"): "runner", id("2"): "init-dind-externals", id("3"): "dind", id("4"): "debugger-x7"}
	for _, c := range []struct {
		name       string
		containers map[string]string
		line       ingest.Entry
		ended      bool
	}{
		{"the runner's own", arc, died("1", 0), true},
		{"its init container", arc, died("2", 0), false},
		{"its sidecar", arc, died("3", 0), false},
		{"a debug container", arc, died("4", 0), false},
		{"the sandbox", arc, gone, true},
		{"the pod", arc, removed, true},
		{"the only one, whatever it is called", map[string]string{id("1"): ""}, died("1", 137), true},
		{"one that nothing names, while the sandbox lives", map[string]string{id("6"): ""}, died("6", 0), false},
	} {
		rc := &casefile.Case{
			Name:       "r-1",
			Namespace:  "ci",
			UID:        "0a0b0c0d-1111-2222-3333-444455556666",
			Containers: c.containers,
		}
		if len(c.containers) > 1 || c.line.Text == died("6", 0).Text {
			rc.Sandboxes = map[string]bool{id("5"): true}
		}
		rc.Evidence = []casefile.Evidence{evidence(t, b, true, c.line)}
		if v := b.Judge(rc); (v.DiedAt != nil) != c.ended {
			t.Errorf("%s: it is over: %v, want %v (%s by %s)", c.name, v.DiedAt != nil, c.ended, v.Label, v.Rule)
		}
	}
}

// Each end of a container that its pod starts again is a death of its own.
func TestEachLifeDies(t *testing.T) {
	b := builtIn(t)
	id := func(c string) string { return strings.Repeat(c, 64) }
	line := func(after time.Duration, source ingest.Source, text string) casefile.Evidence {
		e := said(source, text)
		e.At = at.Add(after)
		return evidence(t, b, true, e)
	}
	oom := func(c string) string {
		return fmt.Sprintf(
			"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,"+
				"oom_memcg=/kubepods/pod0a0b0c0d-1111-2222-3333-444455556666/%s,"+
				"task_memcg=/kubepods/pod0a0b0c0d-1111-2222-3333-444455556666/%s,task=node,pid=7,uid=0",
			id(c),
			id(c),
		)
	}
	over := func(c string) string {
		return fmt.Sprintf(
			`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): container finished" `+
				`podID="0a0b0c0d-1111-2222-3333-444455556666" containerID=%q exitCode=137`,
			id(c),
		)
	}
	c := &casefile.Case{
		Name:       "r-1",
		UID:        "0a0b0c0d-1111-2222-3333-444455556666",
		Containers: map[string]string{id("1"): "runner", id("2"): "runner"},
		Coverage:   []casefile.Coverage{{Source: ingest.Kernel, From: at.Add(-time.Hour), To: at.Add(time.Hour)}},
		Evidence: []casefile.Evidence{
			line(0, ingest.Kernel, oom("1")), line(time.Second, ingest.Kubelet, over("1")),
			line(10*time.Minute, ingest.Kernel, oom("2")), line(10*time.Minute+time.Second, ingest.Kubelet, over("2")),
		},
	}
	lives := c.Attempts()
	if len(lives) != 2 {
		t.Fatalf("%d lives, want 2", len(lives))
	}
	for i, life := range lives {
		v := b.Judge(life)
		if v.Label != rules.CgroupOOM || v.Attempt != i+1 || v.DiedAt == nil ||
			v.DiedAt.Sub(at) > time.Duration(i*10+1)*time.Minute {
			t.Errorf("life %d: %s of attempt %d at %v", i+1, v.Label, v.Attempt, v.DiedAt)
		}
		if len(v.Evidence) != 2 {
			t.Errorf("life %d has %d lines, want its own 2", i+1, len(v.Evidence))
		}
	}
	c.Evidence = c.Evidence[:2]
	if got := c.Attempts(); len(got) != 1 || got[0].Attempt != 0 {
		t.Errorf("one end: %d lives", len(got))
	}
}

// Of a pod that died very often the last lives are told apart, and what that costs grows
// with the pod's lines, not with their square.
func TestVeryManyLives(t *testing.T) {
	b := builtIn(t)
	died := func(n int) *casefile.Case {
		c := &casefile.Case{Name: "r-1", UID: "0a0b0c0d-1111-2222-3333-444455556666", Containers: map[string]string{}}
		for i := range n {
			id := fmt.Sprintf("%064x", i+1)
			c.Containers[id] = "runner"
			e := said(ingest.Kubelet, fmt.Sprintf(`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): `+
				`container finished" podID="0a0b0c0d-1111-2222-3333-444455556666" containerID=%q exitCode=137`, id))
			e.At = at.Add(time.Duration(i) * time.Minute)
			c.Evidence = append(c.Evidence, evidence(t, b, true, e))
		}
		return c
	}
	taken := func(n int) uint64 {
		c := died(n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		lives := c.Attempts()
		runtime.ReadMemStats(&after)
		if len(lives) != 20 || lives[19].Attempt != n || len(lives[0].Evidence) != 1 || len(lives[19].Evidence) != 1 {
			t.Fatalf("of %d lives %d are told apart, the last as number %d", n, len(lives), lives[len(lives)-1].Attempt)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := taken(200), taken(1600); many > 16*few {
		t.Errorf("eight times the lives take %d times the memory", many/few)
	}
}
