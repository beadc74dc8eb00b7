// Package lookup answers what happened to a runner: the HTTP API over the
// ledger, and its client.
//
// Invariant: answers are JSON and public; fields are added, never renamed or
// removed. A question never changes anything.
//
// Crash behaviour: it keeps no state.
package lookup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Recorded is a verdict as the API gives it: the fields of the verdict and
// these.
type Recorded struct {
	ID       string    `json:"id"` // of the case: the same over revisions
	Recorded time.Time `json:"recorded_at"`
	rules.Verdict
}

// Page is the address of the verdict's page.
func (r *Recorded) Page() string { return PagePath(r.Kind, r.Namespace, r.About(), r.ID) }

// Runner is one pod that fits what was asked for, or a pool or a job.
type Runner struct {
	Subject
	State     string     `json:"state"` // open: no end was seen; ending: its evidence is being collected; judged
	Heard     time.Time  `json:"heard_at"`
	Verdict   *Recorded  `json:"verdict"`            // null until it is judged
	Revisions []Recorded `json:"revisions"`          // what was said before, the first first
	Opinion   *Recorded  `json:"opinion,omitempty"`  // ending: what it would be judged now
	Siblings  *Siblings  `json:"siblings,omitempty"` // judged: who else died on the node at that time
}

// Subject says what an answer is about.
type Subject struct {
	ID        string        `json:"id"`
	Kind      casefile.Kind `json:"kind"`
	Cluster   string        `json:"cluster,omitempty"`
	Runner    string        `json:"runner"` // "" for a pool and a job
	Pool      string        `json:"pool,omitempty"`
	Job       string        `json:"job,omitempty"` // its number
	Namespace string        `json:"namespace"`
	Node      string        `json:"node"`
	PodUID    string        `json:"pod_uid"`
}

// Name is the runner's or the pool's, or the job's number.
func (a *Subject) Name() string { return cmp.Or(a.Runner, a.Pool, a.Job) }

// Page is the address of its page.
func (a *Subject) Page() string { return PagePath(a.Kind, a.Namespace, a.Name(), a.ID) }

// subjectOf is what a case is about.
func subjectOf(c *ledger.Case) Subject {
	a := Subject{ID: c.ID, Kind: c.Kind, Cluster: c.Cluster, Namespace: c.Namespace, Node: c.Node, PodUID: c.UID}
	a.setName(c.Name)
	return a
}

func (a *Subject) setName(name string) {
	switch a.Kind {
	case casefile.OfPool:
		a.Pool = name
	case casefile.OfJob:
		a.Job = name
	default:
		a.Runner = name
	}
}

// thin takes the evidence of earlier revisions away, and of the verdict what does
// not decide.
func (r *Runner) thin() {
	for i := range r.Revisions {
		r.Revisions[i].thin(0)
	}
	if r.Verdict != nil {
		r.Verdict.thin(thinLines)
	}
}

// thinLines are the lines that decide, in a verdict that is one of many.
const thinLines = 5

// thin leaves so many of the lines that decide. How many are missing is said.
func (r *Recorded) thin(most int) {
	kept := []rules.EvidenceLine{}
	for _, e := range r.Evidence {
		if e.Decisive && len(kept) < most {
			kept = append(kept, e)
		}
	}
	r.EvidenceOmitted += len(r.Evidence) - len(kept)
	r.Evidence = kept
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
	// Meaning is what the question was taken for, where that is not a runner's own name.
	Meaning string `json:"meaning,omitempty"`
	// Exact says that the runners are those that were named, not some that may be meant.
	Exact   bool     `json:"exact"`
	Runners []Runner `json:"runners"`
	// Error says that nothing was found.
	Error string `json:"error,omitempty"`
}

// Verdicts is what the API gives for a query.
type Verdicts struct {
	Verdicts []Recorded `json:"verdicts"`
}

