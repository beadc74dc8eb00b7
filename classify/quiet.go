package classify

import (
	"bytes"
	"cmp"
	"hash/maphash"
	"iter"
	"slices"

	"coroner/classify/nearby"
	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/signal"

	"github.com/klauspost/compress/zstd"
)

// Most pods that a log speaks of live on: of a million starts nobody wants to see
// one. quietLines keeps such lines small, and gives back those of the pods that
// something else was read of, see rules.SignalDef.Quiet.
type quietLines struct {
	book *rules.Rulebook

	packed [][]byte // whole blocks
	ends   []int    // of each block: the number of lines up to its end
	open   []byte   // the block that is being filled
	room   []byte   // where a block is compressed

	lines  []quietLine
	names  []nameOf // of all lines
	places []place  // where lines were read
	known  map[place]uint32
}

// quietLine is what has to be known of a line to leave it packed.
type quietLine struct {
	at    int64 // nanoseconds since 1970, undated for none
	place uint32
}

const undated = -1 << 63

// place is where lines were read.
type place struct {
	cluster, node, doc string

	anywhere bool // they speak of pods on other nodes
}

// nameOf says that a line, or a signal beside them, has a name.
type nameOf struct {
	hash uint64
	item uint32
}

// blockSize is how many bytes of lines are compressed at once.
const blockSize = 256 << 10

// seed makes hashes of names that can be compared within this process. Names that
// share one by chance are looked at together, no more.
var seed = maphash.MakeSeed()

func newQuietLines(book *rules.Rulebook) *quietLines {
	return &quietLines{book: book, known: map[place]uint32{}}
}

// canWait says whether a signal is one that can wait: nothing but a start or the
// like, told by the node or the API of pods that it names.
func (q *quietLines) canWait(s *signal.Signal, n *names) bool {
	return s.Def.Quiet() && s.Def.Reach == signal.ReachPod && !s.Masked && !s.Unsigned && !s.Source.Forgeable() &&
		!n.several &&
		n.pid == "" &&
		n.howStrong() > 0
}

// addLine keeps a line.
func (q *quietLines) addLine(s *signal.Signal, n *names) {
	item := uint32(len(q.lines))
	for hash := range n.eachHash() {
		q.names = append(q.names, nameOf{hash, item})
	}
	q.lines = append(q.lines, quietLine{signalNanos(s), q.placeOf(s)})
	if q.open = s.AppendTo(q.open); len(q.open) >= blockSize {
		q.packBlock()
	}
}

func (q *quietLines) placeOf(s *signal.Signal) uint32 {
	elsewhere := s.Def.Fills["node"] != "" || s.Source == ingest.Controller || s.Source == ingest.Listener
	return q.placeNumber(place{s.Cluster, s.Node, s.Doc, elsewhere})
}

// placeNumber is where a place stands in places.
func (q *quietLines) placeNumber(p place) uint32 {
	n, ok := q.known[p]
	if !ok {
		n = uint32(len(q.places))
		q.places, q.known[p] = append(q.places, p), n
	}
	return n
}

// packer compresses whole blocks; it is safe for concurrent use.
var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))

// unpacker is its other way.
var unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))

// eachHash are the hashes of the names that tie a line to others.
func (n *names) eachHash() iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for _, name := range append([]string{n.name, n.uid}, n.ids...) {
			if name != "" && !yield(maphash.String(seed, name)) {
				return
			}
		}
	}
}

// packBlock closes the block that is being filled.
func (q *quietLines) packBlock() {
	if len(q.open) == 0 {
		return
	}
	// What is kept has no room to spare: the encoder makes room for a block that does not shrink.
	q.room = packer.EncodeAll(q.open, q.room[:0])
	q.packed, q.ends = append(q.packed, bytes.Clone(q.room)), append(q.ends, len(q.lines))
	q.open = q.open[:0]
}

// joinLines takes in the lines of another part of the input.
func (q *quietLines) joinLines(other *quietLines) {
	q.packBlock()
	other.packBlock()
	before := len(q.lines)
	for _, n := range other.names {
		q.names = append(q.names, nameOf{n.hash, n.item + uint32(before)})
	}
	for _, l := range other.lines {
		q.lines = append(q.lines, quietLine{l.at, q.placeNumber(other.places[l.place])})
	}
	q.packed = append(q.packed, other.packed...)
	for _, end := range other.ends {
		q.ends = append(q.ends, before+end)
	}
}

// eachLine calls f with every line for which want holds.
func (q *quietLines) eachLine(want func(item int) bool, f func(item int, s *signal.Signal)) {
	q.packBlock()
	first := 0
	for i, block := range q.packed {
		if q.anyOf(first, q.ends[i], want) {
			data, _ := unpacker.DecodeAll(block, nil) // what this process packed
			rest := string(data)
			for item := first; item < q.ends[i]; item++ {
				var s *signal.Signal
				if s, rest, _ = q.book.Unpack(rest); want(item) {
					f(item, s)
				}
			}
		}
		first = q.ends[i]
	}
}

func (q *quietLines) anyOf(from, to int, want func(int) bool) bool {
	for item := from; item < to; item++ {
		if want(item) {
			return true
		}
	}
	return false
}

// choice is which lines are of pods that something else tells of: signals by name,
// what strikes all that is on a node at a time, and names that were asked for.
type choice struct {
	q      *quietLines
	parent []uint32 // of the sets of items that share names
	wanted []bool   // of a set's root
}

