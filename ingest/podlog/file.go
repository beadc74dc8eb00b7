package podlog

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// file is one open log file, plain or compressed.
type file struct {
	f    *os.File
	info fs.FileInfo   // as it was opened: which file it is
	zip  *gzip.Reader  // nil for a plain file
	bad  error         // it is compressed, and that cannot be undone
	open *atomic.Int64 // counts it while it is open

	head []byte // its first bytes, up to printBytes
	sum  string // fingerprint of them
	summ int    // of how many

	off  int64     // where the first line that was not taken begins
	got  int64     // where the next read goes on
	most int       // bytes that part may be
	part []byte    // the bytes between, without those cut
	cut  int       // bytes dropped from them
	goal int64     // how far the round wants it read
	left time.Time // when a newer file took its place; zero if it was so from the begin
	gap  string    // why lines before it are missing; "" if none are
}

var errKind = errors.New("not a regular file")

// openLog opens a log file and reads its head. It follows no symbolic link and
// waits for nobody.
func openLog(path string, gz bool, open *atomic.Int64) (*file, error) {
	fd, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := &file{f: fd, open: open, most: partBytes}
	open.Add(1)
	f.info, err = fd.Stat()
	if err == nil && !f.info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, errKind)
	}
	if err == nil {
		err = f.peek(gz)
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *file) close() {
	if f.f != nil {
		_ = f.f.Close() // it was only read
		f.f, f.zip, f.part = nil, nil, nil
		f.open.Add(-1)
	}
}

// peek reads the head.
func (f *file) peek(gz bool) error {
	head := make([]byte, printBytes)
	if !gz {
		n, err := f.f.ReadAt(head, 0)
		f.head = head[:n]
		if err == io.EOF {
			err = nil
		}
		return err
	}
	if err := f.skip(0, true); err != nil {
		f.bad = err
		return nil
	}
	n, err := io.ReadFull(f.zip, head)
	f.head = head[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		f.bad = err
		return nil
	}
	f.bad = f.skip(0, true)
	return nil
}

// skip makes off the place where reading goes on.
func (f *file) skip(off int64, gz bool) error {
	f.part, f.cut = f.part[:0], 0
	f.off, f.got = off, off
	if !gz {
		return nil
	}
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var err error
	if f.zip, err = gzip.NewReader(bufio.NewReader(f.f)); err == nil {
		_, err = io.CopyN(io.Discard, f.zip, off)
	}
	return err
}

// read fills buf. At the end of what there is now, err is io.EOF, with or
// without bytes.
func (f *file) read(buf []byte) (n int, err error) {
	switch {
	case f.bad != nil:
		return 0, f.bad
	case f.zip != nil:
		if n, err = f.zip.Read(buf); err != nil && err != io.EOF {
			f.bad = err
		}
	default:
		n, err = f.f.ReadAt(buf, f.got)
	}
	if known := int64(len(f.head)); known < printBytes && f.got <= known && known < f.got+int64(n) {
		f.head = append(f.head, buf[known-f.got:min(int64(n), printBytes-f.got)]...)
	}
	f.got += int64(n)
	return n, err
}

// lines hands the complete lines of what was read to take, with how many bytes
// were cut off and how many the line takes in the file. The rest waits.
func (f *file) lines(chunk []byte, take func(line []byte, cut int, size int64)) {
	for len(chunk) > 0 {
		chunk = f.next(chunk, take)
	}
}

// next is lines of one line. It returns what is behind it.
func (f *file) next(chunk []byte, take func(line []byte, cut int, size int64)) []byte {
	i := bytes.IndexByte(chunk, '\n')
	if i < 0 {
		f.keep(chunk)
		return nil
	}
	line := chunk[:i]
	if len(f.part) > 0 || f.cut > 0 {
		f.keep(line)
		line = f.part
	}
	cut := f.cut
	f.part, f.cut = f.part[:0], 0
	take(line, cut, int64(len(line)+cut+1))
	if cap(f.part) > chunkSize {
		f.part = nil
	}
	return chunk[i+1:]
}

// keep holds the begin of a line until its end comes.
func (f *file) keep(b []byte) {
	room := max(0, min(len(b), f.most-len(f.part)))
	f.part = append(f.part, b[:room]...)
	f.cut += len(b) - room
}

// rest hands out the bytes behind the last newline, where no more will come.
func (f *file) rest(take func(line []byte, cut int, size int64)) {
	if len(f.part) > 0 || f.cut > 0 {
		line, cut := f.part, f.cut
		f.part, f.cut = nil, 0
		take(line, cut, int64(len(line)+cut))
	}
}

// spot is a byte of the file, with the file's fingerprint so far.
func (f *file) spot(offset int64) spot {
	if len(f.head) != f.summ {
		f.sum, f.summ = fingerprint(f.head), len(f.head)
	}
	return spot{f.sum, f.summ, offset}
}

// matches says whether the spot is in this file.
func (f *file) matches(p spot) bool {
	return p.hashed > 0 && len(f.head) >= p.hashed && fingerprint(f.head[:p.hashed]) == p.print
}

// size is how long the file is now; that of a compressed one is not known.
func (f *file) size() int64 {
	if f.zip != nil || f.bad != nil {
		return math.MaxInt64
	}
	info, err := f.f.Stat()
	if err != nil {
		return f.got
	}
	return info.Size()
}

// shrunk says whether the file is shorter than what was read of it.
func (f *file) shrunk() bool { return f.zip == nil && f.bad == nil && f.size() < f.got }

// unlinked says whether the file has no name any more.
func (f *file) unlinked() bool {
	info, err := f.f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Nlink) == 0
}

// again begins anew with a file whose content was replaced.
func (f *file) again() {
	f.head = f.head[:0]
	f.off, f.got, f.goal, f.part, f.cut = 0, 0, 0, nil, 0
}
