package postmortem_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"coroner/classify/postmortem"
	"coroner/rules"
	"coroner/rules/casefile"
)

func verdict() *rules.Verdict {
	at := time.Date(2026, 3, 1, 10, 0, 4, 0, time.UTC)
	code := 137
	return &rules.Verdict{
		Runner: "amber-4kx2p", Namespace: "ci", Node: "build-7", Label: rules.CgroupOOM, Confidence: rules.Confirmed,
		Initiator: "kernel", Retry: "useless", Domain: "workload", Rule: "cgroup-OOM-kernel-kill",
		JudgedBy: rules.JudgedBy{Rulebook: "abc"}, Revision: 1,
		DiedAt: &at, Exit: rules.Exit{Code: &code, Reason: "OOMKilled"}, Summary: "The kernel killed node.",
		Job: rules.Job{Name: "build", Step: "Compile"},
		Evidence: []rules.EvidenceLine{
			{
				At:       &at,
				Source:   "kernel",
				Signal:   "kernel.oom-kill",
				Text:     "oom-kill:constraint=CONSTRAINT_MEMCG",
				Decisive: true,
			},
			{
				At:     &at,
				Source: "kubelet",
				Signal: "kubelet.killing",
				Text: `I0301 10:00:04.000000 1 k.go:1] "Killing container with a grace period" ` +
					`pod="ci/amber-4kx2p" gracePeriod=30`,
			},
		},
		RuledOut: []rules.RuledOut{{Label: rules.NodeOOM, Because: "no global OOM"}},
		Missing:  []string{"the controller's log: not in what was read"},
	}
}

