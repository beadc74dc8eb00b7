package classify_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
)

// shapes are the texts of the rulebook's own tests and incidents: whatever a
// line must look like to be a signal, with the victim's names in it.
func shapes(b *rules.Rulebook, v rules.Verdict, list []ingest.Entry) (out []string) {
	cid := strings.Repeat("1", 64)
	for i := range list {
		if list[i].Container == "runner" && list[i].ContainerID != "" {
			cid = list[i].ContainerID
		}
	}
	names := strings.NewReplacer(
		"0a0b0c0d-1111-2222-3333-444455556666",
		v.PodUID,
		"0a0b0c0d_1111_2222_3333_444455556666",
		strings.ReplaceAll(v.PodUID, "-", "_"),
		strings.Repeat("1", 64),
		cid,
		"ci/r-1",
		v.Namespace+"/"+v.Runner,
		"r-1",
		v.Runner,
	)
	for _, d := range b.Signals {
		for _, t := range d.Tests {
			if !t.Not && t.Line != "" {
				out = append(out, names.Replace(t.Line))
			}
		}
	}
	pod := v.Namespace + "/" + v.Runner
	return append(
		out,
		"2026-03-01 10:00:00Z: Job build completed with result: Succeeded",
		"Runner listener exit with 0 return code, stop the service, no retry needed.",
		"Exiting runner...",
		"2026-03-01 10:00:00Z: Job build completed with result: Canceled",
		"2026-03-01 10:00:00Z: Listening for Jobs",
		"Job request 1 for plan 2 job 3 received.",
		"Runner will be shutdown for UserCancelled",
		"Job cancellation request 3 received",
		"No space left on device",
		"Too many open files in system",
		`{"ts":1,"level":"info","msg":"runner pod terminated","pod":"`+pod+`","exitCode":0,"reason":"Completed"}`,
		fmt.Sprintf(`I0301 10:00:00.000000     812 kubelet.go:2421] "SyncLoop REMOVE" source="api" pods=[%q]`, pod),
		fmt.Sprintf(`I0301 10:00:00.000000     812 kubelet.go:2421] "SyncLoop DELETE" source="api" pods=[%q]`, pod),
		fmt.Sprintf(
			`I0301 10:00:00.000000     812 eviction_manager.go:1] "Eviction manager: pod is evicted successfully" `+
				`pod=%q`,
			pod,
		),
		fmt.Sprintf(
			`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): container finished" podID=%q `+
				`containerID=%q exitCode=0`,
			v.PodUID,
			cid,
		),
		fmt.Sprintf(`time="2026-03-01T10:00:00Z" level=info msg="StopContainer for %q with timeout 30 (s)"`, cid),
		fmt.Sprintf(`time="2026-03-01T10:00:00Z" level=info msg="TaskOOM event container_id:%q"`, cid),
		"Kernel panic - not syncing: Fatal exception",
		"Linux version 6.1.0-18-amd64 (maker@example.org) (gcc-12 12.2.0) #1 SMP",
		"reboot: Power down",
		"systemd-shutdown[1]: Syncing filesystems and block devices.",
		"System is rebooting.",
		"Journal stopped",
		"Suppressed 2000 messages from kubelet.service",
		"Missed 80 kernel messages",
	)
}

