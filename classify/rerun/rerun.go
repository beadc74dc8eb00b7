// Package rerun runs jobs again whose runner died through no fault of theirs.
//
// Invariant: a job is run again only where its verdict says that this helps, is at least
// probable and is not the job's own business, where it was under way at the death and no step of
// it had failed before, where the run ended as failed and was not run again since, and while
// nothing is wrong with its pool, or with any of the cluster's where its pool is not known. Others
// of its run are run again with it only where that is known of each that failed: names of runners
// are used again, so a name alone ties no job to a death. A run is run again twice at most, and all
// runs together so often an hour. What is done and why something is not is logged, counted and
// stored with the verdict; what package deliver gives up has its reason there, too.
//
// Crash behaviour: what is asked for is noted in the ledger before. GitHub counts a run's
// attempts: whether it was taken is seen by that after a crash, at once or within a minute, and
// nothing else is asked for before. So nothing is run again twice, and what was has its record.
package rerun

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/annotate"
	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/forge"
	"coroner/ingest/github"
	"coroner/ingest/workflow"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/rs/zerolog"
)

// Receiver is the name under which the ledger keeps what is to be looked at, and the reasons.
const Receiver = "github-rerun"

// Rerunner runs jobs again. Its fields are set before its first use.
type Rerunner struct {
	GitHub *github.Client
	// Locate says which repository and run the runner's job is of, by records that a job cannot write.
	Locate  func(context.Context, *ledger.Record) (github.Question, error)
	Ledger  *ledger.Ledger
	Scope   annotate.Scope
	PerHour int
	Log     zerolog.Logger
	Now     func() time.Time
	Metrics *Metrics
}

// Metrics are what is counted of it.
type Metrics struct{ decided *prometheus.CounterVec }

// NewMetrics registers them.
func NewMetrics(r prometheus.Registerer) *Metrics {
	return &Metrics{promauto.With(r).NewCounterVec(prometheus.CounterOpts{
		Name: "coroner_github_reruns_total",
		Help: "Dead runners' jobs by whether they were run again: rerun, or why not (verdict, job, step, attempt, " +
			"run, pool, budget, repository, scope).",
	}, []string{"result"})}
}

const (
	maxAttempts = 2 // a run whose attempt is a later one was run again twice
	age         = 2 * time.Hour
	again       = time.Minute // until a run that goes on is looked at again
	done        = "rerun: "   // begins the note of what was run again
)

// Age is how long after its verdict a job can be run again.
const Age = age

// refusal is why a job is not run again.
type refusal struct{ kind, why string }

// Error is the reason.
func (r refusal) Error() string { return r.why }

// Send runs the job of one revision again, or says why not.
func (r *Rerunner) Send(ctx context.Context, d ledger.Delivery) (note string, err error) {
	if d.Verdict.Kind != casefile.OfRunner || !d.Verdict.Death() {
		return "no: no runner died", deliver.ErrSkip
	}
	q, what, err := github.Question{}, "", error(refusal{"verdict", "it is not known when the runner died"})
	if d.Verdict.DiedAt != nil {
		q, err = r.locate(ctx, &d.Record)
	}
	if err == nil {
		what, err = r.begun(ctx, &d, &q)
	}
	if err == nil && what == "" {
		what, err = r.rerun(ctx, &d, &q)
	}
	var no refusal
	switch {
	case errors.As(err, &no):
		r.report(&d.Record, q.Repository, no.kind, "not run again: "+no.why)
		return "no: " + no.why, deliver.ErrSkip
	case err != nil:
		return "", annotate.Failure(err)
	}
	r.report(&d.Record, q.Repository, "rerun", "run again: "+what)
	return done + what, nil
}

// locate says which repository and run the job is of. It refuses what nobody told in time, and what
// is out of the scope.
func (r *Rerunner) locate(ctx context.Context, d *ledger.Record) (github.Question, error) {
	q, err := r.Locate(ctx, d)
	switch {
	case err != nil:
		return q, err
	case q.Asks() && !r.Scope.Has(q.Repository):
		return q, refusal{"scope", q.Repository + " is out of the scope"}
	case q.Asks():
		return q, nil
	case r.Now().Sub(d.Recorded) < deliver.ToldLate:
		return q, deliver.ErrNotYet
	}
	return q, refusal{"repository", "nobody told in time which run the job is of"}
}

func (r *Rerunner) report(d *ledger.Record, repository, kind, text string) {
	r.Metrics.decided.WithLabelValues(kind).Inc()
	r.Log.Info().Str("repository", repository).Str("runner", d.Verdict.Runner).Str("case", d.Case).
		Int("revision", d.Verdict.Revision).Str("verdict", string(d.Verdict.Label)).Msg("job at GitHub " + text)
}

