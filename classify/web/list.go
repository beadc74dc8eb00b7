package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/rules"
)

// The list's parameters are the API's, with two words more for verdict, and a
// day where since is not given.
const (
	everyDeath = ""
	everyEnd   = "all"
	dayAgo     = "24h"
	perPage    = 100
	renew      = 30 // seconds after which the list is asked for again
)

// listing is the data of the list.
type listing struct {
	Filter   filter
	Clusters []string          // that there are, where there are several
	Open     []lookup.Recorded // what is wrong now
	Verdicts []lookup.Recorded
	Older    string // address of the next page, "" = none
	Later    bool   // this is not the first page
	Found    *found // what a search gave
	Chart    chart
	Nodes    nodeChart
	Total    int
	Crowd    crowd
	Health   health
	now      time.Time
}

// Table is the verdicts as the page shows them.
func (l *listing) Table() table { return table{l.Verdicts, len(l.Clusters) > 0, l.now} }

// found is what a search gave.
type found struct {
	Text, Meaning string
	Other         bool   // the text is no name
	Near          string // a label that is written much like the text
	Runners       []lookup.Runner
	now           time.Time
}

// Table is the runners as the page shows them.
func (f *found) Table() table {
	several := slices.ContainsFunc(f.Runners, func(r lookup.Runner) bool { return r.Cluster != f.Runners[0].Cluster })
	return table{f.Runners, several, f.now}
}

// listView is the first page: the search box, the charts, the latest deaths.
func (p *Pages) listView(w http.ResponseWriter, r *http.Request) (view, error) {
	if text := strings.TrimSpace(r.URL.Query().Get("q")); text != "" {
		return p.searchView(w, r, text)
	}
	return p.listingView(r)
}

func (p *Pages) listingView(r *http.Request) (view, error) {
	f, q, err := p.readFilter(r.Context(), r.URL.Query())
	if err != nil {
		return view{}, err
	}
	data := listing{Filter: f, Later: !q.Until.IsZero(), now: p.Now()}
	q.Limit++ // one more tells whether there are more
	data.Verdicts, err = p.API.List(r.Context(), q)
	if err != nil {
		return view{}, err
	}
	if q.Limit--; len(data.Verdicts) > q.Limit {
		data.Verdicts = data.Verdicts[:q.Limit]
		data.Older = f.With("until", timeForPrograms(data.Verdicts[q.Limit-1].Recorded))
	}
	if err := p.fillCharts(r, &data, q); err != nil {
		return view{}, err
	}
	if data.Open, err = p.wrongNow(r.Context(), q); err != nil {
		return view{}, err
	}
	if data.Crowd, err = p.crowdOf(r.Context(), f, q); err != nil {
		return view{}, err
	}
	if data.Health, err = p.healthOf(r.Context()); err != nil {
		return view{}, err
	}
	data.Clusters, err = p.clusters(r.Context())
	v := view{template: "list", Title: "Deaths", Data: &data}
	if !data.Later && !f.values.Has("still") {
		v.Refresh = renew
	}
	return v, err
}

// maxOpen is how much of what is wrong now the list shows.
const maxOpen = 20

// wrongNow is what is wrong now where the list looks: it has no end yet, however long
// ago it began.
func (p *Pages) wrongNow(ctx context.Context, list ledger.Query) ([]lookup.Recorded, error) {
	if !list.Until.IsZero() {
		return nil, nil
	}
	return p.API.List(ctx, ledger.Query{Cluster: list.Cluster, Node: list.Node, Pool: list.Pool, Labels: list.Labels,
		Repository: list.Repository, Limit: maxOpen,
		Standing: ledger.Standing{Kind: list.Kind, State: rules.Open, Alike: list.Alike}})
}

// OpenTable is what is wrong now as the page shows it.
func (l *listing) OpenTable() table { return table{l.Open, len(l.Clusters) > 0, l.now} }

// answerView shows what was found, and nothing else.
func (p *Pages) answerView(hits *found) (view, error) {
	hits.now = p.Now()
	v := view{template: "list", Title: "Search", Search: hits.Text, Data: &listing{Found: hits}}
	if len(hits.Runners) == 0 {
		v.code = http.StatusNotFound
	}
	return v, nil
}

// filter is what the list was asked for, as its form shows it.
type filter struct {
	values url.Values
	Labels []rules.Label
	Spans  []choice
}

// choice is one of a form's options.
type choice struct {
	Value, Text string
	Chosen      bool
}

// readFilter reads the list's parameters.
func (p *Pages) readFilter(ctx context.Context, v url.Values) (f filter, q ledger.Query, err error) {
	f.values = url.Values{}
	if f.Labels, err = p.API.Labels(ctx); err != nil {
		return f, q, err
	}
	known := []string{"cluster", "runner", "verdict", "kind", "state", "node", "pool", "repository", "job", "run",
		"since", "until", "alike", "still"}
	for _, name := range known {
		if s := strings.TrimSpace(v.Get(name)); s != "" {
			f.values.Set(name, s)
		}
	}
	asked := url.Values{"since": {dayAgo}, "limit": {fmt.Sprint(perPage)}}
	for name, s := range f.values {
		asked[name] = s
	}
	asked.Del("still")
	asked.Del("alike")
	verdict := asked.Get("verdict")
	if verdict == everyEnd {
		asked.Del("verdict")
	}
	f.Spans = timeSpans(f.Get("since"))
	if q, err = lookup.Filter(asked, p.Now(), f.Labels); err != nil {
		return f, q, problem{http.StatusBadRequest, err.Error()}
	}
	if q.Alike, err = readAlike(f.Get("alike")); err != nil {
		return f, q, err
	}
	if verdict == everyDeath {
		q.Except = p.API.NoDeaths()
	}
	return f, q, nil
}

// alikeText is the number of a kind as the list's address has it, "" for none.
func alikeText(number int64) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatInt(number, 16)
}

// readAlike reads it.
func readAlike(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	number, err := strconv.ParseInt(text, 16, 64)
	if err != nil || number < 1 {
		return 0, problem{http.StatusBadRequest, fmt.Sprintf("alike=%q: want what a link of this page has", text)}
	}
	return number, nil
}

// timeSpans are the times that the form offers, and the one that was asked for.
func timeSpans(since string) []choice {
	all := []choice{{"1h", "the last hour", false}, {"6h", "the last 6 hours", false}, {dayAgo, "the last day", false},
		{"168h", "the last 7 days", false}, {"720h", "the last 30 days", false}, {"2160h", "the last 90 days", false}}
	for i := range all {
		if all[i].Value == since {
			all[i].Chosen = true
			return all
		}
	}
	words := "since " + since
	if _, err := time.ParseDuration(since); err == nil {
		words = "the last " + since
	}
	return append(all, choice{since, words, true})
}

// Get is the value of a parameter.
func (f filter) Get(name string) string {
	if name == "since" && !f.values.Has(name) {
		return dayAgo
	}
	return f.values.Get(name)
}

// Several is the value of verdict where it is not one of the form's.
func (f filter) Several() string {
	v := f.values.Get("verdict")
	if v == everyDeath || v == everyEnd || slices.Contains(f.Labels, rules.Label(v)) {
		return ""
	}
	return v
}

// With is the list's address with some parameters changed: name, value, ….
func (f filter) With(pairs ...string) string {
	v := url.Values{}
	for name, s := range f.values {
		v[name] = s
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
		if pairs[i+1] == "" {
			v.Del(pairs[i])
		}
	}
	return "/?" + v.Encode()
}
