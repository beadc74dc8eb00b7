package main

import (
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/console"
	"coroner/cmd/objects"
	"coroner/rules"
)

// outputFlags say in which form the answer is written.
type outputFlags struct {
	Output string `short:"o" help:"${output_output}" enum:"text,json,yaml,markdown," default:"" placeholder:"FORM"`
	JSON   bool   `name:"json" help:"Short for -o json."`
}

// The forms of an answer.
const (
	asText, asJSON, asYAML, asMarkdown = "text", "json", "yaml", "markdown"
)

func (o *outputFlags) outputForm() (string, error) {
	switch {
	case o.JSON && o.Output != "" && o.Output != asJSON:
		return "", usage("--json and -o %s at one time; give one of them", o.Output)
	case o.JSON:
		return asJSON, nil
	case o.Output == "":
		return asText, nil
	}
	return o.Output, nil
}

// verdicts writes post-mortems in one form. The first own of them are about whom was
// asked for; 0 where nobody was.
func (p *program) verdicts(form string, all []rules.Verdict, own int, whole bool) error {
	switch form {
	case asJSON:
		return objects.JSON(p.out, all)
	case asYAML:
		return objects.YAML(p.out, all)
	case asMarkdown:
		return postmortem.Tickets(p.out, all)
	}
	return postmortem.Pages(p.out, all, own, postmortem.Style{Color: p.color, Width: console.Width(p.out), All: whole})
}

// plainVerdicts are the verdicts without the API's own fields.
func plainVerdicts(all []lookup.Recorded) []rules.Verdict {
	var out []rules.Verdict
	for i := range all {
		out = append(out, all[i].Verdict)
	}
	return out
}
