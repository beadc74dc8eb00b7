package main

import (
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/console"
	"coroner/cmd/listforms"
	"coroner/rules"
)

// verdicts writes post-mortems in one form. The first own of them are about whom was
// asked for; 0 where nobody was.
func (p *program) verdicts(form listforms.Form, all []rules.Verdict, own int, whole bool) error {
	switch form.Name {
	case listforms.Text:
		style := postmortem.Style{Color: p.color, Width: console.Width(p.out), All: whole}
		return postmortem.Pages(p.out, all, own, style)
	case listforms.Markdown:
		return postmortem.Tickets(p.out, all)
	}
	return form.Write(p.out, listforms.Items(all, func(v *rules.Verdict) *rules.Verdict { return v }))
}

// recordedItems are the verdicts of an answer of the API.
func recordedItems(all []lookup.Recorded) []listforms.Item {
	return listforms.Items(all, func(r *lookup.Recorded) *rules.Verdict { return &r.Verdict })
}

// plainVerdicts are the verdicts without the API's own fields.
func plainVerdicts(all []lookup.Recorded) []rules.Verdict {
	var out []rules.Verdict
	for i := range all {
		out = append(out, all[i].Verdict)
	}
	return out
}
