package rerun

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/ingest/github"
)

// What a revision's note begins with while it is not known whether GitHub took the request:
// asked, and where GitHub has not counted it at the first look, looked.
const (
	begins = "asked"
	asked  = begins + ": "
	looked = begins + ", not taken yet: "
)

// begun says what became of a request of which no answer was recorded: the server was killed, or
// GitHub's answer was lost. "" is that nothing was asked, or that GitHub did not take it. While
// that is not known of one, nothing is asked for another: it may be of the same run.
func (r *Rerunner) begun(ctx context.Context, d *ledger.Delivery, q *github.Question) (what string, err error) {
	list := r.Ledger.Deliveries(Receiver)
	note, err := list.Note(ctx, d.Case, d.Verdict.Revision)
	if err != nil {
		return "", err
	}
	what, first := strings.CutPrefix(note, asked)
	if !first {
		what, _ = strings.CutPrefix(note, looked)
	}
	if !strings.HasPrefix(note, begins) {
		n, err := list.Noted(ctx, time.Time{}, begins)
		if err == nil && n > 0 {
			err = deliver.Retry{After: again, Err: errors.New("another request may have been taken")}
		}
		return "", err
	}
	switch taken, err := r.taken(ctx, what, q); {
	case err != nil:
		return "", err
	case taken:
		return what, nil
	case first: // GitHub's answers can be a little older than what it took
		err = list.Begin(ctx, r.Now(), *d, looked+what)
		return "", errors.Join(err, deliver.Retry{After: again, Err: errors.New("GitHub has not taken it yet")})
	}
	return "", nil
}

// ofAttempt finds the run and its attempt in what was asked for.
var ofAttempt = regexp.MustCompile(` of run ([0-9]+), attempt ([0-9]+)`)

// taken says whether a run has a later attempt than the one that was to be run again.
func (r *Rerunner) taken(ctx context.Context, what string, q *github.Question) (bool, error) {
	m := ofAttempt.FindStringSubmatch(what)
	if m == nil {
		return false, nil
	}
	number, _ := strconv.ParseInt(m[1], 10, 64) // as it was written
	attempt, _ := strconv.Atoi(m[2])
	run, err := r.run(ctx, q.Repository, number)
	return run.Attempt > attempt, err
}
