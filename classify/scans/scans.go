// Package scans remembers what the ledger holds about nodes as a rulebook sees it, for many cases
// ask for the same.
//
// Invariant: it is bounded in number and in bytes, and a record under another rulebook is another one.
//
// Crash behaviour: it is memory only; what is gone is read and scanned again.
package scans

import (
	"sync"

	"coroner/classify"
	"coroner/rules"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Key names a record as a rulebook sees it.
type Key struct {
	ID   int64
	Book *rules.Rulebook
}

// Cache remembers records. Its methods may be called from several goroutines.
type Cache struct {
	mu   sync.Mutex
	all  *simplelru.LRU[Key, *classify.Scanned]
	size int
}

const (
	maxRecords = 20_000
	maxSize    = 24 << 20
)

// New returns an empty cache.
func New() *Cache {
	s := &Cache{}
	gone := func(_ Key, x *classify.Scanned) { s.size -= sizeOf(x) }
	s.all, _ = simplelru.NewLRU(maxRecords, gone) // an error only for a size below 1
	return s
}

// sizeOf is about how many bytes a record takes.
func sizeOf(x *classify.Scanned) int {
	const entry, signal = 512, 512
	return entry + signal*len(x.Signals) + 2*len(x.Entry.Text)
}

// Get returns a record, if it is there.
func (s *Cache) Get(k Key) (*classify.Scanned, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Get(k)
}

// Add takes a record in, and lets others go for it.
func (s *Cache) Add(k Key, x *classify.Scanned) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Remove(k)
	s.all.Add(k, x)
	for s.size += sizeOf(x); s.size > maxSize; {
		s.all.RemoveOldest()
	}
}

// Purge lets all go.
func (s *Cache) Purge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all.Purge()
}
