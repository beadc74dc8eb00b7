package annotate

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coroner/classify/deliver"
	"coroner/ingest/workflow"
)

// A pull request has one comment for each commit, with a section for each job of it whose
// runner died: forty dead runners are one mail, not forty. Comments that cannot be seen mark
// where a section begins and which revision it is of.

// pull is what is read of a pull request.
type pull struct {
	Number int64  `json:"number"`
	State  string `json:"state"`
}

// comment is what is sent and read of a comment.
type comment struct {
	ID   int64    `json:"id,omitempty"`
	Body string   `json:"body"`
	User *account `json:"user,omitempty"`
	App  *account `json:"performed_via_github_app,omitempty"`
}

// account is who wrote a comment: a person, or an App.
type account struct {
	ID int64 `json:"id"`
}

// mostPulls bounds the pull requests of a commit, and mostComment the bytes of a comment:
// GitHub takes 65,536 characters.
const (
	mostPulls   = 3
	mostComment = 60_000
)

// furtherJobs ends a comment that is full.
const furtherJobs = "\n\nMore jobs of this commit lost their runners."

// putComments says it on the open pull requests of the job's commit.
func (a *Annotator) putComments(ctx context.Context, job *workflow.Job, t annotation) error {
	var pulls []pull
	address := "/repos/" + t.repository + "/commits/" + job.Commit + "/pulls?per_page=" + strconv.Itoa(perPage)
	if err := a.GitHub.Send(ctx, http.MethodGet, address, nil, &pulls); err != nil {
		return err
	}
	said := 0
	for _, p := range pulls {
		if p.State != "open" || said == mostPulls {
			continue
		}
		said++
		if err := a.putComment(ctx, "/repos/"+t.repository+"/issues", p.Number, job, t); err != nil {
			return err
		}
	}
	return nil
}

// putComment writes the section of a job into the commit's comment, which it makes where there
// is none.
func (a *Annotator) putComment(ctx context.Context, issues string, on int64, job *workflow.Job, t annotation) error {
	all := fmt.Sprintf("%s/%d/comments", issues, on)
	had, err := a.findComment(ctx, all, job.Commit, t)
	body, changed := commentWith(had.Body, job.Commit, job.Name, t)
	if err != nil || !changed {
		return err
	}
	if had.ID != 0 {
		address := fmt.Sprintf("%s/comments/%d", issues, had.ID)
		return a.write(ctx, http.MethodPatch, address, comment{Body: body}, &t)
	}
	return a.write(ctx, http.MethodPost, all, comment{Body: body}, &t)
}

// findComment looks for the comment about a commit that coroner itself wrote, that with the
// section first; its number is 0 where there is none. It is of the day of the death, or younger.
func (a *Annotator) findComment(ctx context.Context, address, sha string, t annotation) (comment, error) {
	own, err := a.author(ctx)
	if err != nil {
		return comment{}, err
	}
	var first comment
	for page := 1; page <= maxPages; page++ {
		query := url.Values{"since": {t.died.Add(-24 * time.Hour).UTC().Format(time.RFC3339)},
			"per_page": {strconv.Itoa(perPage)}, "page": {strconv.Itoa(page)}}
		var found []comment
		if err := a.GitHub.Send(ctx, http.MethodGet, address+"?"+query.Encode(), nil, &found); err != nil {
			return comment{}, err
		}
		for _, c := range found {
			switch {
			case !strings.HasPrefix(c.Body, ofCommit(sha)) || !own(&c):
			case strings.Contains(c.Body, sectionMark(t.id)):
				return c, nil
			case first.ID == 0:
				first = c
			}
		}
		if len(found) < perPage {
			return first, nil
		}
	}
	return comment{}, deliver.Never{Err: errors.New("too many comments to find coroner's own among them")}
}

// author says how coroner's own comments are told from those that others wrote, who can write
// the same marks.
func (a *Annotator) author(ctx context.Context) (own func(*comment) bool, err error) {
	if a.App != "" {
		return func(c *comment) bool { return c.App != nil && strconv.FormatInt(c.App.ID, 10) == a.App }, nil
	}
	var me account
	if err := a.GitHub.Send(ctx, http.MethodGet, "/user", nil, &me); err != nil {
		return nil, err
	}
	return func(c *comment) bool { return c.User != nil && c.User.ID == me.ID && me.ID != 0 }, nil
}

func ofCommit(sha string) string { return "<!-- coroner commit " + sha + " -->\n" }

// sectionMark is what a case's section begins with, before its revision.
func sectionMark(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("<!-- coroner %x ", sum[:12])
}

// sectionMarks are where sections begin and end: the case, as a digest, and the revision.
var sectionMarks = regexp.MustCompile(`(?s)(<!-- coroner [0-9a-f]{24} )(\d{1,9}) -->\n.*?<!-- end -->`)

// commentWith is a commit's comment with a job's section; had is "" where there is none yet.
func commentWith(had, commit, job string, t annotation) (body string, changed bool) {
	body, changed = withSection(had, job, t)
	if had == "" {
		body = ofCommit(commit) + body
	}
	return body, changed
}

// withSection is a comment with a job's section as it has to be. It changes nothing where that
// or a later one is there, nor to take back what was never said.
func withSection(body, job string, t annotation) (string, bool) {
	mark := sectionMark(t.id)
	section := fmt.Sprintf("%s%d -->\n**%s**\n\nJob %s. %s\n\n<!-- end -->", mark, t.revision, t.title,
		plain(cut(oneLine(job), 100)), t.body)
	for _, m := range sectionMarks.FindAllStringSubmatchIndex(body, -1) {
		if body[m[2]:m[3]] != mark {
			continue
		}
		revision, _ := strconv.Atoi(body[m[4]:m[5]]) // nine digits at most
		return body[:m[0]] + section + body[m[1]:], revision < t.revision
	}
	switch {
	case t.withdrawn || strings.HasSuffix(body, furtherJobs):
		return body, false
	case len(body)+len(section) > mostComment:
		return body + furtherJobs, true
	case body != "":
		section = "\n\n" + section
	}
	return body + section, true
}
