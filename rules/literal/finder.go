package literal

import (
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
)

// Finder finds the literals of many owners in a buffer, however many there are.
// Every literal is known by a window of consecutive grams of some bytes each,
// and the gram at every stride-th byte of the buffer is looked up in a table of
// bytes: an occurrence cannot lie between two looks, and what lies there costs
// nothing. Only where the table knows the gram are literals compared.
//
// More literals make the table larger, not the look slower. The shortest
// literal limits stride and gram, which is why everything that is looked for needs some fixed text.
type Finder struct {
	stride int
	size   int     // of a gram in bytes
	factor uint64  // of the hash; it also drops the bytes behind the gram
	shift  uint    // of the hash to an index of known
	known  []uint8 // by the hash's upper bits: a mark of the gram with it, 0 where there is none

	slots     []int32 // slot of a gram -> its first place; one more closes the last
	slotShift uint
	places    []place // of all grams, by slot

	literals []string
	owners   [][]int32 // literal -> the owners that it belongs to
}

// place is where a gram stands in a literal.
type place struct {
	word, mask uint64 // the gram and what follows it in the literal, as far as a word goes
	hash       uint64
	literal    int32
	offset     int32
}

const (
	wordSize  = 8 // what is loaded at once; a gram is its first bytes
	stride    = 4 // with which the fast loop looks
	MinLength = 4 // of a literal; shorter ones would be everywhere
)

// NewFinder returns a finder of the literals of some owners, of each the list of its
// own. It knows the owners by their places.
func NewFinder(lists [][]string) *Finder {
	f := &Finder{}
	known := map[string]int32{}
	for i, list := range lists {
		for _, l := range list {
			id, ok := known[l]
			if !ok {
				id = int32(len(f.literals))
				known[l] = id
				f.literals, f.owners = append(f.literals, l), append(f.owners, nil)
			}
			if !slices.Contains(f.owners[id], int32(i)) {
				f.owners[id] = append(f.owners[id], int32(i))
			}
		}
	}
	f.chooseSizes()
	f.buildIndex()
	return f
}

// chooseSizes shares the shortest literal out between the stride, which saves
// looks, and the gram, which saves comparing.
func (f *Finder) chooseSizes() {
	shortest := stride + wordSize - 1
	for _, l := range f.literals {
		shortest = min(shortest, len(l))
	}
	f.size = max(shortest-stride+1, MinLength)
	f.stride = shortest - f.size + 1
	f.factor = 0x9E3779B97F4A7C15 << (8 * (wordSize - f.size))
}

// buildIndex fills the table of known grams and that of their places.
func (f *Finder) buildIndex() {
	common := gramsOf(commonplace, f.size)
	for id, l := range f.literals {
		from := rarestWindow(l, f.stride, f.size, common)
		for o := from; o < from+f.stride; o++ {
			mask := ^uint64(0) >> (8 * max(0, o+wordSize-len(l)))
			f.places = append(
				f.places,
				place{wordAt([]byte(l), o) & mask, mask, f.hashAt([]byte(l), o), int32(id), int32(o)},
			)
		}
	}
	f.known = make([]uint8, max(1<<16, 1<<bits.Len(uint(32*len(f.places)))))
	f.shift = uint(64 - bits.Len(uint(len(f.known)-1)))
	slots := 1 << bits.Len(uint(max(16, len(f.places))))
	f.slots, f.slotShift = make([]int32, slots+1), uint(64-bits.Len(uint(slots-1)))
	for _, p := range f.places {
		k, m := &f.known[p.hash>>f.shift], uint8(several)
		if int(p.offset)+f.size < len(f.literals[p.literal]) {
			m = f.markOf(p.word)
		}
		if *k != 0 && *k != m {
			m = several
		}
		*k = m
		f.slots[p.hash>>f.slotShift+1]++
	}
	for i := 1; i < len(f.slots); i++ {
		f.slots[i] += f.slots[i-1]
	}
	next, all := slices.Clone(f.slots), f.places
	f.places = make([]place, len(all))
	for _, p := range all {
		at := &next[p.hash>>f.slotShift]
		f.places[*at] = p
		*at++
	}
}

// several marks a place in known that no one mark holds for.
const several = 255

// markOf is a few bits of the gram and the byte behind it, never 0 and never
// several: of what has a known gram or falls on one's place, most is told from it
// without a look at the literals.
func (f *Finder) markOf(word uint64) uint8 {
	return uint8(word<<(8*max(0, wordSize-1-f.size))*0x9E3779B97F4A7C15>>57) + 1
}

