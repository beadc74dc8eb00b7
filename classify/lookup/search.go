package lookup

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
)

// question is what a person typed to find a runner.
type question struct {
	runner string // a name, the start of one, or a pod UID; "" = the tries
	tries  []try  // the first that finds something answers
}

// try is one thing that a text can mean.
type try struct {
	meaning    string // in words
	exact      bool   // what it finds is what was named
	repository string // of the address: one that is known to be another's does not count
	query      ledger.Query
}

// A job's or a run's address: GitHub's, on any host, and GitLab's.
var (
	githubURL = regexp.MustCompile(`^/([^/]+/[^/]+)/actions/runs/(\d+)(?:/attempts/\d+)?(?:/job/(\d+))?/?$`)
	githubJob = regexp.MustCompile(`^/([^/]+/[^/]+)/runs/(\d+)/?$`)
	gitlabURL = regexp.MustCompile(`^/(.+?)/-/(jobs|pipelines)/(\d+)/?$`)
)

// understand reads what was typed: a job's or run's address, a node with a
// time, or a runner.
func understand(text string, now time.Time, noDeaths []rules.Label) (question, error) {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return address(u)
	}
	if node, at, ok := nodeAndTime(text, now); ok {
		return question{tries: []try{{
			meaning: fmt.Sprintf("runners that died on node %s within 10 minutes of %s",
				node, at.UTC().Format("2006-01-02 15:04:05Z")),
			query: ledger.Query{
				Node:   node,
				Except: noDeaths,
				Died:   ledger.Between{From: at.Add(-near), To: at.Add(near)},
				Limit:  maxRunners,
			},
		}}}, nil
	}
	return question{runner: text}, nil
}

// address reads a job's or a run's. Runners rarely print the number that a job
// has in its address, so a job that is not found is looked for by its run.
func address(u *url.URL) (question, error) {
	job := func(repository, id string) try {
		query := ledger.Query{Job: id, Limit: maxRunners}
		return try{"runners that ran job " + id + " of " + repository, true, repository, query}
	}
	run := func(repository, id, words string) try {
		query := ledger.Query{Run: id, Limit: maxRunners}
		return try{"runners that ran jobs of run " + id + " of " + repository + words, false, repository, query}
	}
	if m := githubURL.FindStringSubmatch(u.Path); m != nil && m[3] != "" {
		inRun := run(m[1], m[2], "; which of them ran job "+m[3]+" is not known")
		return question{tries: []try{job(m[1], m[3]), inRun}}, nil
	} else if m != nil {
		return question{tries: []try{run(m[1], m[2], "")}}, nil
	}
	if m := githubJob.FindStringSubmatch(u.Path); m != nil {
		return question{tries: []try{job(m[1], m[2])}}, nil
	}
	if m := gitlabURL.FindStringSubmatch(u.Path); m != nil && m[2] == "jobs" {
		return question{tries: []try{job(m[1], m[3])}}, nil
	} else if m != nil {
		return question{tries: []try{run(m[1], m[3], "")}}, nil
	}
	return question{}, fmt.Errorf("this address names no job: " +
		"want https://github.com/OWNER/REPO/actions/runs/RUN/job/JOB")
}

// foreign says whether a verdict is known to be another repository's. Some logs
// give its name without its owner.
func (t *try) foreign(v *rules.Verdict) bool {
	has := v.Job.Repository
	if t.repository == "" || has == "" || strings.EqualFold(has, t.repository) {
		return false
	}
	return strings.Contains(has, "/") || !strings.EqualFold(has, path.Base(t.repository))
}

// clocks are the ways to write a time that are understood; without a zone it is
// UTC, without a date it is the last time that the clock showed that.
var clocks = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04Z",
	"2006-01-02 15:04:05Z", "2006-01-02 15:04:05", "2006-01-02 15:04Z", "2006-01-02 15:04",
	"15:04:05Z", "15:04:05", "15:04Z", "15:04",
}

// nodeAndTime splits NODE TIME, NODE@TIME and NODE at TIME.
func nodeAndTime(text string, now time.Time) (node string, at time.Time, ok bool) {
	words := strings.Fields(strings.Replace(text, "@", " ", 1))
	if len(words) > 2 && words[1] == "at" {
		words = append(words[:1], words[2:]...)
	}
	if len(words) < 2 {
		return "", at, false
	}
	clock := strings.TrimSuffix(strings.Join(words[1:], " "), " UTC")
	for _, layout := range clocks {
		if at, err := time.Parse(layout, clock); err == nil {
			return words[0], onDay(at, now), true
		}
	}
	return "", at, false
}

