// Package podlog follows the stdout of containers in /var/log/pods: every line
// that the container runtime writes there becomes an ingest.Entry, once and in
// order, across rotation, compression, deletion and a restart of the reader.
// Where it is told what is of interest (Config.Next), other lines only count.
//
// The kernel tells what changes (inotify): names wake the reader, writes are asked
// for at each turn, and a round at every other shows how far everything was read. The
// whole tree is walked where names changed, where something could not be read, once
// a minute, and each second where the kernel does not tell.
//
// Invariant: a batch's positions describe exactly the records that this batch
// and those before it held, so a reader that resumes from the positions of the
// last batch that was accepted gives every later line and no earlier one. What
// cannot be read any more is a Gap, never silence. An open log is read through
// its descriptor until its end, whatever happens to its name. Files, memory and
// positions are bounded by what is on the disk now, not by what once was.
//
// Crash behaviour: nothing is written. After a crash the records since the last
// accepted batch are read again from the files that are still there, found by
// their content under whatever name and in whatever compression; the last words
// that were still owed are read again too. A log that was deleted meanwhile is
// a Gap and an Ended.
package podlog

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"coroner/ingest"
)

// Config says what is followed, and how.
type Config struct {
	Dir  string // default /var/log/pods
	Node string // given to every entry

	// Want says which containers are followed; nil means all. A container that
	// it declines is asked for again at every walk over the tree. Calls come
	// from several goroutines, one at a time.
	Want func(namespace, pod, container string) bool

	// Controller says which pods are controllers by the operator's word, as in
	// ingest.Document; nil means none. Calls come from the goroutine of Run.
	Controller func(namespace, pod string) bool

	// Next says where in b, at or after from, something begins that makes a line
	// one of interest, -1 if nowhere; nil means that every line is. Of the others
	// only those are given that other lines depend on, and the last words. What is
	// of interest may change between two calls.
	Next func(b []byte, from int) int

	Resume    []Position    // of an earlier run
	MaxAge    time.Duration // how old lines may be that the first walk finds in streams without a position; default 4 h
	LastLines int           // how many records are a stream's last words; default 10
	Quiet     time.Duration // how long a stream must be quiet until its last words are given; default 3 s
	MaxOpen   int           // how many log files are open at most; default 4096, at least 16

	Log zerolog.Logger
	Now func() time.Time // default time.Now
}

// Batch is what was read since the batch before. It is valid only during the
// call of emit that it is given to.
type Batch struct {
	// Entries are the records, in file order per stream, and a Gap mark where
	// lines were lost. Doc is the path below Dir as
	// "NAMESPACE_POD_UID/CONTAINER/N.log", also for a rotated file; Line counts
	// from the first line of that container instance that this reader, or the
	// one that it resumed from, has read.
	Entries []ingest.Entry

	// Context is the last words of streams that ended or went quiet: the last
	// records that were not yet given as Context. They were in Entries before,
	// or among the Passed. They are at most Config.LastLines and about 64 KiB per stream.
	Context []ingest.Entry

	// Marks are Covered for every stream that changed and, each ten seconds,
	// for every stream that lives: the heartbeat. It is about the whole of the
	// stream, not about what was added, and counts records as a saved log does.
	// A stream that ended has Covered, then Ended.
	Marks []ingest.Entry

	Passed    int        // records that are no Entries since nothing of interest was in them
	Lines     int        // lines read, each counted once, also the parts of a split line
	Positions []Position // of all streams whose files are still there

	// Reached is a moment up to which nothing is missing: every line that was
	// written before it has been given, and the last words of every stream that
	// was quiet since. It is Quiet behind the clock at best and never goes back;
	// zero until the first full pass. A log that cannot be read does not hold it
	// back, but has no Covered meanwhile.
	Reached time.Time
}

// intervals are the reader's clockwork; tests shorten it.
type intervals struct {
	tick   time.Duration // between two looks at what was written: what wakes a sleeping processor costs more than what it then reads
	sweep  time.Duration // between two rounds over all streams, less a part of a tick
	survey time.Duration // between two walks over the whole tree while notifications come
	idle   time.Duration // longest time without a batch, less a tick
	beat   time.Duration // longest time without a live stream's Covered
	linger time.Duration // how long a rotated file may still be written to
}

const (
	chunkSize   = 64 << 10  // of one read
	visitBytes  = 256 << 10 // read from one stream before the others have their turn
	batchSize   = 1000      // records after which a batch does not wait
	batchBytes  = 4 << 20   // text after which it does not wait either
	maxLine     = 1 << 20   // bytes of a line in parts, after which what has come is given
	wordsBytes  = 64 << 10  // text that is kept of a stream's last words, where few streams have some
	partBytes   = 128 << 10 // bytes that are kept of a line whose end is not there, the same
	printBytes  = 512       // of a file's beginning that tell it from others
	streamsOpen = 16        // streams that are known for each file that may be open
	instances   = 64        // instances of a container that are known; the kubelet keeps one or two
)

