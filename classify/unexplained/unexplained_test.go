package unexplained_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/unexplained"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/rules"
)

func loadBook(t *testing.T) *rules.Rulebook {
	t.Helper()
	return shipped.Rulebook(t)
}

// lookedAt is the verdict that u tells after it looked at lines, one a second up to
// the death.
func lookedAt(t *testing.T, v rules.Verdict, lines []string) rules.Verdict {
	t.Helper()
	all := []rules.Verdict{v}
	u := unexplained.New(loadBook(t), all)
	u.Take(func(yield func(ingest.Entry) bool) {
		for i, text := range lines {
			at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(i-len(lines)) * time.Minute)
			e := ingest.Entry{
				At:     at,
				Source: ingest.Systemd,
				Trust:  ingest.Attested,
				Node:   "build-7",
				Doc:    "node.log",
				Line:   i + 1,
				Text:   text,
			}
			if !yield(e) {
				return
			}
		}
	})
	u.Tell()
	return all[0]
}

func unknownDeath() rules.Verdict {
	died := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	return rules.Verdict{
		Runner:   "amber-4kx2p",
		Label:    rules.Unknown,
		DiedAt:   &died,
		Evidence: []rules.EvidenceLine{{Source: "kubelet"}},
	}
}

func texts(v rules.Verdict) (out []string) {
	for _, l := range v.NotUnderstood {
		out = append(out, l.Text)
	}
	return out
}

// The line that a person should look at first comes first, and says why.
func TestUnexplainedLinesInOrder(t *testing.T) {
	lines := []string{
		"rackd: fatal: fan 3 is gone", // alarming, long before
		"rackd: all is well",
		"rackd: amber-4kx2p is on rack 7",
		"rackd: the door was opened",
		"rackd: error: no answer from the door",
		"rackd: fatal: the door burns",
		"rackd: all is well again",
	}
	slices.Reverse(lines)
	lines = append(slices.Repeat([]string{"rackd: tick"}, 60), lines...)
	slices.Reverse(lines[60:])
	v := lookedAt(t, unknownDeath(), lines)
	got := texts(v)
	if len(got) != 5 || got[0] != "rackd: fatal: the door burns" {
		t.Fatalf("got %q", got)
	}
	if b := v.NotUnderstood[0].Because; b != `2m0s before the death, says "fatal"` {
		t.Error(b)
	}
	if slices.Contains(got, "rackd: tick") {
		t.Errorf("a dull line of an hour ago is shown: %q", got)
	}
	if i := slices.Index(got, "rackd: amber-4kx2p is on rack 7"); i < 0 ||
		!strings.Contains(v.NotUnderstood[i].Because, "names the runner") {
		t.Errorf("the line that names the runner: %d in %q", i, got)
	}
}

// However often a line is repeated, with whatever numbers, it takes one place.
func TestUnexplainedLinesDoNotRepeat(t *testing.T) {
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("rackd: error %d: fan %d of rack %08x is late", i, i*7, i*31))
	}
	lines = append(lines, "rackd: the door was opened")
	if got := texts(lookedAt(t, unknownDeath(), lines)); len(got) != 2 {
		t.Errorf("got %q", got)
	}
}

// What an exact signal or a list of harmless lines knows is not shown, a secret is
// not shown, and a line of a megabyte is cut.
func TestUnexplainedLinesAreSafe(t *testing.T) {
	v := lookedAt(t, unknownDeath(), []string{
		`I0301 10:00:04.000000     812 generic.go:356] "Generic (PLEG): container finished" ` +
			`podID="0a0b0c0d-1111-2222-3333-444455556666" ` +
			`containerID="1111111111111111111111111111111111111111111111111111111111111111" exitCode=9`,
		"rackd: login failed, password=hunter2horse",
		"rackd: fatal " + strings.Repeat("x", 1<<20),
	})
	if len(v.NotUnderstood) != 2 {
		t.Fatalf("got %q", texts(v))
	}
	for _, l := range v.NotUnderstood {
		if len(l.Text) > 600 || strings.Contains(l.Text, "hunter2horse") {
			t.Errorf("shown as it is: %.100q", l.Text)
		}
	}
}

// A verdict that explains a death is left alone.
func TestExplainedDeathsGetNoLines(t *testing.T) {
	v := unknownDeath()
	v.Label = rules.HostTeardown
	if unexplained.New(loadBook(t), []rules.Verdict{v}).Wanted() {
		t.Error("lines are looked for on behalf of a death that is explained")
	}
}

// However many kinds of alarming lines a job prints, few are looked at closely: the
// second look takes no longer for them than the first.
func TestUnexplainedLinesAreBounded(t *testing.T) {
	v := unknownDeath()
	u := unexplained.New(loadBook(t), []rules.Verdict{v})
	u.Take(func(yield func(ingest.Entry) bool) {
		for i := range 200_000 {
			word := strings.Map(func(r rune) rune { return 'g' + r - '0' }, fmt.Sprint(i))
			if !yield(
				ingest.Entry{Source: ingest.Job, Text: "error: fatal panic in " + word + strings.Repeat(" x", 100)},
			) {
				return
			}
		}
	})
	if asked := unexplained.Asked(u); asked > 20_000 {
		t.Errorf("%d kinds of lines were looked at closely", asked)
	}
}

// Lines that are known to tell of no death were understood, and are no all-clear all the same.
func TestHarmlessLinesAreUnderstood(t *testing.T) {
	const known = "2026-03-01T10:00:00Z\tINFO\trunnerpod\tRunner has just been unregistered.\t{\"runnerpod\": \"ci/a\"}"
	for want, lines := range map[string][]string{
		"Read 1 line, which does not tell how anything ended. That is no all-clear":       {known},
		"Read 2 lines, none of which tells how anything ended. That is no all-clear":      {known, known},
		"Read 2 lines, understood none of them. That is no all-clear":                     {known, "the mill turns"},
		"Read 1 line and did not understand it. That is no all-clear":                     {"the mill turns"},
		"Read 0 lines, understood none of them. That is no all-clear: the node's journal": nil,
	} {
		v := lookedAt(t, rules.Verdict{Label: rules.None}, lines)
		if !strings.HasPrefix(v.Summary, want) {
			t.Errorf("%q, want %q", v.Summary, want)
		}
	}
}
