package annotate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/ingest/forge"
	"coroner/rules"

	"github.com/rs/zerolog"
)

// GitLab says at a job on GitLab what its runner died of: in a comment on the open merge
// requests of its commit, else on the commit, and in a status of the commit. Its fields are set
// before its first use.
//
// Which project the job is of, the name says that gitlab-runner gave the pod; a job cannot
// choose that. Which job it is, the pod's annotations say; a job that may overwrite those can
// name another one. So it counts where GitLab knows it as a job of that project that was under
// way when the runner died and did not succeed.
type GitLab struct {
	Dry    bool // the log says what would be written
	API    *forge.Client
	Ledger *ledger.Ledger
	Book   func() *rules.Rulebook // that verdicts are judged by
	Scope  Groups
	Pages  string // the address of coroner's pages, "" if it is not known
	Log    zerolog.Logger
}

// Groups are the groups and projects whose jobs are annotated, with all that is below them.
type Groups []string

// Check refuses what is no group.
func (g Groups) Check() error {
	for _, path := range g {
		if !groupPath.MatchString(path) {
			return fmt.Errorf("%q: want GROUP or GROUP/PROJECT", path)
		}
	}
	return nil
}

// Has says whether a project is in one of the groups.
func (g Groups) Has(project string) bool {
	project = strings.ToLower(project)
	return slices.ContainsFunc(g, func(path string) bool {
		path = strings.ToLower(path)
		return project == path || strings.HasPrefix(project, path+"/")
	})
}

