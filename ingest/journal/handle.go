//go:build linux && cgo && !nojournal

package journal

// #include "native.h"
import "C"

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

// handle is a journal folder that libsystemd has opened. It is for one OS thread. The
// records that it gives are valid until it gives the next or is closed.
type handle struct {
	lib     *C.library
	journal *C.sd_journal
	mem     *C.buffer
	taken   int       // how many of the records in mem were given
	fetched time.Time // when they were fetched
	record  raw       // the one given last
}

// openDir opens a journal folder for reading.
func openDir(dir string) (*handle, error) {
	lib, err := libsystemd()
	if err != nil {
		return nil, err
	}
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	h := &handle{lib: lib}
	if n := C.open_directory(lib, &h.journal, path, maxValue); n < 0 {
		return nil, fmt.Errorf("journal in %s: %w; %s", dir, syscall.Errno(-n), needsAccess)
	}
	h.mem = (*C.buffer)(C.calloc(1, C.sizeof_buffer))
	return h, nil
}

func (h *handle) close() {
	C.close_journal(h.lib, h.journal)
	C.free(unsafe.Pointer(h.mem.data))
	C.free(unsafe.Pointer(h.mem))
	h.journal, h.mem = nil, nil
}

// seekCursor places h before the record with a cursor, or where that would be.
func (h *handle) seekCursor(cursor string) error {
	h.discardFetched()
	c := C.CString(cursor)
	defer C.free(unsafe.Pointer(c))
	return errorOf(C.seek_cursor(h.lib, h.journal, c))
}

// seekTime places h before the first record of a time or later.
func (h *handle) seekTime(at time.Time) error {
	h.discardFetched()
	return errorOf(C.seek_realtime(h.lib, h.journal, C.uint64_t(max(0, at.UnixMicro()))))
}

// waitChange waits for a change of the journal's files and takes note of new and deleted
// ones. It is an error if the kernel gives no inotify watch.
func (h *handle) waitChange(d time.Duration) error {
	return errorOf(C.wait_change(h.lib, h.journal, C.uint64_t(d.Microseconds())))
}

// lastRecord is the last record with all of the given fields, nil if there is none. Values of
// one name are alternatives. It leaves h with that filter.
func (h *handle) lastRecord(fields []string) (*raw, error) {
	h.discardFetched()
	C.flush_matches(h.lib, h.journal)
	for _, f := range fields {
		c := C.CString(f)
		n := C.add_match(h.lib, h.journal, c, C.size_t(len(f)))
		C.free(unsafe.Pointer(c))
		if err := errorOf(n); err != nil {
			return nil, err
		}
	}
	n := C.seek_last(h.lib, h.journal)
	if n <= 0 {
		return nil, errorOf(n)
	}
	C.current(h.lib, h.journal, h.mem)
	r := h.takeFetched()
	return r, r.err
}

// nextRecord is the journal's next record, nil at its end.
func (h *handle) nextRecord() (*raw, error) {
	if h.taken == int(h.mem.count) {
		h.discardFetched()
		if n := C.following(h.lib, h.journal, h.mem, fullRead); n < 0 && h.mem.count == 0 {
			return nil, errorOf(n)
		}
		h.fetched = time.Now()
	}
	if h.mem.count == 0 {
		return nil, nil
	}
	return h.takeFetched(), nil
}

// discardFetched forgets what was fetched and not given: the handle is placed elsewhere.
func (h *handle) discardFetched() {
	h.taken, h.mem.count = 0, 0
	if h.mem.room > keepRead {
		C.free(unsafe.Pointer(h.mem.data))
		h.mem.data, h.mem.room = nil, 0
	}
}

// takeFetched gives the next of the records in mem.
func (h *handle) takeFetched() *raw {
	c := &h.mem.records[h.taken]
	h.taken++
	h.record.setRecord(c, unsafe.Slice((*byte)(unsafe.Pointer(h.mem.data)), h.mem.used))
	return &h.record
}

// errorOf is the error that libsystemd returned, if it did.
func errorOf(n C.int) error {
	if n < 0 {
		return syscall.Errno(-n)
	}
	return nil
}
