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
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"coroner/rules"

	lru "github.com/hashicorp/golang-lru/v2"
	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

// Ledger is one open file. It is safe for concurrent use.
type Ledger struct {
	Questions
	path   string
	names  *naming
	lock   *os.File // held as long as the ledger is open
	write  *sql.DB  // one connection: writes are one after another
	pen    *pen     // holds it
	look   *sql.DB  // one connection: views are one after another
	views  *pen     // holds it
	read   *shelf
	ask    *sql.DB                           // what people ask: a slow question must not hold up the judging
	mail   chan struct{}                     // see Mail; never closed
	drafts *lru.Cache[draft, *rules.Verdict] // what waits to be published, as it was recorded: to read it back costs more than to send it
}

// readers is how many connections read at one time.
const readers = 4

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
	lock, err := seize(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	l := &Ledger{path: path, names: &naming{}, lock: lock, mail: make(chan struct{}, 1),
		write: open(path, 1, large, "&_pragma=wal_autocheckpoint(8000)"), look: open(path, 1, large, ""),
		read: &shelf{DB: open(path, readers, small, "")}, ask: open(path, readers, small, "")}
	l.drafts, _ = lru.New[draft, *rules.Verdict](drafts) // an error only for a size below 1
	l.Questions = Questions{get: l.read.get, names: l.names}
	if err := l.begin(); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	return l, nil
}

// begin makes the schema and takes the connections.
func (l *Ledger) begin() (err error) {
	if err = l.migrate(); err == nil {
		err = l.names.load(l.write)
	}
	if err == nil {
		l.pen, err = newPen(l.write)
	}
	if err == nil {
		l.views, err = newPen(l.look)
	}
	return err
}

// seize takes the lock that keeps a second server off the file. The system
// lets it go when the process ends, however it ends.
func seize(path string) (*os.File, error) {
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
// and many commits look through all of it. What judges and what files have one
// connection each, others several.
const (
	large = 16_000
	small = 4_000
)

// open opens connections, each with a cache of so many KiB. What writes comes back
// to the same pages: it copies them from the write-ahead log less often, in pages of
// 4 KiB.
func open(path string, conns, cache int, more string) *sql.DB {
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
	for _, p := range []*pen{l.views, l.pen} {
		if p != nil {
			err = errors.Join(err, p.close())
		}
	}
	return errors.Join(err, l.ask.Close(), l.look.Close(), l.read.Close(), l.write.Close(), l.lock.Close())
}

// Mail gives something soon after a Write put a verdict into the outbox, once for
// several of them where nobody takes it. One may take it.
func (l *Ledger) Mail() <-chan struct{} { return l.mail }

// Size is the file's size in bytes, its write-ahead log's included.
func (l *Ledger) Size() (total int64) {
	for _, name := range []string{l.path, l.path + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return total
}

func nanos(t time.Time) int64 {
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

// each runs f on every row.
func each(rows *sql.Rows, err error, f func(*sql.Rows) error) error {
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
