package classify_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// quietNode is the log of a node on which a runner began and told nothing more, while others came and went each
// minute; then the node's last words, and its next boot.
type quietNode struct {
	strings.Builder
	read int // how much of it is a file of its own
}

var quietBegan = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func (n *quietNode) say(after time.Duration, program, text string) {
	at := quietBegan.Add(after).Format("2006-01-02T15:04:05.000000Z07:00")
	fmt.Fprintf(n, "%s host-1 %s: %s\n", at, program, text)
}

func (n *quietNode) pleg(after time.Duration, pod, uid, event, id string) {
	at, id := quietBegan.Add(after).Format("0102 15:04:05.000000"), strings.Repeat(id, 32)
	n.say(after, "kubelet[700]", fmt.Sprintf(`I%s     700 kubelet.go:2569] "SyncLoop (PLEG): event for pod" `+
		`pod="ci/%s" event={"ID":"%s","Type":"%s","Data":"%s"}`, at, pod, uid, event, id))
}

const quietUID = "0b1f6f52-7a3c-4c1f-9a52-6d1f3a7c2b10"

func newQuietNode(minutes int, beside func(n *quietNode, minute int)) *quietNode {
	n := &quietNode{}
	n.pleg(0, "mill-runner-1", quietUID, "ContainerStarted", "c1")
	for m := range minutes {
		after := time.Duration(m)*time.Minute + 30*time.Second
		uid := fmt.Sprintf("0b1f6f52-7a3c-4c1f-9a52-%012d", m)
		n.pleg(after, fmt.Sprintf("other-%d", m), uid, "ContainerStarted", fmt.Sprintf("%02d", m))
		n.pleg(after+20*time.Second, fmt.Sprintf("other-%d", m), uid, "ContainerDied", fmt.Sprintf("%02d", m))
		if beside != nil {
			beside(n, m)
		}
	}
	return n
}

// isCut ends what was read of the node; what follows stands in another file.
func (n *quietNode) isCut() *quietNode {
	n.read = n.Len()
	return n
}

func (n *quietNode) boots(after time.Duration) *quietNode {
	n.say(after, "kernel", "Linux version 6.1.0-18-amd64 (debian-kernel@lists.debian.org) (gcc-12) #1 SMP")
	n.say(after+20*time.Second, "systemd[1]", "Started kubelet.service - kubelet: The Kubernetes Node Agent.")
	return n
}

func (n *quietNode) verdictOf(b *rules.Rulebook, name string) rules.Verdict {
	log := n.String()
	archive := txtar.Format(&txtar.Archive{Files: []txtar.File{
		{Name: "kubelet.log", Data: []byte(log[:n.read])}, {Name: "node.log", Data: []byte(log[n.read:])}}})
	entries := bundle.Bytes("case.txtar", archive, bundle.Options{}).Entries(nil)
	for _, v := range classify.Replay(entries, b, classify.Options{}) {
		if v.Runner == name {
			return v
		}
	}
	return rules.Verdict{}
}

// A runner that works tells nothing for a long time. When its node goes down then, it died of that, if whoever told
// of its start was read until then and told of no end.
func TestNodeEndsLongAfterAPodsLastLine(t *testing.T) {
	b := loadBook(t)
	at := func(minute int, f func(n *quietNode, after time.Duration)) func(*quietNode, int) {
		return func(n *quietNode, m int) {
			if m == minute {
				f(n, time.Duration(m)*time.Minute+40*time.Second)
			}
		}
	}
	panics := func(n *quietNode, after time.Duration) {
		n.say(after, "kernel", "Kernel panic - not syncing: Fatal exception in interrupt")
	}
	down := func(n *quietNode, after time.Duration) {
		n.say(after, "systemd-logind[600]", "The system will reboot now!")
		n.say(after+time.Second, "systemd[1]", "Reached target reboot.target - System Reboot.")
		n.say(after+2*time.Second, "systemd-journald[300]", "Journal stopped")
	}
	calledOff := func(n *quietNode, after time.Duration) {
		at := quietBegan.Add(after).Format("0102 15:04:05.000000")
		n.say(after, "kubelet[700]", "I"+at+"     700 nodeshutdown_manager_linux.go:265] "+
			`"Shutdown manager detected new shutdown event, isNodeShuttingDownNow" event=false`)
	}
	ended := func(n *quietNode, after time.Duration) {
		n.pleg(after, "mill-runner-1", quietUID, "ContainerDied", "c1")
	}
	whole := func(beside func(*quietNode, int)) *quietNode { return newQuietNode(16, beside) }
	died := quietBegan.Add(15*time.Minute + 40*time.Second)
	for _, c := range []struct {
		what  string
		node  *quietNode
		label rules.Label
		died  time.Time
	}{
		{"a panic", whole(at(15, panics)).boots(17 * time.Minute), rules.NodeCrash, died.Add(10 * time.Second)},
		{"a panic that is the log's end", whole(at(15, panics)), rules.NodeCrash, time.Time{}},
		{"a shutdown", whole(at(15, down)).boots(17 * time.Minute), rules.NodeShutdown, died.Add(10 * time.Second)},
		{"a boot", whole(nil).boots(17 * time.Minute), rules.NodeCrash, quietBegan.Add(17 * time.Minute)},
		{"a shutdown called off, and a boot later", newQuietNode(30, at(15, calledOff)).boots(31 * time.Minute),
			rules.Unknown, quietBegan.Add(31 * time.Minute)},
		{"a shutdown that was called off", newQuietNode(30, at(15, calledOff)), "", time.Time{}},
		{"an end of its own before", whole(at(3, ended)).boots(17 * time.Minute), "", time.Time{}},
		{"half an hour that was not read", whole(nil).isCut().boots(47 * time.Minute), "", time.Time{}},
	} {
		v := c.node.verdictOf(b, "mill-runner-1")
		switch {
		case c.label == "" && (v.Label == rules.NodeCrash || v.Label == rules.NodeShutdown):
			t.Errorf("%s: %s (%s) by %s", c.what, v.Label, v.Confidence, v.Rule)
		case c.label == "":
		case v.Label != c.label || v.Confidence == rules.Suspected && c.label != rules.Unknown:
			t.Errorf("%s: %s (%s) by %s, want %s", c.what, v.Label, v.Confidence, v.Rule, c.label)
		case !c.died.IsZero() && (v.DiedAt == nil || v.DiedAt.Sub(c.died).Abs() > 15*time.Second):
			t.Errorf("%s: died at %v, want %v", c.what, v.DiedAt, c.died)
		}
	}
}