// What is kept of all streams together: where many have much to say, each has a share
// of it, but so much at least.
const (
	allBytes   = 16 << 20
	leastWords = 4 << 10
	leastPart  = 20 << 10 // a line of a container runtime
)

// share is what each stream may keep, of most where few do.
func (r *Reader) share(most, least int) int {
	return max(least, min(most, allBytes/max(1, r.speaking)))
}

// Reader follows one directory of pod logs. It is made by New and used for one
// Run.
type Reader struct {
	c     Config
	every intervals
	emit  func(Batch) error
	watch *watcher

	opened   atomic.Int64
	unread   atomic.Int64
	asking   sync.Mutex                      // held while Want is called
	walked   bool                            // the tree was walked once
	stopping bool                            // nothing new is waited for
	now      time.Time                       // when the turn began
	swept    time.Time                       // when the last round or walk began
	surveyed time.Time                       // when the last walk began
	stirred  bool                            // names changed since then
	troubled bool                            // something could not be read since then
	known    time.Time                       // what was not known then is younger
	streams  map[key]*stream                 // all that have a position
	order    []*stream                       // the same, in the order they were found
	tree     map[string]map[string][]*stream // the same, by pod and container
	strange  map[string]bool                 // paths that were complained of, while they exist
	crowded  bool                            // complained that there are too many streams
	buf      []byte                          // of one read
	ends     []int                           // of the lines that are passed over together
	clock    clock

	rounding bool      // a round is under way: every stream is read to where it was at its begin
	round    time.Time // when it began
	reached  time.Time

	out   Batch // what the next batch will hold
	bytes int   // of text in it
	sent  time.Time

	speaking int // streams that have last words to keep, in the turn before
}

// New returns a reader of c. It opens and starts nothing.
func New(c Config) *Reader {
	c = c.withDefaults()
	r := &Reader{
		c:       c,
		streams: make(map[key]*stream),
		tree:    make(map[string]map[string][]*stream),
		strange: make(map[string]bool),
		every: intervals{
			tick: 400 * time.Millisecond, sweep: 700 * time.Millisecond, survey: time.Minute, idle: 600 * time.Millisecond,
			beat: 10 * time.Second, linger: 500 * time.Millisecond,
		},
	}
	r.watch = newWatcher(r)
	return r
}

func (c Config) withDefaults() Config {
	if c.Dir == "" {
		c.Dir = "/var/log/pods"
	}
	c.Dir = filepath.Clean(c.Dir)
	if c.MaxAge <= 0 {
		c.MaxAge = 4 * time.Hour
	}
	if c.LastLines <= 0 {
		c.LastLines = 10
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
func (r *Reader) Open() int { return int(r.opened.Load()) }

// Unreadable is how many times a log file or directory could not be opened or
// read; each is tried again once a second. It may be called at any time.
func (r *Reader) Unreadable() int { return int(r.unread.Load()) }

// Run follows the logs until ctx is done. Then it reads every log to its end
// once more, gives all last words that it still has, and returns nil. It calls
// emit from this goroutine only, at least once a second; an error of emit ends
// the run and is returned as it is, with that batch not accepted.
func (r *Reader) Run(ctx context.Context, emit func(Batch) error) error {
	r.begin(emit)
	defer r.close()
	r.watch.start()
	tick := time.NewTicker(r.every.tick)
	defer tick.Stop()
	for {
		more, err := r.turn()
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return r.last()
		}
		if more {
			continue
		}
		select {
		case <-ctx.Done():
			return r.last()
		case <-r.watch.wake:
		case <-tick.C:
		}
	}
}

// begin takes over the positions of the earlier run.
func (r *Reader) begin(emit func(Batch) error) {
	r.emit = emit
	r.buf = make([]byte, chunkSize)
	r.sent = r.c.Now()
	for _, p := range r.c.Resume {
		if err := r.restore(p); err != nil {
			r.c.Log.Warn().Err(err).Str("stream", p.Stream).Msg("position is not used")
		}
	}
	r.c.Resume = nil
}

// close gives back all that is open.
func (r *Reader) close() {
	r.watch.close()
	for _, s := range r.order {
		s.shut()
	}
}

// wanted asks whether the container is to be followed.
func (r *Reader) wanted(id ingest.Entry) bool {
	if r.c.Want == nil {
		return true
	}
	r.asking.Lock()
	defer r.asking.Unlock()
	return r.c.Want(id.Namespace, id.Pod, id.Container)
}

// complain logs once about a path, for as long as it exists.
func (r *Reader) complain(path string, err error, msg string) {
	if r.strange[path] {
		return
	}
	r.strange[path] = true
	r.c.Log.Warn().Err(err).Str("path", path).Msg(msg)
}
