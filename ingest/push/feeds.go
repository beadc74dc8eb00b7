package push

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"coroner/ingest"
	"coroner/ingest/document"
)

// feeds are the plain streams that may go on: of each it is remembered what its
// lines turned out to be, and the begin of a line whose end is still to come. What
// that takes is bounded over all of them; who was not heard of for the longest
// goes first, and what was begun of his lines is given without its end.
type feeds struct {
	unfinished atomic.Int64 // lines that were given so

	mu   sync.Mutex
	all  *simplelru.LRU[string, *feed]
	size int // bytes of all
}

// feed is one of them.
type feed struct {
	key string
	by  Identity   // whose lines they are
	mu  sync.Mutex // guards Feed
	*document.Feed

	size int       // bytes; guarded by feeds
	used time.Time // the same
	busy int       // who uses it; the same
}

const (
	maxFeeds    = 8192
	maxFeedSize = 32 << 20        // bytes of all
	oneFeedSize = 1 << 20         // of one: beyond, what it began is given at once
	unfinished  = 5 * time.Minute // a line's end is waited for
)

func newFeeds() *feeds {
	all, _ := simplelru.NewLRU[string, *feed](2*maxFeeds, nil) // done keeps it under maxFeeds
	return &feeds{all: all}
}

// feedFor returns the feed of a stream of a credential. Whoever has it says done.
func (s *feeds) feedFor(by Identity, labels string, d document.Document) *feed {
	key := by.Cluster + "\x00" + labels
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.all.Get(key)
	if !ok {
		f = &feed{key: key, by: by, Feed: d.Feed()}
		s.all.Add(key, f)
	}
	f.busy++
	return f
}

// doneWith notes what a feed keeps now, and gives what is not waited for any more, which
// may be others' lines.
func (s *feeds) doneWith(f *feed, now time.Time, give func(by Identity, cut []ingest.Entry)) {
	f.mu.Lock()
	if f.Size() > oneFeedSize {
		s.flushLines(f, give)
	}
	size := f.Size()
	f.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.size += size - f.size
	f.size, f.used = size, now
	f.busy--
	for s.dropOldest(now, give) {
	}
}

// dropOldest lets the feed go that was used the longest ago, if it has to.
func (s *feeds) dropOldest(now time.Time, give func(by Identity, cut []ingest.Entry)) bool {
	_, f, ok := s.all.GetOldest()
	if !ok || f.busy > 0 || s.all.Len() <= maxFeeds && s.size <= maxFeedSize && now.Sub(f.used) < unfinished {
		return false
	}
	s.all.Remove(f.key)
	s.size -= f.size
	s.flushLines(f, give) // nobody else has it
	return true
}

// flushLines gives the lines that a feed has begun.
func (s *feeds) flushLines(f *feed, give func(by Identity, cut []ingest.Entry)) {
	entries := f.Flush()
	s.unfinished.Add(int64(len(entries)))
	if len(entries) > 0 {
		give(f.by, entries)
	}
}
