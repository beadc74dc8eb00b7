package web

import (
	"fmt"
	"net/http"

	"coroner/rules"
	"coroner/rules/manual"
)

// labelsView lists what a verdict can be.
func (p *Pages) labelsView(_ http.ResponseWriter, r *http.Request) (view, error) {
	var all []manual.Page
	known, err := p.API.Labels(r.Context())
	for _, l := range known {
		if page, ok := p.Manual(l); ok {
			all = append(all, page)
		}
	}
	return view{template: "labels", Title: "Verdicts", Data: all}, err
}

// labelView says what one verdict means, by the rulebook in force.
func (p *Pages) labelView(_ http.ResponseWriter, r *http.Request) (view, error) {
	name := r.PathValue("label")
	page, ok := p.Manual(rules.Label(name))
	if !ok {
		return view{}, problem{http.StatusNotFound, fmt.Sprintf("There is no verdict %s.", cleanText(name))}
	}
	return view{template: "label", Title: name, Data: page}, nil
}
