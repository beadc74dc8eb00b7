package bundle

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"sync"

	"coroner/ingest"
)

// scout reads a document ahead of its reader and goes through what it read, on
// a processor that would have nothing to do. It holds a few stretches of whole
// lines, however long the document is.
type scout struct {
	in   io.Reader
	next func(b []byte, from int) int

	seen, used chan *stretch // by the scout, by the reader; used ones are filled again
	work       sync.WaitGroup

	now *stretch // being read; what of it was read stays until more is asked for
}

// stretch is a part of a document. It ends where a line ends, or in a line that begins
// in its first half: so it holds the head that a document is sampled by.
type stretch struct {
	room   []byte
	data   []byte
	read   int   // how much of data
	points []int // in data, see ingest.Points; those that were read past may be gone
	err    error // behind data
}

const (
	stretchSize = 2 * headSize // the processor's own memory holds it
	stretches   = 4
)

// newScout sends a scout into in, which is the scout's until it is called back.
func newScout(in io.Reader, next func(b []byte, from int) int) *scout {
	s := &scout{in: in, next: next, now: &stretch{}}
	s.seen, s.used = make(chan *stretch, stretches), make(chan *stretch, stretches)
	for range stretches {
		s.used <- &stretch{room: make([]byte, stretchSize)}
	}
	s.work.Go(s.run)
	return s
}

// callBack ends the scout's work and returns when it has ended. Nothing can be
// read then.
func (s *scout) callBack() {
	close(s.used)
	s.work.Wait()
}

// run fills one stretch after the other until the document ends.
func (s *scout) run() {
	var rest []byte
	for t := range s.used {
		rest = t.fill(s.in, rest)
		t.points = ingest.Points(t.data, s.next, t.points[:0])
		s.seen <- t // it has room for all there are
		if t.err != nil {
			return
		}
	}
}

// fill reads the stretch, behind the rest that the one before left, and returns
// the rest that it leaves itself: the start of a line, until it is filled again.
func (t *stretch) fill(in io.Reader, rest []byte) []byte {
	n := copy(t.room, rest)
	for t.err = nil; n < len(t.room) && t.err == nil; {
		var more int
		more, t.err = in.Read(t.room[n:])
		n += more
	}
	t.data, t.read = t.room[:n], 0
	if end := bytes.LastIndexByte(t.data, '\n') + 1; t.err == nil && end >= headSize {
		t.data = t.room[:end]
	}
	return t.room[len(t.data):n]
}

// more makes sure that something is there to be read, or returns why not.
func (s *scout) more() error {
	for s.Buffered() == 0 {
		if s.now.err != nil {
			return s.now.err
		}
		if s.now.room != nil {
			s.used <- s.now
		}
		s.now = <-s.seen
	}
	return nil
}

// Buffered, Peek, Discard, ReadSlice and Read are those of a bufio.Reader.
func (s *scout) Buffered() int { return len(s.now.data) - s.now.read }

// Peek gives what is there of n bytes.
func (s *scout) Peek(n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	if err := s.more(); err != nil {
		return nil, err
	}
	b := s.now.data[s.now.read:]
	if n <= len(b) {
		return b[:n], nil
	}
	return b, cmp.Or(s.now.err, bufio.ErrBufferFull)
}

// Discard reads n bytes that nobody wants to see.
func (s *scout) Discard(n int) (done int, err error) {
	for done < n {
		if err := s.more(); err != nil {
			return done, err
		}
		step := min(n-done, s.Buffered())
		s.now.read += step
		done += step
	}
	return n, nil
}

// ReadSlice reads up to and with the end.
func (s *scout) ReadSlice(end byte) ([]byte, error) {
	if err := s.more(); err != nil {
		return nil, err
	}
	b := s.now.data[s.now.read:]
	if i := bytes.IndexByte(b, end); i >= 0 {
		s.now.read += i + 1
		return b[:i+1], nil
	}
	s.now.read += len(b)
	return b, cmp.Or(s.now.err, bufio.ErrBufferFull)
}

// Read reads what is there.
func (s *scout) Read(p []byte) (int, error) {
	if err := s.more(); err != nil {
		return 0, err
	}
	n := copy(p, s.now.data[s.now.read:])
	s.now.read += n
	return n, nil
}

// Dull is what ingest.Scouted asks for.
func (s *scout) Dull() int {
	t := s.now
	for len(t.points) > 0 && t.points[0] < t.read {
		t.points = t.points[1:]
	}
	if len(t.points) > 0 {
		return t.points[0] - t.read
	}
	return s.Buffered()
}
