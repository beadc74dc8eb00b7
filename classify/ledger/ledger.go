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
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
)

// version is the schema's. A file of another version is not touched.
const version = 1

const schema = `
CREATE TABLE evidence (
	id       INTEGER PRIMARY KEY,
	hash     BLOB NOT NULL UNIQUE,
	node     TEXT NOT NULL,
	at       INTEGER NOT NULL,   -- nanoseconds; 0 = the record has no time
	wide     INTEGER NOT NULL,   -- speaks of everything on its node
	received INTEGER NOT NULL,
	entry    BLOB NOT NULL);
CREATE INDEX evidence_wide ON evidence (node, at) WHERE wide;
CREATE INDEX evidence_received ON evidence (received);
CREATE TABLE names (
	name     TEXT NOT NULL,
	evidence INTEGER NOT NULL REFERENCES evidence ON DELETE CASCADE,
	PRIMARY KEY (name, evidence)) WITHOUT ROWID;
CREATE INDEX names_evidence ON names (evidence);
CREATE TABLE marks (
	hash     BLOB PRIMARY KEY,
	owner    TEXT NOT NULL,      -- the pod's key, "node:NAME", or "controller"
	reached  INTEGER NOT NULL,   -- nanoseconds; the end of what it states
	received INTEGER NOT NULL,
	entry    BLOB NOT NULL);
CREATE INDEX marks_owner ON marks (owner, reached);
CREATE INDEX marks_received ON marks (received);
CREATE TABLE tails (
	stream   TEXT PRIMARY KEY,
	owner    TEXT NOT NULL,
	received INTEGER NOT NULL,
	entries  BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX tails_owner ON tails (owner);
CREATE TABLE nodes (
	node       TEXT PRIMARY KEY,
	reached    INTEGER NOT NULL, -- everything on it up to here was read
	heard      INTEGER NOT NULL, -- when its agent last pushed
	controller INTEGER NOT NULL, -- its agent reads a controller's log
	silent     INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE cases (
	id        TEXT PRIMARY KEY,
	namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, node TEXT NOT NULL,
	runner    INTEGER NOT NULL,
	opened    INTEGER NOT NULL, heard INTEGER NOT NULL,
	state     TEXT NOT NULL,     -- open, ending, judged
	died      INTEGER NOT NULL,  -- ending: the latest time that it is known of
	due       INTEGER NOT NULL,  -- ending: judged at the latest then
	revision  INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX cases_uid ON cases (uid);
CREATE INDEX cases_name ON cases (name);
CREATE INDEX cases_node ON cases (node, state);
CREATE INDEX cases_heard ON cases (heard);
CREATE TABLE ties (
	id     TEXT PRIMARY KEY,
	member TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX ties_member ON ties (member);
CREATE TABLE verdicts (
	member   TEXT NOT NULL, revision INTEGER NOT NULL,
	recorded INTEGER NOT NULL, died INTEGER NOT NULL,
	runner   TEXT NOT NULL, namespace TEXT NOT NULL, node TEXT NOT NULL, uid TEXT NOT NULL, label TEXT NOT NULL,
	pool     TEXT NOT NULL, repository TEXT NOT NULL, run TEXT NOT NULL, job TEXT NOT NULL, -- ids as GitHub has them
	last     INTEGER NOT NULL,   -- no later revision is known
	verdict  BLOB NOT NULL,
	PRIMARY KEY (member, revision));
CREATE INDEX verdicts_run ON verdicts (run);
CREATE INDEX verdicts_job ON verdicts (job);
CREATE INDEX verdicts_recorded ON verdicts (recorded);
CREATE INDEX verdicts_runner ON verdicts (runner);
CREATE INDEX verdicts_uid ON verdicts (uid);
CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE outbox (
	member TEXT NOT NULL, revision INTEGER NOT NULL, stamp INTEGER NOT NULL,
	due    INTEGER NOT NULL, attempts INTEGER NOT NULL,
	PRIMARY KEY (member, revision)) WITHOUT ROWID;
CREATE INDEX outbox_due ON outbox (due);
`

// indexes are what the charts and the lists of the latest verdicts ask, each
// with what its chart counts. A file of an earlier version gets them, too.
const indexes = `
DROP INDEX IF EXISTS verdicts_last;
DROP INDEX IF EXISTS verdicts_node;
DROP INDEX IF EXISTS verdicts_label;
DROP INDEX IF EXISTS verdicts_pool;
DROP INDEX IF EXISTS cases_state;
CREATE INDEX IF NOT EXISTS last_recorded ON verdicts (last, recorded, label, node);
CREATE INDEX IF NOT EXISTS last_label ON verdicts (last, label, recorded);
CREATE INDEX IF NOT EXISTS last_node ON verdicts (last, node, recorded, label);
CREATE INDEX IF NOT EXISTS last_died ON verdicts (last, node, died);
CREATE INDEX IF NOT EXISTS last_pool ON verdicts (last, pool, recorded, label, node);
CREATE INDEX IF NOT EXISTS last_repository ON verdicts (last, repository, recorded, label, node);
CREATE INDEX IF NOT EXISTS cases_waiting ON cases (state, due, runner) WHERE runner;
CREATE INDEX IF NOT EXISTS tails_received ON tails (received);
CREATE INDEX IF NOT EXISTS cases_recent ON cases (heard, name, namespace) WHERE runner;
`

// Ledger is one open file. It is safe for concurrent use.
type Ledger struct {
	Questions
	path  string
	lock  *os.File // held as long as the ledger is open
	write *sql.DB  // one connection: writes are one after another
	pen   *pen     // holds it
	look  *sql.DB  // one connection: views are one after another
	views *pen     // holds it
	read  *shelf
	ask   *sql.DB // what people ask: a slow question must not hold up the judging
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
	l := &Ledger{path: path, lock: lock, write: open(path, 1, "&_pragma=cache_size(-65536)&_pragma=wal_autocheckpoint(8000)"),
		look: open(path, 1, ""), read: &shelf{DB: open(path, readers, "")}, ask: open(path, readers, "")}
	l.Questions = Questions{l.read.get}
	if err := l.begin(); err != nil {
		_ = l.Close()
		return nil, fmt.Errorf("ledger %s: %w", path, err)
	}
	return l, nil
}

// begin makes the schema and takes the connections.
func (l *Ledger) begin() (err error) {
	if err = l.migrate(); err == nil {
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

// open opens connections. What writes comes back to the same pages: it keeps more
// of them, and copies them from the write-ahead log less often, both in bytes and
// pages of 4 KiB.
func open(path string, conns int, more string) *sql.DB {
	const pragmas = "?_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)&_pragma=cache_size(-16000)&_txlock=immediate"
	path = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open("sqlite", "file:"+path+pragmas+more)
	if err != nil { // only an unknown driver name is one, and it is known
		panic(err)
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns) // its statements are kept with it
	return db
}

// migrate makes the schema in a new file and checks it in an old one.
func (l *Ledger) migrate() error {
	var have, tables int
	if err := l.write.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return fmt.Errorf("not a ledger: %w", err)
	}
	if err := l.write.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return err
	}
	if have != version && (have != 0 || tables > 0) {
		return fmt.Errorf("schema version %d, this program reads %d; move the file away, or run the version that wrote it", have, version)
	}
	if _, err := l.write.Exec("PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	steps := []string{indexes}
	if have != version {
		steps = []string{schema, indexes, "PRAGMA user_version = " + strconv.Itoa(version)}
	}
	tx, err := l.write.Begin()
	if err != nil {
		return err
	}
	for _, step := range steps {
		if _, err := tx.Exec(step); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
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
