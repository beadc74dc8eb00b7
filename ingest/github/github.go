// Package github asks GitHub what became of the job of a runner that ended: is
// it still queued or in progress, or how was it concluded. A job that GitHub
// takes for running after its runner is gone is one that it will report as lost.
// Others send it requests of their own, within the same limits.
//
// Invariant: GitHub is asked no more often than it allows, never more often than
// the operator allows, and never about a repository or run that only a job's own
// output names. An answer counts for a runner only if GitHub itself ties the job
// to it and the job began before the runner died: names of runners are used again.
// Nothing waits for an answer.
//
// Crash behaviour: nothing is kept on disk. Whoever asks asks again after a
// restart, and an answer that was filed before is the same record.
package github

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coroner/ingest/forge"
	"coroner/ingest/workflow"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Client asks GitHub's REST API, or that of a GitHub Enterprise Server.
type Client struct {
	*forge.Client
	pages *lru.Cache[string, page]
}

// page is an answer that GitHub need not send twice.
type page struct {
	etag  string
	jobs  []workflow.Job
	total int // how many jobs the run has
	next  bool
}

// maxCached bounds the answers that are remembered, maxPages those of one run that
// are read: 1000 jobs.
const (
	maxCached = 500
	maxPages  = 10
	perPage   = 100
)

// NewClient returns a client; address is https://api.github.com, or https://HOST/api/v3.
func NewClient(address string, token func() (string, error), client *http.Client, now func() time.Time) *Client {
	pages, _ := lru.New[string, page](maxCached) // an error only for a size below 1
	return &Client{pages: pages, Client: forge.New(forge.Options{
		Name: "GitHub", URL: strings.TrimRight(address, "/"), Token: token, HTTP: client, Now: now,
		Prefix: "X-RateLimit-", Header: map[string]string{
			"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28",
		}})}
}

// ErrNoAnswer says that asking again will not help: GitHub does not know the
// run, or does not let this token see it, or the runner had no job of it before it died.
var ErrNoAnswer = errors.New("GitHub knows no such job")

var number = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

// Asks says whether a question can be put to GitHub.
func (q *Question) Asks() bool {
	return workflow.IsRepository(q.Repository) &&
		q.Runner != "" && (number.MatchString(q.Run) || number.MatchString(q.Job))
}

// Job finds the job of the question's runner.
func (c *Client) Job(ctx context.Context, q *Question) (workflow.Job, error) {
	if !q.Asks() {
		return workflow.Job{}, ErrNoAnswer
	}
	var all []workflow.Job
	var err error
	if number.MatchString(q.Run) {
		all, _, err = c.jobsOf(ctx, q.Repository, q.Run, "all")
	} else {
		var p page
		p, err = c.askPage(ctx, "/repos/"+q.Repository+"/actions/jobs/"+q.Job)
		all = p.jobs
	}
	job := JobAt(all, q.Runner, q.Died)
	if err == nil && job.ID == 0 {
		err = ErrNoAnswer
	}
	return job, err
}

// LatestJobs are the jobs of a run's latest attempt; complete is false where there are more.
func (c *Client) LatestJobs(
	ctx context.Context, repository string, run int64,
) (jobs []workflow.Job, complete bool, err error) {
	return c.jobsOf(ctx, repository, strconv.FormatInt(run, 10), "latest")
}

func (c *Client) jobsOf(
	ctx context.Context, repository, run, filter string,
) (all []workflow.Job, complete bool, err error) {
	for n := 1; n <= maxPages; n++ {
		p, err := c.askPage(ctx, fmt.Sprintf("/repos/%s/actions/runs/%s/jobs?filter=%s&per_page=%d&page=%d",
			repository, run, filter, perPage, n))
		if err != nil {
			return nil, false, err
		}
		all = append(all, p.jobs...)
		more := p.next || len(all) < p.total
		if !more || len(p.jobs) == 0 {
			return all, !more, nil
		}
	}
	return all, false, nil
}

// JobAt is the job that a runner of that name had when it died, else the last that it had
// before; its ID is 0 where there is none. What a runner of the name had later is not its.
func JobAt(all []workflow.Job, runner string, died time.Time) (best workflow.Job) {
	fits := 0
	for i := range all {
		j := &all[i]
		if j.Runner != runner {
			continue
		}
		if n := fit(j, died); n > fits || n > 0 && n == fits && j.Started.After(best.Started) {
			best, fits = *j, n
		}
	}
	return best
}

// fit says how well a job's times fit those of one whose runner died then; 0 is not at all.
func fit(j *workflow.Job, died time.Time) int {
	switch before := !j.Started.IsZero() && !j.Started.After(died); {
	case before && (j.Completed.IsZero() || !j.Completed.Before(died)):
		return 3
	case forge.WasUnderWay(j.Started, j.Completed, died):
		return 2
	case before:
		return 1
	}
	return 0
}

// askPage asks for one address, within the limits.
func (c *Client) askPage(ctx context.Context, path string) (page, error) {
	old, _ := c.pages.Get(path)
	req, err := c.Request(ctx, http.MethodGet, path)
	if err != nil {
		return page{}, err
	}
	if old.etag != "" {
		req.Header.Set("If-None-Match", old.etag)
	}
	res, err := c.Do(req)
	if err != nil {
		return page{}, err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotModified && old.etag != "" {
		return old, nil
	}
	p, err := c.readPage(res)
	if err == nil && p.etag != "" {
		c.pages.Add(path, p)
	}
	return p, err
}

// readPage decodes an answer: one job, or a page of them.
func (c *Client) readPage(res *http.Response) (page, error) {
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return page{}, errors.New("GitHub rejects the token: it is wrong or has expired")
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return page{}, ErrNoAnswer
	case res.StatusCode == http.StatusForbidden:
		return page{}, errors.New("GitHub does not let this token read the repository's actions: " +
			"it needs the permission actions: read")
	case res.StatusCode != http.StatusOK:
		return page{}, fmt.Errorf("GitHub answers %s", res.Status)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, forge.MaxBody))
	if err != nil {
		return page{}, c.WithoutURL(err)
	}
	jobs, total, err := decodeJobs(body)
	return page{
		etag:  res.Header.Get("ETag"),
		jobs:  jobs,
		total: total,
		next:  strings.Contains(res.Header.Get("Link"), `rel="next"`),
	}, err
}

// decodeJobs reads one job, or those of a page and how many the run has.
func decodeJobs(body []byte) (jobs []workflow.Job, total int, err error) {
	var in struct {
		Total int             `json:"total_count"`
		Jobs  *[]workflow.Job `json:"jobs"`
		workflow.Job
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, 0, fmt.Errorf("cannot read GitHub's answer: %w", err)
	}
	switch {
	case in.Jobs != nil:
		return *in.Jobs, in.Total, nil
	case in.ID == 0:
		return nil, 0, errors.New("GitHub's answer holds no job")
	}
	return []workflow.Job{in.Job}, 1, nil
}
