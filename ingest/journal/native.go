//go:build linux && cgo && !nojournal

package journal

// sdjournal takes some 25 calls from Go to C for one record, each with its own
// look-up of the C function, and a map with a copy of every field: of the 20 to
// 30 µs that a record cost, libsystemd itself had 4. So the records are fetched
// here, many with one call, by the same functions of the same library and
// through the handle that sdjournal opened; all else is left to sdjournal. Of the
// 4 µs coming to the next record has 0.7, its cursor 0.6, its fields 2.9; to ask
// for five fields by name takes 9, since libsystemd goes through all for each.

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <errno.h>
// #include <stdint.h>
// #include <stdlib.h>
// #include <string.h>
// #include <systemd/sd-journal.h>
//
// typedef struct {
//   int (*next)(sd_journal *);
//   int (*cursor)(sd_journal *, char **);
//   void (*restart)(sd_journal *);
//   int (*enumerate)(sd_journal *, const void **, size_t *);
//   const char *own[16]; // the names of journald's own fields that are read
//   size_t size[16];
// } calls;
//
// typedef struct {
//   char *data;
//   size_t used, room;
// } buffer;
//
// // load finds the functions in the library that sdjournal has loaded; the handle
// // to it is kept for good. It returns what is missing.
// static const char *
// load(calls *c)
// {
//   static const char *const names[] = {"libsystemd.so.0", "libsystemd-journal.so.0", "libsystemd.so", "libsystemd-journal.so"};
//   void *lib = NULL;
//   for (size_t i = 0; lib == NULL && i < sizeof names / sizeof *names; i++)
//     lib = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
//   if (lib == NULL)
//     return "libsystemd";
//   if ((c->next = (int (*)(sd_journal *))dlsym(lib, "sd_journal_next")) == NULL)
//     return "sd_journal_next";
//   if ((c->cursor = (int (*)(sd_journal *, char **))dlsym(lib, "sd_journal_get_cursor")) == NULL)
//     return "sd_journal_get_cursor";
//   if ((c->restart = (void (*)(sd_journal *))dlsym(lib, "sd_journal_restart_data")) == NULL)
//     return "sd_journal_restart_data";
//   if ((c->enumerate = (int (*)(sd_journal *, const void **, size_t *))dlsym(lib, "sd_journal_enumerate_data")) == NULL)
//     return "sd_journal_enumerate_data";
//   return NULL;
// }
//
// // room makes place for n bytes more.
// static inline int
// room(buffer *b, size_t n)
// {
//   if (b->room - b->used >= n)
//     return 0;
//   size_t want = b->room * 2 > b->used + n ? b->room * 2 : b->used + n;
//   char *data = realloc(b->data, want);
//   if (data == NULL)
//     return -ENOMEM;
//   b->data = data;
//   b->room = want;
//   return 0;
// }
//
// // put adds a value, with its size and that of the name that it begins with in front.
// static inline int
// put(buffer *b, const void *data, size_t n, size_t name)
// {
//   uint32_t head[2] = {n, name};
//   if (room(b, sizeof head + n) < 0)
//     return -ENOMEM;
//   memcpy(b->data + b->used, head, sizeof head);
//   memcpy(b->data + b->used + sizeof head, data, n);
//   b->used += sizeof head + n;
//   return 0;
// }
//
// // own adds a field of journald's own, if it is one that is read. Most are not.
// static inline int
// own(calls *c, buffer *b, const char *data, size_t n)
// {
//   for (int i = 0; c->own[i] != NULL; i++) {
//     const char *name = c->own[i];
//     size_t size = c->size[i];
//     if (n > size && name[1] == data[1] && name[2] == data[2] && memcmp(name, data, size) == 0 && data[size] == '=')
//       return put(b, data, n, size);
//   }
//   return 0;
// }
//
// // fields adds what j has at its place: the cursor, then the fields.
// static int
// fields(calls *c, sd_journal *j, buffer *b, size_t most, size_t mostOther)
// {
//   char *cursor = NULL;
//   int r = c->cursor(j, &cursor);
//   if (r < 0)
//     return r;
//   r = put(b, cursor, strlen(cursor), 0);
//   free(cursor);
//   c->restart(j);
//   while (r == 0) {
//     const char *data;
//     size_t n;
//     if ((r = c->enumerate(j, (const void **)&data, &n)) <= 0)
//       return r;
//     size_t keep = n > 8 && data[0] == 'M' && memcmp(data, "MESSAGE=", 8) == 0 ? most : mostOther;
//     if (n < keep)
//       keep = n;
//     if (keep > 2 && data[0] == '_') {
//       r = own(c, b, data, keep);
//     } else {
//       const char *end = memchr(data, '=', keep);
//       r = end == NULL ? -EBADMSG : put(b, data, keep, end - data);
//     }
//   }
//   return r;
// }
//
// // record adds what j has at its place: size of all that follows, error, fields.
// static int
// record(calls *c, sd_journal *j, buffer *b, size_t most, size_t mostOther)
// {
//   size_t begin = b->used;
//   if (room(b, 2 * sizeof(uint32_t)) < 0)
//     return -ENOMEM;
//   b->used += 2 * sizeof(uint32_t);
//   int32_t r = fields(c, j, b, most, mostOther);
//   uint32_t size = b->used - begin - sizeof size;
//   memcpy(b->data + begin, &size, sizeof size);
//   memcpy(b->data + begin + sizeof size, &r, sizeof r);
//   return r;
// }
//
// // records moves j on and adds what it comes to, until there are n records or
// // full bytes, one cannot be read, or there is none: 0, or what next said.
// static int
// records(calls *c, sd_journal *j, buffer *b, int n, size_t full, size_t most, size_t mostOther)
// {
//   b->used = 0;
//   for (; n > 0 && b->used < full; n--) {
//     int r = c->next(j);
//     if (r <= 0)
//       return r;
//     size_t begin = b->used;
//     if ((r = record(c, j, b, most, mostOther)) < 0)
//       return b->used == begin ? r : 0;
//   }
//   return 0;
// }
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
	maxRead    = 64           // records fetched with one call, and with the next the clock is looked at
	fullRead   = 256 << 10    // bytes after which a call fetches no more
	keepRead   = 4 << 20      // bytes of memory that are kept: one huge record must not cost its memory for ever
	maxMessage = 8 + maxValue // bytes that are read of a message, MESSAGE= with it
	maxOther   = 64 << 10     // bytes that are read of what is no message: ingest keeps 1 KiB
)

