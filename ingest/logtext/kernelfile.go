package logtext

import (
	"strings"
	"time"

	"coroner/ingest"
)

// FileName remembers the last line of a kernel log in text form that names a
// file. A file's name can hold line breaks, and rsyslog and dmesg -S give each
// of its parts a header of its own, with the same time. So what follows with
// that time can be part of the name, which anybody chooses. journald keeps
// such a message in one record.
type FileName struct {
	known bool
	stamp string // the kernel's own time as it was printed, "" where the line has none
	mono  time.Duration
	at    time.Time
}

// namesFile lists what the kernel prints before or behind the name of a file:
// arch/*/mm/fault.c and arch/*/kernel/traps.c print the mapped file where a
// process faulted, fs/exec.c a program with an executable stack.
var namesFile = []string{"]: segfault at ", "traps: ", "]: unhandled ", "process '"}

// Check takes the trust from a line that can be part of a file's name.
func (f *FileName) Check(d *ingest.Entry, text string) {
	if d.Source != ingest.Kernel && d.Source != ingest.Systemd {
		return
	}
	now := FileName{known: true, stamp: ringStamp(text), mono: d.Mono, at: d.At}
	if f.known && f.stamp == now.stamp && f.mono == now.mono && f.at.Equal(now.at) {
		d.Trust = ingest.Claimed
		return
	}
	f.known = false
	for _, before := range namesFile {
		if strings.Contains(text, before) {
			*f = now
			return
		}
	}
}

// ringStamp is the time since boot that stands before a kernel line's text.
func ringStamp(text string) string {
	if !strings.HasPrefix(text, "[") {
		return ""
	}
	stamp, _, _ := strings.Cut(text, "]")
	return strings.Clone(stamp)
}