// carriers say how such a text gets into the logs by somebody's choice: each
// gives the record in which it then stands.
var carriers = map[string]func(text string, at time.Time, g *gate) ingest.Entry{
	"the job's stdout": func(text string, at time.Time, g *gate) ingest.Entry {
		e := g.stream()
		e.At, e.Clock, e.Text, e.Trust, e.Mark = at, ingest.WallClock, text, ingest.Claimed, nil
		return e
	},
	"a file that faulted": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Kernel,
			at,
			"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in "+text+"[400000+2000]",
		)
	},
	"a process name that faulted": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Kernel,
			at,
			comm(text)+"[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in tool[400000+2000]",
		)
	},
	"a process name that remapped": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Kernel,
			at,
			comm(text)+" (812): attempted to duplicate a private mapping with mremap.  This is not supported.",
		)
	},
	"a program with a stack": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(ingest.Kernel, at, "process '"+text+"' started with executable stack")
	},
	"an audited name": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Kernel,
			at,
			`audit: type=1326 audit(1772359200.1:7): auid=1 uid=1 comm="`+comm(text)+`" exe="`+text+`" sig=31`,
		)
	},
	"a probe's output": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Kubelet,
			at,
			fmt.Sprintf(
				`I0301 10:00:00.000000     812 prober.go:107] "Probe failed" probeType="Readiness" pod="shop/web-1" `+
					`podUID="0f0f0f0f-0000-4000-8000-000000000001" containerName="web" probeResult="failure" output=%q`,
				text,
			),
		)
	},
	"an event's message": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Kubelet,
			at,
			fmt.Sprintf(
				`I0301 10:00:00.000000     812 event.go:377] "Event occurred" object="shop/web-1" fieldPath="" `+
					`kind="Pod" apiVersion="v1" type="Warning" reason="Unhealthy" message=%q`,
				text,
			),
		)
	},
	"a command": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Containerd,
			at,
			fmt.Sprintf(
				`time="2026-03-01T10:00:00Z" level=info msg=%q`,
				`Exec for "`+strings.Repeat("7", 64)+`" with command [`+text+`], tty false and stdin false`,
			),
		)
	},
	"a program that is not there": func(text string, at time.Time, g *gate) ingest.Entry {
		return g.attested(
			ingest.Containerd,
			at,
			fmt.Sprintf(
				`time="2026-03-01T10:00:00Z" level=error msg=%q error=%q`,
				`StartContainer for "`+strings.Repeat("7", 64)+`" failed`,
				fmt.Sprintf("exec: %q: executable file not found in $PATH", text),
			),
		)
	},
	"another's stdout": func(text string, at time.Time, g *gate) ingest.Entry {
		return ingest.Entry{
			At:        at,
			Clock:     ingest.WallClock,
			Source:    ingest.Job,
			Node:      g.node(),
			Namespace: "shop",
			Pod:       "evil-1",
			PodUID:    "0f0f0f0f-0000-4000-8000-000000000009",
			Container: "web",
			Text:      text,
		}
	},
	"a stream of nobody": func(text string, at time.Time, g *gate) ingest.Entry {
		return ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Unknown, Node: g.node(), Text: text}
	},
}

// comm is a text as a process can call itself.
func comm(text string) string { return text[:min(15, len(text))] }

func (g *gate) attested(s ingest.Source, at time.Time, text string) ingest.Entry {
	return ingest.Entry{
		At:     at,
		Clock:  ingest.WallClock,
		Source: s,
		Trust:  ingest.Attested,
		Node:   g.node(),
		Text:   text,
		Doc:    "journal",
	}
}

// stream is a line of the runner's own output, without its text.
func (g *gate) stream() ingest.Entry {
	for i := range g.list {
		if g.list[i].Source == ingest.Runner && g.list[i].Mark == nil {
			return g.list[i]
		}
	}
	v := g.was
	return ingest.Entry{
		Source:    ingest.Runner,
		Namespace: v.Namespace,
		Pod:       v.Runner,
		PodUID:    v.PodUID,
		Container: "runner",
		Node:      v.Node,
	}
}

// Hostile: every shape of a line, wherever somebody can choose the text, changes
// no confirmed death and makes none. Each incident meets a third of the ways to place
// such texts, and all of them where CORONER_INCIDENTS is set (make incidents).
func TestGateHostile(t *testing.T) {
	tried := 0
	for i, g := range gates(t) {
		if g.ask == "" {
			continue
		}
		all := shapes(g.book, g.was, g.list)
		for j, how := range slices.Sorted(maps.Keys(carriers)) {
			if !fixtures.Wholly() && (i+j)%3 != 0 {
				continue
			}
			carry := carriers[how]
			if g.changed(all, carry) == "" {
				tried += len(all)
				continue
			}
			t.Errorf("%s: by %s: %s", g.name, how, g.culprit(all, carry))
		}
	}
	t.Logf("%d lines", tried)
}