// Source is where answers come from.
type Source interface {
	FindRunners(
		ctx context.Context, cluster *string, what string, limit int,
	) (found []ledger.Case, exact bool, err error)
	FindStanding(ctx context.Context, kind casefile.Kind, cluster *string, name string) ([]ledger.Case, error)
	Case(ctx context.Context, id string) (ledger.Case, bool, error)
	Lives(ctx context.Context, pod string) ([]ledger.Case, error)
	Revisions(ctx context.Context, id string) ([]ledger.Record, error)
	Verdicts(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
	Next(ctx context.Context, c *ledger.Cursor) ([]ledger.Record, error)
	Labels(ctx context.Context) ([]rules.Label, error)
	RunnersOn(ctx context.Context, cluster, node string, from, to time.Time) (int, error)
}

// API answers questions, in Go and over HTTP. Its fields are set before its
// first use.
type API struct {
	Source Source
	// Opinion is what a case would be judged now; nil: no opinions are given.
	Opinion func(context.Context, ledger.Case) (*rules.Verdict, error)
	// Gather is the evidence of a case; nil: no incident files are given.
	Gather func(context.Context, ledger.Case) ([]ingest.Entry, error)
	Book   func() *rules.Rulebook // in force; nil: there are the built-in labels only
	Now    func() time.Time
	Places Places // of all questions, those of the pages among them
}

// Register adds the API's routes.
func (a *API) Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/v1/verdicts", a.dated(a.verdicts))
	mux.HandleFunc("GET /api/v1/runners/{name...}", a.dated(a.Places.Bounded(a.runner)))
	mux.HandleFunc("GET /api/v1/labels", a.Places.Bounded(a.labels))
	mux.HandleFunc("GET /api/v1/labels/{label}", a.Places.Bounded(a.label))
	mux.HandleFunc("GET /api/v1/search", a.dated(a.Places.Bounded(a.search)))
	mux.HandleFunc("GET /api/v1/incidents/{id}", a.dated(a.Places.Bounded(a.incident)))
}

// AsOfHeader says of an answer from the ledger as of when it is, by the server's clock: what
// was recorded later may be missing. What could not be answered has none.
const AsOfHeader = "X-Coroner-As-Of"

// AsOf is a time as AsOfHeader has it.
func AsOf(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// dated adds AsOfHeader to what f answers.
func (a *API) dated(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(AsOfHeader, AsOf(a.Now()))
		f(w, r)
	}
}

// longest is how long a question may take: a ledger that is busy with one is
// slow for all others.
const longest = 10 * time.Second

// MaxName is how many bytes of a question are read at most.
const MaxName = 512

const (
	maxRunners  = 20
	maxVerdicts = 1000
)

// List gives the verdicts that fit, the latest recorded first, without their
// evidence.
func (a *API) List(ctx context.Context, q ledger.Query) ([]Recorded, error) {
	q.Brief = true
	found, err := a.Source.Verdicts(ctx, q)
	return asRecorded(found), err
}

func asRecorded(all []ledger.Record) []Recorded {
	out := []Recorded{}
	for _, r := range all {
		out = append(out, Recorded{r.Case, r.Recorded, r.Verdict})
	}
	return out
}

// runner answers for a name, the start of one, namespace/name or a pod UID, in
// every cluster or the one that ?cluster= names.
func (a *API) runner(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if name == "" || len(name) > MaxName {
		fail(w, http.StatusBadRequest,
			fmt.Errorf("no name, or one of more than %d bytes; /api/v1/verdicts lists the latest", MaxName))
		return
	}
	found, err := a.Find(r.Context(), r.URL.Query().Get("cluster"), name)
	found.write(w, err)
}

func (found Answer) write(w http.ResponseWriter, err error) {
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	case len(found.Runners) == 0:
		found.Error = "nobody is known of that name; /api/v1/verdicts lists the latest"
		answer(w, http.StatusNotFound, found)
	default:
		answer(w, http.StatusOK, found)
	}
}

// Find gives the runners of a name, [namespace/]name or a pod UID, or of the
// start of one, the latest heard of first; none is an empty answer. A cluster is
// all of them if it is "".
func (a *API) Find(ctx context.Context, cluster, name string) (Answer, error) {
	cases, exact, err := a.Source.FindRunners(ctx, within(cluster), name, maxRunners)
	if err != nil {
		return Answer{Runners: []Runner{}}, err
	}
	pools, err := a.Source.FindStanding(ctx, casefile.OfPool, within(cluster), ingest.PoolName(name))
	if len(cases) == 0 {
		exact = true
	}
	cases = append(pools, cases...)
	out, err := a.about(ctx, cases, err)
	if out.Exact = exact && len(cases) > 0; !out.Exact {
		out.Meaning = "runners whose names begin with " + name + ", or hold it"
	}
	return out, err
}

// FindStanding is Find for the pools or the jobs of a name that something is or was wrong
// with.
func (a *API) FindStanding(kind casefile.Kind) func(ctx context.Context, cluster, name string) (Answer, error) {
	return func(ctx context.Context, cluster, name string) (Answer, error) {
		found, err := a.Source.FindStanding(ctx, kind, within(cluster), ingest.PoolName(name))
		out, err := a.about(ctx, found, err)
		out.Exact = true
		return out, err
	}
}

