package podlog

import (
	"bufio"
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
	f       *os.File
	info    fs.FileInfo   // as it was opened: which file it is
	zip     *gzip.Reader  // nil for a plain file
	damaged error         // it is compressed, and that cannot be undone
	open    *atomic.Int64 // counts it while it is open

	head     head
	partial  partialLine
	taken    int64     // offset of the first line that was not taken
	readTo   int64     // offset where the next read goes on
	target   int64     // offset that the round wants to be read
	replaced time.Time // when a newer file took its place; zero if it was so when it was opened
	lost     string    // why lines before it are missing; "" if none are
}

var errKind = errors.New("not a regular file")

// openLog opens a log file and reads its head. It follows no symbolic link and
// does not block on a pipe.
func openLog(path string, gz bool, open *atomic.Int64) (*file, error) {
	fd, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := &file{f: fd, open: open}
	open.Add(1)
	f.info, err = fd.Stat()
	if err == nil && !f.info.Mode().IsRegular() {
		err = fmt.Errorf("open %s: %w", path, errKind)
	}
	if err == nil {
		err = f.readHead(gz)
	}
	if err != nil {
		f.closeFile()
		return nil, err
	}
	return f, nil
}

func (f *file) closeFile() {
	if f.f != nil {
		_ = f.f.Close() // it was only read
		f.f, f.zip, f.partial = nil, nil, partialLine{}
		f.open.Add(-1)
	}
}

// readHead reads the first bytes.
func (f *file) readHead(gz bool) error {
	b := make([]byte, headBytes)
	if !gz {
		n, err := f.f.ReadAt(b, 0)
		f.head.text = b[:n]
		if err == io.EOF {
			err = nil
		}
		return err
	}
	if err := f.seekTo(0, true); err != nil {
		f.damaged = err
		return nil
	}
	n, err := io.ReadFull(f.zip, b)
	f.head.text = b[:n]
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		f.damaged = err
		return nil
	}
	f.damaged = f.seekTo(0, true)
	return nil
}

// refreshHead reads the first bytes again of a file that may have been empty when it was
// opened. A compressed file does not change.
func (f *file) refreshHead() error {
	if f.zip != nil || f.damaged != nil {
		return nil
	}
	return f.readHead(false)
}

// seekTo makes offset the place where reading goes on.
func (f *file) seekTo(offset int64, gz bool) error {
	f.partial.resetText()
	f.taken, f.readTo = offset, offset
	if !gz {
		return nil
	}
	if _, err := f.f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var err error
	if f.zip, err = gzip.NewReader(bufio.NewReader(f.f)); err == nil {
		_, err = io.CopyN(io.Discard, f.zip, offset)
	}
	return err
}

// readInto fills buf. At the end of what there is now, err is io.EOF, with or
// without bytes.
func (f *file) readInto(buf []byte) (n int, err error) {
	switch {
	case f.damaged != nil:
		return 0, f.damaged
	case f.zip != nil:
		if n, err = f.zip.Read(buf); err != nil && err != io.EOF {
			f.damaged = err
		}
	default:
		n, err = f.f.ReadAt(buf, f.readTo)
	}
	f.head.extendWith(buf[:n], f.readTo)
	f.readTo += int64(n)
	return n, err
}

// offsetAt is an offset of this file, with the file's fingerprint so far.
func (f *file) offsetAt(bytes int64) fileOffset {
	print, hashed := f.head.fingerprint()
	return fileOffset{print, hashed, bytes}
}

// contains reports whether an offset is one of this file.
func (f *file) contains(o fileOffset) bool {
	return o.hashed > 0 && len(f.head.text) >= o.hashed && fingerprint(f.head.text[:o.hashed]) == o.print
}

// currentSize is how long the file is now; that of a compressed one is not known.
func (f *file) currentSize() int64 {
	if f.zip != nil || f.damaged != nil {
		return math.MaxInt64
	}
	n, err := f.f.Seek(0, io.SeekEnd) // less work for the kernel than Stat; a plain file is read with ReadAt
	if err != nil {
		return f.readTo
	}
	return n
}

// hasChanged reports whether the file is not as long as what was read of it. A
// compressed file does not change.
func (f *file) hasChanged() bool {
	return f.zip == nil && f.damaged == nil && f.currentSize() != f.readTo
}

// hasShrunk reports whether the file is shorter than what was read of it.
func (f *file) hasShrunk() bool {
	return f.zip == nil && f.damaged == nil && f.currentSize() < f.readTo
}

// unlinked reports whether the file has no name any more.
func (f *file) unlinked() bool {
	info, err := f.f.Stat()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Nlink) == 0
}

// startOver begins again with a file whose content was replaced.
func (f *file) startOver() {
	f.head = head{text: f.head.text[:0]}
	f.taken, f.readTo, f.target, f.partial = 0, 0, 0, partialLine{}
}