func write(t *testing.T, v *rules.Verdict, s postmortem.Style) string {
	t.Helper()
	var b strings.Builder
	if err := postmortem.Write(&b, v, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The first line says cause, confidence, whose, when, where and who.
func TestFirstLine(t *testing.T) {
	first, _, _ := strings.Cut(write(t, verdict(), postmortem.Style{}), "\n")
	want := "cgroup-OOM (confirmed) · ci/amber-4kx2p · 2026-03-01 10:00:04Z · node build-7 · by kernel"
	if first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
}

// The cluster stands beside the node, and each verdict of a list names its own
// where there are several; where there is one it is not told over and over.
func TestClusterIsTold(t *testing.T) {
	east, west := verdict(), verdict()
	east.Cluster, west.Cluster = "east", "we`st"
	want := "cgroup-OOM (confirmed) · ci/amber-4kx2p · 2026-03-01 10:00:04Z · node build-7 · cluster east · by kernel"
	if first, _, _ := strings.Cut(write(t, east, postmortem.Style{}), "\n"); first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	if q := postmortem.Queries(east)[0]; q != `{job="coroner", cluster="east"} | runner="amber-4kx2p"` {
		t.Error(q)
	}
	if q := postmortem.Queries(west)[0]; q != `{job="coroner"} | runner="amber-4kx2p"` {
		t.Errorf("%s: a name that is not plain stands in a query", q)
	}
	lists := map[string]func(io.Writer, []rules.Verdict) error{
		"list":     func(w io.Writer, all []rules.Verdict) error { return postmortem.List(w, all, 0) },
		"markdown": postmortem.MarkdownList, "table": postmortem.Table,
	}
	for name, list := range lists {
		for _, all := range [][]rules.Verdict{{*east, *west}, {*east, *east}, {*verdict()}, nil} {
			var b strings.Builder
			if err := list(&b, all); err != nil {
				t.Fatal(err)
			}
			several := len(all) == 2 && all[0].Cluster != all[1].Cluster
			told := strings.Contains(strings.ToLower(b.String()), "cluster")
			if told != several || strings.Contains(b.String(), "east") != several {
				t.Errorf("%s of %d: the cluster is told: %v\n%s", name, len(all), told, b.String())
			}
		}
	}
}

// Everything that a responder looks for is there, the deciding line marked. What shows
// more is on the whole page, and the short one says so.
func TestSections(t *testing.T) {
	v := verdict()
	v.Open = []rules.OpenLabel{{Label: rules.Evicted, Needs: "the pod's status"}}
	short, whole := write(t, v, postmortem.Style{}), write(t, v, postmortem.Style{All: true})
	const logcli = `logcli query --from=2026-03-01T09:58:04Z --to=2026-03-01T10:01:04Z ` +
		`'{namespace="ci"} | pod="amber-4kx2p"'`
	for want, inShort := range map[string]bool{
		"exit    137 OOMKilled":        true,
		"job     build · step Compile": true,
		"retry   useless":              true,
		"» 10:00:04.000  kernel     oom-kill:constraint=CONSTRAINT_MEMCG": true,
		"10:00:04.000  kubelet    Killing container with a grace period":  true,
		"node-OOM                 no global OOM":                          true,
		"the controller's log: not in what was read":                      true,
		"evicted                  would be decided by the pod's status":   false,
		"kubectl get events -n ci --field-selector":                       false,
		logcli: false,
		"rule cgroup-OOM-kernel-kill · rulebook abc · revision 1": true,
	} {
		if !strings.Contains(whole, want) {
			t.Errorf("the whole page lacks %q:\n%s", want, whole)
		}
		if strings.Contains(short, want) != inShort {
			t.Errorf("%q on the short page is not %v:\n%s", want, inShort, short)
		}
	}
	want := "--all shows every line, 1 cause still open and commands that show more"
	if !strings.Contains(
		short,
		want,
	) {
		t.Errorf("lacks %q:\n%s", want, short)
	}
}

// Colours come only when asked for.
func TestColour(t *testing.T) {
	if strings.Contains(write(t, verdict(), postmortem.Style{}), "\x1b") {
		t.Error("escape codes without colour")
	}
	if !strings.Contains(write(t, verdict(), postmortem.Style{Color: true}), "\x1b[") {
		t.Error("no colour")
	}
}

// A log line cannot break the page: no control characters, no direction
// marks, no new lines, bounded length; names are not put into commands.
func TestHostileTextIsHarmless(t *testing.T) {
	evil := "a\x1b[2Jb\u202ec\u2066d\r\ne\x00f\xffg\u200bh\u2028i" + strings.Repeat("x", 1<<20)
	v := verdict()
	v.Runner, v.Namespace, v.Node, v.Summary = evil, evil, evil, evil
	v.Job.Name, v.Job.Step, v.Exit.Reason, v.Initiator, v.Pool = evil, evil, evil, evil, evil
	v.Evidence[0].Text, v.Missing[0], v.RuledOut[0].Because = evil, evil, evil
	v.Runner = "$(reboot)`x`'"
	text := write(t, v, postmortem.Style{Width: 120})
	for _, r := range text {
		if r != '\n' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == utf8.RuneError) {
			t.Fatalf("rune %U in the page", r)
		}
	}
	for _, l := range strings.Split(text, "\n") {
		if strings.Contains(l, "kubectl") && strings.Contains(l, "reboot") {
			t.Errorf("a name became part of a command: %s", l)
		}
	}
	if i := strings.Index(text, "»"); len(text[i:strings.Index(text[i:], "\n")+i]) > 2000 {
		t.Error("a timeline line is not cut")
	}
}

// Heartbeats of an hour are one row; deciding rows are always shown.
func TestTimelineIsShort(t *testing.T) {
	v := verdict()
	start := v.DiedAt.Add(-time.Hour)
	var lines []rules.EvidenceLine
	for i := range 60 {
		at := start.Add(time.Duration(i) * time.Minute)
		lines = append(
			lines,
			rules.EvidenceLine{At: &at, Source: "runner", Signal: "runner.renewed", Text: "Successfully renew job 1"},
		)
	}
	v.Evidence = append(lines, v.Evidence...)
	short := write(t, v, postmortem.Style{})
	if strings.Contains(short, "Successfully renew") ||
		!strings.Contains(short, "… 60 lines of the runner's housekeeping left out") {
		t.Errorf("the heartbeats are not folded:\n%s", short)
	}
	text := write(t, v, postmortem.Style{All: true})
	if n := strings.Count(text, "Successfully renew"); n != 1 || !strings.Contains(text, "60 times until 09:59:04") {
		t.Errorf("%d rows of heartbeats:\n%s", n, text)
	}
	if !strings.Contains(text, "» 10:00:04.000  kernel") {
		t.Error("the deciding line is gone")
	}
}

// How the node tidied up is left out, and the page says so; the controller's
// word on the death and a line that decides stay, however late they come.
func TestTimelineEndsWithTheDeath(t *testing.T) {
	v := verdict()
	late := v.DiedAt.Add(5 * time.Second)
	for source, decisive := range map[string]bool{"containerd": false, "controller": false, "kubelet": true} {
		v.Evidence = append(
			v.Evidence,
			rules.EvidenceLine{
				At:       &late,
				Source:   source,
				Signal:   source + ".late",
				Text:     "late " + source,
				Mine:     true,
				Decisive: decisive,
			},
		)
	}
	text := write(t, v, postmortem.Style{})
	for line, want := range map[string]bool{"late containerd": false, "late controller": true, "late kubelet": true,
		"… 1 line left out": true} {
		if strings.Contains(text, line) != want {
			t.Errorf("%q shown is not %v:\n%s", line, want, text)
		}
	}
	if all := write(t, v, postmortem.Style{All: true}); !strings.Contains(all, "late containerd") {
		t.Errorf("--all leaves out:\n%s", all)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain")
	f.Add("a\x1b[31m\u202e\xff\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range postmortem.Clean(s) {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Fatalf("rune %U left of %q", r, s)
			}
		}
	})
}