// changed says what became of a verdict among hostile lines; "" if nothing that
// counts did.
func (g *gate) changed(texts []string, carry func(string, time.Time, *gate) ingest.Entry) string {
	from, to := g.span()
	list := slices.Clone(g.list)
	for i, text := range texts {
		for _, at := range []time.Time{from.Add(time.Duration(i) * time.Millisecond), from.Add(to.Sub(from) / 2),
			to.Add(time.Duration(-i) * time.Millisecond)} {
			e := carry(text, at, g)
			e.Line = 100_000 + i
			list = append(list, e)
		}
	}
	v := classify.Replay(slices.Values(list), g.book, classify.Options{Runner: g.ask})[0]
	switch {
	case g.was.Confidence == rules.Confirmed && g.was.Label.Death() &&
		(v.Label != g.was.Label || v.Confidence != g.was.Confidence):
	case v.Confidence == rules.Confirmed && v.Label.Death() && v.Label != g.was.Label:
	case g.clears(v):
	default:
		return ""
	}
	return said(v) + ", was " + said(g.was)
}

// culprit finds one line that does it.
func (g *gate) culprit(texts []string, carry func(string, time.Time, *gate) ingest.Entry) string {
	for _, text := range texts {
		if what := g.changed([]string{text}, carry); what != "" {
			return fmt.Sprintf("%.90q: %s", text, what)
		}
	}
	return "several together: " + g.changed(texts, carry)
}

// stories are what a runner prints of ends that harm nobody. Whoever runs a job
// can print them too.
var stories = []string{
	"Job cancellation request 3 received", "2026-03-01 10:00:00Z: Job build completed with result: Canceled",
	"2026-03-01 10:00:00Z: Job build completed with result: Succeeded",
	"2026-03-01 10:00:00Z: Listening for Jobs", "no job assigned within 900s; terminating idle runner",
	"TaskAgentJobNotFoundException",
	"Runner execution has finished with return code 0",
	"Runner listener exit with 0 return code, stop the service, no retry needed.", "Exiting runner...",
}

// A runner whose container ended by an error or a signal, or whose listener was
// killed, is not well by what its output says, one story or all of them.
func TestAStoryIsNoAllClear(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		code := g.was.Exit.Code
		if g.ask == "" || !g.was.Label.Death() || code == nil || *code == 0 || *code == 130 || *code == 143 {
			continue
		}
		_, to := g.span()
		all := slices.Clone(g.list)
		for i, text := range stories {
			e := carriers["the job's stdout"](text, to, &g)
			e.Line = 100_000 + i
			all = append(all, e)
			for _, list := range [][]ingest.Entry{append(slices.Clone(g.list), e), all} {
				tried++
				if v := g.judge(list); !v.Label.Death() {
					t.Errorf("%s: %q makes %s of %s", g.name, text, said(v), said(g.was))
				}
			}
		}
	}
	if tried < 500 {
		t.Errorf("only %d stories were told: the gate shows nothing", tried)
	}
}

// A runner that renews its job after an end that the job printed has not ended it: such a story
// makes nobody well, whatever is known of the container's end.
func TestARenewalVoidsAStory(t *testing.T) {
	ending, tried := []string{
		"Job result after all job steps finish: Succeeded",
		"finish job request for job 5d0e9a52-7c7b-4f0e-9d59-3f1b5c7e2a10 with result: Succeeded",
		"2026-03-01 10:00:00Z: Job build completed with result: Succeeded", "Deleting Runner Session...",
		"Runner execution has finished with return code 0",
		"Runner listener exit with 0 return code, stop the service, no retry needed.", "Exiting runner...",
	}, 0
	for _, g := range gates(t) {
		last := -1
		for i := range g.list {
			if e := &g.list[i]; e.Source == ingest.Runner && strings.Contains(e.Text, "Successfully renew job") {
				last = i
			}
		}
		if last < 0 || g.ask == "" || !g.was.Label.Death() || g.list[last].At.IsZero() {
			continue
		}
		tried++
		renewal := g.list[last]
		all := slices.Clone(g.list)
		for i := range all {
			if e := &all[i]; e.Doc == renewal.Doc && e.Line >= renewal.Line {
				e.Line += len(ending)
			}
		}
		for i, text := range ending {
			e := carriers["the job's stdout"](text, renewal.At.Add(-time.Millisecond), &g)
			e.Doc, e.Line = renewal.Doc, renewal.Line+i
			all = append(all, e)
		}
		if v := g.judge(all); !v.Label.Death() {
			t.Errorf("%s: %s of %s", g.name, said(v), said(g.was))
		}
	}
	if tried < 40 {
		t.Errorf("only %d ends were told: the gate shows nothing", tried)
	}
}
