package document

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// jsonLine reads a line that is one JSON object of a kind that wraps a log
// line. Any other JSON is the program's own text: false.
func (f *recordLines) jsonLine(b []byte) bool {
	o, ok := logtext.ScanObject(b)
	if !ok {
		return false
	}
	return f.readObject(&o) && f.jsonRecord(o.Torn, b)
}

// jsonRecord decides what kind of line r.records.rec is.
func (f *recordLines) jsonRecord(torn bool, b []byte) bool {
	c := &f.rec
	switch {
	case c.log.Kind == '"' && (c.stdstream || c.stamp.Kind == '"'):
		f.dockerLine()
	case f.r.isClosed():
		return false
	case c.Known >= 2 || c.Known == 1 && c.Message.Kind != 0:
		f.yieldRecord()
	case c.line.Kind == '"' && (c.labels.Kind == '{' || c.stamp.Kind != 0):
		f.r.loki.yieldRecord()
	case c.audit:
		return f.bareAudit(b, torn)
	case !(torn && f.openPretty(b)):
		f.yieldCarried()
		return f.wrappedLine()
	}
	return true
}

// wrappedLine reads a line of a known program's form that a shipper put into an object.
func (f *recordLines) wrappedLine() bool {
	v := f.rec.text
	if v.Kind != '"' {
		v = f.rec.log
	}
	if image := f.rec.image; image.Kind == '"' && v.Kind == '"' {
		return f.r.readLine([]byte(logtext.UnifiedRecord(f.rec.stamp.Text(), image.Text(), v.Text()))) == nil
	}
	text := logtext.Cleaned(logtext.TrimNewline(v.Text()))
	if src, _ := logtext.ProgramOf(text); v.Kind != '"' || src == ingest.Unknown {
		return false
	}
	f.r.account.lines++
	d := draft{Entry: ingest.Entry{Line: f.r.n, Cut: f.r.in.Cut}, wraps: shipped, unidentified: true}
	f.r.attribute(&d, text, text)
	return true
}

// yieldCarried yields a runner's last lines, which a controller kept in its own record.
// They are the runner's claims, whoever keeps them.
func (f *recordLines) yieldCarried() {
	c := ingest.Container{Namespace: logtext.Brief(f.rec.namespace.Text(), 253),
		Pod: logtext.Brief(f.rec.pod.Text(), 253), Name: "runner"}
	if f.rec.carried.Kind != '"' || c.Pod == "" {
		return
	}
	s := f.r.containers.streamOf(c)
	s.source, s.trust, s.listens = ingest.Runner, ingest.Claimed, false
	for line := range strings.Lines(f.rec.carried.Text()) {
		d := draft{Entry: ingest.Entry{Line: f.r.n}, stream: s, wraps: shipped}
		line = logtext.Cleaned(logtext.TrimNewline(line))
		if text := f.r.unwrapLine(&d, line, stamped|running, maxDepth); text != "" {
			f.r.containers.yieldLine(&d, text)
		}
	}
}
