package github

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"coroner/ingest"
	"coroner/ingest/forge"
	"coroner/ingest/workflow"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

// Question is about the job of one runner that ended.
type Question struct {
	Case       string // whose it is; asked once
	Repository string // owner/name
	Run, Job   string // numbers as GitHub has them; one of them must be known
	Runner     string // as GitHub knows it

	Cluster, Namespace, Pod, PodUID string
	Died                            time.Time // what began later is another runner's job
}

// askAgain is when, after the death, a job that is not concluded is asked for
// once more. GitHub gives up a runner that it does not hear of for ten minutes.
var askAgain = []time.Duration{3 * time.Minute, 6 * time.Minute, 11 * time.Minute, 16 * time.Minute, 26 * time.Minute}

// Age is how long after a death its job is of interest.
const Age = 30 * time.Minute

// maxWaiting bounds the questions that wait; beyond, the oldest are dropped.
const maxWaiting = 5000

// Poller puts questions to GitHub, one after another, and files the answers.
type Poller struct {
	client  *Client
	receive func(context.Context, []ingest.Entry) error
	pace    *rate.Limiter
	metrics *Metrics
	log     zerolog.Logger
	wake    chan struct{} // a question came; owned by Run, never closed

	logged   string // the error that was logged last; used by Run only
	failures int    // in a row; used by Run only

	mu      sync.Mutex         // guards what follows
	waiting []*waitingQuestion // by when they are due
	asked   map[string]time.Time
}

// waitingQuestion is a question that is put to GitHub when it is due.
type waitingQuestion struct {
	Question
	due time.Time
}

// NewPoller returns a poller that asks at most perMinute times a minute.
func NewPoller(
	c *Client,
	perMinute int,
	receive func(context.Context, []ingest.Entry) error,
	m *Metrics,
	log zerolog.Logger,
) *Poller {
	return &Poller{
		client:  c,
		receive: receive,
		pace:    rate.NewLimiter(rate.Limit(float64(perMinute)/60), 1),
		metrics: m,
		log:     log,
		wake:    make(chan struct{}, 1),
		asked:   map[string]time.Time{},
	}
}

// Enqueue takes a question, unless its case has had one.
func (p *Poller) Enqueue(q Question) {
	now := p.client.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, at := range p.asked {
		if now.Sub(at) > 2*Age {
			delete(p.asked, id)
		}
	}
	if _, had := p.asked[q.Case]; had || !q.Asks() || now.Sub(q.Died) > Age {
		return
	}
	p.asked[q.Case] = now
	p.insertQuestion(&waitingQuestion{q, now})
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// insertQuestion puts a question among the others.
func (p *Poller) insertQuestion(o *waitingQuestion) {
	later := func(q *waitingQuestion, at time.Time) int { return q.due.Compare(at) }
	i, _ := slices.BinarySearchFunc(p.waiting, o.due, later)
	p.waiting = slices.Insert(p.waiting, i, o)
	if len(p.waiting) > maxWaiting {
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.metrics.countAsked("dropped")
	}
	p.metrics.open.Set(float64(len(p.waiting)))
}

// Run asks until ctx is done.
func (p *Poller) Run(ctx context.Context) error {
	for {
		wait := p.askNext(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-p.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// idleWait is how long Run sleeps while no question waits.
const idleWait = time.Minute

// askNext puts the first question that is due to GitHub and says how long nothing
// else is.
func (p *Poller) askNext(ctx context.Context) time.Duration {
	o, wait := p.nextQuestion()
	if o == nil {
		return wait
	}
	if r := p.pace.ReserveN(p.client.Now(), 1); r.DelayFrom(p.client.Now()) > 0 {
		wait = r.DelayFrom(p.client.Now())
		r.CancelAt(p.client.Now())
		p.postpone(o, wait)
		return wait
	}
	job, err := p.client.Job(ctx, &o.Question)
	if err == nil {
		err = p.receive(ctx, []ingest.Entry{o.entryOf(&job, p.client.Now())})
	}
	return p.handleAnswer(o, &job, err)
}

func (p *Poller) nextQuestion() (*waitingQuestion, time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.waiting) == 0 {
		return nil, idleWait
	}
	o := p.waiting[0]
	if wait := o.due.Sub(p.client.Now()); wait > 0 {
		return nil, wait
	}
	p.waiting = p.waiting[1:]
	p.metrics.open.Set(float64(len(p.waiting)))
	return o, 0
}

func (p *Poller) postpone(o *waitingQuestion, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o.due = p.client.Now().Add(wait)
	p.insertQuestion(o)
}

// handleAnswer decides whether a question is asked again.
func (p *Poller) handleAnswer(o *waitingQuestion, job *workflow.Job, err error) time.Duration {
	var later forge.Later
	now := p.client.Now()
	switch {
	case errors.As(err, &later):
		p.metrics.countAsked("limited")
		p.postpone(o, later.After)
		return later.After
	case errors.Is(err, ErrNoAnswer):
		p.metrics.countAsked("unknown")
		return 0
	case err != nil:
		return p.handleFailure(o, err)
	}
	p.failures, p.logged = 0, ""
	p.metrics.countAsked("answered")
	for _, after := range askAgain {
		if at := o.Died.Add(after); job.Status != "completed" && at.After(now) {
			p.postpone(o, at.Sub(now))
			break
		}
	}
	return 0
}

// handleFailure logs a failure, each kind once, and says how long to wait.
func (p *Poller) handleFailure(o *waitingQuestion, err error) time.Duration {
	p.metrics.countAsked("failed")
	if text := err.Error(); text != p.logged {
		p.logged = text
		p.log.Warn().Err(err).Msg("cannot ask GitHub about a job; verdicts are given without its answer")
	}
	p.failures++
	wait := min(5*time.Minute, 5*time.Second<<min(p.failures-1, 10))
	if p.client.Now().Sub(o.Died) < Age {
		p.postpone(o, wait)
	}
	return wait
}

// entryOf is the record of an answer. What is concluded stands where it was
// concluded; what is not, where it was asked.
func (q *Question) entryOf(j *workflow.Job, now time.Time) ingest.Entry {
	at := now.UTC()
	if j.Status == "completed" && !j.Completed.IsZero() {
		at = j.Completed.UTC()
	}
	e := j.Entry(q.Repository, at)
	e.Doc, e.Cluster, e.Namespace, e.Pod, e.PodUID = "github-api", q.Cluster, q.Namespace, q.Pod, q.PodUID
	return e
}
