// Package annotate says at the job what its runner died of. On GitHub that is a check run or a
// commit status for each dead job, or a section of a comment on its pull request; on GitLab a
// section of a comment on its merge request, or on its commit, and a commit status.
//
// Invariant: only a job that GitHub itself ties to the runner is annotated, in a repository that
// records name which a job cannot write, and within the scope; of a job at GitLab see GitLab. A
// case has one check run, which a later revision edits; a revision that is there is never made
// again. Nothing is said of a runner that completed its job, nor of a job that was cancelled, that
// succeeded or that was not under way at the death, but that what was said before is withdrawn. Why
// not is logged and stored with the verdict. That the runner died is said only where it is known. An
// annotation never blocks a merge. The limits of GitHub and GitLab are kept. A dry run asks all that
// the other modes ask, and writes nothing.
//
// Crash behaviour: it keeps no state. Before it makes anything it looks at GitHub for the case
// and its revision, so that what was made right before a crash is found.
package annotate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/ingest/forge"
	"coroner/ingest/github"
	"coroner/ingest/workflow"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/rs/zerolog"
)

// Mode is how a job is annotated.
type Mode string

// The modes.
const (
	Off     Mode = ""
	Log     Mode = "log" // the log says what would be written
	Check   Mode = "check"
	Status  Mode = "status"
	Comment Mode = "comment" // on the pull request
)

// Annotator annotates jobs. Its fields are set before its first use.
type Annotator struct {
	Mode   Mode
	GitHub *github.Client
	App    string // the number of the GitHub App that it is, "" where it has a token
	// Locate says which repository and run the runner's job is of, by records that a job cannot write.
	Locate func(context.Context, *ledger.Record) (github.Question, error)
	Ledger *ledger.Ledger
	Book   func() *rules.Rulebook // that verdicts are judged by
	Scope  Scope
	Pages  string // the address of coroner's pages, "" if it is not known
	Log    zerolog.Logger
}

// Scope are the repositories that are annotated: globs OWNER/NAME.
type Scope []string

// Check refuses what is no scope.
func (s Scope) Check() error {
	for _, glob := range s {
		_, err := path.Match(glob, "")
		if err != nil || strings.Count(glob, "/") != 1 || strings.HasPrefix(glob, "/") || strings.HasSuffix(glob, "/") {
			return fmt.Errorf("%q: want OWNER/NAME, with * for any of them", glob)
		}
	}
	return nil
}

// Has says whether a repository is of the scope. Nothing is of an empty one.
func (s Scope) Has(repository string) bool {
	for _, glob := range s {
		if is, _ := path.Match(strings.ToLower(glob), strings.ToLower(repository)); is {
			return true
		}
	}
	return false
}

// Send annotates the job of one revision.
func (a *Annotator) Send(ctx context.Context, d ledger.Delivery) (string, error) {
	text, err := toSay(ctx, a.Ledger, a.Book(), a.Pages, &d.Record)
	if err != nil {
		return "", err
	}
	q, err := a.Locate(ctx, &d.Record)
	if err != nil {
		return "", err
	}
	switch {
	case !q.Asks():
		return "no: nobody told in time which run the job is of", deliver.ErrNotYet
	case !a.Scope.Has(q.Repository):
		return "no: " + q.Repository + " is out of the scope", deliver.ErrSkip
	}
	text.repository = q.Repository
	job, err := a.GitHub.Job(ctx, &q)
	why := whyNot(job.Conclusion, job.Started, job.Completed, text.died)
	switch {
	case errors.Is(err, github.ErrNoAnswer):
		why = "GitHub knows no job that the runner had when it died"
		logSkipped(&a.Log, q.Repository, &d.Record, why)
		return "no: " + why, deliver.ErrSkip
	case err != nil:
		return "", Failure(err)
	case why != "" && !text.withdrawn:
		logSkipped(&a.Log, q.Repository, &d.Record, why)
		if d.Verdict.Revises == nil {
			return "no: " + why, deliver.ErrSkip
		}
		text.withdraw(why)
	}
	if !commit(job.Commit) {
		return "", deliver.Never{Err: errors.New("GitHub names no commit of the job")}
	}
	switch a.form() {
	case Status:
		err = a.putStatus(ctx, &job, text)
	case Comment:
		err = a.putComments(ctx, &job, text)
	default:
		err = a.putCheck(ctx, &job, text)
	}
	return "", Failure(err)
}