var groupPath = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*$`)

// ofProject is the name that gitlab-runner's Kubernetes executor gives the pod of a job.
var ofProject = regexp.MustCompile(`^runner-.+-project-([1-9][0-9]{0,18})-concurrent-`)

var jobNumber = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

// labJob is what is read of a job.
type labJob struct {
	Name     string    `json:"name"`
	Status   string    `json:"status"`
	Started  time.Time `json:"started_at"`
	Finished time.Time `json:"finished_at"`
	Commit   struct {
		ID string `json:"id"`
	} `json:"commit"`
	Pipeline struct {
		ID int64 `json:"id"`
	} `json:"pipeline"`
}

// Send annotates the job of one revision.
func (g *GitLab) Send(ctx context.Context, d ledger.Delivery) (string, error) {
	v := &d.Verdict
	in := ofProject.FindStringSubmatch(v.Runner)
	if in == nil || !jobNumber.MatchString(v.Job.ID) {
		return "no: it is not known which job of GitLab's it is", deliver.ErrSkip
	}
	text, err := toSay(ctx, g.Ledger, g.Book(), g.Pages, &d.Record)
	if err != nil {
		return "", err
	}
	address := "/projects/" + in[1]
	job, project, err := g.jobOf(ctx, address, v.Job.ID)
	switch {
	case errors.Is(err, deliver.ErrSkip):
		return "no: GitLab does not know the job, or does not let the token see it", err
	case err != nil:
		return "", err
	case !g.Scope.Has(project):
		return "no: " + project + " is out of the scope", deliver.ErrSkip
	}
	if why := whyNot(job.Status, job.Started, job.Finished, text.died); why != "" && !text.withdrawn {
		logSkipped(&g.Log, project, &d.Record, why)
		if v.Revises == nil {
			return "no: " + why, deliver.ErrSkip
		}
		text.withdraw(why)
	}
	if !commit(job.Commit.ID) {
		return "", deliver.Never{Err: errors.New("GitLab names no commit of the job")}
	}
	text.repository = project
	switch err = g.putNotes(ctx, address, &job, text); {
	case errors.Is(err, deliver.ErrSkip):
		return "no: GitLab does not know the job's commit", err
	case err != nil:
		return "", err
	}
	return g.putStatus(ctx, address, &job, text)
}

// jobOf asks for a job, and for the path of its project.
func (g *GitLab) jobOf(ctx context.Context, project, id string) (job labJob, path string, err error) {
	var in struct {
		Path string `json:"path_with_namespace"`
	}
	if err = g.ask(ctx, project, &in); err == nil {
		err = g.ask(ctx, project+"/jobs/"+id, &job)
	}
	return job, in.Path, err
}

// ask reads an answer. What GitLab does not know, or does not let the token see, is of no interest.
func (g *GitLab) ask(ctx context.Context, path string, out any) error {
	err := g.API.Send(ctx, http.MethodGet, path, nil, out)
	var refused forge.Refused
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound {
		return deliver.ErrSkip
	}
	return Failure(err)
}

// putNotes says it on the open merge requests of the job's commit in its project, else on the
// commit.
func (g *GitLab) putNotes(ctx context.Context, project string, job *labJob, t annotation) error {
	onCommit := project + "/repository/commits/" + job.Commit.ID
	var requests []struct {
		Number int64  `json:"iid"`
		State  string `json:"state"`
		Into   int64  `json:"target_project_id"`
	}
	err := g.ask(ctx, onCommit+"/merge_requests?per_page="+strconv.Itoa(perPage), &requests)
	if err != nil {
		return err
	}
	var places []string
	for _, r := range requests {
		if r.State == "opened" && "/projects/"+strconv.FormatInt(r.Into, 10) == project && len(places) < mostPulls {
			places = append(places, fmt.Sprintf("%s/merge_requests/%d/notes", project, r.Number))
		}
	}
	if places == nil {
		places = []string{onCommit + discussions}
	}
	for _, place := range places {
		if err := g.putNote(ctx, place, job, t); err != nil {
			return err
		}
	}
	return nil
}

// note is what is sent and read of a comment. One on a commit stands in a discussion.
type note struct {
	ID     int64    `json:"id,omitempty"`
	Body   string   `json:"body"`
	Author *account `json:"author,omitempty"`
}

// placed is a comment and the address by which it is edited.
type placed struct {
	note
	at string
}

// putNote writes the section of a job into the commit's comment at a place, which it makes where
// there is none.
func (g *GitLab) putNote(ctx context.Context, place string, job *labJob, t annotation) error {
	had, err := g.findNote(ctx, place, job.Commit.ID, t)
	body, changed := commentWith(had.Body, job.Commit.ID, job.Name, t)
	if err != nil || !changed {
		return err
	}
	if had.at != "" {
		return g.write(ctx, Comment, http.MethodPut, had.at, note{Body: body}, &t)
	}
	return g.write(ctx, Comment, http.MethodPost, place, note{Body: body}, &t)
}

// write sends what is to change something at GitLab, or has the log say that it would.
func (g *GitLab) write(ctx context.Context, form Mode, method, address string, body any, t *annotation) error {
	if g.Dry {
		t.logInstead(&g.Log, form, method+" "+address, "GitLab")
		return nil
	}
	return Failure(g.API.Send(ctx, method, address, body, nil))
}

// findNote looks for the comment about a commit that coroner itself wrote, that with the section
// first; its address is "" where there is none.
func (g *GitLab) findNote(ctx context.Context, place, sha string, t annotation) (first placed, _ error) {
	var me account
	if err := g.ask(ctx, "/user", &me); err != nil {
		return first, err
	}
	for page := 1; page <= maxPages; page++ {
		found, last, err := g.notesOf(ctx, place, page)
		if err != nil {
			return first, err
		}
		for _, n := range found {
			switch {
			case me.ID == 0 || n.Author == nil || n.Author.ID != me.ID || !strings.HasPrefix(n.Body, ofCommit(sha)):
			case strings.Contains(n.Body, sectionMark(t.id)):
				return n, nil
			case first.at == "":
				first = n
			}
		}
		if last {
			return first, nil
		}
	}
	return first, deliver.Never{Err: errors.New("too many comments to find coroner's own among them")}
}

// notesOf reads a page of the comments at a place.
func (g *GitLab) notesOf(ctx context.Context, place string, page int) (out []placed, last bool, err error) {
	address := fmt.Sprintf("%s?per_page=%d&page=%d", place, perPage, page)
	if !strings.HasSuffix(place, discussions) {
		var notes []note
		err = g.ask(ctx, address, &notes)
		for _, n := range notes {
			out = append(out, placed{n, fmt.Sprintf("%s/%d", place, n.ID)})
		}
		return out, len(notes) < perPage, err
	}
	var all []struct {
		ID    string `json:"id"`
		Notes []note `json:"notes"`
	}
	err = g.ask(ctx, address, &all)
	for _, d := range all {
		if len(d.Notes) > 0 && discussionID.MatchString(d.ID) {
			out = append(out, placed{d.Notes[0], fmt.Sprintf("%s/%s/notes/%d", place, d.ID, d.Notes[0].ID)})
		}
	}
	return out, len(all) < perPage, err
}

// discussions end the address of a commit's comments.
const discussions = "/discussions"

var discussionID = regexp.MustCompile(`^[0-9a-f]{1,64}$`)
