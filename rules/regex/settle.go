package regex

// settle works out for a node and all after it where a second try is of no use:
// characters of a set end where they end if what follows begins with no such
// character.
func (n *node) settle() {
	if n == nil || n.settled {
		return
	}
	n.settled = true
	n.begin()
	for _, w := range n.ways {
		w.settle()
	}
	n.next.settle()
	if n.op == opSpan {
		n.sure = !n.next.bare && !n.set.meets(n.next.first)
	}
}

// begin works out what the node, and those after it, can begin with. A repeated
// body takes at least one character, so this ends.
func (n *node) begin() (set, bool) {
	if n.begun {
		return n.first, n.bare
	}
	switch n.op {
	case opText:
		n.first.add(n.text[0])
	case opMatch:
		n.bare = true
	case opWays:
		for _, w := range n.ways {
			n.mayBegin(w.begin())
		}
	case opSpan:
		n.first = n.set
		if n.min == 0 {
			n.mayBegin(n.next.begin())
		}
	default:
		n.mayBegin(n.next.begin())
	}
	n.begun = true
	return n.first, n.bare
}

func (n *node) mayBegin(first set, bare bool) {
	n.first, n.bare = n.first.or(first), n.bare || bare
}

// may says whether the node can match at i; false is certain.
func (n *node) may(s string, i int) bool {
	return n.bare || i < len(s) && n.first.has(s[i])
}
