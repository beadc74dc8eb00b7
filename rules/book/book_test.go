package book_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coroner/rules"
	"coroner/rules/book"
	"coroner/rules/inline"

	"go.yaml.in/yaml/v4"
)

// The default rulebook compiles: every signal, field, label and expression in
// it exists.
func TestBookCompiles(t *testing.T) {
	b, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range rules.Labels {
		if b.Labels[l] == nil {
			t.Errorf("label %s has no entry", l)
		}
	}
}

// What is embedded as the rulebook is all that there is, but for the tests.
func TestFiles(t *testing.T) {
	names, err := filepath.Glob("*.yaml")
	if err != nil || len(names) < 40 {
		t.Fatalf("%d files: %v", len(names), err)
	}
	for _, name := range names {
		_, err := fs.Stat(book.Files, name)
		if isTest := strings.HasSuffix(name, "_test.yaml"); isTest == (err == nil) {
			t.Errorf("%s: of the tests: %v, in Files: %v", name, isTest, err)
		}
	}
}

// A rule is read by people: no line is wider than half a screen. A long expression goes
// over several lines of a block, a long text or condition over several lines as it is.
func TestLinesFit(t *testing.T) {
	names, err := filepath.Glob("*.yaml")
	plumbing, err2 := filepath.Glob("plumbing/*.yaml")
	if err != nil || err2 != nil || len(names) < 20 || len(plumbing) < 20 {
		t.Fatalf("%d and %d files: %v %v", len(names), len(plumbing), err, err2)
	}
	for _, name := range slices.Concat(names, plumbing) {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(data), "\n") {
			if n := len([]rune(line)); n > 120 {
				t.Errorf("%s:%d has %d columns", name, i+1, n)
			}
		}
	}
}

// The order of the built-in rules is one list: each stands in it, and none says besides
// where it is.
func TestOrderIsOneList(t *testing.T) {
	b, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	order, err := fs.ReadFile(book.Files, "order.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range b.Rules {
		if !strings.Contains(string(order), "\n      - "+r.ID+"\n") {
			t.Errorf("%s has no place in order.yaml", r.ID)
		}
	}
	names, err := fs.Glob(book.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := fs.ReadFile(book.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"precedence: ", "before: ", "after: "} {
			for rule := range strings.SplitSeq(string(data), "\n  - id: ") {
				if id, body, _ := strings.Cut(rule, "\n"); b.Rule(id) != nil && strings.Contains(body, "\n    "+word) {
					t.Errorf("%s: rule %s has a place of its own, %s", name, id, word)
				}
			}
		}
	}
}

// What a rule asks for has a name, that of a fact, so that the rule reads like a sentence: no condition is
// longer than a line.
func TestConditionsAreShort(t *testing.T) {
	names, err := fs.Glob(book.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var long []string
	for _, name := range names {
		data, err := fs.ReadFile(book.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Verdicts []map[string]any }
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatal(name, err)
		}
		for _, rule := range file.Verdicts {
			for _, key := range []string{"when", "sure", "before_start", "decisive", "over"} {
				for _, condition := range listOf(rule[key]) {
					if words := strings.Fields(fmt.Sprint(condition)); len(strings.Join(words, " ")) > 120 {
						long = append(long, fmt.Sprintf("%s: %s of rule %s", name, key, rule["id"]))
					}
				}
			}
		}
	}
	if len(long) > 0 {
		t.Errorf("%d conditions have more than 120 characters:\n%s", len(long), strings.Join(long, "\n"))
	}
}

func listOf(x any) []any {
	if list, ok := x.([]any); ok {
		return list
	}
	return []any{x}
}

// untestedFacts is how many facts have no test of their own. It may sink only.
const untestedFacts = 1

// The facts of NAME.yaml are tested in NAME_test.yaml, in no other file and not beside themselves: by
// documents in which they differ, each with a name of its own.
func TestFactsHaveTests(t *testing.T) {
	b, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	tests, home := factTests(t, b), homes(t)
	var without []string
	for _, f := range b.Facts {
		if strings.HasPrefix(f.Name, "suspect_") {
			continue // those are made of symptoms, which have tests
		}
		if len(tests[f.Name]) == 0 {
			without = append(without, f.Name)
		}
		if len(f.Tests) > 0 {
			t.Errorf("%s has tests beside itself", f.Name)
		}
		values, names := map[string]bool{}, map[string]bool{"": true}
		for _, one := range tests[f.Name] {
			if values[one.Want] = true; names[one.Name] {
				t.Errorf("%s: fact %s has a test of the name %q already", one.Pos(), f.Name, one.Name)
			}
			names[one.Name] = true
			if !strings.HasPrefix(one.Pos(), strings.TrimSuffix(home[f.Name], ".yaml")+"_test.yaml:") {
				t.Errorf("%s: fact %s stands in %s", one.Pos(), f.Name, home[f.Name])
			}
		}
		if len(values) == 1 {
			t.Errorf("fact %s has one value in all of its tests", f.Name)
		}
	}
	if len(without) != untestedFacts {
		t.Errorf("%d facts have no tests, not %d: %s", len(without), untestedFacts, strings.Join(without, " "))
	}
}

// factTests are the tests of each fact in files of tests.
func factTests(t *testing.T, b *rules.Rulebook) map[string][]inline.FactTest {
	t.Helper()
	var names []string
	for _, f := range b.Facts {
		names = append(names, f.Name)
	}
	apart, err := inline.ReadFiles(book.Tests, names)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]inline.FactTest{}
	for _, of := range apart {
		all[of.Fact] = append(all[of.Fact], of.Tests...)
	}
	return all
}

// homes are the names of the files that the facts stand in.
func homes(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(book.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		data, err := fs.ReadFile(book.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		var file struct{ Facts []struct{ Name string } }
		if err := yaml.Unmarshal(data, &file); err != nil {
			t.Fatal(name, err)
		}
		for _, f := range file.Facts {
			all[f.Name] = name
		}
	}
	return all
}
