//go:build linux && cgo && !nojournal

package journal

// Records are fetched by native.h, many with one call from Go to C, straight from
// libsystemd: a call for each field of each record would cost several times what
// libsystemd takes. To ask for the message alone by its name takes nearly as long as
// all fields one after the other, since libsystemd goes through them, too.

// #cgo LDFLAGS: -ldl
// #include "native.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"sync"
	"syscall"

	"coroner/ingest/journald"
)

const (
	maxRead    = C.MAX_RECORDS // records fetched with one call; then the clock is looked at
	fullRead   = 256 << 10     // bytes after which a call fetches no more
	keepRead   = 4 << 20       // bytes of memory that are kept: one huge record must not cost its memory for ever
	maxMessage = 8 + maxValue  // bytes that are read of a message, MESSAGE= with it
	maxOther   = 64 << 10      // bytes that are read of what is no message: ingest keeps 1 KiB
)

// libsystemd is its functions and the fields that are read, kept for good.
var libsystemd = sync.OnceValues(func() (*C.library, error) {
	l := (*C.library)(C.calloc(1, C.sizeof_library))
	if missing := C.load(l); missing != nil {
		return nil, fmt.Errorf(
			"libsystemd cannot be loaded, install libsystemd.so.0: %s is missing",
			C.GoString(missing),
		)
	}
	l.most, l.most_other = maxMessage, maxOther
	var names [C.MAX_NAMES]C.name
	for i, f := range journald.Fields {
		names[i] = C.name{text: C.CString(f.Name + "="), size: C.uint32_t(len(f.Name)), use: C.uint8_t(f.Use),
			place: C.uint8_t(i)}
	}
	C.sort_names(l, &names[0], C.int(len(journald.Fields)))
	return l, nil
})

// The uses have the same order on both sides.
const _ = uint(journald.Rare-C.RARE) + uint(C.RARE-journald.Rare) +
	uint(journald.Writer-C.WRITER) + uint(C.WRITER-journald.Writer)

// raw is a record as it was fetched: its parts lie in the memory of a handle.
type raw struct {
	cursor []byte
	fields []byte // one after the other: size of the whole and of the name, NAME=value
	head   journald.RecordHead
	err    error // why the rest cannot be read
}

// setRecord makes r the record c in data.
func (r *raw) setRecord(c *C.record, data []byte) {
	if r.err = nil; c.error < 0 {
		r.err = syscall.Errno(-c.error)
	}
	r.cursor, r.fields = slicePart(data, c.cursor), slicePart(data, c.fields)
	h := &r.head
	h.Message, h.SourceReal = slicePart(data, c.values[C.MESSAGE]), slicePart(data, c.values[C.SOURCE_REAL])
	h.SourceMono, h.Who, h.Rare = slicePart(data, c.values[C.SOURCE_MONO]), slicePart(data, c.who), c.rare != 0
}

// slicePart is the part p of data.
func slicePart(data []byte, p C.part) []byte {
	end := p.at + p.size
	return data[p.at:end:end]
}

// eachField yields the fields in the order of the file.
func (r *raw) eachField(yield func(name, val []byte) bool) {
	for b := r.fields; len(b) > 0; {
		size, n := 8+int(binary.NativeEndian.Uint32(b)), 8+int(binary.NativeEndian.Uint32(b[4:]))
		if !yield(b[8:n:n], b[n+1:size:size]) {
			return
		}
		b = b[size:]
	}
}

// fieldValue is what the field called name has, "" if there is none.
func (r *raw) fieldValue(name string) (val string) {
	for n, v := range r.eachField {
		if string(n) == name {
			val = string(v)
		}
	}
	return val
}
