// Package bundle opens what a person points at: files, directories, stdin and
// archives of them, and streams every document in it as entries.
//
// Invariant: one bad input never costs another. Whatever cannot be read is one
// Problem, a line that says what to do, and the rest goes on. Ordinary files
// only are opened, each once; memory stays bounded however large an input is
// or claims to become.
//
// Crash behaviour: nothing is written, except that an archive which cannot be
// read in place (from stdin, or a zip inside another archive) is copied to a
// temporary file that has no name any more and so vanishes with the process.
package bundle

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/kube"
)

// The limits that hold where Options names none.
const (
	defaultMaxFile     = 32 << 30
	defaultMaxUnpacked = 64 << 30
	headSize           = 64 << 10 // what is sampled of a document's start and end
	maxNested          = 2        // an archive, and one inside it
	maxMembers         = 200_000  // documents in one bundle
)

// Options are what Open cannot know by itself.
type Options struct {
	Stdin       io.Reader      // what the path "-" means
	Now         time.Time      // the latest time that documents can speak of, if none has a date
	Zone        *time.Location // of times that name none; nil = what the documents betray
	MaxFile     int64          // longest document that is read, in bytes; 0 = 32 GB
	MaxUnpacked int64          // what one archive may unpack to, in bytes; 0 = 64 GB

	// Next finds the texts without one of which no entry is wanted, see
	// document.Document; nil = every entry is wanted.
	Next func(b []byte, from int) int

	free    int64 // bytes that an archive may unpack to at any ratio; 0 = freeSize
	objects int   // longest document that is read as objects; 0 = kube.MaxDocument
}

// defaults fills in the limits that are not named.
func (o Options) defaults() Options {
	o.MaxFile = cmp.Or(max(o.MaxFile, 0), defaultMaxFile)
	o.MaxUnpacked = cmp.Or(max(o.MaxUnpacked, 0), defaultMaxUnpacked)
	o.free = cmp.Or(o.free, freeSize)
	o.objects = cmp.Or(o.objects, kube.MaxDocument)
	return o
}

// Problem is an input, or a part of one, that was not read.
type Problem struct {
	Doc  string // as documents are named
	Text string // what is wrong and what to do about it
}

func (p Problem) String() string { return p.Doc + ": " + p.Text }

// Progress is how far Entries has come.
type Progress struct {
	Read, Total int64  // bytes of the inputs as they are stored; Total 0 = unknown
	Done        int    // documents finished
	Doc         string // document being read
}

// Bundle is what Open found.
type Bundle struct {
	opts     Options
	inputs   []input
	problems []Problem
	known    map[Problem]bool
	early    int        // how many of them Open found
	noting   sync.Mutex // held while a problem is noted

	documents int
	times     clocks
	ref       time.Time
}

// input is one file or stream as it was pointed at.
type input struct {
	path  string
	name  string // of its document
	root  int    // which of the given paths it came from
	size  int64
	mtime time.Time

	stream *bufio.Reader // it can be read once only; nil for a file
	spool  *os.File      // a copy without a name; nil for a file with one
	memory io.ReaderAt   // its content; nil for what is not in memory
}

// Open finds the documents behind the paths and samples them: their number,
// the latest time in them, their zone. "-" is Options.Stdin. The error is for
// an empty list of paths only; what cannot be opened is a Problem.
func Open(paths []string, o Options) (*Bundle, error) {
	if len(paths) == 0 {
		return nil, errors.New("no path given")
	}
	b := &Bundle{opts: o.defaults(), known: map[Problem]bool{}}
	c := collector{bundle: b}
	c.collectAll(paths)
	b.inputs = c.inputs
	b.sampleAll()
	return b, nil
}

// Bytes prepares one file that is already in memory, as Open would prepare it
// under that name.
func Bytes(name string, data []byte, o Options) *Bundle {
	b := &Bundle{opts: o.defaults(), known: map[Problem]bool{}}
	b.inputs = []input{{path: name, name: name, size: int64(len(data)), mtime: o.Now, memory: bytes.NewReader(data)}}
	b.sampleAll()
	return b
}

// Close frees the copies of archives that could not be read in place. A bundle
// that is not closed frees them with the process.
func (b *Bundle) Close() error {
	var all []error
	for _, in := range b.inputs {
		if in.spool != nil {
			all = append(all, in.spool.Close())
		}
	}
	return errors.Join(all...)
}

// Documents is how many documents there are, empty ones included.
func (b *Bundle) Documents() int { return b.documents }

// Readable says whether anything could be read, be it an empty file.
func (b *Bundle) Readable() bool { return b.documents > 0 }

// Problems are the inputs that were not read: first what Open found, then what
// was known only when they were read, by document.
func (b *Bundle) Problems() []Problem {
	late := slices.SortedStableFunc(
		slices.Values(b.problems[b.early:]),
		func(x, y Problem) int { return cmp.Compare(x.Doc, y.Doc) },
	)
	return append(slices.Clone(b.problems[:b.early]), late...)
}

// addProblem remembers one line, once.
func (b *Bundle) addProblem(doc, format string, args ...any) {
	p := Problem{doc, fmt.Sprintf(format, args...)}
	b.noting.Lock()
	defer b.noting.Unlock()
	if !b.known[p] {
		b.known[p] = true
		b.problems = append(b.problems, p)
	}
}

// failOn remembers err as a problem of doc.
func (b *Bundle) failOn(doc string, err error) { b.addProblem(doc, "%s", adviceFor(err)) }

// rawDocument is one thing to read as text: a file, or a file in an archive.
type rawDocument struct {
	name  string
	mtime time.Time
	head  []byte        // its start, at most headSize
	tail  []byte        // its last bytes, where they could be had without reading the rest
	r     *bufio.Reader // all of it, head included

	hidden bool      // it was packed, and no name said so: a job can print an archive, with any names in it
	pasted bool      // people handed it on
	shown  time.Time // the latest time beside its lines that was no part of them
}

// sampleAll looks at every document's start.
func (b *Bundle) sampleAll() {
	x := expander{bundle: b, quick: true, visit: b.takeSample, members: new(atomic.Int64)}
	for i := range b.inputs {
		if x.openInput(&b.inputs[i]) != nil {
			break
		}
	}
	b.ref, b.early = b.times.refTime(b.opts.Now), len(b.problems)
}

// takeSample takes what one document's start says.
func (b *Bundle) takeSample(d rawDocument) error {
	h := document.Sample(d.head)
	if h.Binary {
		return errBinary
	}
	b.documents++
	if len(d.head) == 0 && !speaksEmpty(d.name) {
		b.addProblem(d.name, "is empty")
	}
	if tail := document.Sample(d.tail); !tail.Binary && tail.Latest.After(h.Latest) {
		h.Latest = tail.Latest
	}
	if head := decodedText(d.head); h.Objects || kube.Sniff(head) || h.Latest.IsZero() { // a piece of an object, too
		h.Latest = ingest.LaterOf(h.Latest, latestIn(head))
	}
	h.Latest = ingest.LaterOf(h.Latest, d.shown)
	b.times.addHints(h, d.mtime, b.opts.Now)
	return nil
}
