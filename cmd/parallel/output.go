package parallel

import (
	"io"
	"sync"
)

// Output brings what several goroutines write into the order of their places,
// which begin at 0 and are closed one after the other or all at once.
type Output struct {
	mu    sync.Mutex
	moved sync.Cond
	out   io.Writer
	now   int   // the place that may write
	err   error // of out; nothing is written after it
}

// NewOutput returns an output that writes to out.
func NewOutput(out io.Writer) *Output {
	o := &Output{out: out}
	o.moved.L = &o.mu
	return o
}

// Err is why out could not be written, nil if it could.
func (o *Output) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// Place is the writer of place i. It must be closed.
func (o *Output) Place(i int) *Place { return &Place{output: o, i: i} }

// Place keeps what is written until it is its turn, or until it is too much to
// keep: then it waits.
type Place struct {
	output  *Output
	i       int
	pending []byte
}

// maxPending is how many bytes wait for their turn.
const maxPending = 4 << 20

// Write implements io.Writer.
func (p *Place) Write(b []byte) (int, error) {
	p.pending = append(p.pending, b...)
	if len(p.pending) < 1<<16 {
		return len(b), nil
	}
	return len(b), p.flush(len(p.pending) > maxPending)
}

// flush writes what is pending, if it is the place's turn or it may wait for it.
func (p *Place) flush(wait bool) error {
	o := p.output
	o.mu.Lock()
	defer o.mu.Unlock()
	for wait && o.now != p.i {
		o.moved.Wait()
	}
	if o.now == p.i && o.err == nil {
		_, o.err = o.out.Write(p.pending)
	}
	if o.now == p.i || o.err != nil {
		p.pending = p.pending[:0]
	}
	return o.err
}

// Close writes the rest and gives the turn to the next place.
func (p *Place) Close() {
	_ = p.flush(true) // the output keeps the error
	p.output.mu.Lock()
	defer p.output.mu.Unlock()
	p.output.now++
	p.output.moved.Broadcast()
}