// form is what is written; in a dry run what the credential allows, for only an App can make check
// runs.
func (a *Annotator) form() Mode {
	switch {
	case a.Mode != Log:
		return a.Mode
	case a.App != "":
		return Check
	}
	return Status
}

// write sends what is to change something at GitHub, or has the log say that it would.
func (a *Annotator) write(ctx context.Context, method, address string, body any, t *annotation) error {
	if a.Mode != Log {
		return a.GitHub.Send(ctx, method, address, body, nil)
	}
	t.logInstead(&a.Log, a.form(), method+" "+address, "GitHub")
	return nil
}

// logInstead has the log say what would be written.
func (t *annotation) logInstead(log *zerolog.Logger, form Mode, request, at string) {
	log.Info().Str("repository", t.repository).Str("runner", t.runner).Str("case", t.id).Int("revision", t.revision).
		Str("kind", string(form)).Str("request", request).Str("title", t.title).Str("body", t.body).
		Msg("would annotate a job at " + at)
}

// whyNot is why a job did not die with its runner, by what GitHub or GitLab knows of it; "" if it did.
func whyNot(result string, started, finished, died time.Time) string {
	switch {
	case result == "success":
		return "the job succeeded"
	case !forge.WasUnderWay(started, finished, died):
		return "the job was not under way when the runner died"
	}
	return ""
}

func logSkipped(log *zerolog.Logger, repository string, r *ledger.Record, why string) {
	log.Info().Str("repository", repository).Str("runner", r.Verdict.Runner).Str("case", r.Case).
		Int("revision", r.Verdict.Revision).Str("verdict", string(r.Verdict.Label)).Msg("job not annotated: " + why)
}

// toSay is what to say of a revision. It is deliver.ErrSkip where there is nothing to say: of what
// is no runner, of one by which no job was harmed and that was not taken for dead, and where a
// later revision has its own turn.
func toSay(
	ctx context.Context, l *ledger.Ledger, book *rules.Rulebook, pages string, r *ledger.Record,
) (annotation, error) {
	v := &r.Verdict
	if v.Kind != casefile.OfRunner || v.DiedAt == nil || harmless(v) && v.Revises == nil {
		return annotation{}, deliver.ErrSkip
	}
	last, ok, err := l.LastVerdict(ctx, r.Case)
	if err == nil && ok && last.Verdict.Revision > v.Revision {
		err = deliver.ErrSkip
	}
	return annotationOf(r, book, pages), err
}

// Failure makes an error of GitHub's one of package deliver's.
func Failure(err error) error {
	var later forge.Later
	var refused forge.Refused
	switch {
	case errors.As(err, &later):
		return deliver.Later{After: later.After}
	case errors.Is(err, github.ErrNoAnswer):
		return deliver.ErrSkip
	case errors.As(err, &refused):
		return deliver.Never{Err: err}
	}
	return err
}

// commit says whether GitHub names a commit as it should: it becomes a part of an address.
func commit(sha string) bool {
	return len(sha) >= 40 && strings.Trim(sha, "0123456789abcdef") == ""
}

// checkRun is what is sent and read of a check run.
type checkRun struct {
	ID         int64  `json:"id,omitempty"`
	Name       string `json:"name,omitempty"`
	Commit     string `json:"head_sha,omitempty"`
	Page       string `json:"details_url,omitempty"`
	External   string `json:"external_id"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"`
	Completed  string `json:"completed_at,omitempty"`
	Output     output `json:"output"`
}

type output struct {
	Title   string `json:"title"`
	Summary string `json:"summary"`
}

// perPage and maxPages bound how many check runs of a job's name are looked at.
const (
	perPage  = 100
	maxPages = 10
)

