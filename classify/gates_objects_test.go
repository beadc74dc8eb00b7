package classify_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest/bundle"
)

// objectsOf are objects that claim something of the gate's runner: an eviction, a deadline, a deletion, a life
// that goes on, an end that was well, another container's name for its container, another pod of its name, and
// a runner's object that failed.
func (g *gate) objectsOf() map[string]string {
	_, to := g.span()
	v, at := &g.was, func(d time.Duration) string { return to.Add(d).Format(time.RFC3339) }
	id := ""
	for i := range g.list {
		if e := &g.list[i]; e.ContainerID != "" && e.Pod == v.Runner {
			id = e.ContainerID
		}
	}
	pod := func(uid, more, status string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: %s\n  uid: %q\n%sspec:\n"+
			"  nodeName: %s\n  containers:\n  - name: runner\n  - name: dind\nstatus:\n%s",
			v.Runner, v.Namespace, uid, more, g.node(), status)
	}
	ended := func(name string, code int, reason string) string {
		return fmt.Sprintf("  phase: Failed\n  containerStatuses:\n  - name: %s\n    containerID: containerd://%s\n"+
			"    state:\n      terminated:\n        exitCode: %d\n        reason: %s\n        startedAt: %q\n"+
			"        finishedAt: %q\n", name, id, code, reason, at(-time.Hour), at(-time.Second))
	}
	row := func(status string) string {
		return "√ Connected to GitHub\n\n2026-03-01 10:00:00Z: Listening for Jobs\n" +
			"NAMESPACE   NAME   READY   STATUS   RESTARTS   AGE\n" +
			v.Namespace + "   " + v.Runner + "   0/1   " + status + "   0   12m\n"
	}
	const other = "00000000-0000-4000-8000-00000000feed"
	return map[string]string{
		"evicted": pod(v.PodUID, "", "  phase: Failed\n  reason: Evicted\n  message: 'The node was low on resource: "+
			"memory. '\n"),
		"deadline": pod(v.PodUID, "", "  phase: Failed\n  reason: DeadlineExceeded\n"),
		"deleting": pod(v.PodUID, fmt.Sprintf("  deletionTimestamp: %q\n  deletionGracePeriodSeconds: 30\n", at(0)),
			"  phase: Running\n"),
		"running": pod(v.PodUID, "", "  phase: Running\n  containerStatuses:\n  - name: runner\n    ready: true\n"+
			"    state:\n      running:\n        startedAt: "+at(-time.Hour)+"\n"),
		"well":     pod(v.PodUID, "", ended("runner", 0, "Completed")),
		"killed":   pod(v.PodUID, "", ended("runner", 137, "OOMKilled")),
		"a helper": pod(v.PodUID, "", ended("dind", 137, "OOMKilled")),
		"namesake": pod(other, "", ended("runner", 0, "Completed")),
		"a Runner": "apiVersion: actions.summerwind.dev/v1alpha1\nkind: Runner\nmetadata:\n  name: " + v.Runner +
			"\n  namespace: " + v.Namespace + "\nstatus:\n  phase: Failed\n  reason: Evicted\n",
		"a row":         row("Evicted"),
		"a row of life": row("Running"),
		"an OOM's row":  row("OOMKilled"),
		"an end's row":  row("Completed"),
		"an event": fmt.Sprintf("apiVersion: v1\nkind: Event\ninvolvedObject:\n  kind: Pod\n  name: %s\n"+
			"  namespace: %s\n  uid: %q\nreason: Killing\nmessage: Stopping container runner\nsource:\n"+
			"  component: kubelet\nlastTimestamp: %q\n",
			v.Runner, v.Namespace, v.PodUID, at(-time.Minute)),
	}
}

// An object in the middle of a text is no more than a claim: whoever wrote the text could write it. It changes
// no confirmed verdict, confirms none and gives no all-clear.
func TestGateObjectsInTexts(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		if g.was.Runner == "" || g.node() == "" {
			continue
		}
		for what, object := range g.objectsOf() {
			text := "This is what we saw:\n\n" + object + "\nand that was all.\n"
			said := slices.Collect(bundle.Bytes("notes.txt", []byte(text), bundle.Options{}).Entries(nil))
			v := g.judge(slices.Concat(g.list, said))
			tried++
			changed := g.was.Confidence == "confirmed" && g.was.Death() &&
				(v.Label != g.was.Label || v.Confidence != g.was.Confidence)
			if changed || v.Confidence == "confirmed" && v.Label != g.was.Label || g.clears(v) {
				t.Errorf("%s, %s: %s (%s) by %s, was %s (%s)", g.name, what, v.Label, v.Confidence, v.Rule, g.was.Label,
					g.was.Confidence)
			}
		}
	}
	if t.Logf("%d tried", tried); tried < 1000 {
		t.Errorf("%d tried", tried)
	}
}

// Lines of the node's programs in a text that a runner's lines stand in, too, are claims as well, in
// whatever envelope they stand.
func TestGateLinesInTexts(t *testing.T) {
	envelopes := map[string]func(g *gate, text string) string{
		"bare": func(_ *gate, text string) string { return text },
		"syslog": func(g *gate, text string) string {
			_, to := g.span()
			who := "kernel"
			if program, _, ok := strings.Cut(text, " "); ok && strings.HasPrefix(program, "I0301") {
				who = "kubelet[812]"
			} else if strings.HasPrefix(text, "time=") {
				who = "containerd[902]"
			}
			return to.Format("2006-01-02T15:04:05.000000+00:00") + " " + g.node() + " " + who + ": " + text
		},
		"journal": func(g *gate, text string) string {
			_, to := g.span()
			record, _ := json.Marshal(map[string]string{"MESSAGE": text, "_HOSTNAME": g.node(), "_TRANSPORT": "kernel",
				"__REALTIME_TIMESTAMP": fmt.Sprint(to.UnixMicro()), "__CURSOR": "s=1;i=1",
				"_BOOT_ID": strings.Repeat("b", 32)})
			return string(record)
		},
	}
	tried := 0
	for _, g := range gates(t) {
		if g.was.Runner == "" || g.node() == "" {
			continue
		}
		for how, envelope := range envelopes {
			text := "√ Connected to GitHub\n\n2026-03-01 10:00:00Z: Listening for Jobs\n"
			for _, line := range shapes(g.book, g.was, g.list) {
				text += envelope(&g, line) + "\n"
				tried++
			}
			notes := slices.Collect(bundle.Bytes("notes.txt", []byte(text), bundle.Options{}).Entries(nil))
			v := g.judge(slices.Concat(g.list, notes))
			changed := g.was.Confidence == "confirmed" && g.was.Death() &&
				(v.Label != g.was.Label || v.Confidence != g.was.Confidence)
			if changed || v.Confidence == "confirmed" && v.Label != g.was.Label || g.clears(v) {
				t.Errorf("%s, %s: %s, was %s", g.name, how, said(v), said(g.was))
			}
		}
	}
	t.Logf("%d lines", tried)
}