// onDay gives a time without a date the last day on which it has been.
func onDay(at, now time.Time) time.Time {
	if at.Year() > 0 {
		return at
	}
	now = now.UTC()
	at = time.Date(now.Year(), now.Month(), now.Day(), at.Hour(), at.Minute(), at.Second(), 0, time.UTC)
	if at.After(now) {
		at = at.AddDate(0, 0, -1)
	}
	return at
}

func (a *API) search(w http.ResponseWriter, r *http.Request) {
	text := r.URL.Query().Get("q")
	if strings.TrimSpace(text) == "" || len(text) > MaxName {
		fail(w, http.StatusBadRequest, fmt.Errorf("q=: want a runner's name, the start of it, a pod UID, "+
			"a job's address, or NODE TIME, of at most %d bytes", MaxName))
		return
	}
	found, err := a.Search(r.Context(), r.URL.Query().Get("cluster"), text)
	if bad, ok := err.(badQuestion); ok {
		fail(w, http.StatusBadRequest, bad)
		return
	}
	found.write(w, err)
}

// badQuestion is an error of the person who asks.
type badQuestion struct{ error }

// IsBadQuestion says whether an error of Search is the asker's.
func IsBadQuestion(err error) bool {
	_, ok := err.(badQuestion)
	return ok
}

// Search gives the runners that a text means: a runner's name, the start of
// one, [namespace/]name, a pod UID, the address of a job or a run, a node with a
// time; else a node by itself. A cluster is all of them if it is "".
func (a *API) Search(ctx context.Context, cluster, text string) (Answer, error) {
	q, err := understand(text, a.Now(), a.NoDeaths())
	if err != nil {
		return Answer{}, badQuestion{err}
	}
	if q.runner == "" {
		return a.first(ctx, cluster, q)
	}
	found, err := a.Find(ctx, cluster, q.runner)
	if err != nil || len(found.Runners) > 0 {
		return found, err
	}
	onNode := ledger.Query{Node: q.runner, Except: a.NoDeaths(), Limit: maxRunners}
	asNode := try{meaning: "runners that died on node " + q.runner, query: onNode}
	return a.first(ctx, cluster, question{tries: []try{asNode}})
}

// first answers with the first try that finds something in a cluster.
func (a *API) first(ctx context.Context, cluster string, q question) (Answer, error) {
	for i := range q.tries {
		t := &q.tries[i]
		t.query.Cluster, t.query.Brief = within(cluster), true
		if cluster != "" {
			t.meaning += ", in cluster " + cluster
		}
		found, err := a.Source.Verdicts(ctx, t.query)
		if err != nil {
			return Answer{}, err
		}
		found = slices.DeleteFunc(found, func(r ledger.Record) bool { return t.foreign(&r.Verdict) })
		found, sure := attested(found)
		if len(found) > 0 {
			out, err := a.ofVerdicts(ctx, found)
			out.Meaning, out.Exact = t.meaning, t.exact && sure
			if t.repository != "" && !sure {
				out.Meaning += "; by their own output, which a job can print"
			}
			return out, err
		}
	}
	return Answer{Meaning: q.tries[0].meaning, Runners: []Runner{}}, nil
}

// attested keeps those whose job somebody else than their own output names,
// where there are any.
func attested(found []ledger.Record) (some []ledger.Record, sure bool) {
	for _, r := range found {
		if !r.Verdict.Job.Claimed {
			some = append(some, r)
		}
	}
	if len(some) > 0 {
		return some, true
	}
	return found, false
}

func (a *API) ofVerdicts(ctx context.Context, found []ledger.Record) (Answer, error) {
	var cases []ledger.Case
	for _, r := range found {
		c, ok, err := a.Source.Case(ctx, r.Case)
		if err != nil {
			return Answer{}, err
		}
		if !ok { // the case is forgotten, its verdict is not
			v := r.Verdict
			c = ledger.Case{ID: r.Case, Kind: v.Kind, Cluster: v.Cluster, Name: v.About(), Namespace: v.Namespace,
				Node: v.Node, UID: v.PodUID, State: ledger.StateJudged, Heard: r.Recorded}
		}
		cases = append(cases, c)
	}
	return a.about(ctx, cases, nil)
}
