package ledger

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger/database"
	"coroner/rules"

	lru "github.com/hashicorp/golang-lru/v2"
)

// Outbox holds the verdicts that are still to be published.
type Outbox struct {
	conn  *database.Conn
	pool  *database.Pool
	names *naming
	ready chan struct{} // see Ready; never closed
	// verdictCache holds waiting verdicts as they were recorded: reading one back
	// costs more than sending it.
	verdictCache *lru.Cache[verdictKey, *rules.Verdict]
}

// OutboxItem is a verdict that is still to be published.
type OutboxItem struct {
	Record
	Stamp    time.Time // the verdict is published under this time, however often it is tried
	Attempts int
}

// verdictOf names the verdict of the item.
func (item *OutboxItem) verdictOf() verdictKey { return verdictKey{item.Case, item.Verdict.Revision} }

// verdictKey names a verdict.
type verdictKey struct {
	member   string
	revision int
}

// The verdict cache holds this many verdicts, none larger than this as stored.
const (
	maxCached     = 256
	maxCachedSize = 64 << 10
)

func newOutbox(c *database.Conn, pool *database.Pool, names *naming) *Outbox {
	cache, _ := lru.New[verdictKey, *rules.Verdict](maxCached) // an error only for a size below 1
	return &Outbox{conn: c, pool: pool, names: names, ready: make(chan struct{}, 1), verdictCache: cache}
}

// Ready gives a value soon after a Write put verdicts into the outbox; several writes
// can share one value. It is for one receiver.
func (o *Outbox) Ready() <-chan struct{} { return o.ready }

// Due returns the items that are due, the oldest first. The caller must not change
// their verdicts.
func (o *Outbox) Due(ctx context.Context, now time.Time, limit int) (out []OutboxItem, err error) {
	err = o.conn.UseAlone(ctx, func() (err error) {
		if out, err = o.dueItems(now, limit); err != nil {
			return err
		}
		return o.fillItems(out)
	})
	return out, err
}

func (o *Outbox) dueItems(now time.Time, limit int) ([]OutboxItem, error) {
	return readItems(o.conn.QueryRows(`SELECT v.member, o.stamp, o.attempts, v.recorded, v.revision
		FROM outbox o JOIN verdicts v USING (pod, revision)
		WHERE o.due <= ? ORDER BY v.recorded, v.member, o.revision LIMIT ?`, unixNanos(now), limit))
}

func readItems(rows *sql.Rows, err error) (out []OutboxItem, _ error) {
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var item OutboxItem
		var stamp, recorded int64
		err := r.Scan(&item.Case, &stamp, &item.Attempts, &recorded, &item.Verdict.Revision)
		item.Stamp, item.Recorded = moment(stamp), moment(recorded)
		out = append(out, item)
		return err
	})
	return out, err
}

// Take is Due for who goes on to send the items: of several servers one gets each, and
// another one only when that has not said within ClaimFor what became of it.
func (o *Outbox) Take(ctx context.Context, now time.Time, limit int) ([]OutboxItem, error) {
	if !o.pool.Remote() {
		return o.Due(ctx, now, limit)
	}
	const take = `WITH chosen AS (SELECT o.pod, o.revision FROM outbox o JOIN verdicts v USING (pod, revision)
			WHERE o.due <= ?1 ORDER BY v.recorded, v.member, o.revision LIMIT ?3 FOR UPDATE OF o SKIP LOCKED)
		UPDATE outbox SET due = ?2 FROM chosen, verdicts v
		WHERE outbox.pod = chosen.pod AND outbox.revision = chosen.revision
			AND v.pod = chosen.pod AND v.revision = chosen.revision
		RETURNING v.member, outbox.stamp, outbox.attempts, v.recorded, v.revision`
	out, err := readItems(o.pool.GetRows(ctx, take, unixNanos(now), unixNanos(now.Add(ClaimFor)), limit))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(out, func(a, b OutboxItem) int {
		return cmp.Or(a.Recorded.Compare(b.Recorded), strings.Compare(a.Case, b.Case),
			cmp.Compare(a.Verdict.Revision, b.Verdict.Revision))
	})
	return out, o.conn.UseAlone(ctx, func() error { return o.fillItems(out) })
}

// fillItems reads the verdicts of items.
func (o *Outbox) fillItems(items []OutboxItem) (err error) {
	for i := 0; i < len(items) && err == nil; i++ {
		err = o.fillItem(&items[i])
	}
	return err
}

func (o *Outbox) fillItem(item *OutboxItem) error {
	if v, ok := o.verdictCache.Get(item.verdictOf()); ok {
		item.Verdict = *v
		return nil
	}
	var data []byte
	const query = "SELECT " + whole + " FROM verdicts WHERE pod = " + podOf + " AND revision = ?"
	if err := o.conn.QueryRow(query, item.Case, item.Verdict.Revision).Scan(&data); err != nil {
		return err
	}
	err := json.Unmarshal(data, &item.Verdict)
	item.Verdict.Cluster = o.names.clusterFrom(item.Verdict.Cluster)
	return err
}

// Count says how many verdicts are still to be published.
func (o *Outbox) Count(ctx context.Context) (n int, err error) {
	err = o.conn.UseAlone(ctx, func() error { return o.conn.QueryRow("SELECT count(*) FROM outbox").Scan(&n) })
	return n, err
}

// committed takes over what a write that is on disk did to the outbox.
func (o *Outbox) committed(tx *Tx) {
	for key, v := range tx.cached {
		if o.verdictCache.Remove(key); v != nil {
			o.verdictCache.Add(key, v)
		}
	}
	if !tx.queued {
		return
	}
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// enqueueVerdict puts a verdict that was stored as data into the outbox.
func (t *Tx) enqueueVerdict(pod int64, key verdictKey, v *rules.Verdict, data []byte, stamp time.Time) error {
	t.queued = true
	t.cached[key] = v
	// Bytes that are no text are stored as U+FFFD, so the verdict reads back differently.
	if len(data) > maxCachedSize || bytes.Contains(data, []byte(`\ufffd`)) {
		t.cached[key] = nil
	}
	const insert = "INSERT INTO outbox (pod, revision, stamp, due, attempts) VALUES (?, ?, ?, 0, 0)"
	_, err := t.conn.Execute(insert, pod, key.revision, unixNanos(stamp))
	return err
}

// Sent takes an item out of the outbox.
func (t *Tx) Sent(item OutboxItem) error {
	t.cached[item.verdictOf()] = nil
	const remove = "DELETE FROM outbox WHERE pod = " + podOf + " AND revision = ?"
	_, err := t.conn.Execute(remove, item.Case, item.Verdict.Revision)
	return err
}

// Postpone notes a failed attempt: the item is due again at due. A stamp that is not
// zero replaces the one that the item had.
func (t *Tx) Postpone(item OutboxItem, due, stamp time.Time) error {
	const update = `UPDATE outbox SET due = ?, attempts = attempts + 1,
			stamp = coalesce(nullif(CAST(? AS BIGINT), 0), stamp)
		WHERE pod = ` + podOf + " AND revision = ?"
	_, err := t.conn.Execute(update, unixNanos(due), unixNanos(stamp), item.Case, item.Verdict.Revision)
	return err
}
