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
func (r *reader) openPretty(b []byte) bool {
	if r.pretty != nil || r.in.Cut > 0 {
		return false
	}
	if inner := bytes.TrimSpace(b)[1:]; len(inner) > 0 && !prettyKey(inner) {
		return false
	}
	r.pretty = &pretty{first: r.n, rows: 1, buf: append(bytes.Clone(b), '\n')}
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
func (r *reader) prettyLine(b []byte) bool {
	p := r.pretty
	if p == nil {
		return false
	}
	if p.rows == 1 && len(bytes.TrimSpace(p.buf)) == 1 && !prettyKey(b) {
		r.endPretty()
		return false
	}
	p.buf = append(append(p.buf, b...), '\n')
	p.rows++
	if line := bytes.TrimRight(bytes.TrimSpace(b), ","); bytes.HasSuffix(line, []byte("}")) && r.closePretty() {
		return true
	}
	if p.rows > 4096 || p.tries > 64 || len(p.buf) > prefilter.MaxLine || len(bytes.TrimSpace(b)) == 0 {
		r.endPretty()
	}
	return true
}

// closePretty reads the object if it is whole.
func (r *reader) closePretty() bool {
	p := r.pretty
	p.tries++
	o, _ := logtext.ScanObject(p.buf)
	r.rec = members{}
	for {
		key, v, ok := o.Next()
		if !ok {
			break
		}
		r.rec.set(&r.names, key, v)
	}
	if o.Torn {
		return false
	}
	r.pretty = nil
	last := r.n
	r.n = p.first
	if !r.jsonRecord(false, p.buf) {
		r.replay(p)
	}
	r.n = last
	return true
}

// endPretty reads what was collected as the lines that it was.
func (r *reader) endPretty() {
	p := r.pretty
	if p == nil {
		return
	}
	r.pretty = nil
	last := r.n
	r.replay(p)
	r.n = last
}

func (r *reader) replay(p *pretty) {
	r.n = p.first
	for line := range bytes.Lines(p.buf) {
		r.textLine(string(prefilter.TrimEOL(line)))
		r.n++
	}
}
