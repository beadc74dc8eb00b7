package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// A folder with very many pods and very many stretches of one node's journal
// must not take memory for each of both: what was read of a node is said once,
// in few words.
func TestCoverageIsSharedByTheNode(t *testing.T) {
	const many = 2000
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var entries []ingest.Entry
	for i := range many {
		entries = append(entries,
			ingest.Entry{At: at, Source: ingest.Kubelet, Trust: ingest.Attested, Node: "n", Doc: "j", Line: i,
				Text: fmt.Sprintf(
					`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): container finished" `+
						`podID="%08d-1111-2222-3333-444455556666" containerID="%064d" exitCode=1`,
					i,
					i,
				)},
			ingest.Entry{Source: ingest.Kubelet, Trust: ingest.Attested, Node: "n", Doc: "j", Boot: fmt.Sprint(i),
				Mark: &ingest.Mark{
					Kind: ingest.Covered,
					From: at.Add(time.Duration(i-1) * time.Second),
					To:   at.Add(time.Duration(i) * time.Second),
				}})
	}
	cases := classify.Assembled(entries, loadBook(t), classify.Options{})
	if len(cases) != many+1 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases[:many] {
		if len(c.Coverage) != 0 || len(c.Around) != 1 || &c.Around[0] != &cases[0].Around[0] {
			t.Fatalf("%d, %d, shared %v", len(c.Coverage), len(c.Around), &c.Around[0] == &cases[0].Around[0])
		}
	}
}

// What cannot be tied to a pod is looked through for each pod of the node: with four times
// as many pods and lines there is four times as much to look through, not sixteen.
func TestWhatCannotBeTiedCostsItsSize(t *testing.T) {
	book := loadBook(t)
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, apart := range []time.Duration{time.Second, time.Minute} {
		look := func(n int) (looked int) {
			var entries []ingest.Entry
			for i := range n {
				line := ingest.Entry{
					At:     at.Add(time.Duration(i) * apart),
					Clock:  ingest.WallClock,
					Source: ingest.Kubelet,
					Trust:  ingest.Attested,
					Node:   "n",
					Doc:    "j",
					Line:   2 * i,
				}
				uid := fmt.Sprintf("%08d-1111-4222-8333-444455556666", i/2) // of two pods each
				line.Text = fmt.Sprintf(`I0301 10:00:00.000000     812 kubelet.go:1] "SyncLoop (PLEG): event for pod" `+
					`pod="ci/amber-%d" event={"ID":"%s","Type":"ContainerDied","Data":"%064x"}`, i, uid, i+1e9)
				entries = append(entries, line)
				line.Text = fmt.Sprintf(
					`I0301 10:00:00.000000     812 generic.go:1] "Generic (PLEG): container finished" `+
						`podID="%s" containerID="***" exitCode=137`,
					uid,
				)
				line.Line++
				entries = append(entries, line)
			}
			for _, c := range classify.Assembled(entries, book, classify.Options{}) {
				looked += len(c.Around) + len(c.Coverage)
			}
			return looked
		}
		few, many := look(500), look(2000)
		if few < 500 || many > 5*few {
			t.Errorf("%v apart: %d for 500 pods, %d for 2000", apart, few, many)
		}
	}
}

// A request to stop whose id is masked can be for anybody: neither of the kubelet
// and its runtime proves then, by its silence, that nobody asked.
func TestMaskedRequestVoidsSilence(t *testing.T) {
	book := loadBook(t)
	all := incidents(t)
	in := all[slices.IndexFunc(all, func(in fixtures.Incident) bool { return in.Name == "host-teardown-killed" })]
	list := entries(in)
	was := judge(book, list, in)
	if was.Confidence != rules.Probable || was.DiedAt == nil {
		t.Fatalf("%s (%s)", was.Label, was.Confidence)
	}
	with := func(source ingest.Source, text string) rules.Verdict {
		at := was.DiedAt.Add(-20 * time.Second)
		host := ingest.Entry{
			At:     at,
			Clock:  ingest.WallClock,
			Source: source,
			Trust:  ingest.Attested,
			Node:   was.Node,
			Doc:    "other",
			Text:   text,
		}
		beside := host
		beside.Source, beside.Text = ingest.Kubelet,
			`I0301 10:00:00.000000     812 kubelet.go:2515] "SyncLoop ADD" source="api" pods=["shop/till-1"]`
		return judge(book, append(slices.Clone(list), host, beside), in)
	}
	const klog = "I0301 10:00:00.000000     812 kubelet.go:2421] "
	killing := func(uid string) string {
		return klog + `"Killing container with a grace period" podUID="` + uid +
			`" containerName="runner" gracePeriod=30`
	}
	const asked = klog + `"SyncLoop DELETE" source="api" `
	stop := func(id string) string {
		return `time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"` + id + `\" with timeout 30 (s)"`
	}
	for text, source := range map[string]ingest.Source{
		stop("$CID"):                                    ingest.Containerd,
		stop(""):                                        ingest.Containerd,
		stop(strings.Repeat("f", 64)):                   ingest.Containerd,
		asked + `pods=["xxxxxxxx"]`:                     ingest.Kubelet,
		asked + `pods=["ci/***"]`:                       ingest.Kubelet,
		asked + `pods=["ci/<pod-name>"]`:                ingest.Kubelet,
		asked + `pods=["ci/[redacted]"]`:                ingest.Kubelet,
		asked + `pods=["ci/linux-runner-xxxxx"]`:        ingest.Kubelet,
		killing("***"):                                  ingest.Kubelet,
		killing("<id>"):                                 ingest.Kubelet,
		killing("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"): ingest.Kubelet,
		killing("00000000-0000-0000-0000-000000000000"): ingest.Kubelet,
		asked + `pods=[""]`:                             ingest.Kubelet,
		asked + `pods=["` + was.Namespace + "/" + was.Runner[:len(was.Runner)-3] + `"]`: ingest.Kubelet,
	} {
		if v := with(source, text); v.Label == was.Label && v.Confidence != rules.Suspected {
			t.Errorf("%s: %s (%s)", text, v.Label, v.Confidence)
		}
	}
	if v := with(ingest.Kubelet, klog+`"SyncLoop DELETE" source="api" pods=["shop/till-2"]`); v.Label != was.Label ||
		v.Confidence != was.Confidence {
		t.Errorf("another pod's deletion: %s (%s)", v.Label, v.Confidence)
	}
}

