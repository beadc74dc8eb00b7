package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strconv"
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
	at := *v
	at.Cluster = t.names.stored(v.Cluster)
	data, err := json.Marshal(&at)
	if err != nil {
		return err
	}
	died := int64(0)
	if v.DiedAt != nil {
		died = nanos(*v.DiedAt)
	}
	k, err := t.ensureCase(member, v)
	if err == nil && v.Revision > 1 {
		_, err = t.pen.exec("UPDATE verdicts SET last = 0 WHERE pod = ? AND revision < ?", k.pod, v.Revision)
	}
	if err == nil {
		_, err = t.pen.exec(`INSERT INTO verdicts (pod, revision, member, runner, uid, recorded, died,
				cluster, namespace, node, label, pool, repository, run, job, last, verdict)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?)`,
			k.pod, v.Revision, member, k.runner, k.uid, nanos(t.now), died,
			at.Cluster, v.Namespace, v.Node, v.Label, v.Pool, v.Job.Repository, v.Job.RunID, v.Job.ID, data)
	}
	if err == nil && publish {
		t.mail = true
		t.keepDraft(draft{member, v.Revision}, v, data)
		_, err = t.pen.exec("INSERT INTO outbox (pod, revision, stamp, due, attempts) VALUES (?, ?, ?, 0, 0)", k.pod, v.Revision, nanos(stamp))
	}
	return err
}

// keys are by what a verdict is found: the number of its case, and its own names
// where the case has others.
type keys struct {
	pod         int64
	runner, uid string
}

// ensureCase gives a verdict's keys. A case that is not there is made.
func (t *Tx) ensureCase(member string, v *rules.Verdict) (k keys, err error) {
	known := func() error {
		return t.pen.row("SELECT pod, CASE name WHEN ? THEN '' ELSE ? END, CASE uid WHEN ? THEN '' ELSE ? END FROM cases WHERE id = ?",
			v.Runner, v.Runner, v.PodUID, v.PodUID, member).Scan(&k.pod, &k.runner, &k.uid)
	}
	if err = known(); err != sql.ErrNoRows {
		return k, err
	}
	c := Case{ID: member, Cluster: v.Cluster, Namespace: v.Namespace, Name: v.Runner, UID: v.PodUID,
		Node: v.Node, Runner: true, Opened: t.now, Heard: t.now, State: StateJudged, Revision: v.Revision}
	if PodOf(member) != member { // the pod's own case has its names
		c.Name, c.UID, c.Node = "", "", ""
	}
	if err = t.PutCase(c); err == nil {
		err = known()
	}
	return k, err
}

// podOf is the number of the case with an id.
const podOf = "(SELECT pod FROM cases WHERE id = ?)"

// What of a verdict is read: whole, or what stands before its evidence. Whole
// verdicts have a bound, but files have some of before that: of one that is so large
// the head is read, and how many lines of evidence there are.
const (
	marker = `x'2c2265766964656e6365223a'` // ,"evidence": which no text in it can hold, for its quotes are escaped
	upTo   = "CASE instr(verdict, " + marker + ") WHEN 0 THEN verdict ELSE substr(verdict, 1, instr(verdict, " + marker + ") - 1)"
	head   = upTo + " || '}' END"

	counted = upTo + ` || ',"evidence_omitted":' || json_array_length(CAST(verdict AS TEXT), '$.evidence') || '}' END`
	whole   = "CASE WHEN length(verdict) <= 1048576 THEN verdict ELSE " + counted + " END"
)

// maxRevisions is how many of a case's revisions are read, the latest.
const maxRevisions = 50

// LastVerdict returns the latest revision of a case's verdict.
func (q Questions) LastVerdict(ctx context.Context, member string) (Record, bool, error) {
	all, err := q.names.records(ctx, q.get, whole, "WHERE pod = "+podOf+" ORDER BY revision DESC LIMIT 1", member)
	if err != nil || len(all) == 0 {
		return Record{}, false, err
	}
	return all[0], true, nil
}

// Revisions returns the revisions of a case's verdict, the first first; of very
// many, the latest.
func (l *Ledger) Revisions(ctx context.Context, member string) ([]Record, error) {
	tail := "WHERE pod = " + podOf + " ORDER BY revision DESC LIMIT " + strconv.Itoa(maxRevisions)
	all, err := l.names.records(ctx, l.ask.QueryContext, whole, tail, member)
	slices.Reverse(all)
	return all, err
}

// asks is how a question is put to the file.
type asks = func(ctx context.Context, query string, args ...any) (*sql.Rows, error)

