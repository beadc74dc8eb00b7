package document

import (
	"strings"
	"time"

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
	if mono, ok := bootSeconds(inside); ok {
		e.Mono, e.Clock = mono, ingest.BootClock
	} else if strings.HasPrefix(inside, "+") || strings.HasPrefix(inside, "<") {
		if _, ok := bootSeconds(strings.Trim(inside, "+<> ")); !ok {
			return s, false
		}
	} else if !r.hosts.bracketTime(&e, inside) {
		return s, false
	}
	return r.hosts.ringBuffer(d, e, strings.TrimPrefix(dropCaller(text), " ")), true
}

// ringBuffer decides who wrote a line of the ring buffer: the kernel, unless
// the line names a process (systemd writes there at boot; so can any root) or
// a facility that is not the kernel's.
func (f *hostLines) ringBuffer(d *draft, e ingest.Entry, text string) string {
	d.Mono, d.At, d.Clock = e.Mono, e.At, e.Clock
	host, who, inner, ok := f.hostAndIdent(text, true)
	switch {
	case ok && (who.pid || who.name == "kernel" || host != "" && who.name == "kubelet"):
		other := d.pid
		d.Node = host
		who.applyTo(d)
		if host == "" && who.pid || other {
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

// bootSeconds reads `123.456789`.
func bootSeconds(s string) (time.Duration, bool) {
	whole, frac, ok := strings.Cut(s, ".")
	if !ok || len(whole) > 9 || whole == "" || len(frac) < 3 || len(frac) > 9 {
		return 0, false
	}
	a, b := logtext.Number(whole, 0, len(whole)), logtext.Number(frac, 0, len(frac))
	if a < 0 || b < 0 {
		return 0, false
	}
	for range 9 - len(frac) {
		b *= 10
	}
	return time.Duration(a)*time.Second + time.Duration(b), true
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

// dropCaller drops `[   T28]` and `[    C1]` behind the time.
func dropCaller(s string) string {
	if !strings.HasPrefix(s, "[") {
		return s
	}
	caller, rest, ok := strings.Cut(s[1:], "]")
	caller = strings.TrimLeft(caller, " ")
	if !ok || len(caller) < 2 || caller[0] != 'T' && caller[0] != 'C' || logtext.Number(caller, 1, len(caller)-1) < 0 {
		return s
	}
	return rest
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