// Where it is not known which node a pod was on, the log of one that never names the pod proves nothing by its
// silence; one that names the pod does, and so does one that names no node.
func TestSilenceOfAnotherNode(t *testing.T) {
	book := loadBook(t)
	all := incidents(t)
	in := all[slices.IndexFunc(all, func(in fixtures.Incident) bool { return in.Name == "SIGTERM-drain-exit" })]
	for _, c := range []struct {
		name            string
		named, withHost bool
		want            rules.Confidence
	}{
		{"the log names the pod", true, true, rules.Probable},
		{"it does not", false, true, rules.Suspected},
		{"neither has a node", false, false, rules.Suspected},
	} {
		var list []ingest.Entry
		for _, e := range entries(in) {
			if !c.withHost {
				e.Node = ""
			}
			if c.named || !strings.Contains(e.Text, "SyncLoop ADD") {
				list = append(list, e)
			}
		}
		if v := judge(book, list, in); v.Label != "SIGTERM-drain" || v.Confidence != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Label, v.Confidence, c.want)
		}
	}
}

// Every machine that nobody named is called localhost: what only its name ties to a pod is not confirmed.
func TestNodeWithoutAName(t *testing.T) {
	book := loadBook(t)
	tried := 0
	for _, in := range incidents(t) {
		if !slices.Contains([]string{"node-crash-panic", "node-crash-boot", "node-OOM-victim"}, in.Name) {
			continue
		}
		list, was := entries(in), judge(book, entries(in), in)
		for i := range list {
			if list[i].Node != "" && list[i].Node == was.Node {
				list[i].Node = "localhost"
			}
		}
		tried++
		if v := judge(book, list, in); v.Confidence == rules.Confirmed && v.Label == "node-crash" {
			t.Errorf("%s: %s (%s) by %s", in.Name, v.Label, v.Confidence, v.Rule)
		}
	}
	if tried == 0 {
		t.Error("no incident")
	}
}

// What an agent's full spool lost of pods' logs names no pod. It is a hole in the log of each pod of
// its node, also of one that no log of the node names, and in nothing else.
func TestHoleInTheLogsOfANodesPods(t *testing.T) {
	died := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	mark := func(source ingest.Source, node string, m ingest.Mark) ingest.Entry {
		return ingest.Entry{At: m.To, Clock: ingest.WallClock, Source: source, Trust: ingest.Attested, Node: node,
			Mark: &m}
	}
	read := ingest.Mark{Kind: ingest.Covered, From: died.Add(-time.Hour), To: died.Add(time.Minute)}
	for _, c := range []struct {
		what, node string
		named      bool // by the node's kubelet
		lost       time.Time
		want       bool // its log is read over its death
	}{
		{"of the node", "n1", true, died, false},
		{"of the node, and its kubelet is silent", "n1", false, died, false},
		{"of another node", "n2", true, died, true},
		{"of the node, and lost long before", "n1", true, died.Add(-10 * time.Minute), true},
	} {
		const uid = "00000001-1111-2222-3333-444455556666"
		log := mark(ingest.Runner, c.node, read)
		log.Namespace, log.Pod, log.PodUID = "ci", "amber-1", uid
		gap := ingest.Mark{Kind: ingest.Gap, From: c.lost.Add(-time.Second), To: c.lost, Why: "the spool was full"}
		entries := []ingest.Entry{log, mark(ingest.Kernel, c.node, read), mark(ingest.Runner, "n1", gap)}
		if c.named {
			entries = append(entries, ingest.Entry{At: died, Clock: ingest.WallClock, Source: ingest.Kubelet,
				Trust: ingest.Attested, Node: c.node, Text: `I0301 10:00:00.000000     812 generic.go:358] ` +
					`"Generic (PLEG): container finished" podID="` + uid + `" containerID="` +
					strings.Repeat("0a", 32) + `" exitCode=1`})
		}
		cases := classify.Cases(slices.Values(entries), loadBook(t))
		at := slices.IndexFunc(cases, func(k *casefile.Case) bool { return k.UID == uid })
		if at < 0 {
			t.Fatalf("%s: no case", c.what)
		}
		if got := cases[at].Covers(ingest.Runner, died); got != c.want {
			t.Errorf("%s: its log is read: %v, want %v", c.what, got, c.want)
		}
		if c.named && !cases[at].Covers(ingest.Kernel, died) {
			t.Errorf("%s: the kernel's log is not", c.what)
		}
	}
}
