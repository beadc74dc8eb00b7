package document

import (
	"bytes"

	"coroner/ingest"
	"coroner/ingest/journald"
	"coroner/ingest/logtext"
)

// recordLines reads the formats that give a record its fields: JSON lines, export
// records and verbose ones.
type recordLines struct {
	r       *reader
	rec     members // the one that is being read
	names   journald.Names
	verbose bool    // in the fields of a record of journalctl -o verbose
	pretty  *pretty // JSON object that goes over several lines
}

// members are those of one JSON line: a journald record's, or those that another
// kind of line has.
type members struct {
	journald.Record
	log, line, labels, stamp logtext.Value
	stdstream, audit         bool
}

// set takes one member.
func (c *members) set(n *journald.Names, key []byte, v logtext.Value) {
	switch string(key) {
	case "log":
		c.log = v
	case "line":
		c.line = v
	case "labels", "fields", "stream":
		c.stdstream = c.stdstream || v.Kind == '"'
		if v.Kind == '{' {
			c.labels = v
		}
	case "apiVersion":
		c.audit = bytes.HasPrefix(v.Raw, []byte(logtext.AuditAPI))
	case "timestamp", "time", "tsNs":
		c.stamp = v
	default:
		c.Record.Set(n, key, v)
	}
}

// journal yields the record in r.records.rec.
func (f *recordLines) journal() {
	c := &f.rec
	d := draft{wraps: hosted}
	d.Line, d.Cut = f.r.n, f.r.in.Cut
	d.Node, d.Boot, d.Cursor, d.Fields = c.Host, c.Boot, c.Cursor, c.Fields
	d.At, d.Mono = c.Time()
	if !d.At.IsZero() {
		d.Clock = ingest.WallClock
		f.r.account.clock.Saw(d.At)
	} else if d.Mono > 0 {
		d.Clock = ingest.BootClock
	}
	d.Source, d.Trust = c.Writer()
	if d.Unit = c.About; d.Unit == "" {
		if d.Unit = c.Unit; d.Unit == "" && d.Source != ingest.Kernel {
			d.Unit = c.Ident
		}
	}
	if c.Ident == "kata" && d.Source == ingest.Containerd {
		d.Source = ingest.Kata
	}
	f.r.account.lines++
	text := logtext.Cleaned(c.Message.Text())
	if c.Container != "" {
		f.driverOutput(&d, text)
		return
	}
	if d.Source == ingest.Runner {
		text = f.r.peelInner(&d, text, running)
	}
	f.r.hosts.emit(&d, text)
}

// driverOutput is a container's line that docker or podman sent to journald:
// its unit is the engine's, its text anybody's.
func (f *recordLines) driverOutput(d *draft, text string) {
	id := logtext.Brief(f.rec.Container, 253)
	d.stream = f.r.containers.of(ingest.Container{ID: id})
	d.Fields = nil
	f.r.containers.emit(d, f.r.peelInner(d, text, running))
}

// jsonLine reads a line that is one JSON object of a kind that wraps a log
// line. Any other JSON is the program's own text: false.
func (f *recordLines) jsonLine(b []byte) bool {
	o, ok := logtext.ScanObject(b)
	if !ok {
		return false
	}
	return f.object(&o) && f.jsonRecord(o.Torn, b)
}

// object begins a record with the members of o. It is false where o cannot be a
// line of the container whose output the document is.
func (f *recordLines) object(o *logtext.Object) bool {
	f.rec = members{}
	for i := 0; ; i++ {
		key, v, ok := o.Next()
		if !ok {
			return true
		}
		f.rec.set(&f.names, key, v)
		if i == 3 && f.r.containers.main != nil && f.rec.log.Kind == 0 {
			return false
		}
	}
}

// begin begins a record whose fields come one by one.
func (f *recordLines) begin() { f.rec = members{} }

// field adds one, in memory that nobody writes to again.
func (f *recordLines) field(key, val []byte) { f.rec.set(&f.names, key, logtext.Raw(val)) }

// jsonRecord decides what kind of line r.records.rec is.
func (f *recordLines) jsonRecord(torn bool, b []byte) bool {
	c := &f.rec
	switch {
	case c.log.Kind == '"' && (c.stdstream || c.stamp.Kind == '"'):
		f.dockerLine()
	case f.r.closed():
		return false
	case c.Known >= 2 || c.Known == 1 && c.Message.Kind != 0:
		f.journal()
	case c.line.Kind == '"' && (c.labels.Kind == '{' || c.stamp.Kind != 0):
		f.r.loki.record()
	case c.audit:
		return f.bareAudit(b, torn)
	case torn && f.openPretty(b):
	default:
		return false
	}
	return true
}
