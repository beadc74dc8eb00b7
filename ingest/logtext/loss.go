package logtext

import (
	"bytes"
	"path"
	"strings"

	"coroner/ingest"
)

// What programs say of lines that they lost:
//
//	journald   Suppressed 900 messages from kubelet.service
//	           Missed 12 kernel messages
//	           /dev/kmsg buffer overrun, some messages lost.
//	kernel     ** 900 printk messages dropped **
//	           printk: 900 messages dropped
//	           oom_kill_process: 5 callbacks suppressed
//	rsyslogd   imjournal: 900 messages lost due to rate-limiting
//	           imklog: lost 900 messages

// MayTellLoss says whether a line of a source, or of a unit that is none, may tell of lost lines.
// It is quick, and true of a few others.
func MayTellLoss(by ingest.Source, unit string, text []byte) bool {
	switch by {
	case ingest.Systemd:
		return bytes.HasPrefix(text, []byte("Suppressed ")) || bytes.HasPrefix(text, []byte("Missed ")) ||
			bytes.HasPrefix(text, []byte("/dev/kmsg buffer overrun"))
	case ingest.Kernel:
		return bytes.HasSuffix(text, []byte(" dropped")) || bytes.HasSuffix(text, []byte(" dropped **")) ||
			bytes.HasSuffix(text, []byte(" suppressed"))
	case ingest.Unknown:
		return unit == "rsyslogd" && bytes.HasPrefix(text, []byte("im"))
	}
	return false
}

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
	case ingest.Kernel:
		if strings.HasPrefix(text, "** ") && strings.HasSuffix(text, " printk messages dropped **") ||
			strings.HasPrefix(text, "printk: ") && strings.HasSuffix(text, " messages dropped") ||
			strings.HasPrefix(text, "oom_kill") && strings.HasSuffix(text, " callbacks suppressed") {
			return []ingest.Source{ingest.Kernel}
		}
	case ingest.Unknown:
		switch {
		case unit != "rsyslogd":
		case strings.HasPrefix(text, "imklog: lost "):
			return []ingest.Source{ingest.Kernel}
		case strings.HasPrefix(text, "imjournal: ") && strings.Contains(text, " messages lost "):
			return []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Systemd}
		}
	}
	return nil
}
