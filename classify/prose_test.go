package classify_test

import (
	"testing"

	"coroner/classify"
	"coroner/ingest/bundle"
	"coroner/rules"
)

// Prose is no evidence: a sentence that quotes what programs print suspects at most,
// whatever it quotes, in a file or from standard input.
func TestProseSuspectsAtMost(t *testing.T) {
	b := loadBook(t)
	for _, text := range []string{
		"I looked and the pod was OOMKilled with exit code 137, I believe.",
		"We think the node was low on resource: memory and the kubelet evicted the pod.",
		"The kernel said Out of memory: Killed process 1187 (java) total-vm:4410028kB, anon-rss:512004kB, file-rss:0kB",
		"Was it Memory cgroup out of memory: Killed process 1187 (java) total-vm:4410028kB, anon-rss:512004kB, " +
			"file-rss:0kB?",
		"In the meeting we said that Kernel panic - not syncing: Fatal exception was on the console.",
		"Somebody saw Failed to pull image \"x\": ErrImagePull: manifest unknown on his screen.",
		"The scheduler told us 0/6 nodes are available: 6 Insufficient cpu.",
		"We read Failed to create pod sandbox: rpc error: code = Unknown desc = no cni.",
		"The self-hosted runner: amber-4kx2p lost communication with the server, said GitHub.",
		"The runner printed A session for this runner already exists. and was gone.",
		"My colleague thinks NodeNotReady, Kubelet stopped posting node status.",
		"It was the job's DeadlineExceeded, Pod was active on the node longer than the specified deadline.",
		"He wrote watchdog: BUG: soft lockup - CPU#6 stuck for 26s! in the chat.",
		"They told me System is rebooting. was the last that it said.",
		"No space left on device, they say, and Too many open files as well.",
		"You reached API rate limit exceeded for installation, said the admin.",
		"The container ended with exit code 139 and signal 11, a segmentation fault.",
		"nvme nvme0: I/O 412 QID 3 timeout, reset controller, that is what I remember.",
	} {
		for _, name := range []string{"notes.txt", "-"} {
			list := bundle.Bytes(name, []byte(text+"\n"), bundle.Options{}).Entries(nil)
			for _, v := range classify.Replay(list, b, classify.Options{}) {
				if v.Label != rules.None && v.Confidence != rules.Suspected {
					t.Errorf("%s (%s) by %s from the sentence %q", v.Label, v.Confidence, v.Rule, text)
				}
			}
		}
	}
}
