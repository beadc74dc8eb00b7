package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/schema"
	"coroner/classify/ledger/stored"
	"coroner/ingest"
)

// Questions are what the judging of a case asks. A Ledger answers each with what
// is recorded at that moment, a View all of them with what was when it began.
type Questions struct {
	query   queryFunc
	names   *naming
	cluster string // that names and nodes in questions are of
}

// In is the same questions about the names and nodes of a cluster; without it
// they are of the one that has no name.
func (q Questions) In(cluster string) Questions {
	q.cluster = cluster
	return q
}

func (q Questions) storedKey(name string) string { return q.names.storedKey(q.cluster, name) }

// Gathered is everything that the ledger holds about one name.
type Gathered struct {
	ID    int64
	Entry ingest.Entry
}

// Unseen returns of the evidence that is filed under a name what was not seen, in time order:
// most is filed under several.
func (q Questions) Unseen(ctx context.Context, name string, seen map[int64]bool) (out []Gathered, _ error) {
	const filed = "SELECT e.id, e.entry FROM names n CROSS JOIN evidence e WHERE n.name = ? AND e.id = n.evidence"
	rows, err := q.query(ctx, filed, schema.NameNumber(q.storedKey(name)))
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var g Gathered
		var data sql.RawBytes
		if err := r.Scan(&g.ID, &data); err != nil || seen[g.ID] {
			return err
		}
		err := json.Unmarshal(data, &g.Entry)
		q.names.readEntry(&g.Entry)
		out = append(out, g)
		return err
	})
	slices.SortFunc(out, func(a, b Gathered) int { // here, for the database would sort what was seen, too, text and all
		return cmp.Or(cmp.Compare(unixNanos(a.Entry.At), unixNanos(b.Entry.At)), cmp.Compare(a.ID, b.ID))
	})
	return out, err
}

// Since returns the evidence that is filed under a name and is of from or later, in time
// order.
func (q Questions) Since(ctx context.Context, name string, from time.Time) ([]ingest.Entry, error) {
	const filed = `SELECT e.entry FROM names n CROSS JOIN evidence e
		WHERE n.name = ? AND e.id = n.evidence AND e.at >= ? ORDER BY e.at, e.id`
	return q.readEntries(ctx, stored.ReadRecord, filed, schema.NameNumber(q.storedKey(name)), unixNanos(from))
}

// Latest returns the evidence that is filed under a name, the latest first.
func (q Questions) Latest(ctx context.Context, name string, limit int) ([]ingest.Entry, error) {
	const filed = `SELECT e.entry FROM names n CROSS JOIN evidence e
		WHERE n.name = ? AND e.id = n.evidence ORDER BY n.evidence DESC LIMIT ?`
	return q.readEntries(ctx, stored.ReadRecord, filed, schema.NameNumber(q.storedKey(name)), limit)
}

// Filed returns those of the names under which evidence is filed. It asks for all of
// them at once: most that a record may be filed under have none.
func (q Questions) Filed(ctx context.Context, names []string) (out []string, _ error) {
	list, of := []byte{'['}, make(map[int64]string, len(names))
	for i, name := range names {
		if i > 0 {
			list = append(list, ',')
		}
		n := schema.NameNumber(q.storedKey(name))
		list, of[n] = strconv.AppendInt(list, n, 10), name
	}
	list = append(list, ']')
	rows, err := q.query(ctx, `SELECT j.value FROM json_each(?) j
		WHERE EXISTS (SELECT 1 FROM names n WHERE n.name = j.value)`, database.List(list))
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var n int64
		err := r.Scan(&n)
		out = append(out, of[n])
		return err
	})
	return out, err
}

// maxWide bounds how many records about a node one case looks at, of those that are
// proven and of the others.
const maxWide = 4096

// claimed stands behind the name of a node that nobody vouches for the record of: however many
// there are, they displace none that is proven.
const claimed = "?"

func nodeKey(e *ingest.Entry) string {
	if e.Source.Proves(e.Trust) {
		return e.Node
	}
	return e.Node + claimed
}

// Wide returns the ids of the evidence about the whole of a node between two
// times, and of what has no time; the nearest to the end where there is very much.
func (q Questions) Wide(ctx context.Context, node string, from, to time.Time) (out []int64, err error) {
	for _, key := range []string{node, node + claimed} {
		rows, err2 := q.query(ctx, `SELECT id FROM (
			SELECT * FROM (SELECT id, at FROM evidence WHERE wide AND node = ?1 AND at BETWEEN ?2 AND ?3 AND at <> 0
				ORDER BY at DESC, id DESC LIMIT ?4) AS dated
			UNION ALL SELECT * FROM (SELECT id, at FROM evidence WHERE wide AND node = ?1 AND at = 0
				ORDER BY id DESC LIMIT ?4) AS undated) AS found
			ORDER BY at DESC, id DESC LIMIT ?4`, q.storedKey(key), unixNanos(from), unixNanos(to), maxWide)
		err = errors.Join(err, eachRow(rows, err2, func(r *sql.Rows) error {
			var id int64
			err := r.Scan(&id)
			out = append(out, id)
			return err
		}))
	}
	return out, err
}

// Evidence returns one record; ok is false when it was swept.
func (q Questions) Evidence(ctx context.Context, id int64) (e ingest.Entry, ok bool, err error) {
	found, err := q.readEntries(ctx, stored.ReadRecord, "SELECT entry FROM evidence WHERE id = ?", id)
	if err != nil || len(found) == 0 {
		return e, false, err
	}
	return found[0], true, nil
}

// Owners are whose marks or last lines are asked for; "" is nobody.
type Owners [3]string

// Marks returns the coverage marks of some owners that end after from.
func (q Questions) Marks(ctx context.Context, of Owners, from time.Time) ([]ingest.Entry, error) {
	const marks = `SELECT entry FROM marks WHERE owner IN (?, ?, ?) AND (reached >= ? OR reached = 0)
		ORDER BY owner, reached, hash`
	return q.readEntries(ctx, stored.ReadMarks,
		marks, q.storedKey(of[0]), q.storedKey(of[1]), q.storedKey(of[2]), unixNanos(from))
}

// Tails returns the last lines of every stream of some pods.
func (q Questions) Tails(ctx context.Context, of Owners) ([]ingest.Entry, error) {
	const tails = "SELECT entries FROM tails WHERE owner IN (?, ?, ?) ORDER BY owner, stream"
	return q.readEntries(ctx, stored.ReadTail, tails, q.storedKey(of[0]), q.storedKey(of[1]), q.storedKey(of[2]))
}

// readEntries reads rows, each of which read makes entries of.
func (q Questions) readEntries(
	ctx context.Context, read func([]byte) ([]ingest.Entry, error), query string, args ...any,
) (out []ingest.Entry, _ error) {
	rows, err := q.query(ctx, query, args...)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var data sql.RawBytes
		if err := r.Scan(&data); err != nil {
			return err
		}
		some, err := read(data)
		for i := range some {
			q.names.readEntry(&some[i])
		}
		out = append(out, some...)
		return err
	})
	return out, err
}

// SweptTo is up to when evidence was swept, zero if none ever was.
func (q Questions) SweptTo(ctx context.Context) (at time.Time, _ error) {
	rows, err := q.query(ctx, "SELECT coalesce(max(value), 0) FROM meta WHERE name = 'swept'")
	return at, eachRow(rows, err, func(r *sql.Rows) error {
		var n int64
		err := r.Scan(&n)
		at = moment(n)
		return err
	})
}
