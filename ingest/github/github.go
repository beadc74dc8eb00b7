// Package github asks GitHub what became of the job of a runner that ended: is
// it still queued or in progress, or how was it concluded. A job that GitHub
// takes for running after its runner is gone is one that it will report as lost.
// Others send it requests of their own, within the same limits.
//
// Invariant: GitHub is asked no more often than it allows, never more often than
// the operator allows, and never about a repository or run that only a job's own
// output names. An answer counts for a runner only if GitHub itself ties the job
// to it. Nothing waits for an answer.
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
	"strings"
	"time"

	"coroner/ingest/forge"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Client asks GitHub's REST API, or that of a GitHub Enterprise Server.
type Client struct {
	*forge.Client
	pages *lru.Cache[string, page]
}

// page is an answer that GitHub need not send twice.
type page struct {
	etag string
	jobs []Job
	next bool
}

// maxPages bounds the answers that are remembered, and those of one run that
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

// Job is a job as GitHub sees it.
type Job struct {
	ID         int64     `json:"id"`
	RunID      int64     `json:"run_id"`
	Attempt    int       `json:"run_attempt"`
	Name       string    `json:"name"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion"`
	Runner     string    `json:"runner_name"`
	Started    time.Time `json:"started_at"`
	Completed  time.Time `json:"completed_at"`
	Commit     string    `json:"head_sha"`
	Page       string    `json:"html_url"`
	Steps      []Step    `json:"steps"`
}

// Step is a step of a job.
type Step struct {
	Name       string    `json:"name"`
	Conclusion string    `json:"conclusion"`
	Completed  time.Time `json:"completed_at"`
}

// ErrNoAnswer says that asking again will not help: GitHub does not know the
// run, or does not let this token see it, or no job of it is the runner's.
var ErrNoAnswer = errors.New("GitHub knows no such job")

var (
	repository = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}$`)
	number     = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)
)

// Asks says whether a question can be put to GitHub.
func (q *Question) Asks() bool {
	return repository.MatchString(q.Repository) &&
		!strings.HasSuffix(q.Repository, "/..") && !strings.HasSuffix(q.Repository, "/.") &&
		q.Runner != "" && (number.MatchString(q.Run) || number.MatchString(q.Job))
}

// Job finds the job of the question's runner.
func (c *Client) Job(ctx context.Context, q *Question) (Job, error) {
	if !q.Asks() {
		return Job{}, ErrNoAnswer
	}
	if !number.MatchString(q.Run) {
		p, err := c.askPage(ctx, "/repos/"+q.Repository+"/actions/jobs/"+q.Job)
		return q.chooseJob(p.jobs, err)
	}
	var all []Job
	for n := 1; n <= maxPages; n++ {
		p, err := c.askPage(ctx, fmt.Sprintf("/repos/%s/actions/runs/%s/jobs?filter=all&per_page=%d&page=%d",
			q.Repository, q.Run, perPage, n))
		if err != nil {
			return Job{}, err
		}
		if all = append(all, p.jobs...); !p.next {
			break
		}
	}
	return q.chooseJob(all, nil)
}

// chooseJob takes the job that GitHub gave to the runner, the latest of them.
func (q *Question) chooseJob(all []Job, err error) (Job, error) {
	best := Job{}
	for _, j := range all {
		if j.Runner == q.Runner && (best.ID == 0 || j.Started.After(best.Started)) {
			best = j
		}
	}
	if err == nil && best.ID == 0 {
		err = ErrNoAnswer
	}
	return best, err
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
	jobs, err := decodeJobs(body)
	return page{
		etag: res.Header.Get("ETag"),
		jobs: jobs,
		next: strings.Contains(res.Header.Get("Link"), `rel="next"`),
	}, err
}

func decodeJobs(body []byte) ([]Job, error) {
	var in struct {
		Jobs *[]Job `json:"jobs"`
		Job
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("cannot read GitHub's answer: %w", err)
	}
	switch {
	case in.Jobs != nil:
		return *in.Jobs, nil
	case in.ID == 0:
		return nil, errors.New("GitHub's answer holds no job")
	}
	return []Job{in.Job}, nil
}
