package podlog

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRead: one log from its begin to its end.
func BenchmarkRead(b *testing.B) {
	n := newNode(b)
	c := n.runner("a")
	const lines = 50000
	for i := range lines {
		c.say(
			fmt.Sprintf(
				"line %d of a job that prints about as much on a line as jobs do, paths and versions and so on",
				i,
			),
		)
	}
	info, err := c.out.Stat()
	n.must(err)
	b.SetBytes(info.Size())
	b.ReportAllocs()
	for b.Loop() {
		s := n.steps(Config{})
		s.r.out.emit = func(Batch) error { return nil }
		s.polls(1)
		s.r.closeAll()
	}
	b.ReportMetric(float64(b.N*lines)/b.Elapsed().Seconds(), "lines/s")
}

// BenchmarkRescan: what a second costs on a node where nothing is written.
func BenchmarkRescan(b *testing.B) {
	n := newNode(b)
	for i := range 250 {
		n.runner(fmt.Sprint("p", i)).count(0, 20)
	}
	s := n.steps(Config{})
	s.polls(5)
	s.r.out.emit = func(Batch) error { return nil }
	b.ReportAllocs()
	for b.Loop() {
		s.clock = s.clock.Add(time.Second)
		if _, err := s.r.pollOnce(); err != nil {
			b.Fatal(err)
		}
	}
}
