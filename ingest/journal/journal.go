// Package journal follows a node's systemd journal and hands out its records
// as entries, together with what can be said about the reading: which sources
// were read without a gap from when to when, and what was lost.
//
// It reads every record, without a filter, because journald numbers its records
// one after the other: only who reads all of them can see that some are
// missing. The numbers are checked over all files of the journal at once, since
// the system's and the users' files share one counter. Records are fetched many
// at a time, with the fields that package ingest reads; messages are read up to
// 1 MiB, of which ingest.MaxText is kept, other values up to 64 KiB. No entry is
// made of a record that nobody wants (Config.Wanted), but it counts as read.
//
// Of the time that a record takes which nobody wants, libsystemd has two thirds:
// 0.4 µs to come to it, 0.35 for its cursor and 1.4 for its fields, on an idle
// machine (systemd 252); copying has some 0.3, and Go some 0.35. The cursor is
// asked for with each record, though few need its text: before systemd 254 nothing
// else tells a record's number and numbering, and the numbers at both ends of a
// batch would prove less: a record of another file's numbering, with a number that
// was given twice, would hide one that is missing.
//
// libsystemd's own filters would not help: a program of no known name may say
// what a signal is recognised by, as a claim; no filter knows a prefix; and with
// one field each for thirteen programs libsystemd took 4.0 µs to come to the next
// record that fits, where coming to the next record of all, with all its fields,
// took 4.2 (systemd 252).
//
// Invariant: every record that can be read is handed out exactly once, or passed
// by because it is not wanted, in journal order, from one cursor to the next; a
// record that journald stored once more under the next number when it rotated
// its files is counted and not handed out again (as is the second of two equal
// lines of one microsecond, which looks the same). What could not be read is a
// Gap mark of every host source, and no Covered mark of a source reaches over a
// gap of that source. What is passed by is covered like what is handed out.
//
// Crash behaviour: the package stores nothing. Who saves Batch.Cursor and
// Batch.At once a batch is safe, and gives them to the next Reader, goes on
// right behind that batch, also after rotation and after journald moved its
// files from /run to /var. A journal file that somebody truncates while it is
// mapped ends the whole process with SIGBUS; libsystemd offers no protection
// from that, and a restart goes on at the saved cursor.
package journal

import (
	"sync/atomic"
	"time"

	"coroner/ingest"

	"github.com/rs/zerolog"
)

// DefaultDirs are where journald keeps its files: on disk, else in memory.
var DefaultDirs = []string{"/var/log/journal", "/run/log/journal"}

// Config says which journal is read and from where.
type Config struct {
	// Dirs are tried in order, and the first that holds journal files is read,
	// its subfolders named by a machine id included. At the end of its records
	// the reader goes over to another one when journald writes there. Default
	// DefaultDirs.
	Dirs []string
	Node string // node name given to every entry in place of _HOSTNAME; "" keeps _HOSTNAME
	// Boot is the id of the boot that is running, 32 hex digits: only its
	// records can be covered up to now. Default: what the kernel says.
	Boot string

	Cursor string // where reading goes on; "" means MaxAge back from now
	// Since is the time of the entry at Cursor: the start of the gap if Cursor is
	// gone. Default: the time that Cursor holds.
	Since  time.Time
	MaxAge time.Duration // how far back a first start looks; default ingest.DefaultMaxAge

	// Wanted says whether a record of that source with this message could be of
	// use to whoever gets the entries; nil: every record is. It is called on
	// Run's goroutine, with memory that is valid during the call, and what it
	// answers may change at any time. No entry is made of a record that is not
	// wanted; it is numbered and covered all the same. The entry's text would be
	// the message or a part of it: a record whose text is another one, or whose
	// entry could change what comes after it, is handed out without asking.
	Wanted func(by ingest.Source, message []byte) bool

	Log zerolog.Logger
	Now func() time.Time // wall clock; default time.Now
	// SelfCheck is how long files may exist without one readable record of the
	// running boot before the reader says so loudly; default 10 s.
	SelfCheck time.Duration
}

// Batch is what was read since the batch before. It is valid only during emit.
type Batch struct {
	// Entries are records and Gap marks in journal order. Doc is "journal",
	// Line the record's sequence number, so that records of one microsecond
	// keep their order, and Cursor its place.
	Entries []ingest.Entry
	Lines   int       // journald records read, each number exactly once
	Passed  int       // of them, records that were not wanted
	Cursor  string    // of the last record read; reading can go on from here once this batch is safe
	At      time.Time // when journald stored the record at Cursor
	// Reached: everything that journald had stored up to here was handed out.
	// It is the wall clock of 300 ms before the journal's end was met, since
	// journald tells of a new file that late, else the time of the last record
	// read; zero while nothing can be said.
	Reached time.Time
	// Covered are the Covered marks of every host source that is known to log
	// to this journal in this boot: From the start of the reading without a
	// gap, To Reached, or the last record of a boot that is not the running
	// one. The spans that a gap or the end of a boot closed come first, once.
	Covered []ingest.Entry
	Behind  time.Duration // how old the last record read is while there are more to read, else 0
}

// Reader follows one journal. Make it with New.
type Reader struct {
	config     Config
	unreadable atomic.Bool
}

// New returns a reader. It opens nothing: Run does.
func New(c Config) *Reader {
	if len(c.Dirs) == 0 {
		c.Dirs = DefaultDirs
	}
	if c.MaxAge <= 0 {
		c.MaxAge = ingest.DefaultMaxAge
	}
	if c.SelfCheck <= 0 {
		c.SelfCheck = 10 * time.Second
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Reader{config: c}
}

// Unreadable says whether the journal has files of which no record of the
// running boot can be read, for longer than Config.SelfCheck. It may be called
// from any goroutine.
func (r *Reader) Unreadable() bool { return r.unreadable.Load() }
