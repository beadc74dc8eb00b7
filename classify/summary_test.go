package classify_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest/bundle"
	"coroner/rules"
)

// clockwork is what programs write around a cause: the names of fields, the
// head of a line, the codes of a transport.
var clockwork = regexp.MustCompile(
	`\b(?:reason|message|from|object|involvedObject|podUID|err)=|[IWEF]\d{4} \d\d:\d\d:\d\d|rpc error: code ` +
		`=|UniqueName:|` +
		`total-vm:|oom-kill:constraint|\.go:\d+\]|\$\{|\.\.$|\(\)|, \)| \.$`,
)

// A summary quotes the cause and no line's clockwork, and every verdict of a
// death says what to do.
func TestSummariesQuoteTheCause(t *testing.T) {
	b := loadBook(t)
	for _, in := range incidents(t) {
		for _, v := range classify.Replay(slices.Values(entries(in)), b, classify.Options{}) {
			if found := clockwork.FindString(v.Summary); found != "" {
				t.Errorf("%s: the summary holds %q: %s", in.Name, found, v.Summary)
			}
			if v.Label.Death() && v.Advice == "" {
				t.Errorf("%s: %s gives no advice", in.Name, v.Label)
			}
			if r := b.Rule(v.Rule); r != nil && r.Advice() != "" && !strings.Contains(r.Advice(), "[") &&
				v.Advice != r.Advice() {
				t.Errorf("%s: the advice of %s is %q, and the verdict's %q", in.Name, r.ID, r.Advice(), v.Advice)
			}
		}
	}
}

// A summary does not say that nobody was seen asking where the verdict names who did.
func TestSummariesKnowTheInitiator(t *testing.T) {
	b, tried := loadBook(t), 0
	for _, in := range incidents(t) {
		for _, v := range classify.Replay(slices.Values(entries(in)), b, classify.Options{}) {
			if !strings.Contains(v.Summary, "who asked for it") {
				continue
			}
			if tried++; v.Initiator != "" && v.Initiator != "unknown" {
				t.Errorf("%s: by %s, and the summary says: %s", in.Name, v.Initiator, v.Summary)
			}
		}
	}
	if tried == 0 {
		t.Error("no summary says that")
	}
}

// What a line says of the cause is in the summary, and the advice goes with it.
func TestSummaryAndAdviceFollowTheLine(t *testing.T) {
	const events = "LAST SEEN   TYPE      REASON   OBJECT              MESSAGE\n"
	row := func(reason, message string) string {
		return events + "12s         Warning   " + reason + "   pod/amber-4kx2p   " + message + "\n"
	}
	b := loadBook(t)
	for _, c := range []struct {
		name, text      string
		verdict         rules.Label
		summary, advice string
	}{
		{
			"another processor",
			row("Failed",
				`Failed to pull image "mill.example/ci:9": rpc error: code = NotFound desc = failed to pull and `+
					`unpack image "mill.example/ci:9": no match for platform in manifest: not found`),
			rules.ImagePullFailure, "no match for platform in manifest", "node's processor",
		},
		{
			"no account",
			row("Failed",
				`Failed to pull image "mill.example/ci:9": failed to authorize: failed to fetch anonymous token: `+
					`unexpected status: 401 Unauthorized`),
			rules.ImagePullFailure, "401 Unauthorized", "pull secret",
		},
		{
			"a registry's limit",
			row("Failed",
				`Failed to pull image "mill.example/ci:9": toomanyrequests: You have reached your pull rate limit.`),
			rules.ImagePullFailure, "toomanyrequests", "registry's limit",
		},
		{
			"no such tag",
			row("Failed", `Failed to pull image "mill.example/ci:9": manifest unknown`),
			rules.ImagePullFailure, "manifest unknown", "name and tag",
		},
		{
			"a registry that is not reached",
			row("Failed", `Failed to pull image "mill.example/ci:9": dial tcp: lookup mill.example: no such host`),
			rules.ImagePullFailure, "no such host", "DNS",
		},
		{
			"a secret that is not there",
			row("FailedMount", `MountVolume.SetUp failed for volume "keys" : secret "forge-keys" not found`),
			rules.NeverStarted, `secret "forge-keys" not found`, "Make the Secret or ConfigMap",
		},
		{
			"a volume that is attached elsewhere",
			row("FailedAttachVolume",
				`Multi-Attach error for volume "pvc-7" Volume is already exclusively attached to one node and can't `+
					`be attached to another`),
			rules.NeverStarted, "Multi-Attach error", "another node",
		},
		{
			"too little room",
			row("FailedScheduling",
				`0/6 nodes are available: 6 Insufficient cpu. preemption: 0/6 nodes are available: 6 No preemption `+
					`victims found for incoming pod.`),
			rules.Unschedulable, "6 Insufficient cpu.", "Lower the pod's requests",
		},
		{
			"a selector that no node has",
			row("FailedScheduling", `0/6 nodes are available: 6 node(s) didn't match Pod's node affinity/selector.`),
			rules.Unschedulable, "node affinity/selector", "nodes' labels",
		},
		{
			"no address left",
			row("FailedCreatePodSandBox",
				`Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox `+
					`"7f": plugin type="host-local" failed (add): no IP addresses available in range set`),
			rules.SandboxFailure, "no IP addresses available", "no address left",
		},
		{
			"a process that was killed",
			"##[group]Run ./mill.sh\n./mill.sh: line 14:  1187 Killed                  java -jar mill.jar\n" +
				"##[error]Process completed with exit code 137.\n",
			rules.ChildOOM, "java (pid 1187)", "memory",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := bundle.Bytes("events.txt", []byte(c.text), bundle.Options{}).Entries(nil)
			v := classify.Replay(list, b, classify.Options{})[0]
			if v.Label != c.verdict || !strings.Contains(v.Summary, c.summary) ||
				!strings.Contains(v.Advice, c.advice) {
				t.Errorf("%s by %s\nsummary %s\nadvice  %s", v.Label, v.Rule, v.Summary, v.Advice)
			}
			if found := clockwork.FindString(v.Summary); found != "" {
				t.Errorf("the summary holds %q: %s", found, v.Summary)
			}
		})
	}
}
