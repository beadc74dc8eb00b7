package ledger

import (
	"database/sql"
	"errors"
	"time"
)

// Swept is what a sweep took out.
type Swept struct {
	Verdicts, Evidence, Cases int64
	Completed                 int64 // verdicts that were left without their evidence
	More                      bool  // it stopped at its bound
}

// maxSwept is how many rows of a kind one sweep takes out: who writes meanwhile
// must not wait for long.
const maxSwept = 1000

// lookedAt is how many old cases one sweep looks at: most of them stay.
const lookedAt = 20_000

// Sweep deletes verdicts that were recorded before verdicts, and evidence,
// marks, last lines and cases that nothing was heard of since evidence, up to a
// bound of each. What is still to be published stays, and evidence that goes with its
// day, see Ledger.Days.
func (t *Tx) Sweep(verdicts, evidence time.Time) (s Swept, err error) {
	del := func(query string, before time.Time) (n int64) {
		if err != nil {
			return 0
		}
		n, err = t.affect(query, unixNanos(before), maxSwept)
		s.More = s.More || n == maxSwept
		return n
	}
	s.Verdicts = del(`DELETE FROM verdicts WHERE number IN (SELECT number FROM verdicts v
		WHERE last IN (0, 1) AND recorded < ?
		AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.pod = v.pod AND o.revision = v.revision) LIMIT ?)`, verdicts)
	del(sweepDeliveries, verdicts)
	if err == nil {
		err = t.sweepEvidence(evidence, &s)
	}
	// Asked once more of the row itself: another server may have changed it since it was found.
	del("DELETE FROM marks WHERE hash IN (SELECT hash FROM marks WHERE received < ?1 LIMIT ?2) AND received < ?1",
		evidence.Add(-receivedIn))
	del("DELETE FROM tails WHERE stream IN (SELECT stream FROM tails WHERE received < ?1 LIMIT ?2) AND received < ?1",
		evidence)
	del(`DELETE FROM nodes WHERE (cluster, node) IN
		(SELECT cluster, node FROM nodes WHERE heard < ?1 LIMIT ?2) AND heard < ?1`, evidence)
	if err == nil && !s.More {
		s.Cases, err = t.sweepCases(evidence)
	}
	return s, err
}

// sweepEvidence deletes evidence, but for what goes with its day.
func (t *Tx) sweepEvidence(before time.Time, s *Swept) (err error) {
	var more bool
	s.Evidence, more, err = t.days.Sweep(unixNanos(before), maxSwept)
	s.More = s.More || more
	if s.Evidence > 0 && err == nil {
		err = t.noteValue("swept", unixNanos(before))
	}
	return err
}

// sweepCases deletes cases without a verdict that nothing was heard of. Most old
// cases have one, and stay as long as it does: so each sweep looks at some, and
// the next one goes on from there.
func (t *Tx) sweepCases(before time.Time) (n int64, err error) {
	err = t.conn.HoldAll()
	from, err2 := t.notedValue("cases")
	if err = errors.Join(err, err2); err != nil {
		return 0, err
	}
	var last sql.NullInt64
	var count int
	const next = `SELECT max(heard), count(*) FROM
		(SELECT heard FROM cases WHERE heard >= ? AND heard < ? ORDER BY heard LIMIT ?) AS old`
	err = t.conn.QueryRow(next, from, unixNanos(before), lookedAt).Scan(&last, &count)
	if err != nil || count == 0 {
		return 0, errors.Join(err, t.noteValue("cases", 0))
	}
	const old = ` FROM cases WHERE heard BETWEEN ? AND ? AND (state <> 'ending' OR NOT runner) AND episodes = 0
		AND NOT EXISTS (SELECT 1 FROM verdicts v WHERE v.pod = cases.pod)`
	ties := "DELETE FROM ties WHERE pod IN (SELECT pod" + old + ")"
	if _, err := t.conn.Execute(ties, from, last.Int64); err != nil {
		return 0, err
	}
	n, err = t.affect("DELETE"+old, from, last.Int64)
	from = last.Int64 + 1
	if count < lookedAt {
		from = 0 // that was the last of them
	}
	return n, errors.Join(err, t.noteValue("cases", from))
}

func (t *Tx) noteValue(name string, value int64) error {
	_, err := t.conn.Execute("INSERT INTO meta (name, value) VALUES (?, ?) "+
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
	return err
}

// notedValue is what noteValue wrote, 0 if nothing.
func (t *Tx) notedValue(name string) (int64, error) {
	var value sql.NullInt64
	err := t.conn.QueryRow("SELECT max(value) FROM meta WHERE name = ?", name).Scan(&value)
	return value.Int64, err
}

// affect makes a change and returns how many rows it is of.
func (t *Tx) affect(query string, args ...any) (int64, error) {
	res, err := t.conn.Execute(query, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}
