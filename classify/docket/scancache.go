package docket

import (
	"sync"

	"coroner/classify"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// scanCache keeps what the ledger holds about nodes as a rulebook sees it, for many
// cases ask for the same. It is bounded in number and in bytes.
type scanCache struct {
	mu   sync.Mutex
	all  *simplelru.LRU[scanKey, *classify.Scanned]
	size int
}

const (
	maxScans     = 20_000
	maxScansSize = 24 << 20
)

func newScanCache() *scanCache {
	s := &scanCache{}
	gone := func(_ scanKey, x *classify.Scanned) { s.size -= sizeOf(x) }
	s.all, _ = simplelru.NewLRU(maxScans, gone) // an error only for a size below 1
	return s
}

// sizeOf is about how many bytes a record takes.
func sizeOf(x *classify.Scanned) int {
	const entry, signal = 512, 512
	return entry + signal*len(x.Signals) + 2*len(x.Entry.Text)
}

// Get returns a record, if it is there.
func (s *scanCache) Get(k scanKey) (*classify.Scanned, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Get(k)
}

// Add takes a record in, and lets others go for it.
func (s *scanCache) Add(k scanKey, x *classify.Scanned) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Remove(k)
	s.all.Add(k, x)
	for s.size += sizeOf(x); s.size > maxScansSize; {
		s.all.RemoveOldest()
	}
}

// Purge lets all go.
func (s *scanCache) Purge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Purge()
}
