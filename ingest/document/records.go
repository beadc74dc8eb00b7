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

// takeLine takes a line that is a record or a part of one.
func (f *recordLines) takeLine(b []byte) (taken bool, err error) {
	if f.verboseLine(b) {
		return true, nil
	}
	if isExportStart(b) && !f.r.account.fed && !f.r.isClosed() {
		return true, f.exportRecord(b)
	}
	if f.prettyLine(b) {
		return true, nil
	}
	i := logtext.SkipSpace(b, 0)
	f.r.hosts.begin(i)
	return i < len(b) && b[i] == '{' && !f.r.hosts.within && f.jsonLine(b), nil
}

// members are those of one JSON line: a journald record's, or those that another
// kind of line has.
type members struct {
	journald.Record
	log, line, labels, stamp      logtext.Value
	text, carried, pod, namespace logtext.Value // a shipper's line; a runner's last ones, and whose they are
	image                         logtext.Value // of a Mac's log, the program
	stdstream, audit              bool
}

// setMember takes one member.
func (c *members) setMember(n *journald.Names, key []byte, v logtext.Value) {
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
	case "processImagePath":
		c.image = v
	case "message", "textPayload", "_raw", "eventMessage":
		c.text = v
	case "jsonPayload":
		c.text = v.Member("message", "MESSAGE")
	case "deathLog":
		c.carried = v
	case "pod":
		c.pod = v
	case "namespace":
		c.namespace = v
	default:
		c.Record.Set(n, key, v)
	}
}

// readObject begins a record with the members of o. It is false where o cannot be a
// line of the container whose output the document is.
func (f *recordLines) readObject(o *logtext.Object) bool {
	f.rec = members{}
	for i := 0; ; i++ {
		key, v, ok := o.Next()
		if !ok {
			return true
		}
		f.rec.setMember(&f.names, key, v)
		if i == 3 && f.r.containers.main != nil && f.rec.log.Kind == 0 {
			return false
		}
	}
}

// beginRecord begins a record whose fields come one by one.
func (f *recordLines) beginRecord() { f.rec = members{} }

// addField adds one, in memory that nobody writes to again.
func (f *recordLines) addField(key, val []byte) { f.rec.setMember(&f.names, key, logtext.Raw(val)) }

// yieldRecord yields the record in r.records.rec.
func (f *recordLines) yieldRecord() {
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
	f.r.hosts.yieldLine(&d, text)
}

// driverOutput is a container's line that docker or podman sent to journald:
// its unit is the engine's, its text anybody's.
func (f *recordLines) driverOutput(d *draft, text string) {
	id := logtext.Brief(f.rec.Container, 253)
	d.stream = f.r.containers.streamOf(ingest.Container{ID: id})
	d.Fields = nil
	f.r.containers.yieldLine(d, f.r.peelInner(d, text, running))
}
