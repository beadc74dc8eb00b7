package document

import (
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// hostLines reads the lines of a host's programs: syslog, journalctl's text, dmesg.
type hostLines struct {
	r        *reader
	node     string           // that the line before named
	boot     string           // of the entries that follow, from a separator
	fileName logtext.FileName // the last line of the kernel that names a file

	margin int  // 1 + the least indentation of a host's line before, 0 where there was none
	within bool // the line stands deeper than that: it goes on with the message above it
}

// begin notes how far a line is indented. journalctl and klog indent the further lines of a
// message, in which somebody else's words can stand: no line of the host's begins there. Where
// all of a paste is indented, the host's lines are, too.
func (f *hostLines) begin(indent int) { f.within = f.margin > 0 && indent >= f.margin }

// saw notes a line of the host's.
func (f *hostLines) saw(indent int) {
	if f.margin == 0 || indent < f.margin {
		f.margin = indent + 1
	}
}

// peelSyslog: the lines of journalctl's text forms and of syslog files.
//
//	May 04 10:00:00 node kubelet[1]: text                     short, short-precise, RFC 3164
//	2026-05-04T10:00:00+0200 node kubelet[1]: text            short-iso, short-iso-precise, rsyslog
//	Mon 2026-05-04 10:00:00 CEST node kubelet.service[1]: …   short-full, with-unit
//	1777888800.123456 node kernel: text                       short-unix
//	10:00:00 kubelet[1]: text                                 what is left of a cut line
//
// The host is missing where somebody cut it out (journalctl --no-hostname).
func peelSyslog(r *reader, d *draft, s string) (string, bool) {
	st, rest, ok := logtext.HostStamp(s)
	if !ok || rest == "" || rest[0] != ' ' {
		return s, false
	}
	host, who, text, ok := r.hosts.hostAndIdent(rest, st.Year != 0 || st.Month == 0)
	if !ok {
		return s, false
	}
	d.Node = host
	r.hosts.setTime(d, st)
	r.hosts.learnZone(st, s[:st.Size])
	applyIdent(who, d)
	r.skipper.learnHead(d, st, s, rest)
	return logtext.WithoutLibrary(host, text), true
}

// setTime sets the time of a host's line.
func (f *hostLines) setTime(d *draft, st logtext.Stamp) {
	if st.Month == 0 && !f.r.account.clock.Last.IsZero() { // a time of day: of the day of the line before
		last := f.r.account.clock.Last.In(f.r.account.clock.LocalZone())
		st.Year, st.Month, st.Day = last.Year(), last.Month(), last.Day()
	}
	if st.Month == 0 || !f.r.account.clock.Set(&d.Entry, st) || d.Clock == ingest.LocalClock {
		d.local = st
	}
}

// learnZone: a host writes the offset of its own zone, +00:00 as well; a Z may be a shipper's.
func (f *hostLines) learnZone(st logtext.Stamp, written string) {
	if st.Zone != nil && st.Year != 0 && !strings.HasSuffix(written, "Z") {
		_, off := st.In(st.Zone).Zone()
		f.r.account.clock.InferZone(time.Duration(off) * time.Second)
	}
}

// applyIdent sets the source and the unit that the name means. The kernel has no
// process: kernel[12]: is somebody who calls itself so.
func applyIdent(w logtext.Ident, d *draft) {
	d.pid = w.HasPID
	switch {
	case w.Name == "kernel" && !w.HasPID:
		d.Source, d.Trust = ingest.Kernel, ingest.Attested
		return
	case strings.Contains(w.Name, ".service") || strings.HasSuffix(w.Name, ".scope"):
		d.Unit = w.Name
	}
	d.Source = ingest.ProgramSource(w.Name)
	if d.Unit == "" {
		d.Unit = w.Name
	}
	if d.Source != ingest.Unknown {
		d.Trust = ingest.Attested
	}
}

// hostAndIdent reads ` host ident[pid]: text`. Where the time alone does not
// prove that this is a host's line (strict), the name of the program must.
func (f *hostLines) hostAndIdent(s string, strict bool) (host string, who logtext.Ident, text string, ok bool) {
	word, i := logtext.NextWord(s, 0)
	if who, text, ok = logtext.IdentOf(word, s, i); ok &&
		(who.HasPID || ingest.ProgramSource(who.Name) != ingest.Unknown || who.Name == "kernel") {
		return "", who, text, true
	}
	if word == "" || word != f.node && (!logtext.IsHostName(word) || logtext.IsLevel(word)) {
		return "", who, "", false
	}
	if word != f.node {
		f.node = strings.Clone(word)
	}
	host = f.node
	word, i = logtext.NextWord(s, i)
	if who, text, ok = logtext.IdentOf(word, s, i); !ok {
		return "", who, "", false
	}
	known := who.HasPID || who.Name == "kernel" || ingest.ProgramSource(who.Name) != ingest.Unknown
	return host, who, text, known || !strict
}

// peelIdent: `kubelet[12]: text`, `kernel: text` where the time was cut away.
// Without a process id only the programs that we know count.
func peelIdent(_ *reader, d *draft, s string) (string, bool) {
	word, i := logtext.NextWord(s, 0)
	who, text, ok := logtext.IdentOf(word, s, i)
	if !ok || who.Name != "kernel" && ingest.ProgramSource(who.Name) == ingest.Unknown {
		return s, false
	}
	if !who.HasPID && who.Name != "kernel" && who.Name != "kubelet" &&
		ingest.ProgramSource(who.Name) != ingest.Systemd {
		return s, false
	}
	applyIdent(who, d)
	return text, true
}

// peelPriority: the `<34>` of syslog on the wire and of dmesg --raw. RFC 5424
// goes on with a version: `<34>1 2026-05-04T10:00:00Z host app 12 - - text`.
func peelPriority(r *reader, d *draft, s string) (string, bool) {
	pri, rest, ok := strings.Cut(s[1:], ">")
	n := logtext.Number(pri, 0, len(pri))
	if !ok || n < 0 || n > 191 || pri == "" || rest == "" {
		return s, false
	}
	if text, ok := r.hosts.rfc5424(d, rest); ok {
		return text, true
	}
	if rest[0] != '[' {
		if _, _, dated := logtext.HostStamp(rest); !dated {
			return s, false
		}
	} else if n > 7 { // kmsg: a facility other than the kernel's
		d.pid = true
	}
	return rest, true
}

// rfc5424 reads what follows the priority; -1- is a missing value.
func (f *hostLines) rfc5424(d *draft, s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "1 ")
	if !ok {
		return s, false
	}
	st, ok := logtext.ISOStamp(rest)
	if !ok {
		return s, false
	}
	w := strings.SplitN(strings.TrimPrefix(rest[st.Size:], " "), " ", 5)
	if len(w) < 5 {
		return s, false
	}
	f.setTime(d, st)
	if w[0] != "-" {
		d.Node = w[0]
	}
	applyIdent(logtext.Ident{Name: w[1], HasPID: w[2] != "-" && w[1] != "-"}, d)
	text := w[4]
	if strings.HasPrefix(text, "[") {
		text = text[logtext.Bracketed(text):]
	} else {
		text = strings.TrimPrefix(text, "-")
	}
	return strings.TrimLeft(text, " "), true
}

