package main

import (
	"io"
	"sync"
)

// queue brings what several goroutines write into the order of their places,
// which begin at 0 and are left one after the other or all at once.
type queue struct {
	mu   sync.Mutex
	turn sync.Cond
	out  io.Writer
	now  int   // the place that may write
	err  error // of out; nothing is written after it
}

func newQueue(out io.Writer) *queue {
	q := &queue{out: out}
	q.turn.L = &q.mu
	return q
}

// place is the writer of place i. It must be left.
func (q *queue) place(i int) *place { return &place{queue: q, i: i} }

// place keeps what is written until it is its turn, or until it is too much to
// keep: then it waits.
type place struct {
	queue *queue
	i     int
	held  []byte
}

// maxHeld is how many bytes wait for their turn.
const maxHeld = 4 << 20

func (p *place) Write(b []byte) (int, error) {
	p.held = append(p.held, b...)
	if len(p.held) < 1<<16 {
		return len(b), nil
	}
	return len(b), p.flush(len(p.held) > maxHeld)
}

// flush writes what is held, if it is the place's turn or it may wait for it.
func (p *place) flush(wait bool) error {
	q := p.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	for wait && q.now != p.i {
		q.turn.Wait()
	}
	if q.now == p.i && q.err == nil {
		_, q.err = q.out.Write(p.held)
	}
	if q.now == p.i || q.err != nil {
		p.held = p.held[:0]
	}
	return q.err
}

// leave writes the rest and gives the turn to the next place.
func (p *place) leave() {
	_ = p.flush(true) // the queue keeps the error
	p.queue.mu.Lock()
	defer p.queue.mu.Unlock()
	p.queue.now++
	p.queue.turn.Broadcast()
}
