//go:build linux && cgo && !nojournal

package journal

import (
	"context"
	"errors"
	"syscall"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"

	"github.com/rs/zerolog"
)

// source is the folder that is read, and its handle.
type source struct {
	log     zerolog.Logger
	dirs    []string
	dir     string    // that journal reads
	journal *handle   // nil until a folder has files
	alive   time.Time // when the folder was opened or gave a record last

	atEnd   bool // the last read found no further record
	failed  bool // the last read failed
	waiting bool // for files to appear; that was logged
	noWatch bool // the kernel gives no inotify watch: changes must be looked for
}

// findDir opens the first folder that has files. It reports whether there is one.
func (s *source) findDir() (dir string, err error) {
	dir, err = firstDir(s.dirs)
	if dir == "" && err == nil && !s.waiting {
		s.log.Info().Strs("dirs", s.dirs).Msg("no journal files yet, waiting for some to appear")
		s.waiting = true
	}
	return dir, err
}

// openDir opens dir; cursor is only logged.
func (s *source) openDir(dir, cursor string) error {
	s.close()
	j, err := openDir(dir)
	if err != nil {
		return err
	}
	level := zerolog.InfoLevel
	if dir == s.dir {
		level = zerolog.DebugLevel
	}
	s.log.WithLevel(level).Str("dir", dir).Str("cursor", cursor).Msg("reading the journal")
	s.journal, s.dir, s.alive, s.atEnd = j, dir, time.Now(), false
	return nil
}

func (s *source) close() {
	if s.journal != nil {
		s.journal.close()
	}
	s.journal = nil
}

// listen lets libsystemd take note of new and deleted files; at the journal's end it
// waits for a change, but not for long.
func (s *source) listen(ctx context.Context, untilDue time.Duration) {
	var d time.Duration
	if s.atEnd {
		d = max(0, min(untilDue, maxListen))
	}
	if s.journal.waitChange(d) == nil {
		s.noWatch = false
		return
	}
	if !s.noWatch {
		s.log.Warn().Str("dir", s.dir).
			Msg("no inotify watch on the journal, so it is opened anew every second; " +
				"raise fs.inotify.max_user_instances")
	}
	s.noWatch = true
	pause(ctx, d)
}

// currentDir is where journald writes now. stale says that this is the same folder, but
// there may be files that were not noticed, or that libsystemd dropped because it once
// could not read them.
func (s *source) currentDir() (dir string, stale bool, err error) {
	p, err := findWritten(s.dirs, s.dir)
	return p.dir, s.noWatch || p.written.Sub(s.alive) > settled, err
}

// hasRecord reports whether there is a readable record of a boot, of any boot if that is
// "". It uses a handle of its own: a filter would cost the other one its place, and a
// new one sees files that have become readable.
func (s *source) hasRecord(boot string) (bool, error) {
	j, err := openDir(s.dir)
	if errors.Is(err, syscall.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer j.close()
	var fields []string
	if boot != "" {
		fields = append(fields, "_BOOT_ID="+boot)
	}
	r, err := j.lastRecord(fields)
	return r != nil && err == nil, nil
}

// callers are fields by which a source's records can be found without reading
// all of them; those of one name are alternatives.
var callers = map[ingest.Source][]string{
	ingest.Kernel:  {"_TRANSPORT=kernel"},
	ingest.Systemd: {"_TRANSPORT=driver"},
	ingest.Kubelet: {
		"SYSLOG_IDENTIFIER=kubelet", "SYSLOG_IDENTIFIER=k3s", "SYSLOG_IDENTIFIER=rke2", "SYSLOG_IDENTIFIER=kubelite",
	},
	ingest.Containerd: {"SYSLOG_IDENTIFIER=containerd", "SYSLOG_IDENTIFIER=dockerd", "SYSLOG_IDENTIFIER=crio"},
	ingest.Kata:       {"SYSLOG_IDENTIFIER=kata"},
}

// speakers says which of hosts have a record of their own in the boot. A kernel
// that is quiet since the reading began is covered all the same: it is known to
// log here.
func (s *source) speakers(boot string) (spoke [len(hosts)]bool) {
	if boot == "" {
		return spoke
	}
	j, err := openDir(s.dir)
	if err != nil {
		return spoke
	}
	defer j.close()
	feed, reading := document.Document{Name: doc}.Feed(), fields{}
	for i, host := range hosts {
		r, err := j.lastRecord(append([]string{"_BOOT_ID=" + boot}, callers[host]...))
		if r != nil && err == nil {
			spoke[i] = isAttested(feed, &reading, r, host)
		}
	}
	return spoke
}

// isAttested reports whether a record is of a source, and cannot be forged.
func isAttested(feed *document.Feed, reading *fields, r *raw, host ingest.Source) (ok bool) {
	p, parsed := parsePosition(string(r.cursor))
	if !parsed {
		return false
	}
	reading.raw, reading.at = r, p
	for _, e := range feed.Journal(reading.eachSorted) {
		ok = ok || e.Mark == nil && e.Source == host && e.Trust == ingest.Attested
	}
	return ok
}
