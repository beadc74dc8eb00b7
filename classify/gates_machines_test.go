package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// another is a machine that has the name of a runner's node.
type another struct {
	panics bool // its kernel does, or it stays healthy
	tells  bool // its kubelet and runtime tell of pods
}

// journal is its journal, from ten minutes before a moment on; it panics then.
func (m another) journal(name string, at time.Time) txtar.File {
	var b strings.Builder
	line := func(t time.Time, program, text string) {
		fmt.Fprintf(&b, "%s %s %s: %s\n", t.Format("2006-01-02T15:04:05.000000-0700"), name, program, text)
	}
	for i := range 46 {
		t := at.Add(time.Duration(i-30) * 20 * time.Second)
		klog := t.Format("I0102 15:04:05.000000") + "     871 kubelet.go:2405] "
		logrus := fmt.Sprintf(`time="%s" level=info msg="`, t.Format(time.RFC3339Nano))
		if m.tells {
			line(t, "kubelet[871]", fmt.Sprintf(`%s"SyncLoop ADD" source="api" pods=["lock/weir-%d"]`, klog, i))
			line(t, "containerd[655]", fmt.Sprintf(`%sRunPodSandbox for &PodSandboxMetadata{Name:weir-%d,`+
				`Uid:7c000000-0000-4000-8000-0000000000%02d,Namespace:lock,Attempt:0,}"`, logrus, i, i))
		} else {
			line(t, "kubelet[871]", fmt.Sprintf(`%s"Nameserver limits exceeded" err="more than 3" count=%d`, klog, i))
			line(t, "containerd[655]", fmt.Sprintf(`%sImageUpdate event name:\"weir.example/%d\""`, logrus, i))
		}
		line(t.Add(time.Second), "kernel", fmt.Sprintf("br0: port 3(veth%08x) entered forwarding state", i))
		if m.panics && i == 30 {
			const panic = "Kernel panic - not syncing: Fatal exception in interrupt"
			line(t.Add(2*time.Second), "kernel", panic)
			line(t.Add(2*time.Second), "kernel", "---[ end "+panic+" ]---")
		}
	}
	return txtar.File{Name: "elsewhere/journal.log", Data: []byte(b.String())}
}

// Where a node's own log names the runner, that of another machine with its name changes nothing: its panic is not
// the runner's, and what it does not say clears nobody.
func TestGateAnotherMachine(t *testing.T) {
	b, tried := loadBook(t), 0
	for _, in := range incidents(t) {
		g := newGate(b, in)
		node, moment := g.node(), namedAt(&g)
		lacksZone := func(e ingest.Entry) bool { return e.Source.Host() && e.Clock == ingest.LocalClock }
		if node == "" || moment.IsZero() || slices.ContainsFunc(g.list, lacksZone) {
			continue // where its own log has no zone, it takes that of the other
		}
		tried++
		for _, m := range []another{{}, {panics: true}, {tells: true}, {panics: true, tells: true}} {
			files := append(slices.Clone(in.Files), m.journal(node, moment))
			v := g.judge(entries(fixtures.Incident{Name: in.Name, Story: "x", Files: files}))
			// Where its own log says too little, a suspicion can be another one.
			bothSuspected := v.Confidence == "suspected" && g.was.Confidence == "suspected"
			if v.Label != g.was.Label && !bothSuspected || v.Confidence != g.was.Confidence {
				t.Errorf("%s, %+v: %s, was %s", in.Name, m, said(v), said(g.was))
			}
			if extra := newlyRuledOut(g.was, v); extra != nil {
				t.Errorf("%s, %+v: rules out %v as well", in.Name, m, extra)
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d incidents tried", tried)
	}
	t.Logf("%d incidents", tried)
}

// namedAt is a moment at which the node's log names the runner that is asked for, of the kubelet or containerd.
func namedAt(g *gate) (at time.Time) {
	for i := range g.was.Evidence {
		e := &g.was.Evidence[i]
		if (e.Source == string(ingest.Kubelet) || e.Source == string(ingest.Containerd)) && e.Mine && e.At != nil {
			at = *e.At
		}
	}
	return at
}

func newlyRuledOut(was, is rules.Verdict) (extra []string) {
	for _, r := range is.RuledOut {
		if !slices.ContainsFunc(was.RuledOut, func(o rules.RuledOut) bool { return o.Label == r.Label }) {
			extra = append(extra, string(r.Label))
		}
	}
	return extra
}