// yieldLine yields a line of a host program, after what its text still tells:
// a kernel time, a better clock, the shim that containerd speaks for.
func (f *hostLines) yieldLine(d *draft, text string) {
	if d.Source == ingest.Kernel {
		text = f.kernelStamp(d, text)
	}
	if d.Source == ingest.Containerd && logtext.FromKata(text) {
		d.Source = ingest.Kata
	}
	if d.Clock != ingest.WallClock && d.Source.WritesTimes() {
		f.innerTime(d, text)
	}
	f.r.flushPending()
	f.r.account.noteGap(d, text)
	if d.Source == ingest.Kubelet && logtext.ContinuesKlog(text) {
		d.Source, d.Trust = ingest.Job, ingest.Claimed
	}
	f.setTrust(d)
	f.r.emitDraft(d, text)
}

// setTrust says what a line of the host is worth in this document.
func (f *hostLines) setTrust(d *draft) {
	trust := f.r.account.hostTrust(d.Source, d.Trust)
	if !d.Source.Host() || d.wraps&shipped == 0 {
		d.Trust = trust
	}
}

// separator handles lines that are about the lines.
func (f *hostLines) separator(s string) bool {
	if logtext.IsCut(s) {
		f.r.flushPending()
		f.r.account.boots.Cut()
	}
	rest, ok := strings.CutPrefix(s, "-- ")
	if !ok || !strings.HasSuffix(rest, " --") && !strings.HasPrefix(rest, "Logs begin") &&
		!strings.HasPrefix(rest, "Journal begins") {
		return false
	}
	if id, ok := strings.CutPrefix(rest, "Boot "); ok {
		f.boot, _, _ = strings.Cut(id, " ")
	} else if strings.HasPrefix(rest, "Reboot") {
		f.boot = "after line " + itoa(f.r.n)
	} else {
		return true
	}
	if f.r.account.boots.Any() { // before the first record it says which boot, not that there was one before
		f.yieldLine(&draft{Entry: ingest.Entry{Source: ingest.Systemd, Trust: f.r.account.provenance.hostTrust(),
			Line: f.r.n, Boot: f.boot}}, s)
	}
	return true
}

// innerTime prefers the time that a host program wrote itself, with its zone,
// to a host time without one, and learns the zone from the pair.
func (f *hostLines) innerTime(d *draft, text string) {
	if len(text) < 20 || text[0] != 't' && text[0] != '{' {
		return
	}
	st, ok := logtext.InnerStamp(text)
	if !ok || st.Zone == nil {
		return
	}
	at := st.In(time.UTC)
	f.r.account.clock.Compare(d.local, at)
	f.r.account.clock.Set(&d.Entry, st)
}

// kernelStamp takes off the time since boot that rsyslog leaves in front of
// the kernel's text.
func (f *hostLines) kernelStamp(d *draft, text string) string {
	if text == "" || text[0] != '[' {
		return text
	}
	var k draft
	inner, ok := peelDmesg(f.r, &k, text)
	if !ok || k.Clock != ingest.BootClock {
		return text
	}
	d.Mono = k.Mono
	if d.Clock == ingest.NoClock {
		d.Clock = ingest.BootClock
	}
	return inner
}
