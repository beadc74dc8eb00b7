//go:build linux && cgo && !nojournal

package journal

import (
	"bytes"
	"slices"
	"strconv"
)

// fields turns a record into what a Feed reads. Its memory serves one record
// after the other.
type fields struct {
	*raw
	at     position
	client []field
	digits []byte
}

type field struct{ name, val []byte }

// eachSorted yields journald's own fields, then the writer's by name: the same record
// must always give the same entry, in whatever order a file has its fields.
// journald's own do not depend on each other. Of several with one name the last
// counts.
func (s *fields) eachSorted(yield func(name, val []byte) bool) {
	s.client = s.client[:0]
	ok := yield([]byte("__CURSOR"), s.cursor) &&
		yield([]byte("__REALTIME_TIMESTAMP"), s.formatNumber(s.at.real)) &&
		yield([]byte("__MONOTONIC_TIMESTAMP"), s.formatNumber(s.at.mono))
	for name, val := range s.raw.eachField {
		if !bytes.HasPrefix(name, []byte("_")) {
			s.client = append(s.client, field{name, val})
		} else if ok = ok && yield(name, val); !ok {
			return
		}
	}
	slices.SortStableFunc(s.client, func(a, b field) int { return bytes.Compare(a.name, b.name) })
	for i, c := range s.client {
		if next := i + 1; next < len(s.client) && bytes.Equal(c.name, s.client[next].name) {
			continue
		}
		if ok = ok && yield(c.name, c.val); !ok {
			return
		}
	}
}

func (s *fields) formatNumber(n uint64) []byte {
	s.digits = strconv.AppendUint(s.digits[:0], n, 10)
	return s.digits
}