// native are libsystemd's functions.
var native = sync.OnceValues(func() (c C.calls, err error) {
	if missing := C.load(&c); missing != nil {
		return c, fmt.Errorf("%s is missing", C.GoString(missing))
	}
	for i, name := range ingest.JournalFields {
		c.own[i], c.size[i] = C.CString(name), C.size_t(len(name)) // for good
	}
	return c, nil
})

// raw is a record as it was fetched: its parts lie in the memory of a fetcher.
type raw struct {
	cursor []byte
	fields []byte // one after the other: size of the whole and of the name, NAME=value
	err    error  // why the rest cannot be read
}

// fetcher fetches the records of one journal handle. What it gives is valid
// until it fetches again or is closed.
type fetcher struct {
	calls  C.calls
	handle *C.sd_journal
	mem    *C.buffer
	rest   []byte    // records that were not taken yet
	at     time.Time // when they were fetched
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
	f.mem, f.rest = nil, nil
}

// next is the journal's next record; ok is false at its end.
func (f *fetcher) next() (r raw, ok bool, err error) {
	if len(f.rest) == 0 {
		f.trim()
		if n := C.records(&f.calls, f.handle, f.mem, maxRead, fullRead, maxMessage, maxOther); n < 0 && f.mem.used == 0 {
			return r, false, fmt.Errorf("failed to iterate journal: %w", syscall.Errno(-n))
		}
		f.fetched()
	}
	if len(f.rest) == 0 {
		return r, false, nil
	}
	return f.take(), true, nil
}

// current is the record that the handle is placed at.
func (f *fetcher) current() raw {
	f.trim()
	f.mem.used = 0
	if r := C.record(&f.calls, f.handle, f.mem, maxMessage, maxOther); f.mem.used == 0 {
		return raw{err: syscall.Errno(-r)}
	}
	f.fetched()
	return f.take()
}

// drop forgets what was fetched and not taken: the handle was placed elsewhere.
func (f *fetcher) drop() { f.rest = nil }

func (f *fetcher) trim() {
	if f.mem.room > keepRead {
		C.free(unsafe.Pointer(f.mem.data))
		*f.mem = C.buffer{}
	}
}

func (f *fetcher) fetched() {
	f.at = time.Now()
	f.rest = unsafe.Slice((*byte)(unsafe.Pointer(f.mem.data)), f.mem.used)
}

// take takes the first record of the rest: its size, its error, its fields.
func (f *fetcher) take() (r raw) {
	size := 4 + int(binary.NativeEndian.Uint32(f.rest))
	b := f.rest[4:size]
	f.rest = f.rest[size:]
	if code := int32(binary.NativeEndian.Uint32(b)); code < 0 {
		return raw{err: syscall.Errno(-code)}
	}
	_, r.cursor, r.fields = cut(b[4:])
	return r
}

// cut takes the first field off b.
func cut(b []byte) (name, val, rest []byte) {
	size, n := 8+int(binary.NativeEndian.Uint32(b)), 8+int(binary.NativeEndian.Uint32(b[4:]))
	if n == 8 && (size == 8 || b[8] != '=') {
		return nil, b[8:size:size], b[size:] // the cursor has no name
	}
	return b[8:n:n], b[n+1 : size : size], b[size:]
}

// each yields the fields in the order of the file.
func (r raw) each(yield func(name, val []byte) bool) {
	for b := r.fields; len(b) > 0; {
		var name, val []byte
		if name, val, b = cut(b); !yield(name, val) {
			return
		}
	}
}

// value is what the field called name has, "" if there is none.
func (r raw) value(name string) (val string) {
	for n, v := range r.each {
		if string(n) == name {
			val = string(v)
		}
	}
	return val
}
