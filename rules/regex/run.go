package regex

import (
	"strings"
	"unicode/utf8"
)

// run is one search in a text.
type run struct {
	s    string
	at   []int // where groups begin and end
	left int   // the steps that it may still take
	wide bool  // there are characters of several bytes
}

// find looks for the leftmost match in so many steps; left is what it did not
// use of them, below 0 when they were not enough.
func (n *node) find(s string, at []int, steps int, wide bool) (found bool, left int) {
	for i := range at {
		at[i] = -1
	}
	r := run{s, at, steps, wide}
	for i := r.candidate(n, 0); i >= 0 && r.left >= 0; i = r.candidate(n, i+1) {
		at[0] = i
		if r.from(n, i) {
			return true, r.left
		}
		r.left--
	}
	return false, r.left
}

// candidate is the next place at or after i where a match can begin, -1 for none.
func (r *run) candidate(n *node, i int) int {
	switch {
	case i > len(r.s), n.op == opBegin && i > 0:
		return -1
	case n.op == opText:
		at := strings.Index(r.s[i:], n.text)
		if at < 0 {
			return -1
		}
		r.left -= at / lookBytes
		return i + at
	}
	for from := i; i <= len(r.s); i++ {
		if n.may(r.s, i) && (!r.wide || i == len(r.s) || utf8.RuneStart(r.s[i])) {
			r.left -= i - from
			return i
		}
	}
	return -1
}

// from says whether the expression from n on matches at i.
func (r *run) from(n *node, i int) bool {
	for ; ; n = n.next {
		if r.left--; r.left < 0 {
			return false
		}
		switch n.op {
		case opText:
			if !strings.HasPrefix(r.s[i:], n.text) {
				return false
			}
			i += len(n.text)
		case opSpan:
			size, least := r.span(n, i)
			if size < least {
				return false
			}
			if !n.sure && size > least {
				return r.lengths(n, i+least, i+size)
			}
			i += size
		case opSave:
			if !n.sure {
				return r.save(n, i)
			}
			r.at[n.slot] = i
		case opWays:
			return r.ways(n, i)
		case opMatch:
			r.at[n.slot] = i
			return true
		default:
			if !holds(n.op, r.s, i) {
				return false
			}
		}
	}
}

// span is how many bytes from i on a node takes at most, and at least: it takes
// nothing when that is more.
func (r *run) span(n *node, i int) (size, least int) {
	text := r.s[i:]
	if n.max >= 0 && n.max < len(text) {
		text = text[:min(r.size(text, n.max), len(text))]
	}
	size = n.set.span(text)
	r.left -= size / 2
	return size, r.size(text, n.min)
}

// size is how many bytes the first characters of a text are; more than it has
// when it has fewer characters.
func (r *run) size(text string, characters int) (n int) {
	if !r.wide {
		return characters
	}
	for range characters {
		_, one := utf8.DecodeRuneInString(text[min(n, len(text)):])
		n += max(one, 1)
	}
	r.left -= characters
	return n
}

// lengths tries to go on after everything that a span may take, which ends
// between first and last.
func (r *run) lengths(n *node, first, last int) bool {
	from, to, step := last, first, -1
	if n.lazy {
		from, to, step = to, from, 1
	}
	for ; ; from += step {
		if n.next.may(r.s, from) && (!r.wide || from == len(r.s) || utf8.RuneStart(r.s[from])) && r.from(n.next, from) {
			return true
		}
		if r.left--; from == to || r.left < 0 {
			return false
		}
	}
}

// save notes a group's border, and the former one again when that led nowhere.
func (r *run) save(n *node, i int) bool {
	was := r.at[n.slot]
	r.at[n.slot] = i
	if r.from(n.next, i) {
		return true
	}
	r.at[n.slot] = was
	return false
}

func (r *run) ways(n *node, i int) bool {
	for _, w := range n.ways {
		if w.may(r.s, i) && r.from(w, i) {
			return true
		}
	}
	return false
}

// holds says whether there is such a border before s[i].
func holds(o op, s string, i int) bool {
	switch o {
	case opBegin:
		return i == 0
	case opEnd:
		return i == len(s)
	case opLine:
		return i == 0 || s[i-1] == '\n'
	case opLineEnd:
		return i == len(s) || s[i] == '\n'
	}
	border := (i > 0 && word(s[i-1])) != (i < len(s) && word(s[i]))
	return border == (o == opWord)
}

func word(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_'
}
