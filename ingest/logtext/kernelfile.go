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

// leavesOpen says whether a name begins in the text, after a quotation mark, that does not
// end in it: what somebody gave mount(2) as an option is printed so, and can hold line breaks.
func leavesOpen(text string) bool {
	i := strings.LastIndex(text, " '")
	return i >= 0 && !strings.Contains(text[i+len(" '"):], "'")
}

// Check takes the trust from a line that can be part of a file's name, and where the times are
// told in microseconds, in which the kernel says no second thing, its source.
func (f *FileName) Check(d *ingest.Entry, text string) {
	if d.Source != ingest.Kernel && d.Source != ingest.Systemd {
		return
	}
	now := FileName{known: true, stamp: ringStamp(text), mono: d.Mono, at: d.At}
	if f.known && f.stamp == now.stamp && f.mono == now.mono && f.at.Equal(now.at) {
		if d.Trust = ingest.Claimed; f.stamp != "" || f.mono > 0 || !f.at.Equal(f.at.Truncate(time.Millisecond)) {
			d.Source = ingest.Job
		}
		return
	}
	if *f = (FileName{}); leavesOpen(text) {
		*f = now
	}
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
