//go:build linux && cgo && !nojournal

package journal

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"coroner/ingest"

	"github.com/coreos/go-systemd/v22/sdjournal"
	"github.com/rs/zerolog"
)

// proof is what shows that records of the running boot can be read.
type proof struct {
	started time.Time // wall clock at the start
	running string    // id of the running boot, "" if unknown
	proven  bool      // a record of it was read or seen
	doubted time.Time // since when there are files but no proof
	blind   time.Time // up to where the gap of an unreadable journal was told
}

// open opens the first folder that has files, and places itself there.
func (f *follower) open() (opened bool, err error) {
	dir, err := pick(f.Dirs)
	if err != nil {
		return false, err
	}
	if dir == "" {
		if !f.waiting {
			f.log.Info().Strs("dirs", f.Dirs).Msg("no journal files yet, waiting for some to appear")
		}
		f.waiting = true
		return false, nil
	}
	if err := f.enter(dir); err != nil {
		return false, err
	}
	return true, f.prove()
}

// enter opens dir and places itself behind the last record read.
func (f *follower) enter(dir string) error {
	f.close()
	j, err := openDir(dir)
	if err != nil {
		return err
	}
	level := zerolog.InfoLevel
	if dir == f.dir {
		level = zerolog.DebugLevel
	}
	f.log.WithLevel(level).Str("dir", dir).Str("cursor", f.at.cursor).Msg("reading the journal")
	f.journal, f.dir, f.opened, f.tail = j, dir, time.Now(), false
	return f.seek()
}

// handle is a journal folder opened for reading.
type handle struct {
	*sdjournal.Journal
	records *fetcher
}

// openDir opens a journal folder for reading.
func openDir(dir string) (*handle, error) {
	j, err := sdjournal.NewJournalFromDir(dir)
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return nil, fmt.Errorf("journal in %s: %w; %s", dir, errno, needsAccess)
	case err != nil:
		return nil, fmt.Errorf("libsystemd cannot be loaded, install libsystemd.so.0: %w", err)
	}
	if err := j.SetDataThreshold(maxValue); err != nil {
		_ = j.Close()
		return nil, fmt.Errorf("journal in %s: %w", dir, err)
	}
	records, err := newFetcher(j)
	if err != nil {
		_ = j.Close()
		return nil, fmt.Errorf("libsystemd cannot be used: %w", err)
	}
	return &handle{j, records}, nil
}

func (h *handle) close() {
	h.records.close()
	_ = h.Close() // it can fail only where libsystemd could not be loaded
}

func (f *follower) close() {
	if f.journal != nil {
		f.journal.close()
	}
	f.journal = nil
}

// seek places the journal behind the last record read or, without one, at the
// oldest record of the time that a first start looks back.
func (f *follower) seek() error {
	f.journal.records.drop()
	if f.at.cursor == "" {
		return f.seekTime()
	}
	f.seeking, f.stuck = true, time.Now()
	if err := f.journal.SeekCursor(f.at.cursor); err != nil {
		f.owe(fmt.Sprintf("the saved position is not a journal cursor: %v", err))
		return f.seekTime()
	}
	return nil
}

// seekTime places the journal at the saved position's time, which is all that
// is left of it, or as far back as a first start looks.
func (f *follower) seekTime() error {
	f.journal.records.drop()
	f.seeking, f.stuck = false, time.Time{}
	from := f.Now().Add(-f.MaxAge)
	if f.owed != nil && f.owed.from.After(from) && f.owed.from.Before(f.Now()) {
		from = f.owed.from
	}
	if err := f.journal.SeekRealtimeUsec(uint64(max(0, from.UnixMicro()))); err != nil {
		return fmt.Errorf("journal in %s: %w", f.dir, err)
	}
	return nil
}

// lookAround is for the journal's end: it says whether that end is really all
// that journald stored, and if not, does something about it.
func (f *follower) lookAround() (whole bool, err error) {
	if err := f.prove(); err != nil {
		return false, err
	}
	p, err := look(f.Dirs, f.dir)
	switch {
	case err != nil:
		return false, err
	case p.dir != f.dir:
		f.log.Info().Str("from", f.dir).Str("to", p.dir).Msg("journald writes to another folder")
		return false, f.enter(p.dir)
	case f.seeking && time.Since(f.stuck) > f.SelfCheck && f.proven:
		// A clock that was set back hides what comes after the position.
		f.owe("the saved position is not in the journal, nor anything later")
		f.at = position{}
		return false, f.seekTime()
	}
	whole = !f.seeking && f.proven
	if f.deaf || p.written.Sub(f.opened) > settled {
		// There may be files that were not noticed, or that libsystemd dropped
		// because it once could not read them.
		err = f.enter(f.dir)
	}
	return whole, err
}

