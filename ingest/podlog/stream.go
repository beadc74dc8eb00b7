package podlog

import (
	"fmt"
	"io/fs"
	"time"

	"coroner/ingest"
)

// key names one instance of one container.
type key struct {
	path string // "NAMESPACE_POD_UID/CONTAINER"
	n    int    // of N.log
}

// stream is what one container instance has written: a sequence of files, the
// last of which may grow.
type stream struct {
	key
	doc  string
	id   ingest.Entry // whose text it is, without a text
	feed *ingest.Feed

	queue   []*file // open, oldest first; empty while it is parked or has ended
	at      place   // everything before it was given
	seq     parts   // what was read behind at: a split line whose end is yet to come
	gap     *loss   // to be told before the next record
	cutoff  time.Time
	changed bool // since its last Covered

	words words // the last ones, not given as context yet
	owed  *Owed // last words of an earlier run that are to be read again
	known bool  // whose text it is, as the feed has it now, is in id

	due     bool      // it may have something to read
	behind  bool      // it is not yet where the round wants it
	idle    bool      // its end was seen, and nothing read since
	waiting bool      // for a rotated file to come to rest
	resumed bool      // it comes from a position and was not opened yet
	failed  bool      // it cannot be read now
	emptyAt time.Time // when nothing was left to read last
	fresh   time.Time // the last bytes read were written after that moment
	wrote   time.Time // when bytes were read last
	beat    time.Time // of its last Covered

	parked     fs.FileInfo // its newest file when it was closed to make room; nil if it has to be read on
	ever       bool        // a file of it was open
	superseded bool        // there is a newer instance of the container
	relic      bool        // it was so from the begin
	gone       bool        // its files were deleted
	grew       int         // walks in a row that found it longer without having heard of it
	absent     int         // walks in a row that found no file of it
	noFiles    bool        // nothing is left of it on the disk
	ended      bool
}

// parts is a line that the runtime split, as far as it was read.
type parts struct {
	lines int
	bytes int64
	first time.Time
	last  time.Time
}

// loss is a gap that was noticed.
type loss struct {
	from time.Time
	why  string
}

func newStream(k key, controller func(namespace, pod string) bool) (*stream, error) {
	if _, err := identify(k.path); err != nil {
		return nil, err
	}
	d := ingest.Document{Name: fmt.Sprintf("%s/%d.log", k.path, k.n), Controller: controller}
	s := &stream{key: k, doc: d.Name, feed: d.Feed(), changed: true, due: true}
	s.id, _ = d.Identity()
	s.id.Doc = s.doc
	return s, nil
}

// shut closes the stream's files and forgets what was read behind its place.
func (s *stream) shut() {
	for _, f := range s.queue {
		f.close()
	}
	s.queue, s.seq, s.idle, s.waiting = nil, parts{}, false, false
	if s.feed != nil {
		s.feed.Flush()
	}
}

// newest is the file that may still grow, nil if none is open.
func (s *stream) newest() *file {
	if len(s.queue) == 0 {
		return nil
	}
	return s.queue[len(s.queue)-1]
}

// enqueue makes files the next to be read.
func (s *stream) enqueue(files []*file) {
	s.queue = append(s.queue, files...)
	s.idle, s.due, s.ever = false, true, true
}

// atEnd says whether nothing was left to read when it was last looked at. The
// walk has seen whether the file of a parked stream grew.
func (s *stream) atEnd() bool { return s.idle || s.parked != nil && !s.due }

// aim makes the end of what is there now the goal of a round.
func (s *stream) aim() {
	if s.parked != nil && !s.due {
		return
	}
	s.due, s.behind, s.failed = true, true, false
	for _, f := range s.queue {
		f.goal = f.size()
	}
}

// arrived says whether the stream was read to the goal of the round. Exactly at
// the goal its end must have been seen too.
func (s *stream) arrived() bool {
	if s.atEnd() || s.ended || s.failed {
		return true
	}
	return len(s.queue) == 1 && s.queue[0].got > s.queue[0].goal
}
