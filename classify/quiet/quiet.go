// Package quiet keeps the lines of pods that most likely nobody asks about small, and gives
// back those of the pods that matter to a question.
//
// Invariant: what is packed and left out changes no verdict; no line is lost.
//
// Crash behaviour: the package holds nothing outside the record it serves.
package quiet

import (
	"bytes"
	"hash/maphash"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/signal"

	"github.com/klauspost/compress/zstd"
)

// Most pods that a log speaks of live on: of a million starts nobody wants to see
// one. Lines keeps such lines small, and gives back those of the pods that
// something else was read of, see signal.Def.Quiet.
type Lines struct {
	book *rules.Rulebook
	few  int

	packed [][]byte // whole blocks
	ends   []int    // of each block: the number of lines up to its end
	open   []byte   // the block that is being filled
	room   []byte   // where a block is compressed

	lines  []line
	names  []nameOf // of all lines
	places []Place  // where lines were read
	known  map[Place]uint32
}

// line is what has to be known of a line to leave it packed.
type line struct {
	at    int64 // nanoseconds since 1970, undated for none
	place uint32
}

const undated = -1 << 63

// Place is where lines were read.
type Place struct {
	Cluster, Node, Doc string
	Source             ingest.Source // which program wrote them
	Anywhere           bool          // they speak of pods on other nodes
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

// New returns no lines yet. Where fewer pods of a cluster than few would be left out, none is.
func New(book *rules.Rulebook, few int) *Lines {
	return &Lines{book: book, few: few, known: map[Place]uint32{}}
}

// Len is the number of lines.
func (q *Lines) Len() int { return len(q.lines) }

// Places are where the lines were read. The caller may name a cluster that was not known.
func (q *Lines) Places() []Place { return q.places }

// Add keeps a line that says one of the names, which tie it to others.
func (q *Lines) Add(s *signal.Signal, names []string) {
	item := uint32(len(q.lines))
	q.names = appendNames(q.names, item, names)
	q.lines = append(q.lines, line{nanosOf(s), q.placeOf(s)})
	if q.open = s.AppendTo(q.open); len(q.open) >= blockSize {
		q.packBlock()
	}
}

func (q *Lines) placeOf(s *signal.Signal) uint32 {
	elsewhere := s.Def.Fills["node"] != "" || s.Source == ingest.Controller || s.Source == ingest.Listener
	return q.placeNumber(Place{s.Cluster, s.Node, s.Doc, s.Source, elsewhere})
}

// placeNumber is where a place stands in places.
func (q *Lines) placeNumber(p Place) uint32 {
	n, ok := q.known[p]
	if !ok {
		n = uint32(len(q.places))
		q.places, q.known[p] = append(q.places, p), n
	}
	return n
}

// appendNames appends what an item is called.
func appendNames(all []nameOf, item uint32, names []string) []nameOf {
	for _, name := range names {
		if name != "" {
			all = append(all, nameOf{maphash.String(seed, name), item})
		}
	}
	return all
}

// packer compresses whole blocks; it is safe for concurrent use.
var packer, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))

// unpacker is its other way.
var unpacker, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))

// packBlock closes the block that is being filled.
func (q *Lines) packBlock() {
	if len(q.open) == 0 {
		return
	}
	// What is kept has no room to spare: the encoder makes room for a block that does not shrink.
	q.room = packer.EncodeAll(q.open, q.room[:0])
	q.packed, q.ends = append(q.packed, bytes.Clone(q.room)), append(q.ends, len(q.lines))
	q.open = q.open[:0]
}

// Join takes in the lines of another part of the input.
func (q *Lines) Join(other *Lines) {
	q.packBlock()
	other.packBlock()
	before := len(q.lines)
	for _, n := range other.names {
		q.names = append(q.names, nameOf{n.hash, n.item + uint32(before)})
	}
	for _, l := range other.lines {
		q.lines = append(q.lines, line{l.at, q.placeNumber(other.places[l.place])})
	}
	q.packed = append(q.packed, other.packed...)
	for _, end := range other.ends {
		q.ends = append(q.ends, before+end)
	}
}

// eachLine calls f with every line for which want holds.
func (q *Lines) eachLine(want func(item int) bool, f func(item int, s *signal.Signal)) {
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

func (q *Lines) anyOf(from, to int, want func(int) bool) bool {
	for item := from; item < to; item++ {
		if want(item) {
			return true
		}
	}
	return false
}

// nanosOf is when a signal's line was written, undated where it does not say.
func nanosOf(s *signal.Signal) int64 {
	if s.At.IsZero() {
		return undated
	}
	return s.At.UnixNano()
}
