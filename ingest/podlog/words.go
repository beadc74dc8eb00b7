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

	lent bool   // text and entry are the reader's, for as long as it takes one chunk
	room []byte // what text is kept in
}

// words are the last records of a stream: so many, and of their text not more
// than the stream's share.
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

// push makes room for one more word, of so many bytes, and drops the oldest where
// there are too many.
func (w *words) push(most, size int) *word {
	if w.ring == nil {
		w.ring = make([]word, most+1)
	}
	p := w.at(w.n)
	p.size, p.lent = size, true
	w.n++
	if w.kept += size; w.n > most {
		w.drop()
	}
	return p
}

func (w *words) drop() {
	old := w.at(0)
	w.kept -= old.size
	old.entry = nil
	if cap(old.room) > leastWords { // most lines are shorter
		old.room = nil
	}
	w.n--
	if w.head++; w.head == len(w.ring) {
		w.head = 0
	}
}

// own copies what was lent: of the many lines of a chunk only the last are kept.
func (w *words) own() {
	for i := range w.n {
		p := w.at(i)
		switch {
		case !p.lent:
		case p.entry != nil:
			e := *p.entry
			p.entry = &e
		default:
			p.room = append(p.room[:0], p.text...)
			p.text = p.room
		}
		p.lent = false
	}
}

// remember keeps a record as one of the last words.
func (r *Reader) remember(s *stream, at spot, e *ingest.Entry) {
	p := s.words.push(r.c.LastLines, len(e.Text))
	p.spot, p.entry, p.text = at, e, nil
	r.bound(s)
}

// rememberLine keeps a line of the stream that is alone. Of its text it can be made
// valid, which an invalid byte makes longer.
func (r *Reader) rememberLine(s *stream, at spot, line []byte, number int) {
	p := s.words.push(r.c.LastLines, validGrowth*len(line))
	p.spot, p.entry, p.text, p.line = at, nil, line, number
	p.source, p.trust = s.id.Source, s.id.Trust
	r.bound(s)
}

// bound drops words until their text is not too much.
func (r *Reader) bound(s *stream) {
	w, most := &s.words, r.share(wordsBytes, leastWords)
	if w.kept > most {
		r.resolve(s)
	}
	for w.kept > most && w.n > 1 {
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
			x.entry, x.size, x.lent = &e, len(e.Text), false
		}
	}
}
