package ledger

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"coroner/rules"
)

// Thin takes the evidence out of verdicts that were recorded before a time, of runners that
// ended well: most do, and nobody asks how for long. Their rows stay. It goes on from
// where the last call stopped, up to a bound; what is still to be published stays whole.
func (t *Tx) Thin(before time.Time) (s Swept, err error) {
	err = errors.Join(t.thinSome(0, before, &s), t.thinSome(1, before, &s))
	return s, err
}

// endedWell is true of verdicts that Thin takes the evidence out of.
const endedWell = "label IN ('" + rules.Completed + "', '" + rules.IdleRemoved + "', '" + rules.RunnerUpdated + "')"

// thinSome does it for verdicts that a later revision has replaced, or for the others.
func (t *Tx) thinSome(last int, before time.Time, s *Swept) error {
	name := "completed" + strconv.Itoa(last)
	from, err1 := t.notedValue(name) // where it stopped: in time, and of one moment by number
	after, err2 := t.notedValue(name + "-number")
	rows, err := t.conn.QueryRows(`SELECT number, recorded, verdict FROM verdicts v
		WHERE last = ? AND recorded >= ? AND (recorded > ? OR number > ?) AND recorded < ? AND `+string(endedWell)+`
		AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.pod = v.pod AND o.revision = v.revision)
		ORDER BY recorded, number LIMIT ?`, last, from, from, after, unixNanos(before), maxSwept)
	read, thin := 0, map[int64][]byte{}
	err = eachRow(rows, errors.Join(err1, err2, err), func(r *sql.Rows) error {
		var data []byte
		err := r.Scan(&after, &from, &data)
		var v rules.Verdict
		if read++; err == nil && json.Unmarshal(data, &v) == nil && v.RemoveEvidence() { // else it stays as it is
			thin[after], err = json.Marshal(&v)
		}
		return err
	})
	for number, data := range thin {
		if err == nil {
			_, err = t.conn.Execute("UPDATE verdicts SET verdict = ? WHERE number = ?", data, number)
		}
	}
	if err != nil || read == 0 {
		return err
	}
	s.Completed, s.More = s.Completed+int64(len(thin)), s.More || read == maxSwept
	return errors.Join(t.noteValue(name, from), t.noteValue(name+"-number", after))
}