// rerun runs it again where nothing speaks against it. What costs no request is asked first.
func (r *Rerunner) rerun(ctx context.Context, d *ledger.Delivery, q *github.Question) (what string, err error) {
	if err := r.byRecord(ctx, &d.Verdict); err != nil {
		return "", err
	}
	last, ok, err := r.Ledger.LastVerdict(ctx, d.Case)
	switch {
	case err != nil:
		return "", err
	case ok && last.Verdict.Revision > d.Verdict.Revision:
		return "", refusal{"verdict", "there is a later revision of the verdict"}
	}
	job, err := r.GitHub.Job(ctx, q)
	switch {
	case errors.Is(err, github.ErrNoAnswer):
		err = refusal{"job", "GitHub knows no job that the runner had when it died"}
	case err == nil:
		err = byJob(&job, *d.Verdict.DiedAt)
	}
	if err == nil {
		err = r.byRun(ctx, q.Repository, &job)
	}
	if err == nil {
		err = r.budget(ctx)
	}
	if err != nil {
		return "", err
	}
	return r.order(ctx, d, q, &job)
}

// byRecord refuses what the verdict or the runner's pool speaks against.
func (r *Rerunner) byRecord(ctx context.Context, v *rules.Verdict) error {
	if err := byVerdict(v); err != nil {
		return err
	}
	return r.pool(ctx, v)
}

// byVerdict refuses what is no death after which running a job again helps.
func byVerdict(v *rules.Verdict) error {
	switch {
	case !v.Death():
		return refusal{"verdict", "it is no death"}
	case v.Retry != "helps":
		return refusal{"verdict", "the verdict does not say that running it again helps"}
	case v.Confidence != rules.Confirmed && v.Confidence != rules.Probable:
		return refusal{"verdict", "the verdict is not sure enough"}
	case v.Domain == "workload":
		return refusal{"verdict", "it is the job's own business"}
	}
	return nil
}

// pool refuses while something is wrong with the runner's pool; with any of the cluster's, where
// that is not known.
func (r *Rerunner) pool(ctx context.Context, v *rules.Verdict) error {
	kind := casefile.OfPool
	q := ledger.Query{Cluster: &v.Cluster, Pool: ingest.PoolName(v.Pool), Limit: 1, Brief: true,
		Standing: ledger.Standing{Kind: &kind, State: rules.Open}}
	open, err := r.Ledger.Verdicts(ctx, q)
	switch {
	case err != nil || len(open) == 0:
		return err
	case q.Pool == "":
		return refusal{"pool", fmt.Sprintf("its pool is not known, and something is wrong with pool %s: %s",
			open[0].Verdict.Pool, open[0].Verdict.Label)}
	}
	return refusal{"pool", "something is wrong with its pool: " + string(open[0].Verdict.Label)}
}

// byJob refuses a job that was over, or on the way to it, before its runner died, and one that is
// not that runner's, for it began or went on later.
func byJob(job *workflow.Job, died time.Time) error {
	for _, s := range job.Steps {
		switch {
		case s.Conclusion == "failure" && (s.Completed.IsZero() || s.Completed.Before(died)):
			return refusal{"step", "a step of it had failed before"}
		case s.Conclusion == "success" && s.Completed.After(died.Add(forge.Clocks)):
			return refusal{"step", "a step of it succeeded later"}
		}
	}
	switch job.Conclusion {
	case "", "failure", "timed_out", "cancelled":
	default:
		return refusal{"run", "GitHub has it as " + strconv.Quote(job.Conclusion)}
	}
	if !forge.WasUnderWay(job.Started, job.Completed, died) {
		return refusal{"job", "it was not under way when the runner died"}
	}
	return nil
}

// byRun refuses a run that was run again, or did not fail. One that goes on is waited for.
func (r *Rerunner) byRun(ctx context.Context, repository string, job *workflow.Job) error {
	run, err := r.run(ctx, repository, job.RunID)
	switch {
	case err != nil:
		return err
	case job.Attempt < 1 || run.Attempt != job.Attempt:
		return refusal{"attempt", "the run was run again since"}
	case run.Attempt > maxAttempts:
		return refusal{"attempt", "the run was run again twice"}
	case run.Status != "completed":
		return deliver.Retry{After: again, Err: errors.New("the run goes on")}
	case run.Conclusion != "failure":
		return refusal{"run", "the run ended as " + strconv.Quote(run.Conclusion)}
	}
	return nil
}

// run is what is read of a run.
type run struct {
	Status, Conclusion string
	Attempt            int `json:"run_attempt"`
}