// Named gives the runner of one case; none is an empty answer.
func (a *API) Named(ctx context.Context, id string) (Answer, error) {
	c, ok, err := a.Source.Case(ctx, id)
	if !ok || err != nil {
		return Answer{Runners: []Runner{}}, err
	}
	out, err := a.about(ctx, []ledger.Case{c}, nil)
	out.Exact = true
	return out, err
}

func (a *API) about(ctx context.Context, cases []ledger.Case, err error) (Answer, error) {
	out := Answer{Runners: []Runner{}}
	lines, opinions := 0, 0
	if err == nil {
		cases, err = a.withLives(ctx, cases)
	}
	for i := 0; i < len(cases) && err == nil; i++ {
		var one Runner
		one, err = a.one(ctx, cases[i], opinions < maxOpinions)
		if one.Opinion != nil {
			opinions++
		}
		if lines += one.lines(); lines > maxLines {
			one.thin()
		}
		out.Runners = append(out.Runners, one)
	}
	return out, err
}

// withLives puts the further lives of a pod's container before the pod: each died a
// death of its own, and the last is the first that is asked about.
func (a *API) withLives(ctx context.Context, pods []ledger.Case) (out []ledger.Case, err error) {
	for _, pod := range pods {
		lives, err := a.Source.Lives(ctx, pod.ID)
		if err != nil {
			return nil, err
		}
		out = append(append(out, lives...), pod)
	}
	return out, nil
}

// What an answer about many runners holds in full: further verdicts are thin, and
// further opinions, each of which costs a judgement, are not given.
const (
	maxLines    = 4000
	maxOpinions = 5
)

// lines is how much evidence there is of a runner.
func (r *Runner) lines() (n int) {
	for i := range r.Revisions {
		n += len(r.Revisions[i].Evidence)
	}
	if says := r.Says(); says != nil {
		n += len(says.Evidence)
	}
	return n
}

// one is what is known of a case; with an opinion, if it has no verdict and one is
// asked for.
func (a *API) one(ctx context.Context, c ledger.Case, opinion bool) (Runner, error) {
	out := Runner{Subject: subjectOf(&c), State: string(c.State), Heard: c.Heard, Revisions: []Recorded{}}
	all, err := a.Source.Revisions(ctx, c.ID)
	if n := len(all); n > 0 {
		list := asRecorded(all)
		out.Verdict, out.Revisions = &list[n-1], list[:n-1]
		if ledger.PodOf(c.ID) != c.ID {
			out.name(&list[n-1].Verdict)
		}
		out.Siblings, err = a.siblings(ctx, &list[n-1].Verdict, list[n-1].Recorded)
	}
	if err != nil || out.Verdict != nil || c.State != ledger.StateEnding || a.Opinion == nil || !opinion {
		return out, err
	}
	v, err := a.Opinion(ctx, c)
	if err == nil && v.Label != rules.None {
		v.Revision = 0
		out.Opinion = &Recorded{ID: c.ID, Recorded: a.Now(), Verdict: *v}
	}
	return out, err
}

// name gives a life of a pod's container the pod's names, which its case lacks.
func (r *Runner) name(v *rules.Verdict) {
	r.Namespace, r.Node, r.PodUID = v.Namespace, v.Node, v.PodUID
	r.setName(v.About())
}

func answer(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(body) // the client has gone
}

func fail(w http.ResponseWriter, code int, err error) {
	w.Header().Del(AsOfHeader)
	if errors.Is(err, errBusy) {
		code = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	if errors.Is(err, context.DeadlineExceeded) {
		code = http.StatusServiceUnavailable
		err = fmt.Errorf("this took longer than %s; ask for less: a shorter time, a longer name", longest)
	}
	answer(w, code, map[string]string{"error": err.Error()})
}

// PagePath is the permanent address of the page of a runner, a pool or a job. The name is for
// people; the case tells pods apart that had it one after another.
func PagePath(kind casefile.Kind, namespace, name, id string) string {
	path := "/" + kind.Word() + "s/"
	for _, part := range []string{namespace, name} {
		if strings.Trim(part, ".") != "" { // a browser would take . and .. for steps
			path += url.PathEscape(part) + "/"
		}
	}
	return strings.TrimSuffix(path, "/") + "?case=" + url.QueryEscape(id)
}
