package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"coroner/classify/lookup"
)

// searchView goes to the one runner or the label that is meant, or shows those that may be:
// by their names, else by the words of their sentences.
func (p *Pages) searchView(w http.ResponseWriter, r *http.Request, text string) (view, error) {
	if len(text) > lookup.MaxName {
		return view{}, problem{http.StatusBadRequest,
			"This is too long for a runner's name, a pod UID or a job's address."}
	}
	cluster := r.URL.Query().Get("cluster")
	known, err := p.API.Labels(r.Context())
	if err != nil {
		return view{}, err
	}
	label, near, ok := lookup.LabelNamed(text, known)
	if ok {
		http.Redirect(w, r, filter{}.With("verdict", string(label), "since", "168h", "cluster", cluster),
			http.StatusSeeOther)
		return view{}, nil
	}
	a, err := p.API.Search(r.Context(), cluster, text)
	switch {
	case lookup.IsBadQuestion(err):
		return view{}, problem{http.StatusBadRequest, err.Error()}
	case err != nil:
		return view{}, err
	case len(a.Runners) == 1 && a.Exact: // a guess is shown as one
		one := &a.Runners[0]
		http.Redirect(w, r, one.Page(), http.StatusSeeOther)
		return view{}, nil
	}
	hits := &found{Text: text, Meaning: a.Meaning, Other: strings.ContainsAny(text, " @:"), Runners: a.Runners,
		Near: string(near)}
	if len(hits.Runners) == 0 {
		if strings.HasSuffix(a.Meaning, "on node "+text) {
			hits.Meaning = "" // the last guess
		}
		told, err := lookup.Box{API: p.API}.Words(r.Context(), cluster, text)
		if err != nil {
			return view{}, err
		}
		if len(told.Runners) > 0 {
			hits.Meaning, hits.Runners = told.Meaning, told.Runners
		}
	}
	return p.answerView(hits)
}

// suggest answers with what the search box can suggest, as a list of texts.
func (p *Pages) suggest(w http.ResponseWriter, r *http.Request) {
	text := strings.TrimSpace(r.URL.Query().Get("q"))
	hints := []string{}
	if text != "" && len(text) <= lookup.MaxName {
		some, err := lookup.Box{API: p.API}.Hints(r.Context(), r.URL.Query().Get("cluster"), text)
		if err != nil {
			p.Log.Error().Err(err).Msg("nothing could be suggested")
			http.Error(w, "the ledger could not be read", http.StatusInternalServerError)
			return
		}
		for _, s := range some {
			hints = append(hints, cutText(cleanText(s), 160))
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(hints) // the reader has gone
}