// Of a runner that is only named, the page has the commands that would collect or
// look up the rest, and none for what was read.
func TestCommandsCollectWhatWasNotRead(t *testing.T) {
	v := &rules.Verdict{Runner: "amber-4kx2p", Label: rules.Unknown,
		Missing: []string{"the pod object: not in what was read"}}
	all := []string{
		"kubectl get events -A --field-selector involvedObject.name=amber-4kx2p",
		"kubectl get pod -A --field-selector metadata.name=amber-4kx2p -o yaml",
		"kubectl get ephemeralrunner -A --field-selector metadata.name=amber-4kx2p -o yaml",
		"coroner lookup amber-4kx2p",
	}
	if got := postmortem.Commands(v); !slices.Equal(got, all) {
		t.Errorf("commands %q, want %q", got, all)
	}
	v.Namespace, v.Missing = "ci", nil
	v.Evidence = []rules.EvidenceLine{{Signal: "kube.event"}, {Signal: "kube.ephemeral-runner"}}
	if got := postmortem.Commands(v); !slices.Equal(got, all[3:]) {
		t.Errorf("with events and objects read the commands are %q, want %q", got, all[3:])
	}
}

// A job that waits says what became of its runner, and how to see more; what a name holds is
// data.
func TestJobNamesItsRunner(t *testing.T) {
	v := rules.Verdict{Label: rules.Stranded, Job: rules.Job{ID: "41"}}
	v.Kind, v.State = casefile.OfJob, rules.Open
	v.RunnerVerdict = &rules.RunnerVerdict{Runner: "heron-1\x1b[2J", Namespace: "ci", PodUID: "u-1",
		Label: rules.ImagePullFailure, Confidence: rules.Confirmed}
	var text, ticket strings.Builder
	err := errors.Join(postmortem.Write(&text, &v, postmortem.Style{}), postmortem.Markdown(&ticket, &v))
	if err != nil {
		t.Fatal(err)
	}
	const named = `ci/heron-1\u001b[2J: image-pull-failure (confirmed) — coroner lookup u-1`
	if !strings.Contains(text.String(), named) {
		t.Errorf("%s", text.String())
	}
	if !strings.Contains(ticket.String(), "its runner: `ci/heron-1") || strings.Contains(ticket.String(), "\x1b") {
		t.Errorf("%s", ticket.String())
	}
}