// alive takes the record at p as a proof if it is of the running boot. A
// container may be told another boot id than the host; a record that came after
// the start is as good.
func (f *follower) alive(p position) {
	if f.running == "" || !f.proven && !p.at().Before(f.started) {
		f.running = p.boot
	}
	if p.boot == f.running {
		f.believe()
	}
}

// believe notes that the journal is readable.
func (f *follower) believe() {
	f.proven = true
	if f.reader.unreadable.CompareAndSwap(true, false) {
		f.log.Info().Str("dir", f.dir).Msg("the journal is readable again")
	}
}

// prove looks for a record of the running boot. libsystemd passes over files of
// a newer format, and over those that may not be read, without a word.
func (f *follower) prove() error {
	if f.proven {
		return nil
	}
	found, err := f.find()
	if err != nil {
		return err
	}
	if found {
		f.believe()
		return nil
	}
	if f.doubted.IsZero() {
		f.doubted = time.Now()
	}
	if time.Since(f.doubted) >= f.SelfCheck {
		f.alarm()
	}
	return nil
}

// alarm says that the journal cannot be read: in the log, and as gaps.
func (f *follower) alarm() {
	const why = "not one record of the running boot can be read from the journal's files"
	if f.reader.unreadable.CompareAndSwap(false, true) {
		f.log.Error().Str("dir", f.dir).Str("boot", f.running).Msg(why + ": libsystemd here may be older than the host's journald and not know its file format " +
			"(use an image with a newer one), the files may be closed to this user (" + needsAccess + "), or journald stores its records elsewhere")
	}
	now, from := f.Now(), f.blind
	if from.IsZero() {
		if from = f.Since; from.IsZero() {
			from = f.started.Add(-f.MaxAge)
		}
	} else if now.Sub(from) < repeatGap {
		return
	}
	f.blind = now
	f.lose(from, now, why, f.running)
}

// find says whether the journal has a readable record of the running boot. It
// uses a handle of its own: a filter would cost the other one its place, and a
// new one sees files that have become readable.
func (f *follower) find() (bool, error) {
	j, err := openDir(f.dir)
	if errors.Is(err, syscall.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer j.close()
	var matches []string
	if f.running != "" {
		matches = append(matches, "_BOOT_ID="+f.running)
	}
	_, found, err := newest(j, matches)
	return found && err == nil, nil
}

// newest is the last record of j with all of the given fields.
func newest(j *handle, matches []string) (r *raw, found bool, err error) {
	j.FlushMatches()
	for _, m := range matches {
		if err := j.AddMatch(m); err != nil {
			return r, false, err
		}
	}
	if err := j.SeekTail(); err != nil {
		return r, false, err
	}
	if n, err := j.Previous(); err != nil || n == 0 {
		return r, false, err
	}
	r = j.records.current()
	return r, r.err == nil, r.err
}

// callers are fields by which a source's records can be found without reading
// all of them; those of one name are alternatives.
var callers = map[ingest.Source][]string{
	ingest.Kernel:     {"_TRANSPORT=kernel"},
	ingest.Systemd:    {"_TRANSPORT=driver"},
	ingest.Kubelet:    {"SYSLOG_IDENTIFIER=kubelet", "SYSLOG_IDENTIFIER=k3s", "SYSLOG_IDENTIFIER=rke2", "SYSLOG_IDENTIFIER=kubelite"},
	ingest.Containerd: {"SYSLOG_IDENTIFIER=containerd", "SYSLOG_IDENTIFIER=dockerd", "SYSLOG_IDENTIFIER=crio"},
	ingest.Kata:       {"SYSLOG_IDENTIFIER=kata"},
}

// speakers says which of hosts have a record of their own in the boot. A kernel
// that is quiet since the reading began is covered all the same: it is known to
// log here.
func (f *follower) speakers(boot string) (spoke [len(hosts)]bool) {
	j, err := openDir(f.dir)
	if err != nil || boot == "" {
		return spoke
	}
	defer j.close()
	feed, reading := ingest.Document{Name: doc}.Feed(), fields{}
	for i, s := range hosts {
		r, found, err := newest(j, append([]string{"_BOOT_ID=" + boot}, callers[s]...))
		if err != nil || !found {
			continue
		}
		p, ok := parsePosition(string(r.cursor))
		if !ok {
			continue
		}
		reading.raw, reading.at = r, p
		for _, x := range feed.Journal(reading.each) {
			spoke[i] = spoke[i] || x.Mark == nil && x.Source == s && x.Trust == ingest.Attested
		}
	}
	return spoke
}
