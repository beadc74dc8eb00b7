// Package booktest runs the tests that stand in a rulebook and in files beside it.
//
// Invariant: documents are read, and a test of a rule is judged, as coroner explain does it with the
// files of an archive; a test of a fact asks the first case that it would judge: a runner, or else a
// pool, or else what names nobody.
//
// Crash behaviour: the package is pure; there is no state to lose.
package booktest

import (
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strconv"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"
	"coroner/rules/inline"

	"golang.org/x/tools/txtar"
)

// Run runs the tests that stand in a rulebook and in the files of tests of the folder that lies on top,
// and returns what failed, one text each, and how many ran. Verdict tests go through classify.Replay.
func Run(book *rules.Rulebook, folder fs.FS) (failed []string, ran int, err error) {
	tests, err := factTests(book, folder)
	if err != nil {
		return nil, 0, err
	}
	failed, ran = book.TestSignals()
	for _, f := range book.Facts {
		for _, t := range tests[f.Name] {
			ran++
			if why := testFact(book, f, t); why != "" {
				failed = append(failed, fmt.Sprintf("%s: fact %s, test %q: %s", t.Pos(), f.Name, t.Name, why))
			}
		}
	}
	for _, r := range book.Rules {
		for _, t := range r.Tests {
			ran++
			if why := testRule(book, r, t); why != "" {
				failed = append(failed, fmt.Sprintf("%s: rule %s, test %q: %s", t.Pos(), r.ID, t.Name, why))
			}
		}
	}
	return failed, ran, nil
}

// factTests are the tests of each fact, those that stand beside it first.
func factTests(book *rules.Rulebook, folder fs.FS) (map[string][]inline.FactTest, error) {
	all, names := map[string][]inline.FactTest{}, make([]string, 0, len(book.Facts))
	for _, f := range book.Facts {
		all[f.Name], names = slices.Clone(f.Tests), append(names, f.Name)
	}
	apart, err := inline.ReadFiles(folder, names)
	for _, of := range apart {
		all[of.Fact] = append(all[of.Fact], of.Tests...)
	}
	return all, err
}

func testRule(book *rules.Rulebook, r *rules.Rule, t inline.RuleTest) string {
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

func testFact(book *rules.Rulebook, f *rules.Fact, t inline.FactTest) string {
	c := classify.Cases(documents(t.Files), book)[0]
	if got := valueText(f.ValueIn(c, book)); got != t.Want {
		return fmt.Sprintf("is %s, want %s", got, t.Want)
	}
	return ""
}

// valueText is a fact's value as a test has it: of a list how many lines it has.
func valueText(v any) string {
	if list, ok := v.([]any); ok {
		return strconv.Itoa(len(list))
	}
	return fmt.Sprint(v)
}

// documents reads texts as coroner explain reads the files of an archive.
func documents(files map[string]string) iter.Seq[ingest.Entry] {
	var all txtar.Archive
	for _, name := range slices.Sorted(maps.Keys(files)) {
		all.Files = append(all.Files, txtar.File{Name: name, Data: []byte(files[name])})
	}
	return bundle.Bytes("test.txtar", txtar.Format(&all), bundle.Options{}).Entries(nil)
}
