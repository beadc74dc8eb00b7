package github

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"coroner/ingest"

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
	Died                            time.Time
}

// again is when, after the death, a job that is not concluded is asked for
// once more. GitHub gives up a runner that it does not hear of for ten minutes.
var again = []time.Duration{3 * time.Minute, 6 * time.Minute, 11 * time.Minute, 16 * time.Minute, 26 * time.Minute}

// Age is how long after a death its job is of interest.
const Age = 30 * time.Minute

// maxOpen bounds the questions that wait; beyond, the oldest go.
const maxOpen = 5000

// Desk puts questions to GitHub, one after another, and files the answers.
type Desk struct {
	client  *Client
	receive func(context.Context, []ingest.Entry) error
	pace    *rate.Limiter
	metrics *Metrics
	log     zerolog.Logger
	wake    chan struct{} // a question came; owned by Run, never closed

	said   string // the trouble that was logged last; Run's own
	failed int    // in a row; Run's own

	mu    sync.Mutex // guards what follows
	open  []*open    // by when they are due
	asked map[string]time.Time
}

type open struct {
	Question
	due time.Time
}

// NewDesk returns a desk that asks at most perMinute times a minute.
func NewDesk(c *Client, perMinute int, receive func(context.Context, []ingest.Entry) error, m *Metrics, log zerolog.Logger) *Desk {
	return &Desk{client: c, receive: receive, pace: rate.NewLimiter(rate.Limit(float64(perMinute)/60), 1), metrics: m, log: log,
		wake: make(chan struct{}, 1), asked: map[string]time.Time{}}
}

// Ask puts a question on the desk, unless its case has had one.
func (d *Desk) Ask(q Question) {
	now := d.client.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, at := range d.asked {
		if now.Sub(at) > 2*Age {
			delete(d.asked, id)
		}
	}
	if _, had := d.asked[q.Case]; had || !q.Asks() || now.Sub(q.Died) > Age {
		return
	}
	d.asked[q.Case] = now
	d.put(&open{q, now})
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// put places a question among the others.
func (d *Desk) put(o *open) {
	i, _ := slices.BinarySearchFunc(d.open, o.due, func(x *open, at time.Time) int { return x.due.Compare(at) })
	d.open = slices.Insert(d.open, i, o)
	if len(d.open) > maxOpen {
		d.open = slices.Delete(d.open, 0, 1)
		d.metrics.asked("dropped")
	}
	d.metrics.open.Set(float64(len(d.open)))
}

// Run asks until ctx is done.
func (d *Desk) Run(ctx context.Context) error {
	for {
		wait := d.turn(ctx)
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-d.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// idle is how long nothing is looked at while no question waits.
const idle = time.Minute

// turn puts the first question that is due to GitHub and says how long nothing
// else is.
func (d *Desk) turn(ctx context.Context) time.Duration {
	o, wait := d.next()
	if o == nil {
		return wait
	}
	if r := d.pace.ReserveN(d.client.Now(), 1); r.DelayFrom(d.client.Now()) > 0 {
		wait = r.DelayFrom(d.client.Now())
		r.CancelAt(d.client.Now())
		d.later(o, wait)
		return wait
	}
	job, err := d.client.Job(ctx, &o.Question)
	if err == nil {
		err = d.receive(ctx, []ingest.Entry{o.entry(&job, d.client.Now())})
	}
	return d.settle(o, &job, err)
}

func (d *Desk) next() (*open, time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.open) == 0 {
		return nil, idle
	}
	o := d.open[0]
	if wait := o.due.Sub(d.client.Now()); wait > 0 {
		return nil, wait
	}
	d.open = d.open[1:]
	d.metrics.open.Set(float64(len(d.open)))
	return o, 0
}

func (d *Desk) later(o *open, wait time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	o.due = d.client.Now().Add(wait)
	d.put(o)
}

// settle decides whether a question is asked again.
func (d *Desk) settle(o *open, job *Job, err error) time.Duration {
	var later Later
	now := d.client.Now()
	switch {
	case errors.As(err, &later):
		d.metrics.asked("limited")
		d.later(o, later.After)
		return later.After
	case errors.Is(err, ErrNoAnswer):
		d.metrics.asked("unknown")
		return 0
	case err != nil:
		return d.trouble(o, err)
	}
	d.failed, d.said = 0, ""
	d.metrics.asked("answered")
	for _, after := range again {
		if at := o.Died.Add(after); job.Status != "completed" && at.After(now) {
			d.later(o, at.Sub(now))
			break
		}
	}
	return 0
}

// trouble tells of a failure, once for each kind, and waits.
func (d *Desk) trouble(o *open, err error) time.Duration {
	d.metrics.asked("failed")
	if text := err.Error(); text != d.said {
		d.said = text
		d.log.Warn().Err(err).Msg("GitHub could not be asked about a job; verdicts come without its view")
	}
	d.failed++
	wait := min(5*time.Minute, 5*time.Second<<min(d.failed-1, 10))
	if d.client.Now().Sub(o.Died) < Age {
		d.later(o, wait)
	}
	return wait
}

// entry is the record of an answer. What is concluded stands where it was
// concluded; what is not, where it was asked.
func (q *Question) entry(j *Job, now time.Time) ingest.Entry {
	at := now.UTC()
	if j.Status == "completed" && !j.Completed.IsZero() {
		at = j.Completed.UTC()
	}
	e := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.GitHub, Trust: ingest.Attested, Doc: "github-api",
		Cluster: q.Cluster, Namespace: q.Namespace, Pod: q.Pod, PodUID: q.PodUID,
		Text: message, Fields: map[string]string{"msg": message}}
	for _, p := range []struct{ key, value string }{
		{"status", j.Status}, {"conclusion", j.Conclusion}, {"runner_name", j.Runner}, {"repository", q.Repository}, {"run_id", id(j.RunID)}, {"job_id", id(j.ID)},
		{"started_at", stamp(j.Started)}, {"completed_at", stamp(j.Completed)}, {"name", j.Name},
	} {
		if v := clean(p.value); v != "" {
			e.Fields[p.key] = v
			e.Text += " " + p.key + "=" + quote(v)
		}
	}
	return e
}

const message = "github job"

func id(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// clean is a value on one line without control characters, short: whoever
// writes a workflow chooses its jobs' names.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > 400 {
		s = strings.ToValidUTF8(s[:400], "")
	}
	return strings.TrimSpace(s)
}

// quote makes a value one word.
func quote(v string) string {
	if strings.ContainsAny(v, " \t\"=\\'") {
		return strconv.Quote(v)
	}
	return v
}