// knowsWord says whether some literal goes on like the word.
func (f *Finder) knowsWord(word uint64) bool {
	hash := word * f.factor
	if k := f.known[hash>>f.shift]; k != several && k != f.markOf(word) {
		return false
	}
	slot := hash >> f.slotShift
	list := f.places[f.slots[slot]:f.slots[slot+1]]
	for i := range list {
		if word&list[i].mask == list[i].word {
			return true
		}
	}
	return false
}

// hashAt is that of the gram at i. Two grams of the same size have the same hash
// only if they are the same: the factor is odd.
func (f *Finder) hashAt(b []byte, i int) uint64 { return wordAt(b, i) * f.factor }

// wordAt is the word at i, with zeros for what lies behind the end of b.
func wordAt(b []byte, i int) uint64 {
	if i+wordSize <= len(b) {
		return binary.LittleEndian.Uint64(b[i:])
	}
	var end [wordSize]byte
	copy(end[:], b[i:])
	return binary.LittleEndian.Uint64(end[:])
}

// Next returns where in b, at or after from, the next literal begins, -1 if
// there is none. A literal further on may begin earlier only if the two overlap.
func (f *Finder) Next(b []byte, from int) int {
	for i := f.nextGram(b, from); i >= 0; i = f.nextGram(b, i+f.stride) {
		w := wordAt(b, i)
		for p := range f.placesOf(w) {
			if at, ok := f.holdsAt(b, i, p); ok && at >= from {
				return at
			}
		}
	}
	return -1
}

// nextGram returns the first of the positions from, from+stride, … whose gram a
// literal has that goes on like it, -1 if there is none.
func (f *Finder) nextGram(b []byte, from int) int {
	if f.stride == stride {
		at, found := f.skipFast(b, from)
		if found {
			return at
		}
		from = at
	}
	for i := from; i+f.size <= len(b); i += f.stride {
		if f.knowsWord(wordAt(b, i)) {
			return i
		}
	}
	return -1
}

// skipFast is look eight positions at a time, up to where eight are not left. This
// is the loop that everything goes through.
func (f *Finder) skipFast(b []byte, from int) (at int, found bool) {
	const step = 8 * stride
	known, factor, shift := f.known, f.factor, f.shift&63
	for ; from+step+wordSize <= len(b); from += step {
		c := b[from : from+step+wordSize : from+step+wordSize]
		switch {
		case known[binary.LittleEndian.Uint64(c)*factor>>shift] != 0:
		case known[binary.LittleEndian.Uint64(c[stride:])*factor>>shift] != 0:
			from += stride
		case known[binary.LittleEndian.Uint64(c[2*stride:])*factor>>shift] != 0:
			from += 2 * stride
		case known[binary.LittleEndian.Uint64(c[3*stride:])*factor>>shift] != 0:
			from += 3 * stride
		case known[binary.LittleEndian.Uint64(c[4*stride:])*factor>>shift] != 0:
			from += 4 * stride
		case known[binary.LittleEndian.Uint64(c[5*stride:])*factor>>shift] != 0:
			from += 5 * stride
		case known[binary.LittleEndian.Uint64(c[6*stride:])*factor>>shift] != 0:
			from += 6 * stride
		case known[binary.LittleEndian.Uint64(c[7*stride:])*factor>>shift] != 0:
			from += 7 * stride
		default:
			continue
		}
		if f.knowsWord(binary.LittleEndian.Uint64(b[from:])) {
			return from, true
		}
		from += stride - step
	}
	return from, false
}

// placesOf are the places of literals that go on like the word.
func (f *Finder) placesOf(word uint64) iter.Seq[*place] {
	return func(yield func(*place) bool) {
		slot := word * f.factor >> f.slotShift
		list := f.places[f.slots[slot]:f.slots[slot+1]]
		for i := range list {
			if p := &list[i]; word&p.mask == p.word && !yield(p) {
				return
			}
		}
	}
}

// holdsAt says whether the literal of p is in b such that its gram stands at i,
// and where it begins.
func (f *Finder) holdsAt(b []byte, i int, p *place) (int, bool) {
	l, at := f.literals[p.literal], i-int(p.offset)
	return at, at >= 0 && at+len(l) <= len(b) && string(b[at:at+len(l)]) == l
}

// Any says whether a literal in b is wanted, by its text and its owners.
func (f *Finder) Any(b []byte, wanted func(text string, owners []int32) bool) bool {
	for i := f.nextGram(b, 0); i >= 0; i = f.nextGram(b, i+f.stride) {
		for p := range f.placesOf(wordAt(b, i)) {
			if _, ok := f.holdsAt(b, i, p); ok && wanted(f.literals[p.literal], f.owners[p.literal]) {
				return true
			}
		}
	}
	return false
}

