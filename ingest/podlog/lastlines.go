package podlog

import (
	"coroner/ingest"
	"coroner/ingest/document"
)

const maxGrowth = 3 // an invalid byte becomes a rune of three bytes

// lastLine is one of a log's last records and where it begins: an entry, or a whole
// line that is made one when it is needed.
type lastLine struct {
	fileOffset
	entry *ingest.Entry // nil where only the line is kept
	size  int           // bytes of its text, at most

	text   []byte // the line, and what is known of its record:
	line   int
	source ingest.Source
	trust  ingest.Trust
}

// lastLines is a ring of the last records of a log that were not given as last lines
// yet. It is bounded in records and in bytes of text.
type lastLines struct {
	ring  []lastLine
	first int // index of the oldest
	n     int
	bytes int // of text, at most
}

// lineAt is the i-th; 0 is the oldest.
func (l *lastLines) lineAt(i int) *lastLine {
	if i += l.first; i >= len(l.ring) {
		i -= len(l.ring)
	}
	return &l.ring[i]
}

// makeSlot makes room for one more of so many bytes. It drops the oldest where there are
// more than limit.
func (l *lastLines) makeSlot(limit, size int) *lastLine {
	if l.ring == nil {
		l.ring = make([]lastLine, limit+1)
	}
	p := l.lineAt(l.n)
	p.size = size
	l.n++
	if l.bytes += size; l.n > limit {
		l.dropOldest()
	}
	return p
}

// dropOldest forgets the oldest.
func (l *lastLines) dropOldest() {
	old := l.lineAt(0)
	l.bytes -= old.size
	old.entry = nil
	if cap(old.text) > minLastLines { // most lines are shorter
		old.text = nil
	}
	l.n--
	if l.first++; l.first == len(l.ring) {
		l.first = 0
	}
}

// makeEntries makes entries of the lines, each with the identity that it had when it was
// read.
func (l *lastLines) makeEntries(doc, node string) {
	feed := document.Document{Name: doc}.Feed()
	for i := range l.n {
		x := l.lineAt(i)
		if x.entry != nil {
			continue
		}
		for _, e := range feed.Line(x.text, 0) { // it is exactly one
			e.Node, e.Line, e.Source, e.Trust = node, x.line, x.source, x.trust
			l.bytes += len(e.Text) - x.size
			x.entry, x.size = &e, len(e.Text)
		}
	}
}

// trimTo drops the oldest until the text is no more than limit. One is always kept.
func (l *lastLines) trimTo(limit int) {
	for l.bytes > limit && l.n > 1 {
		l.dropOldest()
	}
}
