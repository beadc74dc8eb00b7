//go:build linux && cgo && !nojournal

package journal

import (
	"context"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"coroner/ingest/document"
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
	log    zerolog.Logger
	src    source
	out    output
	health health

	at        position // the last record read, or the one to go on after
	skippedTo []byte   // while drain runs: the cursor of `at`, where that has only its numbers
	numbers   numbering
	gap       *openGap  // begins before the next record, whatever that is
	seekedAt  time.Time // since when a record is looked for that shows that nothing is missing

	read      bool // a record was read in this run
	verifying bool // the journal was placed at `at`, and the next record must show that nothing is missing
	retried   bool // it was placed there once more, to see whether a record was only out of order
}

// openGap is a gap whose end is not known yet.
type openGap struct {
	from time.Time
	why  string
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
	defer f.src.close()
	for ctx.Err() == nil {
		if err := f.readStep(ctx); err != nil {
			return err
		}
	}
	return nil
}

func newFollower(r *Reader, emit func(Batch) error) *follower {
	c := r.config
	f := &follower{
		Config: c, log: c.Log, src: source{log: c.Log, dirs: c.Dirs},
		out:    output{node: c.Node, log: c.Log, emit: emit, feed: document.Document{Name: doc}.Feed()},
		health: health{log: c.Log, unreadable: &r.unreadable, running: runningBoot(c.Boot)},
	}
	f.out.cover.node = c.Node
	f.health.started = f.Now()
	if f.Cursor != "" {
		f.takePosition()
	}
	return f
}

// runningBoot is the id of the boot that runs: the one that is given, or what the
// kernel says.
func runningBoot(id string) string {
	if id == "" {
		b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
		id = strings.TrimSpace(string(b))
	}
	return strings.ReplaceAll(id, "-", "")
}

// takePosition takes over the saved position.
func (f *follower) takePosition() {
	at, ok := parsePosition(f.Cursor)
	if ok {
		f.at = at
		f.numbers.noteRead(at)
	} else {
		f.noteGap("the saved position is not a journal cursor")
	}
	if f.Since.IsZero() {
		f.Since = f.at.storedAt()
	}
	f.out.Cursor, f.out.At = f.Cursor, f.Since
}

// noteGap notes that records may be missing before whatever comes next: since
// the last record read, or since the saved position. A gap that was noted before stays.
func (f *follower) noteGap(why string) {
	if f.gap != nil {
		return
	}
	from := f.Since
	if f.read {
		from = f.at.storedAt()
	}
	if from.IsZero() {
		from = f.Now().Add(-f.MaxAge)
	}
	f.gap = &openGap{from, why}
}

// readStep reads what there is, or waits a little for more, and emits a batch if
// one is due.
func (f *follower) readStep(ctx context.Context) error {
	if f.src.journal == nil {
		if err := f.openFirst(); err != nil {
			return err
		}
		if f.src.journal == nil {
			pause(ctx, maxListen)
			return nil
		}
	}
	looked := f.Now().Add(-late) // before looking for new files, so that none that was known then is missed
	f.src.listen(ctx, f.out.untilDue())
	if err := f.readAvailable(); err != nil {
		return err
	}
	if f.src.failed {
		pause(ctx, time.Second)
	}
	if !f.out.isDue() {
		return nil
	}
	whole := false
	if f.src.atEnd {
		var err error
		if whole, err = f.checkEnd(); err != nil {
			return err
		}
	}
	return f.deliverBatch(whole, looked)
}

// readAvailable reads until the journal's end or until a batch is due.
func (f *follower) readAvailable() error {
	f.src.atEnd, f.src.failed = false, false
	defer f.catchUp()
	for n := 1; !f.out.isFull() && !f.src.atEnd && !f.src.failed; n++ {
		if err := f.readNext(); err != nil {
			return err
		}
		if n%maxRead == 0 && f.out.isDue() {
			break
		}
	}
	return nil
}

// deliverBatch emits the batch. whole says that it holds the rest of what journald
// had stored at looked.
func (f *follower) deliverBatch(whole bool, looked time.Time) error {
	b := &f.out.Batch
	if f.at.cursor != "" {
		b.Cursor, b.At = f.at.cursor, f.at.storedAt()
	}
	b.Reached, b.Behind = f.at.storedAt(), 0
	whole = whole && f.gap == nil
	switch {
	case whole && looked.After(b.At):
		b.Reached = looked
	case !f.src.atEnd:
		b.Behind = max(0, f.Now().Sub(b.At))
	}
	to := f.out.cover.last
	if whole && f.out.cover.boot == f.health.running && looked.After(to) {
		to = looked
	}
	return f.out.sendBatch(to)
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
