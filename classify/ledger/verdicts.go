package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"coroner/rules"
)

// Record is a verdict as it was recorded.
type Record struct {
	Case     string        `json:"id"` // of the case: stays the same over revisions
	Recorded time.Time     `json:"recorded_at"`
	Verdict  rules.Verdict `json:"verdict"`
}

// AddVerdict records a verdict and, when publish is set, puts it into the
// outbox with the time stamp that it is published under.
func (t *Tx) AddVerdict(member string, v *rules.Verdict, stamp time.Time, publish bool) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	died := int64(0)
	if v.DiedAt != nil {
		died = nanos(*v.DiedAt)
	}
	_, err = t.pen.exec("UPDATE verdicts SET last = 0 WHERE member = ? AND revision < ?", member, v.Revision)
	if err == nil {
		_, err = t.pen.exec(`INSERT INTO verdicts (member, revision, recorded, died, runner, namespace, node, uid, label, pool, repository, run, job, last, verdict)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`, member, v.Revision, nanos(t.now), died, v.Runner, v.Namespace, v.Node, v.PodUID, v.Label,
			v.Pool, v.Job.Repository, v.Job.RunID, v.Job.ID, data)
	}
	if err == nil && publish {
		_, err = t.pen.exec("INSERT INTO outbox (member, revision, stamp, due, attempts) VALUES (?, ?, ?, 0, 0)", member, v.Revision, nanos(stamp))
	}
	return err
}

// LastVerdict returns the latest revision of a case's verdict.
func (q Questions) LastVerdict(ctx context.Context, member string) (Record, bool, error) {
	all, err := records(ctx, q.get, "WHERE member = ? ORDER BY revision DESC LIMIT 1", member)
	if err != nil || len(all) == 0 {
		return Record{}, false, err
	}
	return all[0], true, nil
}

// Revisions returns every revision of a case's verdict, the first first.
func (l *Ledger) Revisions(ctx context.Context, member string) ([]Record, error) {
	return records(ctx, l.ask.QueryContext, "WHERE member = ? ORDER BY revision", member)
}

func records(ctx context.Context, ask func(context.Context, string, ...any) (*sql.Rows, error), tail string, args ...any) (out []Record, _ error) {
	rows, err := ask(ctx, "SELECT member, recorded, verdict FROM verdicts "+tail, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var rec Record
		var recorded int64
		var data []byte
		if err := r.Scan(&rec.Case, &recorded, &data); err != nil {
			return err
		}
		rec.Recorded = moment(recorded)
		err := json.Unmarshal(data, &rec.Verdict)
		out = append(out, rec)
		return err
	})
	return out, err
}

// Letter is a verdict that is still to be published.
type Letter struct {
	Record
	Stamp    time.Time // it is published under this time, however often it is tried
	Attempts int
}

// Letters returns what the outbox holds that is due, the oldest first.
func (l *Ledger) Letters(ctx context.Context, now time.Time, limit int) (out []Letter, _ error) {
	rows, err := l.read.get(ctx, `SELECT o.member, o.stamp, o.attempts, v.recorded, v.verdict FROM outbox o JOIN verdicts v USING (member, revision)
		WHERE o.due <= ? ORDER BY v.recorded, o.member, o.revision LIMIT ?`, nanos(now), limit)
	err = each(rows, err, func(r *sql.Rows) error {
		var x Letter
		var stamp, recorded int64
		var data []byte
		if err := r.Scan(&x.Case, &stamp, &x.Attempts, &recorded, &data); err != nil {
			return err
		}
		x.Stamp, x.Recorded = moment(stamp), moment(recorded)
		err := json.Unmarshal(data, &x.Verdict)
		out = append(out, x)
		return err
	})
	return out, err
}

// Outbox says how many verdicts are still to be published.
func (l *Ledger) Outbox(ctx context.Context) (n int, err error) {
	err = l.read.getRow(ctx, "SELECT count(*) FROM outbox").Scan(&n)
	return n, err
}

// Sent takes a letter out of the outbox.
func (t *Tx) Sent(x Letter) error {
	_, err := t.pen.exec("DELETE FROM outbox WHERE member = ? AND revision = ?", x.Case, x.Verdict.Revision)
	return err
}

// Postpone notes a failed attempt; the letter is due again then. A stamp that
// is not zero replaces the one it had.
func (t *Tx) Postpone(x Letter, due, stamp time.Time) error {
	_, err := t.pen.exec("UPDATE outbox SET due = ?, attempts = attempts + 1, stamp = coalesce(nullif(?, 0), stamp) WHERE member = ? AND revision = ?",
		nanos(due), nanos(stamp), x.Case, x.Verdict.Revision)
	return err
}
