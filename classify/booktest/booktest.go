// Package booktest runs the tests that stand in a rulebook.
//
// Invariant: a test of a rule is judged as coroner explain judges a file.
//
// Crash behaviour: the package is pure; there is no state to lose.
package booktest

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/rules"
)

// Run runs the inline tests of a rulebook and returns what failed, one
// text each, and how many ran. Verdict tests go through classify.Replay.
func Run(book *rules.Rulebook) (failed []string, ran int) {
	failed, ran = book.TestSignals()
	for _, r := range book.Rules {
		for _, t := range r.Tests {
			ran++
			if why := testRule(book, r, t); why != "" {
				failed = append(failed, fmt.Sprintf("%s: rule %s, test %q: %s", t.Pos(), r.ID, t.Name, why))
			}
		}
	}
	return failed, ran
}

func testRule(book *rules.Rulebook, r *rules.Rule, t rules.RuleTest) string {
	v := classify.Replay(documents(t.Files), book, classify.Options{})[0]
	switch {
	case t.Verdict != "" && string(v.Label) != t.Verdict:
		return fmt.Sprintf("verdict is %s by rule %s, want %s", v.Label, v.Rule, t.Verdict)
	case t.Verdict == "" && v.Rule != r.ID:
		return fmt.Sprintf("rule %s wins with %s", v.Rule, v.Label)
	case t.Confidence != "" && string(v.Confidence) != t.Confidence:
		return fmt.Sprintf("confidence is %s, want %s", v.Confidence, t.Confidence)
	case t.Rule != "" && v.Rule != t.Rule:
		return fmt.Sprintf("rule %s wins, want %s", v.Rule, t.Rule)
	}
	return ""
}

// documents reads texts as the documents of one bundle.
func documents(files map[string]string) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			d, stopped := document.Document{Name: name}, false
			err := d.Read(strings.NewReader(files[name]), func(e ingest.Entry) bool {
				stopped = !yield(e)
				return !stopped
			})
			if err != nil || stopped {
				return
			}
		}
	}
}