// chooseLines finds the lines of all pods that one of the signals is about, or that
// one of them strikes: of a node's end they can have died.
func (q *quietLines) chooseLines(signals []*signal.Signal, o Options) *choice {
	c := &choice{q: q, parent: make([]uint32, len(q.lines)+len(signals))}
	for i := range c.parent {
		c.parent[i] = uint32(i)
	}
	all := slices.Clone(q.names)
	r := NewRoster()
	for i, s := range signals {
		n := r.namesOf(s)
		for hash := range n.eachHash() {
			all = append(all, nameOf{hash, uint32(len(q.lines) + i)})
		}
	}
	slices.SortFunc(all, func(a, b nameOf) int { return cmp.Compare(a.hash, b.hash) })
	for i := 1; i < len(all); i++ {
		if all[i].hash == all[i-1].hash {
			c.uniteGroups(all[i].item, all[i-1].item)
		}
	}
	c.wanted = make([]bool, len(c.parent))
	for i := range signals {
		c.wantItem(len(q.lines) + i)
	}
	if o.Runner != "" {
		q.eachLine(func(int) bool { return true }, func(item int, s *signal.Signal) {
			if o.asksFor(s) {
				c.wantItem(item)
			}
		})
	}
	c.addStruck(signals)
	c.addLonely()
	return c
}

func (c *choice) rootOf(item uint32) uint32 {
	for c.parent[item] != item {
		c.parent[item] = c.parent[c.parent[item]]
		item = c.parent[item]
	}
	return item
}

func (c *choice) uniteGroups(a, b uint32) {
	if a, b = c.rootOf(a), c.rootOf(b); a != b {
		c.parent[max(a, b)] = min(a, b)
	}
}

func (c *choice) wantItem(item int) { c.wanted[c.rootOf(uint32(item))] = true }

// hasItem says whether a line is one of the chosen.
func (c *choice) hasItem(item int) bool { return c.wanted[c.rootOf(uint32(item))] }

// heard is when one pod was heard of first and last.
type heard struct{ first, last int64 }

// addStruck adds the pods that were there when something happened to their node that
// is not quiet for those on it.
func (c *choice) addStruck(signals []*signal.Signal) {
	strikes := slices.DeleteFunc(slices.Clone(signals), func(s *signal.Signal) bool {
		return !s.Def.Reach.Has(signal.ReachNode) || s.Def.QuietBeside()
	})
	if len(strikes) == 0 {
		return
	}
	lives := map[uint32]heard{}
	for item, l := range c.q.lines {
		root := c.rootOf(uint32(item))
		if h, ok := lives[root]; ok {
			lives[root] = heard{min(h.first, l.at), max(h.last, l.at)}
		} else {
			lives[root] = heard{l.at, l.at}
		}
	}
	times := make([][]int64, len(c.q.places))
	for i, p := range c.q.places {
		times[i] = timesOf(strikes, p)
	}
	for item, l := range c.q.lines {
		if lives[c.rootOf(uint32(item))].meets(times[l.place]) {
			c.wantItem(item)
		}
	}
}

// timesOf are the times, in their order, of what happened to nodes that lines read
// at a place can be about.
func timesOf(strikes []*signal.Signal, p place) (out []int64) {
	for _, s := range strikes {
		same := p.cluster == "" || s.Cluster == "" || p.cluster == s.Cluster
		if same && (p.anywhere || nodename.Same(p.node, s.Node)) {
			out = append(out, signalNanos(s))
		}
	}
	slices.Sort(out)
	return out
}

// meets says whether one of the times is around the pod's life, in which what happens on
// its node is of interest to it; a time that is not known is.
func (h heard) meets(times []int64) bool {
	if len(times) == 0 || h.first == undated || times[0] == undated {
		return len(times) > 0
	}
	i, _ := slices.BinarySearch(times, h.first-int64(nearby.Before))
	return i < len(times) && times[i] <= h.last+int64(nearby.After)
}

// signalNanos is when a signal's line was written, undated where it does not say.
func signalNanos(s *signal.Signal) int64 {
	if s.At.IsZero() {
		return undated
	}
	return s.At.UnixNano()
}

// few is how many pods of a cluster are not worth leaving out; at least 2: what can
// be the only pod of an input gets what names none.
var few = 16

// addLonely adds the pods of clusters of which few would be left out.
func (c *choice) addLonely() {
	left := map[string]map[uint32]bool{}
	for item, l := range c.q.lines {
		cluster := c.q.places[l.place].cluster
		if !c.hasItem(item) && len(left[cluster]) < few {
			if left[cluster] == nil {
				left[cluster] = map[uint32]bool{}
			}
			left[cluster][c.rootOf(uint32(item))] = true
		}
	}
	for _, roots := range left {
		for root := range roots {
			c.wanted[root] = c.wanted[root] || len(roots) < few
		}
	}
}

// eachSignal calls keep with the lines of the chosen.
func (c *choice) eachSignal(keep func(*signal.Signal)) {
	c.q.eachLine(c.hasItem, func(item int, s *signal.Signal) {
		s.Cluster = c.q.places[c.q.lines[item].place].cluster
		keep(s)
	})
}

// leftOut are the places at which lines were read that were not chosen.
func (c *choice) leftOut() []place {
	read := make([]bool, len(c.q.places))
	for item, l := range c.q.lines {
		read[l.place] = read[l.place] || !c.hasItem(item)
	}
	var out []place
	for i, p := range c.q.places {
		if read[i] {
			out = append(out, p)
		}
	}
	return out
}
