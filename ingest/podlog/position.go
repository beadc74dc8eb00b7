package podlog

import (
	"errors"
	"fmt"
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

	// Set while records before Offset were not given as last lines yet.
	PendingLastLines *PendingLastLines `json:"owed,omitempty"`

	// Whose text it turned out to be; the path alone does not always say.
	Source ingest.Source `json:"source,omitempty"`
	Trust  ingest.Trust  `json:"trust,omitempty"`

	Ended bool `json:"ended,omitempty"` // read to its end, for good
}

// PendingLastLines is where the oldest record begins that was read and not yet given as
// one of the last lines. It may be in an earlier file than the position.
type PendingLastLines struct {
	Print  string `json:"print,omitempty"`
	Hashed int    `json:"hashed,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// fileOffset is an offset of the file that begins with the bytes of a fingerprint.
type fileOffset struct {
	print  string
	hashed int
	bytes  int64
}

// position is where the tail stands.
func (t *tail) position() Position {
	r := t.records
	at := &r.done
	p := Position{
		Stream: t.path, Restart: t.n, Print: at.print, Hashed: at.hashed, Offset: at.bytes,
		Lines: at.lines, Records: at.records, First: at.first, Last: at.last, Skips: !r.cutoff.IsZero(),
		Source: r.id.Source, Trust: r.id.Trust, Ended: t.state == ended,
	}
	if p.PendingLastLines = r.pending; r.last.n > 0 {
		o := r.last.lineAt(0).fileOffset
		p.PendingLastLines = &PendingLastLines{Print: o.print, Hashed: o.hashed, Offset: o.bytes}
	}
	return p
}

// restoreTail makes the tail of a position. It opens nothing.
func (p Position) restoreTail(env *env, out *batcher) (*tail, error) {
	if err := p.checkValid(); err != nil {
		return nil, err
	}
	t, err := newTail(key{p.Stream, p.Restart}, env, out)
	if err != nil {
		return nil, err
	}
	r := t.records
	r.done = progress{fileOffset{p.Print, p.Hashed, p.Offset}, p.Lines, p.Records, p.First, p.Last}
	r.pending, t.history = p.PendingLastLines, resumed
	if p.Source == ingest.Runner || p.Source == ingest.Listener { // its lines showed that; names are asked again
		r.id.Source, r.id.Trust = p.Source, p.Trust
	}
	if p.Skips {
		r.cutoff = env.c.Now().Add(-env.c.MaxAge)
	}
	if p.Ended {
		t.endForGood()
	}
	return t, nil
}

var errPosition = errors.New("impossible position")

// checkValid refuses what no reader wrote.
func (p Position) checkValid() error {
	numbers := p.Restart >= 0 && p.Offset >= 0 && p.Lines >= 0 && p.Records >= 0 && p.Hashed >= 0 &&
		p.Hashed <= headBytes
	print := (p.Hashed == 0) == (p.Print == "") && (p.Hashed > 0 || p.Offset == 0)
	if !numbers || !print || p.PendingLastLines != nil && p.PendingLastLines.Offset < 0 {
		return fmt.Errorf("%w: %+v", errPosition, p)
	}
	return nil
}