func (r *Rerunner) run(ctx context.Context, repository string, number int64) (out run, err error) {
	err = r.GitHub.Send(ctx, http.MethodGet, runPath(repository, number), nil, &out)
	return out, err
}

func runPath(repository string, run int64) string {
	return "/repos/" + repository + "/actions/runs/" + strconv.FormatInt(run, 10)
}

func (r *Rerunner) budget(ctx context.Context) error {
	n, err := r.Ledger.Deliveries(Receiver).Noted(ctx, r.Now().Add(-time.Hour), done)
	if err == nil && n >= r.PerHour {
		err = refusal{"budget", fmt.Sprintf("%d jobs were run again within the hour", n)}
	}
	return err
}

// order has GitHub run it again: all failed jobs of the run, if each of them lost its runner in
// such a way; else this one alone, as where not all of the run's jobs can be read.
func (r *Rerunner) order(
	ctx context.Context, d *ledger.Delivery, q *github.Question, job *workflow.Job,
) (string, error) {
	jobs, complete, err := r.GitHub.LatestJobs(ctx, q.Repository, job.RunID)
	all := complete && slices.ContainsFunc(jobs, func(j workflow.Job) bool { return j.ID == job.ID })
	if errors.Is(err, github.ErrNoAnswer) {
		all, err = false, nil
	}
	for i := 0; i < len(jobs) && all && err == nil; i++ {
		if !slices.Contains([]string{"success", "skipped", "neutral"}, jobs[i].Conclusion) {
			all, err = r.lostItsRunner(ctx, &d.Record, q, jobs, &jobs[i])
		}
	}
	if err != nil {
		return "", err
	}
	what := "all failed jobs" + ofRun(job)
	address := runPath(q.Repository, job.RunID) + "/rerun-failed-jobs"
	if !all {
		what = fmt.Sprintf("job %d%s", job.ID, ofRun(job))
		if !complete {
			what += ", for not all jobs of the run can be read"
		}
		address = "/repos/" + q.Repository + "/actions/jobs/" + strconv.FormatInt(job.ID, 10) + "/rerun"
	}
	if ingest.PoolName(d.Verdict.Pool) == "" {
		what += "; its pool is not known, and nothing is wrong with any of the cluster's"
	}
	if err := r.Ledger.Deliveries(Receiver).Begin(ctx, r.Now(), *d, asked+what); err != nil {
		return "", err
	}
	return what, r.GitHub.Send(ctx, http.MethodPost, address, nil, nil)
}

func ofRun(job *workflow.Job) string {
	return fmt.Sprintf(" of run %d, attempt %d", job.RunID, job.Attempt)
}

// most bounds the verdicts that are looked at for one job: those of runners whose names begin
// with that of its runner and who died while it was under way.
const most = 100

// lostItsRunner says whether a job of the run of d's is one whose runner died in such a way: in
// d's cluster, while the job was under way, and by its records in that run.
func (r *Rerunner) lostItsRunner(
	ctx context.Context, d *ledger.Record, q *github.Question, jobs []workflow.Job, j *workflow.Job,
) (bool, error) {
	if j.Runner == "" || j.Started.IsZero() {
		return false, nil
	}
	within := ledger.Between{From: j.Started.Add(-forge.Clocks)}
	if !j.Completed.IsZero() {
		within.To = j.Completed.Add(forge.Early)
	}
	found, err := r.Ledger.Verdicts(ctx, ledger.Query{Cluster: &d.Verdict.Cluster, Runner: j.Runner, Died: within,
		Limit: most, Brief: true})
	if err != nil {
		return false, err
	}
	for i := range found {
		v := &found[i].Verdict // without what stands behind its evidence
		if v.Runner != j.Runner || v.DiedAt == nil || byJob(j, *v.DiedAt) != nil ||
			github.JobAt(jobs, j.Runner, *v.DiedAt).ID != j.ID {
			continue
		}
		last, ok, err := r.Ledger.LastVerdict(ctx, found[i].Case)
		if err != nil {
			return false, err
		}
		if !ok || last.Verdict.Kind != casefile.OfRunner {
			continue
		}
		var no refusal
		switch err := r.byRecord(ctx, &last.Verdict); {
		case errors.As(err, &no):
			continue
		case err != nil:
			return false, err
		}
		if had, err := r.Locate(ctx, &last); err != nil || isOf(&had, q.Repository, j) {
			return err == nil, err
		}
	}
	return false, nil
}

// isOf says whether a question is about a job, or about its run.
func isOf(q *github.Question, repository string, j *workflow.Job) bool {
	is := q.Run == strconv.FormatInt(j.RunID, 10) || q.Run == "" && q.Job == strconv.FormatInt(j.ID, 10)
	return q.Asks() && strings.EqualFold(q.Repository, repository) && is
}
