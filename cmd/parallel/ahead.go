// Package parallel helps to read an input on several processors: entries are read ahead
// of where they are used, and what several files print comes out in their order.
//
// Invariant: the order of entries and of output is that of one processor, and what is
// kept in memory is bounded.
//
// Crash behaviour: it keeps no state.
package parallel

import (
	"iter"

	"coroner/ingest"
)

// Entries go from the reader to who scans them in batches: few enough to stay
// small, large enough that handing them over costs nothing beside reading them.
const (
	batchSize = 256
	batches   = 8
)

// Ahead reads entries on a processor of its own while those before them are being
// used. It reads at most a few batches ahead.
func Ahead(entries iter.Seq[ingest.Entry]) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		read, used := make(chan []ingest.Entry, batches), make(chan []ingest.Entry, batches)
		for range batches {
			used <- make([]ingest.Entry, 0, batchSize)
		}
		stop := make(chan struct{})
		go fill(entries, read, used, stop)
		defer func() {
			close(stop)
			for range read { // until the reader has ended, too
			}
		}()
		for batch := range read {
			for _, e := range batch {
				if !yield(e) {
					return
				}
			}
			clear(batch)
			used <- batch[:0]
		}
	}
}

// fill reads until there is no more or stop is closed.
func fill(
	entries iter.Seq[ingest.Entry],
	read chan<- []ingest.Entry,
	used <-chan []ingest.Entry,
	stop <-chan struct{},
) {
	defer close(read)
	batch := <-used
	for e := range entries {
		if batch = append(batch, e); len(batch) < batchSize {
			continue
		}
		read <- batch // never blocks: there are no more batches than it holds
		select {
		case batch = <-used:
		case <-stop:
			return
		}
	}
	read <- batch
}
