package ingest

import (
	"bytes"
	"time"
)

// record is one journald entry while its fields come in, from JSON or from
// the export format. Only what an Entry needs is kept.
type record struct {
	real, mono         int64 // microseconds: when journald stored it
	srcReal, srcMono   int64 // when it was written
	transport, ident   string
	unit, about, comm  string
	host, boot, cursor string
	uid, facility      string
	container          string // id of the container whose output a log driver sent here
	message            value
	pid                bool
	fields             map[string]string
	known              int // journald's own fields

	// Members of other kinds of JSON lines.
	log, line, labels, stamp value
	stdstream, audit         bool
}

// set takes one field. Names are compared without making strings of them.
func (c *record) set(n *names, key []byte, v value) {
	if len(key) > 2 && key[0] == '_' {
		c.trusted(n, key, v)
		return
	}
	switch string(key) {
	case "MESSAGE":
		c.message = v
		c.known++
	case "SYSLOG_IDENTIFIER":
		c.ident = n.keep(v)
		c.known++
	case "UNIT", "USER_UNIT", "OBJECT_SYSTEMD_UNIT":
		c.about = n.keep(v)
	case "SYSLOG_FACILITY":
		c.facility = n.keep(v)
	case "CONTAINER_ID_FULL":
		c.container = v.text()
	case "CONTAINER_ID", "CONTAINER_NAME", "CONTAINER_TAG":
		if c.container == "" {
			c.container = v.text()
		}
	case "SYSLOG_PID":
		c.pid = true
	case "PRIORITY", "SYSLOG_TIMESTAMP", "SYSLOG_RAW", "TID", "INVOCATION_ID", "USER_INVOCATION_ID", "CODE_FILE", "CODE_LINE", "CODE_FUNC",
		"JOB_ID", "IMAGE_NAME", "COREDUMP_ENVIRON", "COREDUMP_PROC_MAPS", "COREDUMP_PROC_LIMITS", "COREDUMP_PROC_MOUNTINFO":
		// of no use, and in nearly every record
	case "log", "line", "labels", "fields", "stream", "timestamp", "time", "tsNs", "apiVersion":
		c.other(key, v)
	default:
		c.extra(key, v)
	}
}

// other takes a member that another kind of JSON line has.
func (c *record) other(key []byte, v value) {
	switch string(key) {
	case "log":
		c.log = v
	case "line":
		c.line = v
	case "labels", "fields", "stream":
		c.stdstream = c.stdstream || v.kind == '"'
		if v.kind == '{' {
			c.labels = v
		}
	case "apiVersion":
		c.audit = bytes.HasPrefix(v.raw, []byte(auditAPI))
	default:
		c.stamp = v
	}
}

// trusted takes a field that journald adds itself; clients cannot set them.
func (c *record) trusted(n *names, key []byte, v value) {
	switch string(key) {
	case "__REALTIME_TIMESTAMP":
		c.real = v.int()
		c.known++
	case "__MONOTONIC_TIMESTAMP":
		c.mono = v.int()
	case "_SOURCE_REALTIME_TIMESTAMP":
		c.srcReal = v.int()
	case "_SOURCE_MONOTONIC_TIMESTAMP":
		c.srcMono = v.int()
	case "__CURSOR":
		c.cursor = brief(v.text(), 512)
		c.known++
	case "_BOOT_ID":
		c.boot = n.keep(v)
		c.known++
	case "_TRANSPORT":
		c.transport = n.keep(v)
		c.known++
	case "_HOSTNAME":
		c.host = n.keep(v)
		c.known++
	case "_SYSTEMD_UNIT":
		c.unit = n.keep(v)
	case "_COMM":
		c.comm = n.keep(v)
	case "_UID":
		c.uid = n.keep(v)
	case "_PID":
		c.pid = true
	}
}

// extra keeps a client's own field: kata's runtime-rs says in fields what its
// message is about. Their names are upper case.
func (c *record) extra(key []byte, v value) {
	if len(c.fields) >= 40 || len(key) == 0 || len(key) > 64 || key[0] < 'A' || key[0] > 'Z' {
		return
	}
	for _, b := range key {
		if b >= 'a' && b <= 'z' {
			return
		}
	}
	if c.fields == nil {
		c.fields = make(map[string]string)
	}
	c.fields[string(key)] = brief(v.text(), 1<<10)
}

// time is when the record was written, as exactly as it says. Kernel records
// have only the source's monotonic time.
func (c *record) time() (at time.Time, mono time.Duration) {
	mono = time.Duration(c.mono) * time.Microsecond
	real := c.real
	switch {
	case c.srcReal > 0:
		real = c.srcReal
	case c.srcMono > 0 && c.mono >= c.srcMono && c.real > 0:
		real -= c.mono - c.srcMono
	}
	if c.srcMono > 0 {
		mono = time.Duration(c.srcMono) * time.Microsecond
	}
	if real <= 0 {
		return time.Time{}, mono
	}
	return time.UnixMicro(real).UTC(), mono
}

// writer says which program wrote the record, and whether it could lie about
// it. A program's identifier is its own claim; unit and command are journald's.
func (c *record) writer() (Source, Trust) {
	named := programSource(c.ident)
	switch {
	case c.container != "":
		return Job, Claimed
	case c.transport == "kernel":
		if (c.facility == "" || c.facility == "0") && (c.ident == "" || c.ident == "kernel") {
			return Kernel, Attested
		}
		return deviceWriter(named), Claimed
	case c.transport == "driver":
		return Systemd, Attested
	case c.transport == "":
		if c.ident == "kernel" && !c.pid {
			return Kernel, Claimed
		}
		return c.firstSource(), Claimed
	}
	src := c.firstSource()
	if src == Unknown || !c.agrees(src) {
		return src, Claimed
	}
	return src, Attested
}

