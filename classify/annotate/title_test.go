package annotate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/rules"
	"coroner/rules/book"
	"coroner/rules/casefile"
)

// bookOfAll is the built-in rulebook with a label of each domain and trait beside it, as somebody
// can add them.
func bookOfAll(t *testing.T) *rules.Rulebook {
	t.Helper()
	var labels, verdicts strings.Builder
	for _, domain := range []string{"platform", "provider", "operator", "workload", "none"} {
		for _, trait := range []string{"death", "lives_on", "before_start"} {
			name := "own-" + domain + "-" + strings.ReplaceAll(trait, "_", "-")
			fmt.Fprintf(&labels, "  - {name: %s, doc: d, domain: %s, retry: unknown, advice: a, %s: true}\n", name,
				domain, trait)
			fmt.Fprintf(&verdicts, "  - {id: %s, verdict: %s, when: ended, summary: s}\n", name, name)
		}
	}
	b, err := rules.Load(book.Files, fstest.MapFS{"own.yaml": {
		Data: []byte("labels:\n" + labels.String() + "verdicts:\n" + verdicts.String())}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// saidOf is what is said at a job by a rule, with that exit code of the runner's container, if any:
// the title, and what is below it of business and retry.
func saidOf(t *testing.T, l *ledger.Ledger, b *rules.Rulebook, r *rules.Rule, code *int) (title, below string) {
	t.Helper()
	died := time.Date(2026, 5, 4, 9, 59, 0, 0, time.UTC)
	v := rules.Verdict{Runner: "amber", Node: "n1", Label: r.Label, Rule: r.ID, Domain: r.Domain, Retry: r.Retry,
		Confidence: rules.Probable, DiedAt: &died, Exit: rules.Exit{Code: code}, Revision: 1}
	v.NoDeath = r.Label.Death() && b.Labels[r.Label] != nil && !b.Labels[r.Label].Death
	v.Kind = r.Kind
	text, err := toSay(t.Context(), l, b, "", &ledger.Record{Case: "c", Verdict: v})
	if errors.Is(err, deliver.ErrSkip) {
		return "nothing", ""
	}
	if err != nil {
		t.Fatal(err)
	}
	below, _, _ = strings.Cut(text.body, "\n\nRunner amber")
	return text.title, "  " + strings.ReplaceAll(below, "\n\n", " ") + "\n"
}

// What is said of every label, by the domain, the retry and the fate that its rules give it, in
// the words that stand in testdata: of a new label or domain somebody looks at them.
func TestWhatIsSaidOfEachLabel(t *testing.T) {
	l := newScene(t, Check).ledger
	b, seen := bookOfAll(t), map[string]string{}
	for _, r := range b.Rules {
		if r.Kind != casefile.OfRunner {
			continue
		}
		of := fmt.Sprintf("%s, %s, %s", r.Label, r.Domain, r.Retry)
		if r.LivesOn {
			of += ", can live on"
		}
		sigkill := 137
		none, below := saidOf(t, l, b, r, nil)
		zero, _ := saidOf(t, l, b, r, new(int))
		killed, _ := saidOf(t, l, b, r, &sigkill)
		text := fmt.Sprintf("%s\n  no exit record: %s\n  exit 0:         %s\n  exit 137:       %s\n%s", of, none, zero,
			killed, below)
		if had, known := seen[of]; known && had != text {
			t.Errorf("%s: two rules alike, and not the same said: %s and %s", r.ID, had, text)
		}
		seen[of] = text
		if saysDied := strings.Contains(text, "died"); saysDied && slices.Contains(survived, r.Label) {
			t.Errorf("%s: the runner lived on: %s", r.ID, text)
		}
	}
	for _, label := range b.LabelOrder() {
		if !slices.ContainsFunc(b.Rules, func(r *rules.Rule) bool { return r.Label == label }) {
			t.Errorf("%s: no rule gives it", label)
		}
	}
	var all strings.Builder
	for _, of := range slices.Sorted(maps.Keys(seen)) {
		all.WriteString(seen[of])
	}
	golden(t, "said", all.String())
}

// A job that was cancelled has no dead runner, nor any other harm that is told of at it: GitHub is
// not asked. What an earlier revision said of it is withdrawn, without a word on running it again.
func TestCancelled(t *testing.T) {
	cancelled := func(v *rules.Verdict) {
		v.Label, v.Domain, v.Retry, v.Rule = rules.JobCancelled, "none", "useless", "job-cancelled-asked"
	}
	for _, mode := range []Mode{Check, Status, Comment} {
		s := newScene(t, mode)
		s.Jobs[0].Conclusion = "cancelled"
		if s.put(cancelled); s.Asked != 0 {
			t.Errorf("%s: GitHub was asked %d times", mode, s.Asked)
		}
		s = newScene(t, mode)
		s.put(func(*rules.Verdict) {})
		s.put(func(v *rules.Verdict) {
			second(rules.JobCancelled)(v)
			cancelled(v)
		})
		_, text, _ := strings.Cut(s.Sent.String(), "Withdrawn: job-cancelled")
		if text == "" || strings.Contains(text, "again") || strings.Contains(text, "business") {
			t.Errorf("%s: %s", mode, &s.Sent)
		}
	}
	s := newScene(t, Check) // a near miss: nobody's known business, and a death
	s.put(func(v *rules.Verdict) {
		v.Label, v.Domain, v.Retry, v.Rule = rules.Unknown, "none", "unknown", "unknown-exit"
	})
	if len(s.Checks) != 1 {
		t.Errorf("of an unexplained death: %s", &s.Sent)
	}
}

// A rule that the rulebook no longer has is taken by its label.
func TestRuleThatIsGone(t *testing.T) {
	b := shippedBook(t)()
	for label, want := range map[rules.Label]fate{
		rules.DeadlineExceeded: open, rules.SIGTERMDrain: ended, rules.HostTeardown: ended, "own": ended,
		rules.ChildOOM: livedOn, rules.Unschedulable: notStarted,
	} {
		if got := fateOf(b, &rules.Verdict{Label: label, Rule: "gone"}); got != want {
			t.Errorf("%s: %v, want %v", label, got, want)
		}
	}
}
