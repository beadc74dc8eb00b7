// Package inline reads the tests that stand beside the facts and verdict rules of a
// rulebook: documents, and what must come of them. Package booktest runs them.
//
// Invariant: it is pure. A key that it does not know is a mistake with its place.
//
// Crash behaviour: there is no state to lose.
package inline

import (
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
