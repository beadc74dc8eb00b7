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
	return p, seen == 6
}

// at is when journald stored the record; zero for no position.
func (p position) at() time.Time {
	if p.cursor == "" {
		return time.Time{}
	}
	return time.UnixMicro(int64(p.real)).UTC()
}

// twin says whether p and q have the same content and the same times.
func (p position) twin(q position) bool {
	return p.boot == q.boot && p.mono == q.mono && p.real == q.real && p.sum == q.sum
}

// later says whether p was stored after q.
func (p position) later(q position) bool {
	if p.boot == q.boot {
		return p.mono > q.mono
	}
	return p.real > q.real
}

// moment is what changes from one record of a numbering to the next.
type moment struct{ number, mono, real uint64 }

// next reads the cursor of a record that plainly comes right after p: the next
// number of the same numbering in the same boot, at another time. ok is false
// for any other, which takes more thought. It is for the many: it makes no
// strings, and expects libsystemd's order of the parts.
func (p *position) next(cursor []byte) (m moment, ok bool) {
	c := lead{cursor, true}
	c.words("s=", p.id, ";i=")
	m.number = c.hex()
	c.words(";b=", p.boot, ";m=")
	m.mono = c.hex()
	c.words(";t=")
	m.real = c.hex()
	c.words(";x=")
	return m, c.ok && len(c.rest) > 0 && m.number == p.number+1 && (m.mono != p.mono || m.real != p.real)
}

// lead is a cursor that is read from the front; ok is false once it is not what
// was expected.
type lead struct {
	rest []byte
	ok   bool
}

// words reads given words.
func (c *lead) words(words ...string) {
	for _, w := range words {
		if len(c.rest) < len(w) || string(c.rest[:len(w)]) != w {
			c.ok = false
			return
		}
		c.rest = c.rest[len(w):]
	}
}

// hex reads a number of less than 64 bits.
func (c *lead) hex() (n uint64) {
	i := 0
	for ; i < len(c.rest); i++ {
		d := c.rest[i]
		if d-'0' < 10 {
			d -= '0'
		} else if d-'a' < 6 {
			d -= 'a' - 10
		} else {
			break
		}
		n = n<<4 | uint64(d)
	}
	c.ok = c.ok && i > 0 && i < 16
	c.rest = c.rest[i:]
	return n
}
