package completion

import (
	"regexp"
	"strings"

	"coroner/classify/lookup"
	"coroner/rules"

	"github.com/spf13/cobra"
)

// Names are the names of a kind (runners, nodes or clusters) in verdicts, each once, as
// candidates for what was begun.
func Names(verdicts []lookup.Recorded, kind, begun string) (out []string) {
	seen := map[string]bool{}
	for _, v := range verdicts {
		name, means := nameIn(kind, &v, strings.Contains(begun, "/"))
		if harmless.MatchString(name) && !seen[name] {
			seen[name] = true
			out = append(out, cobra.CompletionWithDesc(name, means))
		}
	}
	return out
}

// Labels are labels as candidates, with what the rulebook says of them.
func Labels(labels []rules.Label, book *rules.Rulebook) (out []string) {
	for _, l := range labels {
		means := ""
		if def := book.Labels[l]; def != nil {
			means = FirstSentence(def.Doc)
		}
		out = append(out, cobra.CompletionWithDesc(string(l), means))
	}
	return out
}

// Rules are a rulebook's verdict rules as candidates, with what it says of them.
func Rules(book *rules.Rulebook) (out []string) {
	for _, r := range book.Rules {
		out = append(out, cobra.CompletionWithDesc(r.ID, FirstSentence(r.Doc)))
	}
	return out
}

// Entries are all that can be described of a rulebook, as candidates: labels, rules, signals
// and kinds of secrets.
func Entries(book *rules.Rulebook) []string {
	out := append(Labels(book.LabelOrder(), book), Rules(book)...)
	for _, s := range book.Signals {
		out = append(out, cobra.CompletionWithDesc(s.Name, FirstSentence(s.Doc)))
	}
	for _, s := range book.Secrets {
		out = append(out, cobra.CompletionWithDesc(s.Name, FirstSentence(s.Doc)))
	}
	return out
}

// nameIn is the name of that kind that a verdict has.
func nameIn(kind string, v *lookup.Recorded, whole bool) (name, means string) {
	switch kind {
	case "clusters":
		return v.Cluster, ""
	case "nodes":
		return v.Node, ""
	}
	name, means = v.Runner, string(v.Label)
	if whole {
		name = v.Namespace + "/" + v.Runner
	}
	if v.DiedAt != nil {
		means += " " + v.DiedAt.UTC().Format("2006-01-02 15:04Z")
	}
	return name, means
}

// harmless is a name that no shell reads anything into: names come from logs.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)
