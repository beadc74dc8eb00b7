package podlog

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"coroner/ingest"
)

// Position is how far one container instance's log was read. It is stored as
// JSON and finds the file again by its content, so it survives the rename and
// the compression of the file and a restart of the reader.
type Position struct {
	Stream  string `json:"stream"`            // "NAMESPACE_POD_UID/CONTAINER"
	Restart int    `json:"restart,omitempty"` // the N of N.log

	Print  string `json:"print,omitempty"`  // hash of the first bytes of the file; "" where nothing was read yet
	Hashed int    `json:"hashed,omitempty"` // how many bytes that are, at most 512

	Offset  int64     `json:"offset,omitempty"`  // bytes of the uncompressed file up to the first record not read
	Lines   int       `json:"lines,omitempty"`   // lines of the container instance read up to there
	Records int       `json:"records,omitempty"` // how many records these are: the parts of a split line are one
	First   time.Time `json:"first,omitzero"`    // time of the first line read since the last gap
	Last    time.Time `json:"last,omitzero"`     // time of the last line read
	Skips   bool      `json:"skips,omitempty"`   // all lines so far were too old to be given

	Owed *Owed `json:"owed,omitempty"` // set while records before Offset are still owed as last words

	// Whose text it turned out to be; the path alone does not always say.
	Source ingest.Source `json:"source,omitempty"`
	Trust  ingest.Trust  `json:"trust,omitempty"`

	Ended bool `json:"ended,omitempty"` // read to its end, for good
}

// Owed is where the oldest record begins that was read and not yet given as last
// words. It may be in an earlier file than the position.
type Owed struct {
	Print  string `json:"print,omitempty"`
	Hashed int    `json:"hashed,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// place is a point in the sequence of a stream's files from which reading can
// go on: between two records.
type place struct {
	spot
	lines       int
	records     int
	first, last time.Time
}

// spot is a byte of a file.
type spot struct {
	print  string
	hashed int
	offset int64
}

// fingerprint tells a log file from others of its container. Its first line
// begins with a time in nanoseconds.
func fingerprint(head []byte) string {
	sum := sha256.Sum256(head)
	return hex.EncodeToString(sum[:16])
}

// position is where the stream stands.
func (s *stream) position() Position {
	p := Position{
		Stream: s.path, Restart: s.n, Print: s.at.print, Hashed: s.at.hashed, Offset: s.at.offset, Lines: s.at.lines, Records: s.at.records,
		First: s.at.first, Last: s.at.last, Skips: !s.cutoff.IsZero(), Source: s.id.Source, Trust: s.id.Trust, Ended: s.ended,
	}
	if p.Owed = s.owed; s.words.n > 0 {
		w := s.words.at(0).spot
		p.Owed = &Owed{Print: w.print, Hashed: w.hashed, Offset: w.offset}
	}
	return p
}

// restore makes the stream of a position known. It opens nothing.
func (r *Reader) restore(p Position) error {
	if err := p.check(); err != nil {
		return err
	}
	s, err := newStream(key{p.Stream, p.Restart}, r.c.Controller)
	if err != nil {
		return err
	}
	s.at = place{
		spot: spot{p.Print, p.Hashed, p.Offset}, lines: p.Lines, records: p.Records, first: p.First, last: p.Last,
	}
	s.owed, s.ended, s.resumed = p.Owed, p.Ended, true
	if p.Source == ingest.Runner || p.Source == ingest.Listener { // its lines showed that; names are asked again
		s.id.Source, s.id.Trust = p.Source, p.Trust
	}
	if p.Skips {
		s.cutoff = r.c.Now().Add(-r.c.MaxAge)
	}
	return r.add(s)
}

var (
	errPosition = errors.New("impossible position")
	errCrowded  = errors.New("too many streams")
	errMany     = errors.New("too many log files")
	errTwice    = errors.New("two positions of one stream")
)

// check refuses what no reader wrote.
func (p Position) check() error {
	if p.Restart < 0 || p.Offset < 0 || p.Lines < 0 || p.Records < 0 || p.Hashed < 0 || p.Hashed > printBytes ||
		(p.Hashed == 0) != (p.Print == "") || p.Hashed == 0 && p.Offset > 0 || p.Owed != nil && p.Owed.Offset < 0 {
		return fmt.Errorf("%w: %+v", errPosition, p)
	}
	return nil
}

// add makes a stream known, within bounds.
func (r *Reader) add(s *stream) error {
	if len(r.streams) >= r.c.MaxOpen*streamsOpen {
		return errCrowded
	}
	if r.streams[s.key] != nil {
		return errTwice
	}
	pod, container, _ := strings.Cut(s.path, "/")
	if r.tree[pod] == nil {
		r.tree[pod] = make(map[string][]*stream)
	}
	r.tree[pod][container] = append(r.tree[pod][container], s)
	r.streams[s.key] = s
	r.order = append(r.order, s)
	return nil
}
