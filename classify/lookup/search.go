package lookup

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"coroner/classify/ledger"
)

// question is what a person typed to find a runner.
type question struct {
	meaning string         // in words
	runner  string         // a name, the start of one, or a pod UID; "" = the queries
	queries []ledger.Query // the first that finds something answers
}

// A job's or a run's address: GitHub's, on any host, and GitLab's.
var (
	githubURL = regexp.MustCompile(`^/([^/]+/[^/]+)/actions/runs/(\d+)(?:/attempts/\d+)?(?:/job/(\d+))?/?$`)
	githubJob = regexp.MustCompile(`^/([^/]+/[^/]+)/runs/(\d+)/?$`)
	gitlabURL = regexp.MustCompile(`^/(.+?)/-/(?:jobs|pipelines)/(\d+)/?$`)
)

// understand reads what was typed: a job's or run's address, a node with a time, or a
// runner.
func understand(text string, now time.Time) (question, error) {
	text = strings.TrimSpace(text)
	if u, err := url.Parse(text); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		return address(u)
	}
	if node, at, ok := nodeAndTime(text, now); ok {
		return question{meaning: fmt.Sprintf("who died on node %s around %s", node, at.UTC().Format("2006-01-02 15:04:05Z")),
			queries: []ledger.Query{{Node: node, DiedFrom: at.Add(-near), DiedTo: at.Add(near), Limit: maxRunners}}}, nil
	}
	return question{runner: text}, nil
}

func address(u *url.URL) (question, error) {
	job := func(words, id string) question {
		return question{meaning: words, queries: []ledger.Query{{Job: id, Limit: maxRunners}}}
	}
	if m := githubURL.FindStringSubmatch(u.Path); m != nil && m[3] != "" {
		q := job("the runners of job "+m[3]+" or run "+m[2]+" of "+m[1], m[3])
		q.queries = append(q.queries, job("", m[2]).queries...)
		return q, nil
	} else if m != nil {
		return job("the runners of run "+m[2]+" of "+m[1], m[2]), nil
	}
	for _, shape := range []*regexp.Regexp{githubJob, gitlabURL} {
		if m := shape.FindStringSubmatch(u.Path); m != nil {
			return job("the runner of job "+m[2]+" of "+m[1], m[2]), nil
		}
	}
	return question{}, fmt.Errorf("this address names no job: want https://github.com/OWNER/REPO/actions/runs/RUN/job/JOB")
}

// clocks are the ways to write a time that are understood; without a zone it is
// UTC, without a date it is the last time that the clock showed that.
var clocks = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04Z", "2006-01-02 15:04:05Z", "2006-01-02 15:04:05", "2006-01-02 15:04Z", "2006-01-02 15:04", "15:04:05Z", "15:04:05", "15:04Z", "15:04"}

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
	if strings.TrimSpace(text) == "" || len(text) > maxName {
		fail(w, http.StatusBadRequest, fmt.Errorf("q=: want a runner's name, the start of it, a pod UID, a job's address, or NODE TIME, of at most %d bytes", maxName))
		return
	}
	found, err := a.Search(r.Context(), text)
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
// time; else a node by itself.
func (a *API) Search(ctx context.Context, text string) (Answer, error) {
	q, err := understand(text, a.Now())
	if err != nil {
		return Answer{}, badQuestion{err}
	}
	if q.runner == "" {
		return a.first(ctx, q)
	}
	found, err := a.Find(ctx, q.runner)
	if err != nil || len(found.Runners) > 0 {
		return found, err
	}
	return a.first(ctx, question{meaning: "who died on node " + q.runner, queries: []ledger.Query{{Node: q.runner, Limit: maxRunners}}})
}

// first answers with the first query that finds something.
func (a *API) first(ctx context.Context, q question) (Answer, error) {
	for _, query := range q.queries {
		found, err := a.Source.Verdicts(ctx, query)
		if err != nil {
			return Answer{}, err
		}
		if len(found) > 0 {
			out, err := a.ofVerdicts(ctx, found)
			out.Meaning = q.meaning
			return out, err
		}
	}
	return Answer{Meaning: q.meaning, Runners: []Runner{}}, nil
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
			c = ledger.Case{ID: r.Case, Name: v.Runner, Namespace: v.Namespace, Node: v.Node, UID: v.PodUID, State: ledger.StateJudged, Heard: r.Recorded}
		}
		cases = append(cases, c)
	}
	return a.about(ctx, cases, nil)
}