// All appends the numbers of the owners that have a literal in b, in order
// and each once.
func (f *Finder) All(b []byte, hits []int32) []int32 {
	var seen [64]uint64 // of the first literals, those that were found: a line may repeat itself
	for i := f.nextGram(b, 0); i >= 0; i = f.nextGram(b, i+f.stride) {
		for p := range f.placesOf(wordAt(b, i)) {
			mark, bit := p.literal>>6&63, uint64(1)<<(p.literal&63)
			if seen[mark]&bit != 0 && p.literal < 64*64 {
				continue
			}
			if _, ok := f.holdsAt(b, i, p); ok {
				hits, seen[mark] = append(hits, f.owners[p.literal]...), seen[mark]|bit
			}
		}
	}
	if len(hits) > 1 {
		slices.Sort(hits)
		hits = slices.Compact(hits)
	}
	return hits
}

// rarestWindow returns where the window of n consecutive grams of the size begins
// that are least likely to stand in a log by chance.
func rarestWindow(l string, n, size int, common map[string]bool) int {
	best, lowest := 0, float32(2*n)
	for from := 0; from+n+size-1 <= len(l); from++ {
		sum := float32(0)
		for o := from; o < from+n; o++ {
			sum += chanceOf(l[o:o+size], common) * told[min(len(l)-o, wordSize)-size]
		}
		if sum < lowest {
			best, lowest = from, sum
		}
	}
	return best
}

// told is what is left of a gram's cost where so many bytes of the literal follow it:
// what is loaded at once tells most of what has the gram only.
var told = [wordSize]float32{1, 0.2, 0.06, 0.03, 0.02, 0.02, 0.02, 0.02}

// chanceOf is how likely a gram is, roughly.
func chanceOf(gram string, common map[string]bool) float32 {
	if common[gram] {
		return 1
	}
	p := float32(1)
	for _, c := range []byte(gram) {
		p *= likely[c]
	}
	return p
}

// gramsOf are all grams of a text.
func gramsOf(text string, size int) map[string]bool {
	all := map[string]bool{}
	for i := range len(text) - size {
		all[text[i:i+size]] = true
	}
	return all
}

// commonplace are words that the logs of every node are full of.
const commonplace = ` kubelet kubernetes.io containerd container runner Runner started for pod= pod " pods volume ` +
	`volumes mount succeeded ` +
	` failed failed for failed to for container for volume with the event name time= level=info level=error ` +
	`msg="error error: status ` +
	` starting stopped state creating created deleting update updated process systemd systemd[1]: ` +
	`/var/lib/kubelet/pods/ ` +
	` node image session request connection message response namespace default service running received returns ` +
	`sandbox task cgroup ` +
	` start Start Started Starting Stopped Stopping name: name= Name manager Manager register registered ` +
	`successfully successful error= Error ` +
	` resource resources source source= unit from by user user: user= timeout time: timed out execute executing ` +
	`Executing reached attached ` +
	` connect connected connecting pulled pulling Pulling Pulled killed Killed killing caller called calling reason ` +
	`Reason message= finished ` +
	` removed removing RemoveContainer StartContainer StopContainer container id sandbox id returns successfully ` +
	`restart restarting process ` +
	` exited exit code exit status status= type= context deadline exceeded not found cannot because of the and was ` +
	`has been is to ` +
	` config configure configuration command override commit INFO WARN ERROR info warn deleted successfully ` +
	` disconnected connected reconnected signal signals operation operations ` +
	`operationExecutor.VerifyControllerAttachedVolume ` +
	` MountVolume.SetUp reconciler_common.go controller Controller by user aborted permission session Session ` +
	`closed closing refused ` +
	` probe Probe readiness liveness healthy unhealthy ready network address certificate version Version received ` +
	`Received to the server ` +
	` scope scope: Deactivated Consumed CPU time memory usage machine Machine kernel device filesystem garbage ` +
	`collection duration pod_startup_latency_tracker.go podStartSLOduration Observed pod startup kubelet.go: ` +
	`entered blocking state forwarding disabled link becomes ready runtime empty-dir task/ disconnect reconnect ` +
	`started by started pod stopped by received by `

// likely is how often a byte stands in the logs of nodes, roughly, the most
// common being 1.
var likely = func() (w [256]float32) {
	for i := range w {
		w[i] = 0.005
	}
	for i, c := range []byte(` e0tin1ao2rs-345678dlc9."/pmu=:bfgkhvyx_w`) {
		w[c] = 1 / (1 + float32(i)/8)
	}
	return w
}()
