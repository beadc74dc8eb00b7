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
	"strconv"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
)

// Recorded is a verdict as the API gives it: the fields of the verdict and
// these.
type Recorded struct {
	ID       string    `json:"id"` // of the case: the same over revisions
	Recorded time.Time `json:"recorded_at"`
	rules.Verdict
}

// Runner is one pod that fits the name that was asked for.
type Runner struct {
	ID        string     `json:"id"`
	Runner    string     `json:"runner"`
	Namespace string     `json:"namespace"`
	Node      string     `json:"node"`
	PodUID    string     `json:"pod_uid"`
	State     string     `json:"state"` // open: no end was seen; ending: its evidence is being collected; judged
	Heard     time.Time  `json:"heard_at"`
	Verdict   *Recorded  `json:"verdict"`           // null until it is judged
	Revisions []Recorded `json:"revisions"`         // what was said before, the first first
	Opinion   *Recorded  `json:"opinion,omitempty"` // ending: what it would be judged now
}

// Answer is what the API gives for a name.
type Answer struct {
	Runners []Runner `json:"runners"`
}

// Verdicts is what the API gives for a query.
type Verdicts struct {
	Verdicts []Recorded `json:"verdicts"`
}

// Source is where answers come from.
type Source interface {
	FindRunners(ctx context.Context, what string, limit int) ([]ledger.Case, error)
	Revisions(ctx context.Context, id string) ([]ledger.Record, error)
	Verdicts(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
}

// API is the HTTP API. Its fields are set before Register.
type API struct {
	Source  Source
	Opinion func(context.Context, ledger.Case) (*rules.Verdict, error) // of a case that is not judged yet
	Now     func() time.Time
}

// Register adds the API's routes.
func (a *API) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/verdicts", a.verdicts)
	mux.HandleFunc("GET /api/v1/runners/{name...}", a.runner)
}

const (
	maxRunners  = 20
	maxVerdicts = 1000
)

// verdicts answers ?runner=&node=&verdict=&since=&limit=. since is a duration
// back from now (90m, 24h) or a time (RFC 3339).
func (a *API) verdicts(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	q := ledger.Query{Runner: v.Get("runner"), Node: v.Get("node"), Label: v.Get("verdict"), Limit: 100}
	if s := v.Get("since"); s != "" {
		at, err := Since(s, a.Now())
		if err != nil {
			fail(w, http.StatusBadRequest, err)
			return
		}
		q.Since = at
	}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			fail(w, http.StatusBadRequest, fmt.Errorf("limit=%q: want a number from 1 to %d", s, maxVerdicts))
			return
		}
		q.Limit = min(n, maxVerdicts)
	}
	found, err := a.Source.Verdicts(r.Context(), q)
	if err != nil {
		fail(w, http.StatusInternalServerError, err)
		return
	}
	answer(w, http.StatusOK, Verdicts{recorded(found)})
}

// Since reads a duration back from now, or a time.
func Since(s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return at, fmt.Errorf("since=%q: want a duration like 90m or a time like 2026-01-02T15:04:05Z", s)
	}
	return at, nil
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
	if name == "" || len(name) > 512 {
		fail(w, http.StatusBadRequest, fmt.Errorf("no name, or one of more than 512 bytes; /api/v1/verdicts lists the latest"))
		return
	}
	cases, err := a.Source.FindRunners(r.Context(), name, maxRunners)
	out := Answer{Runners: []Runner{}}
	for i := 0; i < len(cases) && err == nil; i++ {
		var one Runner
		one, err = a.one(r.Context(), cases[i])
		out.Runners = append(out.Runners, one)
	}
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	case len(cases) == 0:
		answer(w, http.StatusNotFound, out)
	default:
		answer(w, http.StatusOK, out)
	}
}

func (a *API) one(ctx context.Context, c ledger.Case) (Runner, error) {
	out := Runner{ID: c.ID, Runner: c.Name, Namespace: c.Namespace, Node: c.Node, PodUID: c.UID, State: string(c.State), Heard: c.Heard, Revisions: []Recorded{}}
	all, err := a.Source.Revisions(ctx, c.ID)
	if n := len(all); n > 0 {
		list := recorded(all)
		out.Verdict, out.Revisions = &list[n-1], list[:n-1]
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
