package parallel

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// What several goroutines write comes out in the order of their places, all of
// it, however the goroutines take turns.
func TestQueueKeepsOrder(t *testing.T) {
	var out bytes.Buffer
	q, want, wait := NewOutput(&out), "", sync.WaitGroup{}
	line := strings.Repeat("x", 1000)
	for i := range 20 {
		lines := 100 * (i % 3)
		for n := range lines {
			want += fmt.Sprintln(i, n, line)
		}
		place := q.Place(i)
		wait.Go(func() {
			defer place.Close()
			for n := range lines {
				fmt.Fprintln(place, i, n, line)
			}
		})
	}
	wait.Wait()
	if out.String() != want || q.err != nil {
		t.Errorf("%d bytes, want %d; %v", out.Len(), len(want), q.err)
	}
}

// A reader that goes away ends everybody and is told once.
func TestQueueTellsTheErrorOfItsWriter(t *testing.T) {
	q, wait := NewOutput(broken{}), sync.WaitGroup{}
	for i := range 4 {
		place := q.Place(i)
		wait.Go(func() {
			defer place.Close()
			for range 100 {
				if _, err := place.Write(make([]byte, 10_000)); err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	if !errors.Is(q.err, errBroken) {
		t.Error(q.err)
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
