// Package podlog follows the stdout of containers in /var/log/pods: every line
// that the container runtime writes there becomes an ingest.Entry, once and in
// order, across rotation, compression, deletion and a restart of the reader.
// Where Config.Next says what is of interest, other lines are only counted.
//
// A tree finds the pods' directories and log files, a tracker keeps one tail for
// each container instance, a tailReader reads a tail's files in order, and records
// is what became of its lines. All open files are polled for writes. The kernel
// tells of names that appear and disappear (inotify), so that the tree is listed
// only where something changed; the whole of it is listed where something could not
// be read, once a minute, and once a second where the kernel does not tell.
//
// Invariant: a batch's positions describe exactly the records that this batch
// and those before it held, so a reader that resumes from the positions of the
// last batch that was accepted gives every later line and no earlier one. What
// cannot be read any more is a Gap, never silence. An open log is read through
// its descriptor until its end, whatever happens to its name. Files, memory and
// positions are bounded by what is on the disk now, not by what was there once.
//
// Crash behaviour: nothing is written. After a crash the records since the last
// accepted batch are read again from the files that are still there, found by
// their content under whatever name and in whatever compression; last lines that
// were not given yet are read again, too. A log that was deleted meanwhile is a
// Gap and an Ended.
package podlog

import (
	"context"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"coroner/ingest"
)

// DefaultDir is where the kubelet has the pods' logs.
const DefaultDir = "/var/log/pods"

// Config says what is followed, and how.
type Config struct {
	Dir  string // default DefaultDir
	Node string // given to every entry

	// Want says which containers are followed; nil means all. It is asked again
	// about a container that it declined whenever the tree is listed. Calls come
	// from several goroutines, one at a time.
	Want func(namespace, pod, container string) bool

	// Controller says which pods the operator calls controllers, as in
	// document.Document; nil means none. Calls come from the goroutine of Run.
	Controller func(namespace, pod string) bool

	// Next says where in b, at or after from, something begins that makes a line
	// one of interest, -1 if nowhere; nil means that every line is. Of the others
	// only those are given that other lines depend on, and the last lines. What is
	// of interest may change between two calls.
	Next func(b []byte, from int) int

	Resume    []Position    // of an earlier run
	MaxAge    time.Duration // how old lines may be in logs without a position that are found at the start
	LastLines int           // how many records are a log's last lines
	Quiet     time.Duration // how long nothing must be written until the last lines are given; default 3 s
	MaxOpen   int           // how many log files are open at most; default 4096, at least 16

	Log zerolog.Logger
	Now func() time.Time // default time.Now
}

// Batch is what was read since the batch before. It is valid only during the
// call of emit that it is given to.
type Batch struct {
	// Entries are the records, in file order per log, and a Gap mark where
	// lines were lost. Doc is the path below Dir as
	// "NAMESPACE_POD_UID/CONTAINER/N.log", also for a rotated file; Line counts
	// from the first line of that container instance that this reader, or the
	// one that it resumed from, has read.
	Entries []ingest.Entry

	// LastLines are the last records of logs that ended or to which nothing was
	// written for a while, if they were not given as LastLines yet. They were in
	// Entries before, or among the Passed. They are at most Config.LastLines and
	// about 64 KiB per log.
	LastLines []ingest.Entry

	// Marks are Covered for every log that changed and, each ten seconds, for every
	// log that lives: the heartbeat. It is about the whole of the log, not about
	// what was added, and counts records as a saved log does. A log that ended has
	// Covered, then Ended.
	Marks []ingest.Entry

	Passed    int        // records that are no Entries since nothing of interest was in them
	Lines     int        // lines read, each counted once, also the parts of a split line
	Positions []Position // of all logs whose files are still there

	// Reached is a moment up to which nothing is missing: every line that was
	// written before it has been given, and the last lines of every log to which
	// nothing was written since. It is Quiet behind the clock at best and never goes
	// back; zero until everything was read once. A log that cannot be read does not hold it
	// back, but has no Covered meanwhile.
	Reached time.Time
}

