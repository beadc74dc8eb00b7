package regex

import "strings"

// run is one search in a text.
type run struct {
	s    string
	at   []int // where groups begin and end
	left int   // the steps that it may still take
}

// find looks for the leftmost match; sure is false when that took too long.
func (n *node) find(s string, at []int) (found, sure bool) {
	for i := range at {
		at[i] = -1
	}
	r := run{s, at, 512 + 16*len(s)}
	for i := n.candidate(s, 0); i >= 0 && r.left >= 0; i = n.candidate(s, i+1) {
		at[0] = i
		if r.from(n, i) {
			return true, true
		}
		r.left--
	}
	return false, r.left >= 0
}

// candidate is the next place at or after i where a match can begin, -1 for none.
func (n *node) candidate(s string, i int) int {
	switch {
	case i > len(s), n.op == opBegin && i > 0:
		return -1
	case n.op == opText:
		if at := strings.Index(s[i:], n.text); at >= 0 {
			return i + at
		}
		return -1
	}
	for ; i <= len(s); i++ {
		if n.may(s, i) {
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
			size := r.span(n, i)
			if size < n.min {
				return false
			}
			if !n.sure && size > n.min {
				return r.lengths(n, i, size)
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

// span is how many characters from i on a node takes at most.
func (r *run) span(n *node, i int) int {
	text := r.s[i:]
	if n.max >= 0 && n.max < len(text) {
		text = text[:n.max]
	}
	size := n.set.span(text)
	r.left -= size / 8
	return size
}

// lengths tries to go on after every number of characters that a span may take.
func (r *run) lengths(n *node, i, most int) bool {
	from, to, step := i+most, i+n.min, -1
	if n.lazy {
		from, to, step = to, from, 1
	}
	for ; ; from += step {
		if n.next.may(r.s, from) && r.from(n.next, from) {
			return true
		}
		if from == to {
			return false
		}
		r.left--
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
