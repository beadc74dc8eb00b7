package push

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"coroner/ingest"
)

// intake reads the bodies of requests. Who sends slowly holds up nobody: a body
// takes memory for what has come of it and no place among the requests that are
// handled; where all of them would take too much, the one gives way that has been
// read the longest.
type intake struct {
	limit    int64         // bytes of one body
	most     int64         // bytes of all
	patience time.Duration // in which atOnce bytes have to come, or the end

	mu      sync.Mutex
	held    int64
	reading []*body // the oldest first
}

// body is one that is read or handled.
type body struct {
	size    int64
	gone    bool                    // it gave way
	timeout func(t time.Time) error // sets when the connection's reads fail
}

const (
	firstRead = 16 << 10    // bytes that room is made for at first
	atOnce    = 64 << 10    // bytes that are waited for
	longest   = time.Minute // for a whole body
)

var (
	errSlow = errors.New("the body came too slowly: send it faster, or less at one time")
	errFull = errors.New("the pushes in hand take all the memory that they may")
)

// readRequest reads a request's body. What it took is given back by done.
func (in *intake) readRequest(w http.ResponseWriter, r *http.Request) (data []byte, b *body, err error) {
	conn := http.NewResponseController(w)
	b = &body{timeout: conn.SetReadDeadline}
	in.beginBody(b)
	defer in.endBody(b)
	data, err = in.readBody(r.Body, b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = errSlow
	}
	if in.gaveWay(b) {
		err = errFull
	}
	if err == nil {
		_ = conn.SetReadDeadline(time.Time{}) // a test's answer has no connection
	}
	return data, b, err
}

// readBody reads until the end of the body.
func (in *intake) readBody(r io.Reader, b *body) (data []byte, err error) {
	until := time.Now().Add(longest)
	for next := 0; ; {
		if len(data) == cap(data) {
			if data, err = in.growRoom(data, b); err != nil {
				return nil, err
			}
		}
		if len(data) >= next {
			next = len(data) + atOnce
			in.waitUntil(b, ingest.EarlierOf(until, time.Now().Add(in.patience)))
		}
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > in.limit:
			return nil, tooLarge{"the body"}
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

// waitUntil says until when more has to come, unless the body gave way.
func (in *intake) waitUntil(b *body, until time.Time) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !b.gone {
		_ = b.timeout(until) // as above
	}
}

// growRoom makes room for as much again. Older bodies give way to it where there is
// none.
func (in *intake) growRoom(data []byte, b *body) ([]byte, error) {
	more := min(max(int64(cap(data)), firstRead), in.limit+1-int64(cap(data)))
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.held+more > in.most && len(in.reading) > 0 && in.reading[0] != b {
		in.dismissBody(in.reading[0])
	}
	if b.gone || in.held+more > in.most {
		return nil, errFull
	}
	b.size += more
	in.held += more
	return append(make([]byte, 0, int64(cap(data))+more), data...), nil
}

// dismissBody ends the reading of a body. Its memory is free as soon as it is not read
// into any more, which is now: its connection is not waited for.
func (in *intake) dismissBody(b *body) {
	b.gone = true
	in.held -= b.size
	b.size = 0
	in.forgetBody(b)
	_ = b.timeout(time.Unix(1, 0)) // as above
}

func (in *intake) beginBody(b *body) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.reading = append(in.reading, b)
}

// endBody notes that a body is not read any more, whatever came of it.
func (in *intake) endBody(b *body) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.forgetBody(b)
}

func (in *intake) forgetBody(b *body) {
	in.reading = slices.DeleteFunc(in.reading, func(x *body) bool { return x == b })
}

func (in *intake) gaveWay(b *body) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return b.gone
}

// bodyDone gives back what a body took.
func (in *intake) bodyDone(b *body) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.held -= b.size
	b.size = 0
}