const (
	chunkSize      = 64 << 10  // of one read
	pollBytes      = 256 << 10 // read from one tail before the others are
	batchSize      = 1000      // records after which a batch does not wait
	batchBytes     = 4 << 20   // text after which it does not wait either
	maxLine        = 1 << 20   // bytes of a line in parts, after which what has come is given
	lastLinesBytes = 64 << 10  // text that is kept of a tail's last lines, where few tails have some
	partialBytes   = 128 << 10 // bytes that are kept of a line whose end is not there, the same
	headBytes      = 512       // of a file's beginning that tell it from others
	tailsPerFile   = 16        // tails that are known for each file that may be open
	maxInstances   = 64        // instances of a container that are known; the kubelet keeps one or two
)

// Reader follows one directory of pod logs. It is made by New and used for one
// Run.
type Reader struct {
	env     *env
	tails   *tails
	out     *batcher
	watch   *watcher
	tree    *tree
	tracker *tracker
	read    *tailReader
	round   round
	polled  time.Time // when files were last looked at for writes
}

// round has every tail read to where it was when the round began.
type round struct {
	active  bool
	began   time.Time
	checked time.Time // when a round was due last
	reached time.Time // Batch.Reached
}

// New returns a reader of c. It opens and starts nothing.
func New(c Config) *Reader {
	c = c.withDefaults()
	e := &env{c: c, every: intervals{
		poll: 400 * time.Millisecond, round: 700 * time.Millisecond, fullRescan: time.Minute,
		batch: 600 * time.Millisecond, heartbeat: 10 * time.Second, linger: 500 * time.Millisecond,
	}}
	e.filter.want = c.Want
	e.problems.log, e.problems.logged = c.Log, make(map[string]bool)
	r := &Reader{env: e, tails: newTails(c.MaxOpen * tailsPerFile), watch: newWatcher(e)}
	r.out = &batcher{env: e, tails: r.tails}
	r.read = &tailReader{
		env: e, files: opener{e, r.tails}, lines: lineReader{env: e}, out: r.out, buf: make([]byte, chunkSize),
	}
	r.tracker = &tracker{env: e, tails: r.tails, read: r.read}
	r.tree = &tree{env: e, tails: r.tails, watch: r.watch, tracker: r.tracker}
	return r
}

func (c Config) withDefaults() Config {
	if c.Dir == "" {
		c.Dir = DefaultDir
	}
	c.Dir = filepath.Clean(c.Dir)
	if c.MaxAge <= 0 {
		c.MaxAge = ingest.DefaultMaxAge
	}
	if c.LastLines <= 0 {
		c.LastLines = ingest.DefaultLastLines
	}
	if c.Quiet <= 0 {
		c.Quiet = 3 * time.Second
	}
	if c.MaxOpen <= 0 {
		c.MaxOpen = 4096
	}
	c.MaxOpen = max(c.MaxOpen, 16)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Open is how many log files are open now. It may be called at any time.
func (r *Reader) Open() int { return int(r.env.opened.Load()) }

// Unreadable is how many times a log file or directory could not be opened or
// read; each is tried again once a second. It may be called at any time.
func (r *Reader) Unreadable() int { return int(r.env.problems.unreadable.Load()) }

// Run follows the logs until ctx is done. Then it reads every log to its end
// once more, gives all last lines that it still has, and returns nil. It calls
// emit from this goroutine only, at least once a second; an error of emit ends
// the run and is returned as it is, with that batch not accepted.
func (r *Reader) Run(ctx context.Context, emit func(Batch) error) error {
	r.restorePositions(emit)
	defer r.closeAll()
	r.watch.startWatching()
	tick := time.NewTicker(r.env.every.poll)
	defer tick.Stop()
	for {
		more, err := r.pollOnce()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return r.readToEnd()
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return r.readToEnd()
		case <-r.watch.wake:
		case <-tick.C:
		}
	}
}

// restorePositions takes over the positions of the earlier run.
func (r *Reader) restorePositions(emit func(Batch) error) {
	r.out.emit, r.out.sent = emit, r.env.c.Now()
	for _, p := range r.env.c.Resume {
		t, err := p.restoreTail(r.env, r.out)
		if err == nil {
			err = r.tails.addTail(t)
		}
		if err != nil {
			r.env.c.Log.Warn().Err(err).Str("stream", p.Stream).Msg("position is not used")
		}
	}
	r.env.c.Resume = nil
}

// closeAll closes all that is open.
func (r *Reader) closeAll() {
	r.watch.closeWatch()
	for _, t := range r.tails.order {
		t.closeFiles()
	}
}
