//go:build linux && cgo && !nojournal

package journal

// sdjournal takes some 25 calls from Go to C for one record, each with its own
// look-up of the C function, and a map with a copy of every field: of the 20 to
// 30 µs that a record cost, libsystemd itself had 4. So the records are fetched
// by native.h, many with one call, by the same functions of the same library and
// through the handle that sdjournal opened; all else is left to sdjournal. To ask
// for the message alone by its name takes nearly as long as all fields one after
// the other, since libsystemd goes through them, too.

// #cgo LDFLAGS: -ldl
// #include "native.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"coroner/ingest"

	"github.com/coreos/go-systemd/v22/sdjournal"
)

const (
	maxRead    = C.MAX_RECORDS // records fetched with one call, and with the next the clock is looked at
	fullRead   = 256 << 10     // bytes after which a call fetches no more
	keepRead   = 4 << 20       // bytes of memory that are kept: one huge record must not cost its memory for ever
	maxMessage = 8 + maxValue  // bytes that are read of a message, MESSAGE= with it
	maxOther   = 64 << 10      // bytes that are read of what is no message: ingest keeps 1 KiB
)

// native are libsystemd's functions and the fields that are read, kept for good.
var native = sync.OnceValues(func() (*C.calls, error) {
	c := (*C.calls)(C.calloc(1, C.sizeof_calls))
	if missing := C.load(c); missing != nil {
		return nil, fmt.Errorf("%s is missing", C.GoString(missing))
	}
	c.most, c.most_other = maxMessage, maxOther
	var names [C.MAX_NAMES]C.name
	for i, f := range ingest.JournalFields {
		names[i] = C.name{text: C.CString(f.Name + "="), size: C.uint32_t(len(f.Name)), use: C.uint8_t(f.Use), place: C.uint8_t(i)}
	}
	C.order(c, &names[0], C.int(len(ingest.JournalFields)))
	return c, nil
})

// The uses have the same order on both sides.
const _ = uint(ingest.Rare-C.RARE) + uint(C.RARE-ingest.Rare) + uint(ingest.Writer-C.WRITER) + uint(C.WRITER-ingest.Writer)

// raw is a record as it was fetched: its parts lie in the memory of a fetcher.
type raw struct {
	cursor []byte
	fields []byte // one after the other: size of the whole and of the name, NAME=value
	glance ingest.Glance
	err    error // why the rest cannot be read
}

// fetcher fetches the records of one journal handle. What it gives is valid
// until it fetches again or is closed.
type fetcher struct {
	calls  *C.calls
	handle *C.sd_journal
	mem    *C.buffer
	taken  int       // how many of the records in mem were taken
	at     time.Time // when they were fetched
	record raw       // the one taken last
}

// newFetcher returns a fetcher for the handle that j holds.
func newFetcher(j *sdjournal.Journal) (*fetcher, error) {
	calls, err := native()
	if err != nil {
		return nil, err
	}
	handle := reflect.ValueOf(j).Elem().FieldByName("cjournal") // sdjournal does not hand it out
	if handle.Kind() != reflect.Pointer || handle.IsNil() {
		return nil, fmt.Errorf("package sdjournal keeps its handle elsewhere: built with a version of go-systemd that this program does not know")
	}
	mem := (*C.buffer)(C.calloc(1, C.sizeof_buffer))
	return &fetcher{calls: calls, handle: (*C.sd_journal)(handle.UnsafePointer()), mem: mem}, nil
}

func (f *fetcher) close() {
	C.free(unsafe.Pointer(f.mem.data))
	C.free(unsafe.Pointer(f.mem))
	f.mem = nil
}

// next is the journal's next record, valid until the one after it; nil at its end.
func (f *fetcher) next() (*raw, error) {
	if f.taken == int(f.mem.count) {
		f.drop()
		if n := C.following(f.calls, f.handle, f.mem, fullRead); n < 0 && f.mem.count == 0 {
			return nil, fmt.Errorf("failed to iterate journal: %w", syscall.Errno(-n))
		}
		f.at = time.Now()
	}
	if f.mem.count == 0 {
		return nil, nil
	}
	return f.take(), nil
}

// current is the record that the handle is placed at.
func (f *fetcher) current() *raw {
	f.drop()
	C.current(f.calls, f.handle, f.mem)
	return f.take()
}

// drop forgets what was fetched and not taken: the handle was placed elsewhere.
func (f *fetcher) drop() {
	f.taken, f.mem.count = 0, 0
	if f.mem.room > keepRead {
		C.free(unsafe.Pointer(f.mem.data))
		f.mem.data, f.mem.room = nil, 0
	}
}

// take takes the next of the records in mem.
func (f *fetcher) take() *raw {
	c, r := &f.mem.records[f.taken], &f.record
	f.taken++
	if r.err = nil; c.error < 0 {
		r.err = syscall.Errno(-c.error)
	}
	data := unsafe.Slice((*byte)(unsafe.Pointer(f.mem.data)), f.mem.used)
	r.cursor, r.fields = lies(data, c.cursor), lies(data, c.fields)
	g := &r.glance
	g.Message, g.SourceReal, g.SourceMono = lies(data, c.values[C.MESSAGE]), lies(data, c.values[C.SOURCE_REAL]), lies(data, c.values[C.SOURCE_MONO])
	g.Who, g.Rare = lies(data, c.who), c.rare != 0
	return r
}

// lies is what lies at p.
func lies(data []byte, p C.part) []byte {
	end := p.at + p.size
	return data[p.at:end:end]
}

// each yields the fields in the order of the file.
func (r *raw) each(yield func(name, val []byte) bool) {
	for b := r.fields; len(b) > 0; {
		size, n := 8+int(binary.NativeEndian.Uint32(b)), 8+int(binary.NativeEndian.Uint32(b[4:]))
		if !yield(b[8:n:n], b[n+1:size:size]) {
			return
		}
		b = b[size:]
	}
}

// value is what the field called name has, "" if there is none.
func (r *raw) value(name string) (val string) {
	for n, v := range r.each {
		if string(n) == name {
			val = string(v)
		}
	}
	return val
}
