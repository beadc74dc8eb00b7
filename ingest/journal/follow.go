//go:build linux && cgo && !nojournal

package journal

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"coroner/ingest"

	"github.com/rs/zerolog"
)

const (
	maxLines  = 1000                   // records of one batch
	maxBytes  = 4 << 20                // and of text in them, about: anybody on the node may write long ones
	fresh     = 200 * time.Millisecond // how long a record may wait for its batch to fill
	idle      = 900 * time.Millisecond // between batches without a record
	maxListen = 250 * time.Millisecond // one wait for journald: it cannot be interrupted
	maxValue  = 1 << 20                // bytes that a compressed value is unpacked to
	repeatGap = time.Minute            // between gap marks of a journal that stays unreadable
	late      = 300 * time.Millisecond // how long after a record journald may tell of the new file that it is in
)

// follower is one run of a Reader. Everything in it belongs to the goroutine,
// and the journal handle to the one OS thread, that Run was called on.
type follower struct {
	Config
	reader *Reader
	log    zerolog.Logger
	emit   func(Batch) error

	journal *handle // nil until a folder has files
	dir     string  // that journal reads
	feed    *ingest.Feed
	fields  fields

	at      position // the last record read, or the one to go on behind
	ran     []byte   // while drain runs: the cursor of `at`, where that has only its numbers
	taken   bool     // a record was read in this run
	seeking bool     // journal was placed at `at`, and the next record must show that nothing is missing
	again   bool     // it was placed there once more, to see whether a record was only out of order
	owed    *owed    // a gap that begins before the next record, whatever that is
	numbers numbering
	cover   coverage

	batch   Batch
	bytes   int       // of text in it
	tail    bool      // the last look found no further record
	refused bool      // the last look failed
	began   time.Time // when the batch got its first record
	emitted time.Time // when the last batch left

	waits
	proof
}

// owed is a gap whose end is not known yet.
type owed struct {
	from time.Time
	why  string
}

// waits is what was said or noted once.
type waits struct {
	waiting bool      // for files to appear
	deaf    bool      // the kernel gives no inotify watch: changes must be looked for
	opened  time.Time // when the folder was last opened or gave a record
	stuck   time.Time // since when a record is looked for that shows that nothing is missing
}

// Run follows the journal until ctx is done and then returns nil. It locks its
// goroutine to one OS thread, because a journal handle may be used on one only,
// and calls emit there: at least once a second once there is a journal, after
// 200 ms or 1000 records when there are records. While emit runs nothing is
// read. Run ends with emit's error, or with one of its own when the journal's
// folder may not be read or libsystemd is missing; a folder that does not exist
// or has no files yet is waited for.
func (r *Reader) Run(ctx context.Context, emit func(Batch) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f := newFollower(r, emit)
	defer f.close()
	for ctx.Err() == nil {
		if err := f.step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func newFollower(r *Reader, emit func(Batch) error) *follower {
	f := &follower{Config: r.config, reader: r, log: r.config.Log, emit: emit, feed: ingest.Document{Name: doc}.Feed()}
	f.cover.node = f.Node
	f.running = strings.ReplaceAll(f.Boot, "-", "")
	if f.running == "" {
		id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
		f.running = strings.ReplaceAll(strings.TrimSpace(string(id)), "-", "")
	}
	f.started = f.Now()
	if f.Cursor != "" {
		f.resume()
	}
	return f
}

// resume takes up the saved position.
func (f *follower) resume() {
	at, ok := parsePosition(f.Cursor)
	if ok {
		f.at = at
		f.numbers.take(at)
	} else {
		f.owe("the saved position is not a journal cursor")
	}
	if f.Since.IsZero() {
		f.Since = f.at.at()
	}
	f.batch.Cursor, f.batch.At = f.Cursor, f.Since
}

// owe notes that whatever comes next, records before it may be missing: since
// the last record read, or since the saved position.
func (f *follower) owe(why string) {
	from := f.Since
	if f.taken {
		from = f.at.at()
	}
	if from.IsZero() {
		from = f.Now().Add(-f.MaxAge)
	}
	f.owed = &owed{from, why}
}

// step reads what there is, or waits a little for more, and emits a batch if
// one is due.
func (f *follower) step(ctx context.Context) error {
	if f.journal == nil {
		opened, err := f.open()
		if err != nil {
			return err
		}
		if !opened {
			pause(ctx, maxListen)
			return nil
		}
	}
	looked := f.Now().Add(-late) // before looking for new files, so that none that was known then is missed
	f.listen(ctx)
	if err := f.drain(); err != nil {
		return err
	}
	if f.refused {
		pause(ctx, time.Second)
	}
	if !f.due() {
		return nil
	}
	var err error
	whole := false
	if f.tail {
		if whole, err = f.lookAround(); err != nil {
			return err
		}
	}
	return f.deliver(whole, looked)
}

// listen lets libsystemd take note of new and deleted files; at the journal's
// end it waits for a change until a batch is due.
func (f *follower) listen(ctx context.Context) {
	var wait time.Duration
	if f.tail {
		wait = max(0, min(f.untilDue(), maxListen))
	}
	if f.journal.Wait(wait) >= 0 {
		f.deaf = false
		return
	}
	if !f.deaf {
		f.log.Warn().Str("dir", f.dir).Msg("no inotify watch on the journal, so it is opened anew every second; raise fs.inotify.max_user_instances")
	}
	f.deaf = true
	pause(ctx, wait)
}

// drain reads until the journal's end or until a batch is due.
func (f *follower) drain() error {
	f.tail, f.refused = false, false
	defer f.catchUp()
	for n := 1; !f.full() && !f.tail && !f.refused; n++ {
		if err := f.next(); err != nil {
			return err
		}
		if n%maxRead == 0 && f.due() {
			break
		}
	}
	return nil
}

// full says whether a batch does not take another record.
func (f *follower) full() bool { return f.batch.Lines >= maxLines || f.bytes >= maxBytes }

func (f *follower) due() bool { return f.untilDue() <= 0 }

func (f *follower) untilDue() time.Duration {
	switch {
	case f.full():
		return 0
	case f.began.IsZero():
		return idle - time.Since(f.emitted)
	}
	return min(fresh-time.Since(f.began), idle-time.Since(f.emitted))
}

// deliver emits the batch. whole says that it holds the rest of what journald
// had stored at looked.
func (f *follower) deliver(whole bool, looked time.Time) error {
	b := &f.batch
	if f.at.cursor != "" {
		b.Cursor, b.At = f.at.cursor, f.at.at()
	}
	b.Reached, b.Behind = f.at.at(), 0
	whole = whole && f.owed == nil
	switch {
	case whole && looked.After(b.At):
		b.Reached = looked
	case !f.tail:
		b.Behind = max(0, f.Now().Sub(b.At))
	}
	to := f.cover.last
	if whole && f.cover.boot == f.running && looked.After(to) {
		to = looked
	}
	b.Covered = f.cover.marks(b.Covered[:0], to)
	err := f.emit(*b)
	clear(b.Entries)
	b.Entries, b.Lines, b.Passed, f.bytes = b.Entries[:0], 0, 0, 0
	f.began, f.emitted = time.Time{}, time.Now()
	runtime.Gosched() // who does not for 10 ms is watched: the runtime's monitor then wakes up every 20 µs
	return err
}

// pause waits for d or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
