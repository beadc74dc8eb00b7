package journal

// maxIDs is how many numberings are remembered. A journal has one for all of
// its files, or one for the system and each user that logs in; an unclean end
// of journald begins a new one.
const maxIDs = 64

// numbering checks that no record is missing between two that were read. Each
// file's numbers belong to a numbering, but all files of one journald take
// their numbers from one counter: a number follows if it is the next one of its
// own numbering, or the next one after the record before in the same boot.
type numbering struct {
	last position            // the record read last
	ids  map[string]position // the last record of each numbering
}

// step is how a record's number relates to what was read before.
type step int

const (
	follows  step = iota
	repeated      // this very record was read before
	copied        // the record before, stored once more under the next number (systemd#29016)
	jumps         // records between the last one and this are missing
)

// judgeNext says how p relates to what was taken before.
func (n *numbering) judgeNext(p position) step {
	prev, known := n.ids[p.id]
	inBoot := p.boot == n.last.boot
	switch {
	case n.last.cursor == "":
		return follows
	case known && p.number <= prev.number && !p.storedAfter(prev):
		return repeated
	case known && p.number <= prev.number:
		return follows // the numbering began anew
	case inBoot && p.number == n.last.number+1 && p.sameContent(n.last):
		return copied
	case known && p.number == prev.number+1, inBoot && p.number == n.last.number+1:
		return follows
	case known, inBoot && p.number > n.last.number:
		return jumps
	}
	return follows // a numbering of its own, of which nothing is known yet
}

// noteRead notes that p was read.
func (n *numbering) noteRead(p position) {
	if n.ids == nil {
		n.ids = make(map[string]position)
	}
	if _, known := n.ids[p.id]; !known && len(n.ids) >= maxIDs {
		n.forgetOldest()
	}
	n.ids[p.id], n.last = p, p
}

// forgetOldest drops the numbering that was silent for longest.
func (n *numbering) forgetOldest() {
	oldest := ""
	for id, p := range n.ids {
		if oldest == "" || p.real < n.ids[oldest].real {
			oldest = id
		}
	}
	delete(n.ids, oldest)
}
