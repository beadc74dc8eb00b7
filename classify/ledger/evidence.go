package ledger

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger/schema"
	"coroner/classify/ledger/stored"
	"coroner/ingest"
)

// EvidenceTable is what one write does to evidence, coverage marks and last lines.
type EvidenceTable struct{ *writer }

// AddEvidence stores a recognised entry under its names in its cluster. added is false when
// it was there before.
func (t EvidenceTable) AddEvidence(e *ingest.Entry, names []string, wide bool) (added bool, err error) {
	at := t.asStored(e)
	data, err := json.Marshal(at)
	if err != nil {
		return false, err
	}
	names = t.names.storedKeys(e.Cluster, names)
	number, names := t.days.Number(unixNanos(e.At), names)
	res, err := t.conn.Execute(`INSERT INTO evidence (id, hash, node, at, wide, received, entry, names)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (hash) DO NOTHING`, number, stored.RecordID(&at),
		t.names.storedKey(e.Cluster, nodeKey(e)), unixNanos(e.At), wide, unixNanos(t.now), data,
		schema.PackNumbers(names))
	if err != nil {
		return false, err
	}
	if n, err := res.RowsAffected(); n == 0 || err != nil {
		return false, err
	}
	id, given := number.(int64)
	if !given {
		id, err = res.LastInsertId()
	}
	if err == nil {
		err = t.days.Take(id)
	}
	for some := range slices.Chunk(names, len(addNames)) {
		if err == nil {
			err = t.addNames(some, id)
		}
	}
	return true, err
}

// addNames are the statements that file a record under one name, two names and
// so on.
var addNames = func() (out [8]string) {
	for i := range out {
		out[i] = "INSERT INTO names (name, evidence) VALUES (?, ?)" + strings.Repeat(", (?, ?)", i) +
			" ON CONFLICT DO NOTHING"
	}
	return out
}()

func (t EvidenceTable) addNames(names []string, id int64) error {
	args := make([]any, 0, 2*len(addNames))
	for _, name := range names {
		args = append(args, schema.NameNumber(name), id)
	}
	_, err := t.conn.Execute(addNames[len(names)-1], args...)
	return err
}

// asStored is an entry as the file has it: with times that can be stored.
func (t EvidenceTable) asStored(of *ingest.Entry) ingest.Entry {
	e := *of
	e.Cluster = t.names.storedCluster(e.Cluster)
	e.At, e.After = storable(e.At), storable(e.After)
	if e.Mark != nil {
		m := *e.Mark
		m.From, m.To = storable(m.From), storable(m.To)
		e.Mark = &m
	}
	return e
}

// AddMark stores a mark under its owner in its cluster. A span of coverage that goes on
// replaces its shorter self; added is false for one that is not longer.
func (t EvidenceTable) AddMark(e *ingest.Entry, owner string) (added bool, err error) {
	rows, err := t.markRows([]OwnedMark{{e, owner}})
	if err != nil {
		return false, err
	}
	res, err := t.conn.Execute(insertMarks+"(?, ?, ?, ?, ?)"+replaceShorter, rows[0]...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

// OwnedMark is a mark and whose it is.
type OwnedMark struct {
	Entry *ingest.Entry
	Owner string
}

// AddMarks is AddMark for many.
func (t EvidenceTable) AddMarks(all []OwnedMark) error {
	rows, err := t.markRows(all)
	if err != nil {
		return err
	}
	_, err = t.conn.InsertRows(insertMarks, rows, replaceShorter)
	return err
}

const (
	insertMarks    = "INSERT INTO marks (hash, owner, reached, received, entry) VALUES "
	replaceShorter = ` ON CONFLICT (hash) DO UPDATE
		SET reached = excluded.reached, received = excluded.received, entry = excluded.entry
		WHERE excluded.reached > marks.reached`
)

// receivedIn is how exactly is kept when a mark came: an index that a row's change leaves as it
// was costs nothing.
const receivedIn = 10 * time.Minute

// markRows are rows in the order of their hashes, so that no two writes wait for each other.
func (t EvidenceTable) markRows(all []OwnedMark) (out [][]any, err error) {
	marks := make([]stored.Mark, len(all))
	for i, m := range all {
		marks[i] = stored.Mark{Entry: t.asStored(m.Entry), Owner: t.names.storedKey(m.Entry.Cluster, m.Owner)}
	}
	rows, err := stored.JoinMarks(marks)
	received := unixNanos(t.now.Truncate(receivedIn))
	for _, row := range rows {
		out = append(out, []any{row.Hash, row.Owner, unixNanos(row.To), received, row.Entry})
	}
	return out, err
}

// AddTail merges lines into the last lines of their stream and keeps the n
// latest. owner is the key of the stream's pod; both are of the lines' cluster.
// redact takes the secrets out of all that are there, in their order: a private
// key comes in many lines.
func (t EvidenceTable) AddTail(stream, owner string, lines []ingest.Entry, n int, redact func([]ingest.Entry)) error {
	if len(lines) == 0 {
		return nil
	}
	var data []byte
	var have []ingest.Entry
	stream, owner = t.names.storedKey(lines[0].Cluster, stream), t.names.storedKey(lines[0].Cluster, owner)
	err := t.conn.QueryRow("SELECT entries FROM tails WHERE stream = ?", stream).Scan(&data)
	if err == nil {
		err = json.Unmarshal(data, &have)
	}
	if err != nil && err != sql.ErrNoRows {
		return err
	}
	for i := range lines {
		have = append(have, t.asStored(&lines[i]))
	}
	if data, err = json.Marshal(latestEntries(have, n, redact)); err != nil {
		return err
	}
	_, err = t.conn.Execute(`INSERT INTO tails (stream, owner, received, entries) VALUES (?, ?, ?, ?)
		ON CONFLICT (stream) DO UPDATE SET received = excluded.received, entries = excluded.entries`,
		stream, owner, unixNanos(t.now), data)
	return err
}

// latestEntries keeps the n latest entries, each once and without secrets.
func latestEntries(all []ingest.Entry, n int, redact func([]ingest.Entry)) []ingest.Entry {
	slices.SortFunc(all, func(a, b ingest.Entry) int {
		return cmp.Or(a.At.Compare(b.At), a.Line-b.Line, strings.Compare(a.Text, b.Text))
	})
	redact(all)
	all = slices.CompactFunc(all, func(a, b ingest.Entry) bool {
		return a.At.Equal(b.At) && a.Line == b.Line && a.Text == b.Text
	})
	return all[max(0, len(all)-n):]
}
