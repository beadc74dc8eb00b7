// Package inline reads the tests that stand in a rulebook, beside its facts and verdict
// rules or in files of their own: documents, and what must come of them. Package booktest
// runs them.
//
// Invariant: a key that it does not know is a mistake with its place, and so is the name of
// no fact.
//
// Crash behaviour: there is no state to lose.
package inline

import (
	"io/fs"

	"go.yaml.in/yaml/v4"

	"coroner/rules/yamlfile"
)

// Documents are what a test gives to read.
type Documents struct {
	Name  string
	Files map[string]string // by the names that they would have on disk
	pos   yamlfile.Pos
}

// Pos says where the test stands in its rulebook file.
func (d Documents) Pos() string { return d.pos.String() }

// RuleTest is a test of a verdict rule: documents and the verdict that they must give.
type RuleTest struct {
	Documents
	Verdict    string
	Confidence string
	Rule       string
}

// FactTest is a test of a fact: documents and the value that it must have there.
type FactTest struct {
	Documents
	Want string // true or false, a text, a number, or how many lines a list has
}

// FactTests are the tests of one fact.
type FactTests struct {
	Fact  string
	Tests []FactTest
}

// ReadFiles reads the files of tests of a folder: of each fact that they name, one of those that there are,
// its tests. All mistakes are told at once.
func ReadFiles(folder fs.FS, facts []string) (all []FactTests, err error) {
	files, err := yamlfile.ReadTests(folder)
	if err != nil {
		return nil, err
	}
	var mistakes yamlfile.Errors
	for _, f := range files {
		r := yamlfile.NewReader(f, &mistakes)
		byName := map[string]func(*yaml.Node){}
		for _, name := range facts {
			byName[name] = func(n *yaml.Node) {
				one := FactTests{Fact: name}
				r.List(func(n *yaml.Node) { one.Tests = append(one.Tests, ReadFactTest(r, n)) })(n)
				all = append(all, one)
			}
		}
		sections := map[string]func(*yaml.Node){
			"tests": func(n *yaml.Node) { r.Object(n, "tests, whose keys are names of facts", byName) },
		}
		if root := r.Root(); root != nil {
			r.Object(root, "file of tests", sections)
		}
	}
	return all, mistakes.Join()
}

// ReadRuleTest reads a test of a verdict rule.
func ReadRuleTest(r *yamlfile.Reader, n *yaml.Node) RuleTest {
	t := RuleTest{Documents: documentsAt(r, n)}
	var name, verdict, confidence, rule yamlfile.Text
	r.Object(n, "verdict test", map[string]func(*yaml.Node){
		"name": r.Text(&name), "files": t.read(r),
		"verdict": r.Text(&verdict), "confidence": r.Text(&confidence), "rule": r.Text(&rule),
	})
	t.Name, t.Verdict, t.Confidence, t.Rule = name.Value, verdict.Value, confidence.Value, rule.Value
	return t
}

// ReadFactTest reads a test of a fact.
func ReadFactTest(r *yamlfile.Reader, n *yaml.Node) FactTest {
	t := FactTest{Documents: documentsAt(r, n)}
	var name, want yamlfile.Text
	r.Object(n, "fact test", map[string]func(*yaml.Node){
		"name": r.Text(&name), "files": t.read(r), "want": r.Text(&want),
	})
	if want.Pos == (yamlfile.Pos{}) {
		r.Mistake(n, "a test of a fact says what the fact must be: want")
	}
	t.Name, t.Want = name.Value, want.Value
	return t
}

func documentsAt(r *yamlfile.Reader, n *yaml.Node) Documents {
	return Documents{pos: r.Pos(n), Files: map[string]string{}}
}

// read reads the documents themselves.
func (d Documents) read(r *yamlfile.Reader) func(*yaml.Node) {
	return r.Each(func(name, text yamlfile.Text) { d.Files[name.Value] = text.Value })
}
