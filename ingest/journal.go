package ingest

import "bytes"

// members are those of one JSON line: a journald record's, or those that another
// kind of line has.
type members struct {
	record
	log, line, labels, stamp value
	stdstream, audit         bool
}

// set takes one member.
func (c *members) set(n *names, key []byte, v value) {
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
	case "timestamp", "time", "tsNs":
		c.stamp = v
	default:
		c.record.set(n, key, v)
	}
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
	*c = members{}
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
