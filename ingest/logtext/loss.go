package logtext

import (
	"bytes"
	"path"
	"strings"
	"time"

	"coroner/ingest"
)

// What programs say of lines that they lost:
//
//	journald   Suppressed 900 messages from kubelet.service
//	           Missed 12 kernel messages
//	           /dev/kmsg buffer overrun, some messages lost.
//	           Forwarding to syslog missed 900 messages.
//	           Failed to write entry (24 items, 812 bytes), ignoring: No space left on device
//	systemd    systemd-journald.service: Watchdog timeout (limit 3min)!
//	kernel     ** 900 printk messages dropped **
//	           printk: 900 messages dropped
//	           oom_kill_process: 5 callbacks suppressed
//	           printk: 900 messages suppressed.
//	rsyslogd   imjournal: 900 messages lost due to rate-limiting
//	           imuxsock[pid 812]: begin to drop messages due to rate-limiting
//	           imuxsock lost 900 messages from pid 812 due to rate-limiting, before 8
//	           imklog: lost 900 messages
//	           main Q: queue is full, dropping messages
//	           action 'action-0-builtin:omfile' suspended (module 'builtin:omfile'), next retry is …
//	           file '/var/log/syslog'[7] write error: No space left on device
//	           imklog: error reading kernel log - shutting down: Bad file descriptor
//	syslog-ng  Destination queue full, dropping message; ...

// MayTellLoss says whether a line of a source, or of a unit that is none, may tell of lost lines.
// It is quick, and true of a few others.
func MayTellLoss(by ingest.Source, unit string, text []byte) bool {
	switch by {
	case ingest.Systemd:
		return bytes.HasPrefix(text, []byte("Suppressed ")) || bytes.HasPrefix(text, []byte("Missed ")) ||
			bytes.HasPrefix(text, []byte("/dev/kmsg buffer overrun")) ||
			bytes.HasPrefix(text, []byte(unforwarded)) || bytes.HasPrefix(text, []byte(unwritten)) ||
			bytes.HasPrefix(text, []byte(journaldUnit))
	case ingest.Kernel:
		return bytes.HasSuffix(text, []byte(" dropped")) || bytes.HasSuffix(text, []byte(" dropped **")) ||
			bytes.HasSuffix(text, []byte(" suppressed")) || bytes.HasSuffix(text, []byte(" messages suppressed."))
	case ingest.Unknown:
		return isSyslog(unit) && (bytes.HasPrefix(text, []byte("im")) || bytes.Contains(text, []byte("queue")) ||
			bytes.Contains(text, []byte("suspended")) || bytes.Contains(text, []byte("write error")))
	}
	return false
}

// What journald says of an entry that it did not pass on, and of one that it did not keep.
const (
	unforwarded = "Forwarding to syslog missed "
	unwritten   = "Failed to write entry "

	journaldUnit = "systemd-journald.service: " // what systemd says of journald begins so
)

// LossGoesOn is how long after a line that tells of a loss more can be lost and nothing said of it: journald
// says only some times a minute that it cannot write, and one that was killed has to start first.
func LossGoesOn(text string) time.Duration {
	full := strings.HasSuffix(text, "No space left on device") || strings.HasSuffix(text, "Read-only file system")
	if strings.HasPrefix(text, journaldUnit) || strings.HasPrefix(text, unwritten) && full ||
		strings.Contains(text, " suspended (module '") || strings.HasPrefix(text, "imklog: error reading") ||
		strings.HasPrefix(text, "file '") {
		return time.Minute
	}
	return 0
}

// isSyslog says whether a unit is a syslog daemon: rsyslogd, rsyslogd-2177, syslog-ng.
func isSyslog(unit string) bool {
	return strings.HasPrefix(unit, "rsyslogd") || unit == "syslog-ng"
}

// hostSources are the sources of what the programs of a host and its kernel write.
var hostSources = []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Systemd}

// LostBy says whose lines were lost, by a line of a source or a unit; nil where the line says
// nothing of that.
func LostBy(by ingest.Source, unit, text string) []ingest.Source {
	switch by {
	case ingest.Systemd:
		if rest, ok := strings.CutPrefix(text, "Suppressed "); ok {
			_, unit, _ := strings.Cut(rest, " messages from ")
			if src := ingest.ProgramSource(path.Base(strings.TrimRight(unit, ". "))); src != ingest.Unknown {
				return []ingest.Source{src}
			}
			return nil
		}
		if strings.HasPrefix(text, "Missed ") && strings.HasSuffix(text, " kernel messages") ||
			strings.HasPrefix(text, "/dev/kmsg buffer overrun") {
			return []ingest.Source{ingest.Kernel}
		}
		if strings.HasPrefix(text, unforwarded) || strings.HasPrefix(text, unwritten) ||
			strings.HasPrefix(text, journaldUnit) && (strings.HasPrefix(text[len(journaldUnit):], "Watchdog timeout") ||
				strings.HasPrefix(text[len(journaldUnit):], "Main process exited, code=killed")) {
			return hostSources
		}
	case ingest.Kernel:
		if strings.HasPrefix(text, "printk: ") && strings.HasSuffix(text, " messages suppressed.") ||
			strings.HasPrefix(text, "** ") && strings.HasSuffix(text, " printk messages dropped **") ||
			strings.HasPrefix(text, "printk: ") && strings.HasSuffix(text, " messages dropped") ||
			strings.HasPrefix(text, "oom_kill") && strings.HasSuffix(text, " callbacks suppressed") {
			return []ingest.Source{ingest.Kernel}
		}
	case ingest.Unknown:
		switch {
		case !isSyslog(unit):
		case strings.HasPrefix(text, "imklog: lost "), strings.HasPrefix(text, "imklog: error reading kernel log"):
			return []ingest.Source{ingest.Kernel}
		case strings.HasPrefix(text, "im") && strings.Contains(text, "rate-limiting") ||
			strings.Contains(text, "queue is full") || strings.HasPrefix(text, "Destination queue full") ||
			strings.HasPrefix(text, "action '") && strings.Contains(text, " suspended (module '") ||
			strings.HasPrefix(text, "file '") && strings.Contains(text, "write error"):
			return hostSources
		}
	}
	return nil
}
