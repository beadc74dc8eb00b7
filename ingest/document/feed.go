package document

import (
	"iter"
	"time"

	"coroner/ingest"
	"coroner/ingest/journald"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// Feed reads records as they come, for streams that do not end: a pod's log
// that is followed, a journal, lines that a shipper pushes. It gives the same
// entries that Document.Read gives of the same records; coverage is the
// caller's to state, since only the caller knows what was read.
//
// A Feed is for one goroutine. The entries that it returns are valid until its
// next call.
type Feed struct {
	r       *reader
	out     []ingest.Entry
	writers journald.Authors
}

// Feed returns a feed of the document d: a path under /var/log/pods names the
// container that its lines are from.
func (d Document) Feed() *Feed {
	f := &Feed{}
	f.r = newReader(d, &prefilter.Lines{}, func(e ingest.Entry) bool {
		f.out = append(f.out, e)
		return true
	})
	f.r.account.fed = true
	return f
}

// Line reads one line of the document, without its end; cut is how many bytes
// of it were already dropped.
func (f *Feed) Line(b []byte, cut int) []ingest.Entry {
	f.beginFeed(cut)
	_ = f.r.readLine(b) // only an export record reads on, and a feed has none
	return f.endFeed()
}

// Record is Line for a line of the container's log whose header somebody read: it
// was written at that time to that output, text is what follows the header, and it
// ends with the line if that is whole. The feed must be one that Reads.
func (f *Feed) Record(at time.Time, out Output, text []byte, whole bool) []ingest.Entry {
	f.beginFeed(0)
	r := f.r
	r.account.lines++
	r.account.clock.Saw(at)
	d := &r.scratch
	*d = draft{Entry: ingest.Entry{At: at, Clock: ingest.WallClock, Line: r.n, Boot: r.hosts.boot},
		stream: r.containers.main, wraps: criLine, size: len(text)}
	s := r.containers.joinParts(d, int(out), logtext.Cleaned(string(text)), whole)
	if !d.incomplete {
		r.containers.yieldLine(d, r.unwrapLine(d, s, stamped|running, maxDepth-1))
	}
	return f.endFeed()
}

// Journal reads one journald record from its fields, `__REALTIME_TIMESTAMP`,
// `__MONOTONIC_TIMESTAMP` and `__CURSOR` among them.
func (f *Feed) Journal(fields iter.Seq2[[]byte, []byte]) []ingest.Entry {
	f.beginFeed(0)
	f.r.records.beginRecord()
	for k, v := range fields {
		f.r.records.addField(k, v)
	}
	f.r.records.yieldRecord()
	return f.endFeed()
}

// Shipped reads one line that came with the labels of a Loki stream and, in
// the same map, its structured metadata.
func (f *Feed) Shipped(at time.Time, set map[string]string, text string) []ingest.Entry {
	f.beginFeed(0)
	d := draft{Entry: ingest.Entry{Line: 0}, wraps: shipped}
	f.r.loki.shippedAt(&d, at, set, logtext.Cleaned(logtext.TrimNewline(text)))
	return f.endFeed()
}

// Flush returns what was held back for a continuation: the parts of a line
// whose end never came.
func (f *Feed) Flush() []ingest.Entry {
	f.beginFeed(0)
	f.r.flushPending()
	for _, s := range f.r.containers.inOrder() {
		f.r.containers.flushParts(s)
	}
	return f.endFeed()
}

// Size is about how many bytes the feed keeps from one line to the next: what it
// knows of its streams, and of lines that were split what has come.
func (f *Feed) Size() int {
	const own, each = 6 << 10, 3 << 9
	n := own + each*len(f.r.containers.all)
	for _, s := range f.r.containers.all {
		n += s.sizeBegun()
	}
	if f.r.containers.main != nil {
		n += f.r.containers.main.sizeBegun()
	}
	return n
}

func (f *Feed) beginFeed(cut int) {
	f.out = f.out[:0]
	f.r.n++
	f.r.in.Number, f.r.in.Cut = f.r.n, cut
}

// endFeed adds the gaps that journald told of.
func (f *Feed) endFeed() []ingest.Entry {
	for _, g := range f.r.account.gaps {
		g.Doc, g.At, g.Clock = f.r.doc.Name, g.Mark.To, ingest.WallClock
		f.out = append(f.out, g)
	}
	f.r.account.gaps, f.r.account.pods = nil, nil
	return f.out
}

// Runner says whether the stream that the document is turned out to be a
// runner's.
func (f *Feed) Runner() bool {
	return f.r.containers.main != nil && f.r.containers.main.source == ingest.Runner
}

// Identity is the container that the document's path names, as an entry
// without text; ok is false when the path names none.
func (d Document) Identity() (e ingest.Entry, ok bool) {
	s := d.streamOfPath()
	if s == nil {
		return ingest.Entry{}, false
	}
	return ingest.Entry{Source: s.source, Trust: s.trust, Namespace: s.Namespace, Pod: s.Pod, PodUID: s.UID,
		Container: s.Name, ContainerID: s.ID}, true
}

// Held returns the line that waits for a possible continuation, but leaves the
// parts of a split line: a shipper's next push may hold its end.
func (f *Feed) Held() []ingest.Entry {
	f.beginFeed(0)
	f.r.flushPending()
	return f.endFeed()
}