// putCheck makes the case's check run, or edits the one that there is.
func (a *Annotator) putCheck(ctx context.Context, job *workflow.Job, t annotation) error {
	name := "coroner: " + cut(oneLine(job.Name), 100)
	had, revision, err := a.findCheck(ctx, t.repository, job.Commit, name, t.id)
	if err != nil || had != 0 && revision >= t.revision || had == 0 && t.withdrawn {
		return err
	}
	run := checkRun{
		Page: t.page, External: t.id + "/" + strconv.Itoa(t.revision), Status: "completed", Conclusion: "neutral",
		Completed: t.died.UTC().Format(time.RFC3339), Output: output{t.title, t.body},
	}
	address := "/repos/" + t.repository + "/check-runs"
	if had != 0 {
		return a.write(ctx, http.MethodPatch, address+"/"+strconv.FormatInt(had, 10), run, &t)
	}
	run.Name, run.Commit = name, job.Commit
	return a.write(ctx, http.MethodPost, address, run, &t)
}

// findCheck looks for the check run of a case; its number is 0 where there is none.
func (a *Annotator) findCheck(ctx context.Context, repository, sha, name, id string) (had int64, rev int, err error) {
	for page := 1; page <= maxPages; page++ {
		var found struct {
			Runs []checkRun `json:"check_runs"`
		}
		query := url.Values{"check_name": {name}, "filter": {"all"}, "per_page": {strconv.Itoa(perPage)},
			"page": {strconv.Itoa(page)}}
		address := "/repos/" + repository + "/commits/" + sha + "/check-runs?" + query.Encode()
		if err := a.GitHub.Send(ctx, http.MethodGet, address, nil, &found); err != nil {
			return 0, 0, err
		}
		for _, run := range found.Runs {
			if n, is := revisionOf(run.External, id); is && n >= rev {
				had, rev = run.ID, n
			}
		}
		if had != 0 || len(found.Runs) < perPage {
			break
		}
	}
	return had, rev, nil
}

// revisionOf reads the name under which a case's check run is known.
func revisionOf(external, id string) (int, bool) {
	rest, is := strings.CutPrefix(external, id+"/")
	n, err := strconv.Atoi(rest)
	return n, is && err == nil
}

// commitStatus is what is sent and read of a commit status.
type commitStatus struct {
	State       string `json:"state"`
	Page        string `json:"target_url,omitempty"`
	Description string `json:"description"`
	Context     string `json:"context"`
}

// putStatus sets the commit's status of the job, unless it is what it has to be. A status has no
// room for a case: the one of the job's name that is there is replaced. It is withdrawn only where
// it leads to the case's page: else it is of another attempt at a job of that name.
func (a *Annotator) putStatus(ctx context.Context, job *workflow.Job, t annotation) error {
	want := commitStatus{"success", t.page, cut(t.title, 140), "coroner: " + cut(oneLine(job.Name), 100)}
	address := "/repos/" + t.repository + "/commits/" + job.Commit + "/statuses?per_page=" + strconv.Itoa(perPage)
	var found []commitStatus
	if err := a.GitHub.Send(ctx, http.MethodGet, address, nil, &found); err != nil {
		return err
	}
	i := slices.IndexFunc(found, func(s commitStatus) bool { return s.Context == want.Context }) // the latest first
	if i >= 0 && found[i] == want || t.withdrawn && (i < 0 || found[i].Page != want.Page) {
		return nil
	}
	return a.write(ctx, http.MethodPost, "/repos/"+t.repository+"/statuses/"+job.Commit, want, &t)
}

// annotation is what is said.
type annotation struct {
	repository  string // of the job, or its project
	runner      string
	id          string // of the case
	revision    int
	died        time.Time
	withdrawn   bool
	page        string
	title, body string
}

func annotationOf(r *ledger.Record, book *rules.Rulebook, pages string) annotation {
	v := &r.Verdict
	t := annotation{runner: v.Runner, id: r.Case, revision: v.Revision, died: *v.DiedAt, title: title(book, v)}
	if pages != "" {
		t.page = strings.TrimRight(pages, "/") + pagePath(r)
	}
	if t.body = body(v, t.page); harmless(v) {
		t.withdrawn, t.title, t.body = true, "Withdrawn: "+string(v.Label), withdrawal(v, t.page)
	}
	return t
}

// withdraw makes it say that what an earlier revision said does not hold.
func (t *annotation) withdraw(why string) {
	t.withdrawn, t.title, t.body = true, "Withdrawn: "+why, "What was said here of this job does not hold: "+why+"."
}
