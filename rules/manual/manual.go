// Package manual turns a label of a rulebook into a page that a person can
// read: what it means, what decides it, what it is confused with, what to do.
// coroner rules docs and the web page show the same pages.
//
// Invariant: a page says nothing that the rulebook and the incidents do not
// say; it is a pure function of both, so a page that is kept can be checked.
//
// Crash behaviour: none, there is no state.
package manual

import (
	"slices"
	"strings"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
)

// Page is what the rulebook knows of one label. All of its text is plain.
type Page struct {
	Label    rules.Label
	Meaning  string
	Death    bool   // false: it ended, or not, and nobody was harmed
	Domain   string // platform | workload | provider | operator | none
	Business string // the same in words
	Retry    string // helps | useless | unknown
	Again    string // the same in words
	Rules    []Rule // in the order in which they are tried
	Confused []Confusion
	RuledOut []string // the facts that rule it out
	Needs    string   // what would decide it while it is open, or ""
	Advice   string   // what to do
	ByLine   []string // what to do where a line says more
	Queries  []Query
	Describe string // the command that prints this from the rulebook in force
}

// Rule is one way to this label.
type Rule struct {
	ID, Doc    string
	Precedence int
	AtMost     rules.Confidence // the most that it can claim
	Says       string           // what its verdict reads like: ‹name› is a value, […] is said where it applies
	Advice     string           // where it differs from the label's
	Domain     string           // where it differs from the label's
	Retry      string           // where it differs from the label's
	Needs      []string         // logs that must have been read over the death
	Signals    []Signal         // the lines that can decide; none: it is decided by what was ruled out
	Incidents  []Incident       // the deaths that show it
	Tests      []string         // the names of its inline tests
}

// Signal is a line that can decide.
type Signal struct {
	Name, Doc string
	Printed   string   // by which program, since when
	Sources   []string // who may prove it
}

// Incident is a whole death that coroner ships with.
type Incident struct{ Name, Story string }

// Confusion is a label that this one is mistaken for.
type Confusion struct {
	Label   rules.Label
	Meaning string
	Apart   string // how the two are told apart
}

// Query finds verdicts of this label.
type Query struct{ In, Text string }

// PageOf returns the page of a label. It says false where the rulebook has no
// such label. Incidents are shown under the rule that they are named after.
func PageOf(book *rules.Rulebook, label rules.Label, incidents []fixtures.Incident) (Page, bool) {
	d := book.Labels[label]
	if d == nil {
		return Page{}, false
	}
	p := Page{
		Label: label, Meaning: d.Doc, Death: d.Death,
		Domain: d.Domain, Business: business[d.Domain], Retry: d.Retry, Again: again[d.Retry],
		RuledOut: d.Exclusions(), Needs: d.Needs, Advice: d.Advice,
		Queries: labelQueries(label), Describe: "coroner rules describe " + string(label),
	}
	for _, by := range d.ByLine {
		p.ByLine = append(p.ByLine, by.Advice)
	}
	for _, r := range book.Rules {
		if r.Label == label {
			p.Rules = append(p.Rules, ruleOf(book, d, r, incidents))
		}
	}
	for _, c := range d.Confused {
		if other := book.Labels[c.Label]; other != nil {
			p.Confused = append(p.Confused, Confusion{c.Label, other.Doc, c.Apart})
		}
	}
	return p, true
}

// Pages returns the page of every label, in the order in which people meet them.
func Pages(book *rules.Rulebook, incidents []fixtures.Incident) (out []Page) {
	for _, l := range book.LabelOrder() {
		if p, ok := PageOf(book, l, incidents); ok {
			out = append(out, p)
		}
	}
	return out
}

func ruleOf(book *rules.Rulebook, d *rules.LabelDef, r *rules.Rule, incidents []fixtures.Incident) Rule {
	out := Rule{
		ID: r.ID, Doc: r.Doc, Precedence: r.Precedence, AtMost: r.Confidence, Says: r.Says(), Advice: r.Advice(),
		Domain: ownUnlessCommon(d.Domain, r.Domain), Retry: ownUnlessCommon(d.Retry, r.Retry),
	}
	for _, s := range r.Needs {
		out.Needs = append(out.Needs, rules.SourceNoun(s))
	}
	for _, name := range r.Deciding {
		s := book.Signal(name)
		out.Signals = append(out.Signals, Signal{s.Name, s.Doc, s.Printed, sourceWords(s.Sources)})
	}
	for _, t := range r.Tests {
		out.Tests = append(out.Tests, t.Name)
	}
	for _, in := range incidents {
		if rule, _, _ := strings.Cut(in.Name, "~"); rule == r.ID {
			out.Incidents = append(out.Incidents, Incident{in.Name, in.Story})
		}
	}
	return out
}

// ownUnlessCommon returns own where it differs from common.
func ownUnlessCommon(common, own string) string {
	if own == common {
		return ""
	}
	return own
}

func sourceWords(sources []ingest.Source) (out []string) {
	for _, s := range slices.Compact(slices.Clone(sources)) {
		out = append(out, string(s))
	}
	return out
}

var business = map[string]string{
	"platform": "Those who run the nodes and the cluster.",
	"workload": "Those who wrote the job, or who gave the runner its size.",
	"provider": "GitHub or the CI server, its runner program, or the way to them.",
	"operator": "Those who set up, drain or delete the runners.",
	"none":     "Nobody's.",
}

var again = map[string]string{
	"helps":   "Running the job again helps, as a rule.",
	"useless": "Running the same job again changes nothing.",
	"unknown": "Whether running the job again helps cannot be said from the label alone.",
}

// labelQueries finds the label in Loki, in Prometheus and in coroner itself. A
// runner that nothing happened to is not recorded.
func labelQueries(l rules.Label) []Query {
	if l == rules.None {
		return nil
	}
	return []Query{
		{"Loki", `{job="coroner", verdict="` + string(l) + `"}`},
		{"Loki, one runner", `{job="coroner", verdict="` + string(l) + `"} | runner="NAME"`},
		{"Prometheus", `sum by (pool) (increase(coroner_verdicts_total{verdict="` + string(l) + `"}[1d]))`},
		{"coroner's API", `GET /api/v1/verdicts?verdict=` + string(l) + `&since=24h`},
	}
}
