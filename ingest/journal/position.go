package journal

import (
	"strconv"
	"strings"
	"time"
)

// position is a journald cursor taken apart.
type position struct {
	cursor string
	id     string // of the numbering; each of journald's files names one
	number uint64 // of the record within the numbering
	boot   string // boot id
	mono   uint64 // microseconds since boot
	real   uint64 // microseconds since 1970, when journald stored it
	sum    string // checksum of the fields
	// What the cursor of the next record has in front of its number and behind it,
	// where the parts are in libsystemd's order.
	before, behind string
}

// parsePosition takes a cursor apart; ok is false if it lacks a part.
func parsePosition(cursor string) (p position, ok bool) {
	p.cursor = cursor
	seen := 0
	for part := range strings.SplitSeq(cursor, ";") {
		key, val, _ := strings.Cut(part, "=")
		var err error
		switch key {
		case "s":
			p.id = val
		case "b":
			p.boot = val
		case "x":
			p.sum = val
		case "i":
			p.number, err = strconv.ParseUint(val, 16, 64)
		case "m":
			p.mono, err = strconv.ParseUint(val, 16, 64)
		case "t":
			p.real, err = strconv.ParseUint(val, 16, 63)
		default:
			continue
		}
		if err != nil || val == "" {
			return position{}, false
		}
		seen++
	}
	p.noteFrame()
	return p, seen == 6
}

// noteFrame notes the parts of the cursor that stay from one record to the next.
func (p *position) noteFrame() {
	number, boot, mono := strings.Index(p.cursor, ";i="), strings.Index(p.cursor, ";b="), strings.Index(p.cursor, ";m=")
	if strings.HasPrefix(p.cursor, "s=") && 0 < number && number < boot && boot < mono {
		p.before, p.behind = p.cursor[:number+3], p.cursor[boot:mono+3]
	}
}

// storedAt is when journald stored the record; zero for no position.
func (p position) storedAt() time.Time {
	if p.cursor == "" {
		return time.Time{}
	}
	return time.UnixMicro(int64(p.real)).UTC()
}

// sameRecord reports whether p and q are one record. journald numbers a record anew when
// it copies it from memory to disk, and nothing else of it changes.
func (p position) sameRecord(q position) bool {
	return p.id == q.id && p.number == q.number || p.sameContent(q)
}

// sameContent says whether p and q have the same content and the same times.
func (p position) sameContent(q position) bool {
	return p.boot == q.boot && p.mono == q.mono && p.real == q.real && p.sum == q.sum
}

// storedAfter says whether p was stored after q.
func (p position) storedAfter(q position) bool {
	if p.boot == q.boot {
		return p.mono > q.mono
	}
	return p.real > q.real
}

// moment is what changes from one record of a numbering to the next.
type moment struct{ number, mono, real uint64 }

// plainlyNext reads the cursor of a record that plainly comes right after p: the next
// number of the same numbering in the same boot, at another time. ok is false
// for any other, which takes more thought. It is for the many: it makes no
// strings, and expects libsystemd's order of the parts.
func (p *position) plainlyNext(cursor []byte) (m moment, ok bool) {
	c := lead{cursor, p.before != ""}
	c.expectWord(p.before)
	m.number = c.readHex()
	c.expectWord(p.behind)
	m.mono = c.readHex()
	c.expectWord(";t=")
	m.real = c.readHex()
	c.expectWord(";x=")
	return m, c.ok && len(c.rest) > 0 && m.number == p.number+1 && (m.mono != p.mono || m.real != p.real)
}

// lead is a cursor that is read from the front; ok is false once it is not what
// was expected.
type lead struct {
	rest []byte
	ok   bool
}

// expectWord reads what is given.
func (c *lead) expectWord(w string) {
	if len(c.rest) < len(w) || string(c.rest[:len(w)]) != w {
		c.ok = false
		return
	}
	c.rest = c.rest[len(w):]
}

// readHex reads a number of less than 64 bits.
func (c *lead) readHex() (n uint64) {
	i := 0
	for i < len(c.rest) {
		d := digits[c.rest[i]]
		if d == 0 {
			break
		}
		n = n<<4 | uint64(d-1)
		i++
	}
	c.ok = c.ok && i > 0 && i < 16
	c.rest = c.rest[i:]
	return n
}

// digits are one more than what the digits of a hexadecimal number stand for, 0
// for any other byte.
var digits = func() (d [256]uint8) {
	for i, c := range []byte("0123456789abcdef") {
		d[c] = uint8(i) + 1
	}
	return d
}()
