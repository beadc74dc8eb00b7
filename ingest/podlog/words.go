package podlog

import "coroner/ingest"

// word is one of the last words and where it begins: a record, or a line that
// becomes one only when somebody wants to have it.
type word struct {
	spot
	entry *ingest.Entry
	size  int // of its text, at most

	text   []byte // the line; for the record, what is known of it:
	line   int
	source ingest.Source
	trust  ingest.Trust
}

// word is a line of the stream that is alone: of its text it can be made valid,
// which an invalid byte makes longer.
func (s *stream) word(line []byte, number int) word {
	return word{spot: s.at.spot, size: validGrowth * len(line), line: number, source: s.id.Source, trust: s.id.Trust}
}

func wordOf(at spot, e ingest.Entry) word { return word{spot: at, entry: &e, size: len(e.Text)} }

// words are the last records of a stream: so many, and of their text not more
// than wordsBytes.
type words struct {
	ring []word
	head int // the oldest
	n    int
	kept int // bytes of text in them, at most
}

// at is the i-th, the oldest being 0.
func (w *words) at(i int) *word {
	if i += w.head; i >= len(w.ring) {
		i -= len(w.ring)
	}
	return &w.ring[i]
}

// push adds a word, with its line if it is not a record yet.
func (w *words) push(most int, x word, line []byte) {
	if w.ring == nil {
		w.ring = make([]word, most+1)
	}
	p := w.at(w.n)
	x.text = append(p.text[:0], line...)
	*p = x
	w.n++
	if w.kept += x.size; w.n > most {
		w.drop()
	}
}

func (w *words) drop() {
	old := w.at(0)
	w.kept -= old.size
	old.entry = nil
	w.n--
	if w.head++; w.head == len(w.ring) {
		w.head = 0
	}
}

// remember keeps a record as one of the last words.
func (r *Reader) remember(s *stream, x word, line []byte) {
	w := &s.words
	w.push(r.c.LastLines, x, line)
	if w.kept > wordsBytes {
		r.resolve(s)
	}
	for w.kept > wordsBytes && w.n > 1 {
		w.drop()
	}
}

// resolve makes records of the words that are lines. Whose text each of them is
// was known when it was read.
func (r *Reader) resolve(s *stream) {
	feed := ingest.Document{Name: s.doc}.Feed()
	w := &s.words
	for i := range w.n {
		x := w.at(i)
		if x.entry != nil {
			continue
		}
		for _, e := range feed.Line(x.text, 0) { // it is exactly one
			e.Node, e.Line, e.Source, e.Trust = r.c.Node, x.line, x.source, x.trust
			w.kept += len(e.Text) - x.size
			x.entry, x.size = &e, len(e.Text)
		}
	}
}
