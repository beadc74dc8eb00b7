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
