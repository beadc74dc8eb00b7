// Package ledger is the durable record of the live system: evidence, coverage
// marks, open cases, verdicts and what is still to be published, in one SQLite
// file.
//
// Invariant: what one Write did is there wholly or not at all; the same
// evidence, mark or verdict written twice is there once. A verdict and its
// place in the outbox are written together.
//
// Crash behaviour: a Write that returned survives the process and the machine
// (write-ahead log, synced at every commit); one that did not return is not
// there. Opening the file again needs no repair.
package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
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

	path      string
	lock      *os.File // held as long as the ledger is open
	names     *naming
	writePool *sql.DB // of one connection, conn
	conn      *conn   // writes, one after another
	queryPool *stmtCache
	readConn  *conn // of the query pool: consistent views, one after another
}

// readers is how many connections read at one time, beside readConn.
const readers = 6

// Open opens the ledger in the file path, and makes it when it is not there.
// The folder must exist. A file of another schema version, and one that is no
// ledger, is an error that says so.
func Open(path string) (*Ledger, error) {
	if dir := filepath.Dir(path); !isDir(dir) {
		return nil, fmt.Errorf("ledger %s: the folder %s does not exist; make it, or name another file", path, dir)
	}
	if isDir(path) {
		return nil, fmt.Errorf("ledger %s: it is a folder; name a file in it", path)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	l := &Ledger{
		path:      path,
		lock:      lock,
		names:     &naming{},
		writePool: openFile(path, 1, writeCache, "&_pragma=wal_autocheckpoint(8000)"),
		queryPool: &stmtCache{DB: openFile(path, readers+1, readCache, "")},
	}
	if err := l.openAll(); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	return l, nil
}

// openAll makes the schema, takes the connections and hands them out.
func (l *Ledger) openAll() error {
	if err := (migration{l.writePool}).migrateFile(); err != nil {
		return err
	}
	if err := l.names.loadNames(l.writePool); err != nil {
		return err
	}
	var err error
	if l.conn, err = newConn(l.writePool); err != nil {
		return err
	}
	if l.readConn, err = newConn(l.queryPool.DB); err != nil {
		return err
	}
	if _, err = l.readConn.execute(fmt.Sprintf("PRAGMA cache_size(-%d)", writeCache)); err != nil {
		return err
	}
	l.Questions = Questions{query: l.queryPool.getRows, names: l.names}
	l.Search = Search{pool: l.queryPool, names: l.names}
	l.Worklist = Worklist{readConn: l.readConn, pool: l.queryPool, names: l.names}
	l.Outbox = newOutbox(l.readConn, l.names)
	return nil
}

// lockFile takes the lock that keeps a second server off the file. The system
// lets it go when the process ends, however it ends.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another server has it open"), f.Close())
	}
	return f, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// How many KiB of pages a connection keeps: a larger cache would spare few reads,
// and many commits look through all of it. There is one connection that writes and one
// that judges, and several others.
const (
	writeCache = 16_000
	readCache  = 4_000
)

// openFile opens connections, each with a cache of so many KiB. What writes comes back
// to the same pages: it copies them from the write-ahead log less often, in pages of
// 4 KiB.
func openFile(path string, conns, cache int, more string) *sql.DB {
	const pragmas = "?_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_txlock=immediate"
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open("sqlite", "file:"+path+pragmas+fmt.Sprintf("&_pragma=cache_size(-%d)", cache)+more)
	if err != nil { // only an unknown driver name is one, and it is known
		panic(err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns) // its statements are kept with it
	return db
}

// Close closes the file.
func (l *Ledger) Close() error {
	var err error
	for _, c := range []*conn{l.readConn, l.conn} {
		if c != nil {
			err = errors.Join(err, c.giveBack())
		}
	}
	return errors.Join(err, l.queryPool.Close(), l.writePool.Close(), l.lock.Close())
}

// Size is the file's size in bytes, its write-ahead log's included.
func (l *Ledger) Size() (total int64) {
	for _, name := range []string{l.path, l.path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

// Used says how many bytes of the file hold something: pages that a sweep
// freed are used again before the file grows.
func (l *Ledger) Used(ctx context.Context) (int64, error) {
	var pages, free, size int64
	for query, into := range map[string]*int64{
		"PRAGMA page_count":     &pages,
		"PRAGMA freelist_count": &free,
		"PRAGMA page_size":      &size,
	} {
		if err := l.queryPool.getRow(ctx, query).Scan(into); err != nil {
			return 0, err
		}
	}
	return (pages - free) * size, nil
}

// OldestEvidence is when the oldest evidence was received, zero if there is none.
func (l *Ledger) OldestEvidence(ctx context.Context) (time.Time, error) {
	var n sql.NullInt64
	err := l.queryPool.getRow(ctx, "SELECT min(received) FROM evidence").Scan(&n)
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
