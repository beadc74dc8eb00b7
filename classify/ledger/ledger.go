// Package ledger is the durable record of the live system: evidence, coverage
// marks, open cases, verdicts and what is still to be published, in one SQLite
// file, or in a PostgreSQL that several servers share.
//
// Invariant: what one Write did is there wholly or not at all; the same
// evidence, mark or verdict written twice is there once. A verdict and its
// place in the outbox are written together. Writes that change cases of one
// cluster come one after another, also those of several servers.
//
// Crash behaviour: a Write that returned survives the process and the machine
// (write-ahead log, synced at every commit); one that did not return is not
// there, or, where the connection broke at its end, may be. Opening it again
// needs no repair. What a server claimed when it died is another one's soon.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/days"
	"coroner/classify/ledger/schema"
)

// Ledger is one open file. It is safe for concurrent use.
//
// One connection writes. Those that read are one pool: readConn is taken out of it for
// the judging and the outbox, so that neither waits for what people ask of the others.
type Ledger struct {
	Questions
	Search
	Worklist
	Outbox *Outbox
	Lead   *database.Lead
	Days   *days.Days // the tables of a database whose evidence is split by day

	path      string
	lock      *os.File // held as long as the ledger is open; nil: a database
	names     *naming
	writePool *database.Pool // of one connection, conn
	conn      *database.Conn // writes, one after another
	queryPool *database.Pool
	readConn  *database.Conn // of the query pool: consistent views, one after another
}

// readers is how many connections read at one time, beside readConn.
const readers = 6

// Open opens the ledger in the file path, and makes it when it is not there.
// The folder must exist. A file of another schema version, and one that is no
// ledger, is an error that says so. What begins with postgres:// is a database, which
// must exist.
func Open(path string) (*Ledger, error) {
	if database.IsURL(path) {
		return openURL(path)
	}
	if dir := filepath.Dir(path); !isDir(dir) {
		return nil, fmt.Errorf("ledger %s: the folder %s does not exist; make it, or name another file", path, dir)
	}
	if isDir(path) {
		return nil, fmt.Errorf("ledger %s: it is a folder; name a file in it", path)
	}
	lock, err := database.LockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	l := &Ledger{
		path:      path,
		lock:      lock,
		names:     &naming{},
		writePool: database.OpenFile(path, 1, database.WriteCache, "&_pragma=wal_autocheckpoint(8000)"),
		queryPool: database.OpenFile(path, readers+1, database.ReadCache, ""),
	}
	if err := l.openAll(); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	return l, nil
}

// openAll makes the schema of a file and connects to it.
func (l *Ledger) openAll() error {
	if err := schema.MakeFile(l.writePool.DB); err != nil {
		return err
	}
	if err := l.connect(); err != nil {
		return err
	}
	_, err := l.readConn.Execute(fmt.Sprintf("PRAGMA cache_size(-%d)", database.WriteCache))
	return err
}

// connect takes the connections and hands them out.
func (l *Ledger) connect() error {
	err := l.names.loadNames(l.writePool.QueryRowContext(context.Background(), adoptedName))
	if err != nil {
		return err
	}
	if l.conn, err = database.NewConn(l.writePool); err != nil {
		return err
	}
	if l.readConn, err = database.NewConn(l.queryPool); err != nil {
		return err
	}
	l.Questions = Questions{query: l.queryPool.GetRows, names: l.names}
	l.Search = Search{pool: l.queryPool, names: l.names}
	l.Worklist = Worklist{readConn: l.readConn, pool: l.queryPool, names: l.names}
	l.Lead = database.NewLead(l.queryPool)
	l.Outbox = newOutbox(l.readConn, l.queryPool, l.names)
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Close closes the file.
func (l *Ledger) Close() error {
	l.Lead.GiveUp()
	var err error
	for _, c := range []*database.Conn{l.readConn, l.conn} {
		if c != nil {
			err = errors.Join(err, c.GiveBack())
		}
	}
	err = errors.Join(err, l.queryPool.Close(), l.writePool.Close())
	if l.lock != nil {
		err = errors.Join(err, l.lock.Close())
	}
	return err
}

// Size is the file's size in bytes, its write-ahead log's included, or the database's.
func (l *Ledger) Size() (total int64) {
	if l.Shared() {
		return l.queryPool.Size()
	}
	for _, name := range []string{l.path, l.path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Used says how many bytes of the file hold something: pages that a sweep
// freed are used again before the file grows. Of a database nobody can say, so it is 0.
func (l *Ledger) Used(ctx context.Context) (int64, error) {
	if l.Shared() {
		return 0, nil
	}
	var pages, free, size int64
	for query, into := range map[string]*int64{
		"PRAGMA page_count":     &pages,
		"PRAGMA freelist_count": &free,
		"PRAGMA page_size":      &size,
	} {
		if err := l.queryPool.GetRow(ctx, query).Scan(into); err != nil {
			return 0, err
		}
	}
	return (pages - free) * size, nil
}

// OldestEvidence is when the oldest evidence was received, zero if there is none.
func (l *Ledger) OldestEvidence(ctx context.Context) (time.Time, error) {
	var n sql.NullInt64
	err := l.queryPool.GetRow(ctx, "SELECT min(received) FROM evidence").Scan(&n)
	return moment(n.Int64), err
}

func unixNanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return storable(t).UnixNano()
}

// The first and the last time that a count of nanoseconds can hold.
var firstTime, lastTime = time.Unix(0, math.MinInt64).UTC(), time.Unix(0, math.MaxInt64).UTC()

// storable is t, or the nearest time that can be stored: a log can name any year.
func storable(t time.Time) time.Time {
	switch {
	case t.After(lastTime):
		return lastTime
	case t.Before(firstTime) && !t.IsZero():
		return firstTime
	}
	return t
}

func moment(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// eachRow runs f on every row.
func eachRow(rows *sql.Rows, err error, f func(*sql.Rows) error) error {
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
