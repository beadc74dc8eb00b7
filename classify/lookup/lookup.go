// Package lookup answers what happened to a runner: the HTTP API over the
// ledger, and its client.
//
// Invariant: answers are JSON and public; fields are added, never renamed or
// removed. A question never changes anything.
//
// Crash behaviour: it keeps no state.
package lookup

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// Recorded is a verdict as the API gives it: the fields of the verdict and
// these.
type Recorded struct {
	ID       string    `json:"id"` // of the case: the same over revisions
	Recorded time.Time `json:"recorded_at"`
	rules.Verdict
}

// Runner is one pod that fits what was asked for.
type Runner struct {
	ID        string     `json:"id"`
	Runner    string     `json:"runner"`
	Namespace string     `json:"namespace"`
	Node      string     `json:"node"`
	PodUID    string     `json:"pod_uid"`
	State     string     `json:"state"` // open: no end was seen; ending: its evidence is being collected; judged
	Heard     time.Time  `json:"heard_at"`
	Verdict   *Recorded  `json:"verdict"`            // null until it is judged
	Revisions []Recorded `json:"revisions"`          // what was said before, the first first
	Opinion   *Recorded  `json:"opinion,omitempty"`  // ending: what it would be judged now
	Siblings  *Siblings  `json:"siblings,omitempty"` // judged: who else died on the node at that time
}

// Says is what is said of the runner at present: its verdict, else the opinion;
// nil when there is neither.
func (r *Runner) Says() *Recorded {
	if r.Verdict != nil {
		return r.Verdict
	}
	return r.Opinion
}

// Answer is what the API gives for a name or a search.
type Answer struct {
	Meaning string   `json:"meaning,omitempty"` // a search: what the text was taken for
	Runners []Runner `json:"runners"`
}

// Verdicts is what the API gives for a query.
type Verdicts struct {
	Verdicts []Recorded `json:"verdicts"`
}

// Source is where answers come from.
type Source interface {
	FindRunners(ctx context.Context, what string, limit int) ([]ledger.Case, error)
	Case(ctx context.Context, id string) (ledger.Case, bool, error)
	Revisions(ctx context.Context, id string) ([]ledger.Record, error)
	Verdicts(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
	RunnersOn(ctx context.Context, node string, from, to time.Time) (int, error)
}

// API answers questions, in Go and over HTTP. Its fields are set before its
// first use.
type API struct {
	Source  Source
	Opinion func(context.Context, ledger.Case) (*rules.Verdict, error) // of a case that is not judged yet; nil: none is given
	Gather  func(context.Context, ledger.Case) ([]ingest.Entry, error) // the evidence of a case; nil: no incident files
	Now     func() time.Time
}

// Register adds the API's routes.
func (a *API) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/verdicts", a.verdicts)
	mux.HandleFunc("GET /api/v1/runners/{name...}", a.runner)
	mux.HandleFunc("GET /api/v1/search", a.search)
	mux.HandleFunc("GET /api/v1/incidents/{id}", a.incident)
}

const (
	maxRunners  = 20
	maxVerdicts = 1000
	maxName     = 512 // bytes of what is asked for
)

// verdicts answers with what Filter reads of the parameters.
func (a *API) verdicts(w http.ResponseWriter, r *http.Request) {
	q, err := Filter(r.URL.Query(), a.Now())
	if err != nil {
		fail(w, http.StatusBadRequest, err)
		return
	}
	found, err := a.List(r.Context(), q)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, Verdicts{found})
}

// List gives the verdicts that fit, the latest recorded first.
func (a *API) List(ctx context.Context, q ledger.Query) ([]Recorded, error) {
	found, err := a.Source.Verdicts(ctx, q)
	return recorded(found), err
}

func recorded(all []ledger.Record) []Recorded {
	out := []Recorded{}
	for _, r := range all {
		out = append(out, Recorded{r.Case, r.Recorded, r.Verdict})
	}
	return out
}

// runner answers for a name, the start of one, namespace/name or a pod UID.
func (a *API) runner(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" || len(name) > maxName {
		fail(w, http.StatusBadRequest, fmt.Errorf("no name, or one of more than %d bytes; /api/v1/verdicts lists the latest", maxName))
		return
	}
	found, err := a.Find(r.Context(), name)
	found.write(w, err)
}

func (found Answer) write(w http.ResponseWriter, err error) {
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	case len(found.Runners) == 0:
		answer(w, http.StatusNotFound, found)
	default:
		answer(w, http.StatusOK, found)
	}
}

// Find gives the runners of a name, [namespace/]name, the start of one or a pod
// UID, the latest heard of first; none is an empty answer.
func (a *API) Find(ctx context.Context, name string) (Answer, error) {
	cases, err := a.Source.FindRunners(ctx, name, maxRunners)
	return a.about(ctx, cases, err)
}

func (a *API) about(ctx context.Context, cases []ledger.Case, err error) (Answer, error) {
	out := Answer{Runners: []Runner{}}
	for i := 0; i < len(cases) && err == nil; i++ {
		var one Runner
		one, err = a.one(ctx, cases[i])
		out.Runners = append(out.Runners, one)
	}
	return out, err
}

func (a *API) one(ctx context.Context, c ledger.Case) (Runner, error) {
	out := Runner{ID: c.ID, Runner: c.Name, Namespace: c.Namespace, Node: c.Node, PodUID: c.UID, State: string(c.State), Heard: c.Heard, Revisions: []Recorded{}}
	all, err := a.Source.Revisions(ctx, c.ID)
	if n := len(all); n > 0 {
		list := recorded(all)
		out.Verdict, out.Revisions = &list[n-1], list[:n-1]
		out.Siblings, err = a.siblings(ctx, &list[n-1].Verdict)
	}
	if err != nil || out.Verdict != nil || c.State != ledger.StateEnding || a.Opinion == nil {
		return out, err
	}
	v, err := a.Opinion(ctx, c)
	if err == nil && v.Label != rules.None {
		v.Revision = 0
		out.Opinion = &Recorded{ID: c.ID, Recorded: a.Now(), Verdict: *v}
	}
	return out, err
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // the client has gone
}

func fail(w http.ResponseWriter, code int, err error) {
	answer(w, code, map[string]string{"error": err.Error()})
}

// PagePath is the permanent address of a runner's page: by its name, or its UID
// where it has none.
func PagePath(namespace, name, uid string) string {
	switch {
	case name == "":
		return "/runners/" + url.PathEscape(uid)
	case namespace == "":
		return "/runners/" + url.PathEscape(name)
	}
	return "/runners/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
}
