// Package redact finds secrets in one line of text and puts `[redacted:KIND]`
// in their place.
//
// Invariant: only what a pattern calls the secret is replaced, every other byte
// stays; a line is looked at by itself, so that no line can hide another one;
// replacing twice is replacing once. The time grows with the length of the line
// and not with what stands in it.
//
// Crash behaviour: none. Once it has its patterns a Redactor does not change, is safe
// for concurrent use, and touches nothing outside of the text that it is given.
package redact

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unsafe"
)

// Redactor knows a set of patterns. It looks at the three bytes at every second
// byte of a text: every word has three bytes there, wherever it stands.
type Redactor struct {
	patterns []*pattern
	known    [1 << hashBits / 64]uint64 // bits of the grams that a word has, by their hash
	words    map[uint32][]word          // by gram
}

// word is a text without which its pattern matches nothing, and where in it a gram
// stands.
type word struct {
	text    string
	gramAt  int
	pattern int
	ends    int // where the pattern's own word ends: one of three bytes is filed with the byte that follows
}

const (
	gramSize    = 3
	stride      = 2
	shortest    = gramSize + stride - 1         // a word is not shorter
	hashBits    = 16                            // so many that hardly a gram is taken for another one
	hashFactor  = 0x9E3779B1 << 8 & (1<<32 - 1) // drops what follows the gram
	gramMask    = 1<<(8*gramSize) - 1
	gramsAtOnce = 3 // that eight bytes hold
)

// New returns a Redactor that knows no pattern yet.
func New() *Redactor { return &Redactor{words: map[uint32][]word{}} }

// Add adds a pattern, before the first text is looked at. The error is an *Error.
func (r *Redactor) Add(p Pattern) error {
	c, err := p.compileForms()
	if err != nil {
		return err
	}
	for _, w := range c.wordsToFind() {
		for _, text := range c.filedWord(w) {
			r.fileWord(word{text: text, pattern: len(r.patterns), ends: len(w)}, c.foldsCase())
		}
	}
	r.patterns = append(r.patterns, c)
	return nil
}

// fileWord files a pattern's word under every gram that can be met in it.
func (r *Redactor) fileWord(w word, fold bool) {
	for w.gramAt = range stride {
		for _, g := range spellings(w.text[w.gramAt:w.gramAt+gramSize], fold) {
			h := hashOf(g)
			r.known[h/64] |= 1 << (h % 64)
			r.words[g] = append(r.words[g], w)
		}
	}
}

// spellings lists the grams of a text, in every mix of cases where case does not count.
func spellings(text string, fold bool) []uint32 {
	all := []uint32{0}
	for i := range gramSize {
		cases := []byte{text[i]}
		if fold && isLetter(text[i]) {
			cases = append(cases, text[i]^0x20)
		}
		var longer []uint32
		for _, g := range all {
			for _, c := range cases {
				longer = append(longer, g|uint32(c)<<(8*i))
			}
		}
		all = longer
	}
	return all
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// hashOf is that of the gram that a word of memory begins with.
func hashOf(word uint32) uint32 { return word * hashFactor >> (32 - hashBits) }

func (r *Redactor) knowsGram(word uint32) bool {
	h := hashOf(word)
	return r.known[h/64]>>(h%64)&1 != 0
}

// Span is a secret in a text.
type Span struct {
	From, To int
	Kind     string
	Sure     bool // its own form tells, not the words beside it
}

// Find returns the secrets of a text in the order in which they begin. They may
// overlap. A text in which no word of a pattern stands costs no allocation.
func (r *Redactor) Find(text string) []Span {
	s := search{text: text}
	b := unsafe.Slice(unsafe.StringData(text), len(text)) // only read
	i := 0
	for ; i+8 <= len(b); i += gramsAtOnce * stride {
		w := binary.LittleEndian.Uint64(b[i:])
		if r.knowsGram(uint32(w)) || r.knowsGram(uint32(w>>16)) || r.knowsGram(uint32(w>>32)) {
			for k := range gramsAtOnce {
				r.tryGram(&s, uint32(w>>(16*k)), i+stride*k)
			}
		}
	}
	for ; i+gramSize <= len(b); i += stride {
		r.tryGram(&s, uint32(b[i])|uint32(b[i+1])<<8|uint32(b[i+2])<<16, i)
	}
	s.keyLines()
	s.randomWords()
	slices.SortFunc(s.found, func(a, b Span) int { return cmp.Or(a.From-b.From, b.To-a.To) })
	return s.found
}

// search is one look through a text.
type search struct {
	text  string
	found []Span
	tried []trial // of each pattern; nil before the first one was tried
}

// trial is how far a pattern got.
type trial struct {
	done  int // up to here the text needs no look
	times int // it was tried for nothing
}

// maxTries bounds what a text of nothing but beginnings costs. A line that people
// and programs write has a few.
const maxTries = 200

// tryGram tries the words that have the gram at i where it stands.
func (r *Redactor) tryGram(s *search, gram uint32, i int) {
	if !r.knowsGram(gram) {
		return
	}
	for _, w := range r.words[gram&gramMask] {
		if begin := i - w.gramAt; begin >= 0 && beginsWith(s.text[begin:], w.text, r.patterns[w.pattern].foldsCase()) {
			r.tryWord(s, w, begin)
		}
	}
}

// tryWord looks for a secret whose word begins there.
func (r *Redactor) tryWord(s *search, w word, begin int) {
	if s.tried == nil {
		s.tried = make([]trial, len(r.patterns))
	}
	p, t := r.patterns[w.pattern], &s.tried[w.pattern]
	if begin < t.done || t.times >= maxTries {
		return
	}
	found, next, ok := p.findSecret(s.text, begin, begin+w.ends)
	switch t.done = next; {
	case ok:
		found.Kind = p.Kind
		s.found = append(s.found, found)
	case next > begin+1: // it was more than a glance
		t.times++
	}
}

// beginsWith says whether s begins with the word.
func beginsWith(s, word string, fold bool) bool {
	if len(s) < len(word) {
		return false
	}
	return s[:len(word)] == word || fold && strings.EqualFold(s[:len(word)], word)
}

// Mark is what stands in the place of a secret.
func Mark(kind string) string { return MarkBegins + kind + "]" }

// MarkBegins is how every mark begins.
const MarkBegins = "[redacted:"

// Replace puts the mark of its kind in the place of every secret. Where secrets
// overlap they become one, of the kind that is sure, else of the first one's.
func Replace(text string, secrets []Span) string {
	var b strings.Builder
	at := 0
	for i := 0; i < len(secrets); {
		one := secrets[i]
		for i++; i < len(secrets) && secrets[i].From < one.To; i++ {
			if next := secrets[i]; next.Sure && !one.Sure {
				one.Kind, one.Sure = next.Kind, true
			}
			one.To = max(one.To, secrets[i].To)
		}
		b.WriteString(text[at:one.From])
		b.WriteString(Mark(one.Kind))
		at = one.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// Text is text without those of its secrets that are wanted, and says whether
// there were any. Nil wants all.
func (r *Redactor) Text(text string, wanted func(Span) bool) (clean string, changed bool) {
	for range rounds {
		found := r.Find(text)
		if wanted != nil {
			found = slices.DeleteFunc(found, func(s Span) bool { return !wanted(s) })
		}
		if len(found) == 0 {
			break
		}
		text, changed = Replace(text, found), true
	}
	return text, changed
}

// rounds is how often a text is looked through at most: where one secret was,
// another can end.
const rounds = 8
