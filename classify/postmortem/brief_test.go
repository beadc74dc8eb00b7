package postmortem_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/classify/postmortem"
	"coroner/rules"
)

// The short page has every line that decides, the neighbour's OOM kill with whose it was,
// what the runner did last, and five lines of context in all, however many there are.
func TestShortPage(t *testing.T) {
	v := verdict()
	v.Evidence[0].Mine = true
	line := func(ago int, source, signal, text string) rules.EvidenceLine {
		at := v.DiedAt.Add(-time.Duration(ago) * time.Second)
		return rules.EvidenceLine{At: &at, Source: source, Signal: signal, Text: text, Mine: true}
	}
	kill := line(49, "kernel", "kernel.oom-killed", "Killed process 7 (node)")
	kill.Mine, kill.Of = false, "default/report-1"
	lines := []rules.EvidenceLine{line(60, "runner", "runner.step", "Processing step: build"), kill}
	for i := range 40 {
		lines = append(lines, line(48-i, "kubelet", fmt.Sprint("kubelet.some-", i%2), fmt.Sprint("note ", i)))
		lines = append(lines, line(48-i, "runner", "runner.worker-busy", "Try to append 1 batches"))
	}
	v.Evidence = append(lines, v.Evidence...)
	text := write(t, v, postmortem.Style{})
	for _, want := range []string{
		"» 10:00:04.000  kernel", "Processing step: build", "Killed process 7 (node)  (of default/report-1)",
		"Killing container with a grace period", "note 39",
		"of them the runner's housekeeping",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "Try to append") {
		t.Errorf("shows housekeeping:\n%s", text)
	}
	n := strings.Count(text, "kubelet  ") + strings.Count(text, "Processing") + strings.Count(text, "process 7")
	if n != 5 {
		t.Errorf("%d lines of context, want 5:\n%s", n, text)
	}
	whole := write(t, v, postmortem.Style{All: true})
	for i := range 40 {
		if !strings.Contains(whole, fmt.Sprint("note ", i)) {
			t.Errorf("--all lacks note %d", i)
		}
	}
}

// A line that decides is shown even if it is housekeeping: the last renewal can decide.
func TestDecidingHousekeepingIsShown(t *testing.T) {
	v := verdict()
	e := &v.Evidence[0]
	e.Signal, e.Source, e.Text = "runner.renewed", "runner", "Successfully renew job"
	if text := write(t, v, postmortem.Style{}); !strings.Contains(
		text,
		"» 10:00:04.000  runner     Successfully renew",
	) {
		t.Error(text)
	}
}

// Who was asked for comes first and in full, the others as one table; without anybody asked
// for the table is first. --all gives each a page.
func TestPages(t *testing.T) {
	own, other, third := verdict(), verdict(), verdict()
	other.Runner, other.Label, third.Runner = "beryl-7", rules.NodeOOM, "coral-9"
	all := []rules.Verdict{*own, *other, *third}
	page := func(all []rules.Verdict, n int, s postmortem.Style) string {
		var b strings.Builder
		if err := postmortem.Pages(&b, all, n, s); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const head = "\nRUNNER          VERDICT                  CONFIDENCE DIED AT\n"
	got := page(all, 1, postmortem.Style{})
	if !strings.HasPrefix(got, "cgroup-OOM (confirmed) · ci/amber-4kx2p") ||
		!strings.HasSuffix(got, "\n2 other verdicts (--runner NAME explains one, --all each):"+
			strings.ReplaceAll(head, "          V", "      V")+
			"ci/beryl-7  node-OOM                 confirmed  2026-03-01 10:00:04Z\n"+
			"ci/coral-9  cgroup-OOM               confirmed  2026-03-01 10:00:04Z\n") {
		t.Error(got)
	}
	if strings.Contains(got, "· ci/beryl-7 ·") {
		t.Errorf("a neighbour has a page:\n%s", got)
	}
	if got := page(all, 1, postmortem.Style{All: true}); !strings.Contains(got, "· ci/beryl-7 ·") {
		t.Errorf("--all has no page for a neighbour:\n%s", got)
	}
	if got := page(all, 0, postmortem.Style{}); !strings.HasPrefix(got, "3 verdicts:"+head) ||
		strings.Count(got, "\n  exit ") != 3 {
		t.Errorf("want the table, then three pages:\n%s", got)
	}
	for _, n := range []int{0, 1} {
		if got := page(all[:1], n, postmortem.Style{}); strings.Contains(got, "RUNNER") {
			t.Errorf("one verdict has a table:\n%s", got)
		}
	}
}
