package document

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// peelDmesg: the kernel's ring buffer as dmesg prints it, and journalctl -o
// short-monotonic, which goes on with a host and a program.
//
//	[  123.456789] text                      dmesg
//	[  123.456789][   T28] text              with CONFIG_PRINTK_CALLER
//	[Mon May  4 10:00:00 2026] text          dmesg -T, in the locale's language
//	[May 4 10:00] text, [  +0.000123] text   dmesg -H
//	[  123.456789] node kubelet[1]: text     short-monotonic
func peelDmesg(r *reader, d *draft, s string) (string, bool) {
	inside, text, ok := strings.Cut(s[1:], "]")
	if !ok || len(inside) > 60 || len(inside) < 3 {
		return s, false
	}
	inside = strings.Trim(inside, " ")
	var e ingest.Entry
	if mono, ok := logtext.BootSeconds(inside); ok {
		e.Mono, e.Clock = mono, ingest.BootClock
	} else if strings.HasPrefix(inside, "+") || strings.HasPrefix(inside, "<") {
		if _, ok := logtext.BootSeconds(strings.Trim(inside, "+<> ")); !ok {
			return s, false
		}
	} else if !r.hosts.bracketTime(&e, inside) {
		return s, false
	}
	return r.hosts.ringBuffer(d, e, strings.TrimPrefix(logtext.DropCaller(text), " ")), true
}

// ringBuffer decides who wrote a line of the ring buffer: the kernel, unless
// the line names a process (systemd writes there at boot; so can any root) or
// a facility that is not the kernel's.
func (f *hostLines) ringBuffer(d *draft, e ingest.Entry, text string) string {
	d.Mono, d.At, d.Clock = e.Mono, e.At, e.Clock
	host, who, inner, ok := f.hostAndIdent(text, true)
	switch {
	case ok && (who.HasPID || who.Name == "kernel" || host != "" && who.Name == "kubelet"):
		other := d.pid
		d.Node = host
		applyIdent(who, d)
		if host == "" && who.HasPID || other {
			d.Trust = ingest.Claimed
		}
		return inner
	case d.pid:
		d.Unit = "kmsg"
	default:
		d.Source, d.Trust = ingest.Kernel, ingest.Attested
	}
	return text
}

// bracketTime reads a date between dmesg's brackets.
func (f *hostLines) bracketTime(e *ingest.Entry, inside string) bool {
	if st, ok := logtext.CtimeStamp(inside); ok {
		if st.Month != 0 && st.Valid() {
			f.r.account.clock.Set(e, st)
		}
		return true
	}
	w := strings.Fields(inside) // dmesg -H: `May 4 10:00`
	if len(w) != 3 || logtext.MonthOf(w[0]) == 0 || len(w[2]) != 5 {
		return false
	}
	st, ok := logtext.SyslogStamp(w[0] + " " + w[1] + " " + w[2] + ":00")
	if ok {
		f.r.account.clock.Set(e, st)
	}
	return ok
}

// facilities are the words that dmesg -x writes in front of its lines.
var facilities = map[string]bool{
	"kern": true, "user": false, "mail": false, "daemon": false, "auth": false, "syslog": false,
	"lpr": false, "news": false, "uucp": false, "cron": false, "authpriv": false, "ftp": false,
}

// peelDecoded: `kern  :info  : [  123.456789] text`, dmesg -x. Only the
// facility kern is the kernel: it gives writers of /dev/kmsg another one.
func peelDecoded(_ *reader, d *draft, s string) (string, bool) {
	facility, rest, ok := strings.Cut(s[:min(len(s), 24)], ":")
	kernel, known := facilities[strings.TrimRight(facility, " ")]
	if !ok || !known || strings.IndexByte(rest, ':') < 0 {
		return s, false
	}
	rest = s[len(facility)+1:]
	_, rest, _ = strings.Cut(rest, ":")
	rest = strings.TrimLeft(rest, " ")
	if rest == "" || rest[0] != '[' && !logtext.IsDigit(rest[0]) {
		return s, false
	}
	d.pid = !kernel
	return rest, true
}

// peelRingISO: `2026-05-04T10:00:00,123456+02:00 text`, dmesg --time-format=iso.
// Nothing else writes the comma.
func peelRingISO(r *reader, d *draft, s string) (string, bool) {
	st, ok := logtext.ISOStamp(s)
	if !ok || st.FractionDigits != 6 || s[19] != ',' || st.Zone == nil || len(s) == st.Size {
		return s, false
	}
	text := strings.TrimPrefix(s[st.Size:], " ")
	var e ingest.Entry
	r.account.clock.Set(&e, st)
	return r.hosts.ringBuffer(d, e, text), true
}

// peelTalos: `10.0.0.7: kern: warning: [2026-05-04T10:00:00.123456789Z]: text`, talosctl dmesg, since
// Talos 0.3; without the node where one was asked for by its own file.
func peelTalos(r *reader, d *draft, s string) (string, bool) {
	at := strings.Index(s[:min(len(s), 300)], ": [2")
	if at < 0 {
		return s, false
	}
	head, level, ok := cutLast(s[:at], ": ")
	node, facility, named := cutLast(head, ": ")
	if !named {
		node, facility = "", head
	}
	kernel, known := facilities[facility]
	inside, text, closed := strings.Cut(s[at+3:], "]: ")
	st, timed := logtext.ISOStamp(inside)
	words := node + strings.TrimLeft(level, " ")
	if !ok || !known || !closed || !timed || st.Size != len(inside) || strings.Contains(words, " ") {
		return s, false
	}
	var e ingest.Entry
	r.account.clock.Set(&e, st)
	d.pid = !kernel
	text = r.hosts.ringBuffer(d, e, text)
	if d.Node == "" {
		d.Node = node
	}
	return text, true
}

// cutLast cuts a text at the last separator.
func cutLast(s, sep string) (before, after string, ok bool) {
	at := strings.LastIndex(s, sep)
	if at < 0 {
		return s, "", false
	}
	return s[:at], s[at+len(sep):], true
}
