package rules

import (
	"math/bits"
	"sort"
)

// scanner finds which signals' literals occur in a text, all in one pass: an
// Aho-Corasick automaton over compressed byte classes, built once.
type scanner struct {
	class   [256]uint8
	classes int
	next    []int32   // state*classes + class -> state
	out     [][]int32 // state -> signals whose literal ends here
}

// hitSet is a small set of signal numbers.
type hitSet struct{ words [16]uint64 }

func (h *hitSet) add(i int32) { h.words[(i>>6)&15] |= 1 << (i & 63) }

func (h *hitSet) sorted() []int {
	var out []int
	for w, word := range h.words {
		for ; word != 0; word &= word - 1 {
			out = append(out, w<<6+bits.TrailingZeros64(word))
		}
	}
	return out
}

// maxSignals is how many signals a rulebook can have.
const maxSignals = len(hitSet{}.words) * 64

// find adds the signals with a literal in text and says whether there are any.
func (s *scanner) find(text string, hits *hitSet) bool {
	state, any := int32(0), false
	for i := 0; i < len(text); i++ {
		state = s.next[int(state)*s.classes+int(s.class[text[i]])]
		if o := s.out[state]; o != nil {
			any = true
			for _, id := range o {
				hits.add(id)
			}
		}
	}
	return any
}

func newScanner(defs []*SignalDef) *scanner {
	s := &scanner{}
	s.classify(defs)
	s.grow(defs)
	s.link()
	return s
}

// classify gives each byte that occurs in a literal a class of its own and
// all others class 0.
func (s *scanner) classify(defs []*SignalDef) {
	used := map[byte]bool{}
	for _, d := range defs {
		for _, l := range d.literals {
			for i := 0; i < len(l); i++ {
				used[l[i]] = true
			}
		}
	}
	var order []int
	for b := range used {
		order = append(order, int(b))
	}
	sort.Ints(order)
	for i, b := range order {
		s.class[b] = uint8(i + 1)
	}
	s.classes = len(order) + 1
}

func (s *scanner) state() int32 {
	id := int32(len(s.out))
	s.out = append(s.out, nil)
	for i := 0; i < s.classes; i++ {
		s.next = append(s.next, -1)
	}
	return id
}

// grow builds the trie of all literals.
func (s *scanner) grow(defs []*SignalDef) {
	s.state()
	for i, d := range defs {
		for _, l := range d.literals {
			at := int32(0)
			for j := 0; j < len(l); j++ {
				slot := int(at)*s.classes + int(s.class[l[j]])
				if s.next[slot] < 0 {
					id := s.state()
					s.next[slot] = id
				}
				at = s.next[slot]
			}
			s.out[at] = append(s.out[at], int32(i))
		}
	}
}

// link turns the trie into an automaton: a missing edge goes where the longest
// suffix that is still a prefix would have gone.
func (s *scanner) link() {
	fail := make([]int32, len(s.out))
	var queue []int32
	for c := 0; c < s.classes; c++ {
		if to := s.next[c]; to < 0 {
			s.next[c] = 0
		} else {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		s.out[at] = append(s.out[at], s.out[fail[at]]...)
		for c := 0; c < s.classes; c++ {
			slot := int(at)*s.classes + c
			onFail := s.next[int(fail[at])*s.classes+c]
			if to := s.next[slot]; to < 0 {
				s.next[slot] = onFail
			} else {
				fail[to] = onFail
				queue = append(queue, to)
			}
		}
	}
}
