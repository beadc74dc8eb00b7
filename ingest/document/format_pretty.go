package document

import (
	"bytes"

	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// pretty is a JSON object of a known kind that goes over several lines:
// journalctl -o json-pretty, Grafana's JSON download, a record that somebody
// broke up to read it. The lines are kept as they were, should it be another.
type pretty struct {
	buf   []byte
	first int // number of its first line
	rows  int
	tries int // lines that could have been its last
}

// openPretty starts collecting if b can be the first line of such an object.
func (f *recordLines) openPretty(b []byte) bool {
	if f.pretty != nil || f.r.in.Cut > 0 {
		return false
	}
	if inner := bytes.TrimSpace(b)[1:]; len(inner) > 0 && !prettyKey(inner) {
		return false
	}
	f.pretty = &pretty{first: f.r.n, rows: 1, buf: append(bytes.Clone(b), '\n')}
	return true
}

// prettyKey says whether a line starts with a member of such an object.
func prettyKey(b []byte) bool {
	b = bytes.TrimSpace(b)
	if len(b) < 4 || b[0] != '"' {
		return false
	}
	key, rest, ok := bytes.Cut(b[1:], []byte("\""))
	if !ok || len(key) == 0 || !bytes.HasPrefix(bytes.TrimLeft(rest, " "), []byte(":")) {
		return false
	}
	switch string(key) {
	case "line", "timestamp", "date", "fields", "labels", "tsNs":
		return true
	}
	return isFieldName(key) || bytes.HasPrefix(key, []byte("kata_"))
}

// prettyLine takes the next line of an open object. An object that turns out
// to be none is read again as text.
func (f *recordLines) prettyLine(b []byte) bool {
	p := f.pretty
	if p == nil {
		return false
	}
	if p.rows == 1 && len(bytes.TrimSpace(p.buf)) == 1 && !prettyKey(b) {
		f.endPretty()
		return false
	}
	p.buf = append(append(p.buf, b...), '\n')
	p.rows++
	if line := bytes.TrimRight(bytes.TrimSpace(b), ","); bytes.HasSuffix(line, []byte("}")) && f.closePretty() {
		return true
	}
	if p.rows > 4096 || p.tries > 64 || len(p.buf) > prefilter.MaxLine || len(bytes.TrimSpace(b)) == 0 {
		f.endPretty()
	}
	return true
}

// closePretty reads the object if it is whole.
func (f *recordLines) closePretty() bool {
	p := f.pretty
	p.tries++
	o, _ := logtext.ScanObject(p.buf)
	f.readObject(&o)
	if o.Torn {
		return false
	}
	f.pretty = nil
	last := f.r.n
	f.r.n = p.first
	if !f.jsonRecord(false, p.buf) {
		f.readAsText(p)
	}
	f.r.n = last
	return true
}

// endPretty reads what was collected as the lines that it was.
func (f *recordLines) endPretty() {
	p := f.pretty
	if p == nil {
		return
	}
	f.pretty = nil
	last := f.r.n
	f.readAsText(p)
	f.r.n = last
}

func (f *recordLines) readAsText(p *pretty) {
	f.r.n = p.first
	for line := range bytes.Lines(p.buf) {
		f.r.textLine(string(prefilter.TrimEOL(line)))
		f.r.n++
	}
}