// deviceWriter is whose a record is that a process wrote to /dev/kmsg. systemd does
// before and after there is a journal; any other name there is whatever a
// privileged container chose.
func deviceWriter(named Source) Source {
	if named == Systemd {
		return named
	}
	return Job
}

// firstSource is the source by unit, then identifier, then command.
func (c *record) firstSource() Source {
	for _, name := range []string{c.unit, c.ident, c.comm} {
		if src := programSource(name); src != Unknown && !(src == Systemd && name == "init.scope" && c.ident != "systemd") {
			return src
		}
	}
	return Unknown
}

// agrees says whether nothing that journald knows contradicts the claim.
func (c *record) agrees(src Source) bool {
	unit, comm := programSource(c.unit), programSource(c.comm)
	if c.ident == "kernel" || c.unit != "" && unit != src && !related(unit, src) {
		return false
	}
	if c.ident != "" && programSource(c.ident) != src && !related(programSource(c.ident), src) {
		return false
	}
	if c.unit == "" && c.comm != "" && comm != src && !related(comm, src) {
		return false
	}
	if c.transport == "stdout" {
		return true
	}
	return c.uid == "" || c.uid == "0" || unit == src
}

// related: the kata shim writes through containerd's unit.
func related(a, b Source) bool {
	return a == Containerd && b == Kata || a == Kata && b == Containerd
}

// journal yields the record in r.rec.
func (r *reader) journal() {
	c := &r.rec
	d := draft{wraps: hosted}
	d.Line, d.Cut = r.n, r.in.cut
	d.Node, d.Boot, d.Cursor, d.Fields = c.host, c.boot, c.cursor, c.fields
	d.At, d.Mono = c.time()
	if !d.At.IsZero() {
		d.Clock = WallClock
		r.times.saw(d.At)
	} else if d.Mono > 0 {
		d.Clock = BootClock
	}
	d.Source, d.Trust = c.writer()
	if d.Unit = c.about; d.Unit == "" {
		if d.Unit = c.unit; d.Unit == "" && d.Source != Kernel {
			d.Unit = c.ident
		}
	}
	if c.ident == "kata" && d.Source == Containerd {
		d.Source = Kata
	}
	r.seen++
	text := clean(c.message.text())
	if c.container != "" {
		r.driverOutput(&d, text)
		return
	}
	if d.Source == Runner {
		text = r.inner(&d, text, running)
	}
	r.fromHost(&d, text)
}

// driverOutput is a container's line that docker or podman sent to journald:
// its unit is the engine's, its text anybody's.
func (r *reader) driverOutput(d *draft, text string) {
	id := brief(r.rec.container, 253)
	d.stream = r.stream(streamKey{id: id})
	d.Fields = nil
	r.fromStream(d, r.inner(d, text, running))
}

// inner peels what may follow inside a known envelope.
func (r *reader) inner(d *draft, s string, allowed wrap) string {
	for s != "" {
		env, inner := r.fit(d, s, allowed)
		if env == nil {
			break
		}
		d.wraps |= env.class
		s = inner
	}
	return s
}

// jsonLine reads a line that is one JSON object of a kind that wraps a log
// line. Any other JSON is the program's own text: false.
func (r *reader) jsonLine(b []byte) bool {
	o, ok := scanObject(b)
	if !ok {
		return false
	}
	c := &r.rec
	*c = record{}
	for i := 0; ; i++ {
		key, v, ok := o.next()
		if !ok {
			break
		}
		c.set(&r.names, key, v)
		if i == 3 && r.main != nil && c.log.kind == 0 {
			return false
		}
	}
	return r.jsonRecord(o.torn, b)
}

// jsonRecord decides what kind of line r.rec is.
func (r *reader) jsonRecord(torn bool, b []byte) bool {
	c := &r.rec
	switch {
	case c.log.kind == '"' && (c.stdstream || c.stamp.kind == '"'):
		r.dockerLine()
	case r.closed():
		return false
	case c.known >= 2 || c.known == 1 && c.message.kind != 0:
		r.journal()
	case c.line.kind == '"' && (c.labels.kind == '{' || c.stamp.kind != 0):
		r.lokiRecord()
	case c.audit:
		return r.bareAudit(b, torn)
	case torn && r.openPretty(b):
	default:
		return false
	}
	return true
}

// dockerLine: `{"log":"text\n","stream":"stdout","time":"…"}`, docker's json-file
// driver. A line that it split has no newline at its end.
func (r *reader) dockerLine() {
	c := &r.rec
	r.seen++
	d := draft{Entry: Entry{Line: r.n, Cut: r.in.cut}, stream: r.main, wraps: criLine}
	if d.stream == nil {
		d.stream = r.stream(streamKey{})
	}
	if st, ok := isoStamp(c.stamp.text()); ok {
		r.times.put(&d.Entry, st)
	}
	text := c.log.text()
	full := len(text) > 0 && text[len(text)-1] == '\n'
	if text = r.join(&d, 0, text, full); d.swallowed {
		return
	}
	text = clean(trimNewline(text))
	r.fromStream(&d, r.inner(&d, text, stamped|running))
}

func trimNewline(s string) string {
	for s != "" && (s[len(s)-1] == '\n' || s[len(s)-1] == '\r') {
		s = s[:len(s)-1]
	}
	return s
}
