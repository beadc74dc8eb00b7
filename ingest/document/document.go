// Package document reads a whole file that people save logs in, or a stream of
// lines as they come, whatever their format is, and says at its end what was
// covered.
//
// Invariant: a reader never fails on content. A line that it cannot place is an
// entry with Source Unknown and the whole line as Text; nothing is dropped without
// being counted. Text is data that somebody else wrote: it is cut to
// ingest.MaxText, made valid UTF-8 and free of control characters, and it is never
// evaluated. Skipping uninteresting lines changes nothing but that they give no
// entry.
//
// Crash behaviour: the package holds no state outside the document being read;
// nothing here opens a file, reads a clock or starts a goroutine.
package document

import (
	"bytes"
	"io"
	"time"

	"coroner/ingest"
	"coroner/ingest/prefilter"
)

// headSize is how much of a document is looked at before it is read.
const headSize = 64 << 10

// Document is one file as a person saved it.
type Document struct {
	Name string         // path inside the bundle; its base name and folders are hints
	Ref  time.Time      // the latest moment it can speak of, which tells missing years; zero = unknown
	Zone *time.Location // zone of times that name none; nil = what the document names, else UTC

	// Next returns where in b, at or after from, a text begins without which no
	// entry is wanted, -1 if there is none: lines of the node's programs without
	// one are counted and give no entry. Quotes, backslashes and control
	// characters are not in such texts. nil: every entry is wanted.
	Next func(b []byte, from int) int

	// Controller says which pods the operator named as controllers, whatever
	// their names look like; nil = none, names alone decide.
	Controller func(namespace, pod string) bool

	// Pasted: people handed the text on and gave it its name, so the name vouches for nobody.
	Pasted bool

	// Alone: nothing else is read with it, so no time of it is held against another clock's.
	Alone bool
}

// Read reads r line by line in bounded memory and yields its entries in
// document order, then its marks. It returns only r's errors; a stop by yield
// is nil.
func (d Document) Read(r io.Reader, yield func(ingest.Entry) bool) error {
	in := prefilter.NewLines(r)
	head, err := in.Head(headSize)
	if err != nil && err != io.EOF && len(head) == 0 {
		return err
	}
	p := newReader(d, in, yield)
	p.prepareFrom(head)
	return p.readAll()
}

// Hints is what the first bytes of a document tell of it.
type Hints struct {
	Latest  time.Time      // the latest time in it that names its year, zero if none
	Zone    *time.Location // the zone of its times, nil if it does not say
	Binary  bool           // no text: an archive, a journal file
	Objects bool           // Kubernetes objects in JSON or YAML: for package kube
}

// Sample inspects the first bytes of a document.
func Sample(head []byte) Hints {
	h := Hints{Binary: looksBinary(head), Objects: holdsObjects(head)}
	if h.Binary {
		return h
	}
	p := newReader(Document{}, prefilter.NewLines(bytes.NewReader(head)), func(ingest.Entry) bool { return true })
	_ = p.readAll() // a bytes.Reader has no errors
	h.Latest, h.Zone = p.account.clock.Latest, p.account.clock.InferredZone
	return h
}

// looksBinary says whether head is no text. A hole that a crash left in a text file
// is NULs only; an archive has other control bytes too.
func looksBinary(head []byte) bool {
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		return false // UTF-16
	}
	if bytes.HasPrefix(head, []byte("LPKSHHRH")) || bytes.HasPrefix(head, []byte("\x1f\x8b")) ||
		bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return true
	}
	control := 0
	for _, c := range head {
		if c != 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != 0x1b && c != '\f' && c != '\b' &&
			c != 0x1e {
			control++
		}
	}
	return control*50 > len(head)
}

// holdsObjects says whether head begins with a Kubernetes object or a list of them.
// It need not be right: package kube says for sure.
func holdsObjects(head []byte) bool {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(head) == 0 {
		return false
	}
	if head[0] == '{' || head[0] == '[' {
		return bytes.Contains(head, []byte(`"apiVersion"`)) && bytes.Contains(head, []byte(`"kind"`)) ||
			bytes.HasPrefix(head, []byte("{")) && bytes.Contains(head, []byte(`"metadata"`)) &&
				!bytes.Contains(head, []byte(`"MESSAGE"`))
	}
	return startsLine(head, "apiVersion:") && startsLine(head, "kind:")
}

// startsLine says whether a line of b starts with prefix, an item's dash aside.
func startsLine(b []byte, prefix string) bool {
	for line := range bytes.Lines(b) {
		if bytes.HasPrefix(bytes.TrimPrefix(line, []byte("- ")), []byte(prefix)) {
			return true
		}
	}
	return false
}
