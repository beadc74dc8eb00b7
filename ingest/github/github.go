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
	"net/url"
	"regexp"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Client asks GitHub's REST API, or that of a GitHub Enterprise Server.
type Client struct {
	URL   string // https://api.github.com, or https://HOST/api/v3
	Token func() (string, error)
	HTTP  *http.Client
	Now   func() time.Time

	pages *lru.Cache[string, page]
	limit limit
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
	maxBody   = 16 << 20
)

// NewClient returns a client.
func NewClient(address string, token func() (string, error), client *http.Client, now func() time.Time) *Client {
	pages, _ := lru.New[string, page](maxCached) // an error only for a size below 1
	return &Client{URL: strings.TrimRight(address, "/"), Token: token, HTTP: client, Now: now, pages: pages}
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
	if wait := c.limit.waitTime(c.Now()); wait > 0 {
		return page{}, Later{wait}
	}
	old, _ := c.pages.Get(path)
	req, err := c.newRequest(ctx, path, old.etag)
	if err != nil {
		return page{}, err
	}
	res, err := c.HTTP.Do(req)
	if err != nil {
		return page{}, withoutURL(err)
	}
	defer res.Body.Close()
	if err := c.limit.readHeaders(res, c.Now()); err != nil {
		return page{}, err
	}
	if res.StatusCode == http.StatusNotModified && old.etag != "" {
		return old, nil
	}
	p, err := readPage(res)
	if err == nil && p.etag != "" {
		c.pages.Add(path, p)
	}
	return p, err
}

func (c *Client) newRequest(ctx context.Context, path, etag string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL+path, nil)
	if err != nil {
		return nil, err
	}
	token, err := c.Token()
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Authorization":        "Bearer " + token,
		"Accept":               "application/vnd.github+json",
		"X-GitHub-Api-Version": "2022-11-28",
		"User-Agent":           "coroner",
		"If-None-Match":        etag,
	} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	return req, nil
}

// withoutURL is a transport's error without the address in it.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return fmt.Errorf("GitHub does not answer: %w", at.Err)
	}
	return err
}

// readPage decodes an answer: one job, or a page of them.
func readPage(res *http.Response) (page, error) {
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
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody))
	if err != nil {
		return page{}, withoutURL(err)
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