// records reads verdicts; which part of each, part says.
func (n *naming) records(ctx context.Context, ask asks, part, tail string, args ...any) (out []Record, _ error) {
	rows, err := ask(ctx, "SELECT member, recorded, "+part+" FROM verdicts "+tail, args...)
	err = each(rows, err, func(r *sql.Rows) error {
		var rec Record
		var recorded int64
		var data []byte
		if err := r.Scan(&rec.Case, &recorded, &data); err != nil {
			return err
		}
		rec.Recorded = moment(recorded)
		err := json.Unmarshal(data, &rec.Verdict)
		rec.Verdict.Cluster = n.read(rec.Verdict.Cluster)
		rec.fill()
		out = append(out, rec)
		return err
	})
	return out, err
}

// fill makes empty lists of those that were not read.
func (r *Record) fill() {
	v := &r.Verdict
	if v.Evidence == nil {
		v.Evidence, v.Missing = []rules.EvidenceLine{}, []string{}
		v.RuledOut, v.Open = []rules.RuledOut{}, []rules.OpenLabel{}
	}
}

// Letter is a verdict that is still to be published.
type Letter struct {
	Record
	Stamp    time.Time // it is published under this time, however often it is tried
	Attempts int
}

// draft names a verdict that is to be published.
type draft struct {
	member   string
	revision int
}

// So many are kept in memory, of so many bytes as they are stored.
const (
	drafts    = 256
	draftSize = 64 << 10
)

// keepDraft notes whether the verdict is kept in memory, as which data is stored.
func (t *Tx) keepDraft(k draft, v *rules.Verdict, data []byte) {
	if len(data) > draftSize || bytes.Contains(data, []byte(`\ufffd`)) { // bytes that are no text: it reads otherwise than it was
		v = nil
	}
	t.drafts[k] = v
}

// mailed notes what a write put into the outbox or took out of it, and wakes who
// publishes it.
func (l *Ledger) mailed(tx *Tx) {
	for k, v := range tx.drafts {
		if l.drafts.Remove(k); v != nil {
			l.drafts.Add(k, v)
		}
	}
	if !tx.mail {
		return
	}
	select {
	case l.mail <- struct{}{}:
	default:
	}
}

// Letters returns what the outbox holds that is due, the oldest first. Nobody may
// change their verdicts.
func (l *Ledger) Letters(ctx context.Context, now time.Time, limit int) (out []Letter, _ error) {
	rows, err := l.read.get(ctx, `SELECT v.member, o.stamp, o.attempts, v.recorded, v.revision FROM outbox o JOIN verdicts v USING (pod, revision)
		WHERE o.due <= ? ORDER BY v.recorded, v.member, o.revision LIMIT ?`, nanos(now), limit)
	err = each(rows, err, func(r *sql.Rows) error {
		var x Letter
		var stamp, recorded int64
		err := r.Scan(&x.Case, &stamp, &x.Attempts, &recorded, &x.Verdict.Revision)
		x.Stamp, x.Recorded = moment(stamp), moment(recorded)
		out = append(out, x)
		return err
	})
	for i := range out {
		if err == nil {
			err = l.draft(ctx, &out[i])
		}
	}
	return out, err
}

// draft fills in a letter's verdict.
func (l *Ledger) draft(ctx context.Context, x *Letter) error {
	if v, ok := l.drafts.Get(draft{x.Case, x.Verdict.Revision}); ok {
		x.Verdict = *v
		return nil
	}
	var data []byte
	const query = "SELECT " + whole + " FROM verdicts WHERE pod = " + podOf + " AND revision = ?"
	if err := l.read.getRow(ctx, query, x.Case, x.Verdict.Revision).Scan(&data); err != nil {
		return err
	}
	err := json.Unmarshal(data, &x.Verdict)
	x.Verdict.Cluster = l.names.read(x.Verdict.Cluster)
	return err
}

// Outbox says how many verdicts are still to be published.
func (l *Ledger) Outbox(ctx context.Context) (n int, err error) {
	err = l.read.getRow(ctx, "SELECT count(*) FROM outbox").Scan(&n)
	return n, err
}

// Sent takes a letter out of the outbox.
func (t *Tx) Sent(x Letter) error {
	t.drafts[draft{x.Case, x.Verdict.Revision}] = nil
	_, err := t.pen.exec("DELETE FROM outbox WHERE pod = "+podOf+" AND revision = ?", x.Case, x.Verdict.Revision)
	return err
}

// Postpone notes a failed attempt; the letter is due again then. A stamp that
// is not zero replaces the one it had.
func (t *Tx) Postpone(x Letter, due, stamp time.Time) error {
	_, err := t.pen.exec("UPDATE outbox SET due = ?, attempts = attempts + 1, stamp = coalesce(nullif(?, 0), stamp) WHERE pod = "+podOf+" AND revision = ?",
		nanos(due), nanos(stamp), x.Case, x.Verdict.Revision)
	return err
}
