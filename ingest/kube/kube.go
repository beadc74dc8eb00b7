// Package kube reads whole Kubernetes objects, as `kubectl get … -o json|yaml`,
// a watch or an event exporter writes them, and turns them into entries: one
// small record per fact (a container's end, a condition, an event), with the
// fact's values in Fields and a readable line as Text. What docker, podman and crictl
// inspect print of a container is read as well.
//
// Invariant: whatever the bytes are, Read neither fails on content that it
// does not know nor loses it: it says where the objects end, and the caller
// reads the rest as text. Values are data that somebody else wrote (a job
// writes its own termination message): they are capped, free of control
// characters and quoted inside Text.
//
// Crash behaviour: no state outside the call; nothing here opens a file, reads
// a clock or starts a goroutine. Memory is bounded by the document plus one
// object, because lists are decoded item by item.
package kube

import (
	"bytes"
	"errors"
	"fmt"

	"coroner/ingest"
	"coroner/ingest/document"
)

// MaxDocument is the largest document that Read takes.
const MaxDocument = 64 << 20

// ErrNotObject says that the document holds no object that Read understands;
// no entry was yielded.
var ErrNotObject = errors.New("no kubernetes object")

// TailError says that the objects end before the document does. Everything
// before Offset was read; what follows is something else, or was cut.
type TailError struct {
	Offset int   // in the bytes given to Read
	Line   int   // lines before Offset
	Err    error // what was wrong there
}

func (e *TailError) Error() string {
	return fmt.Sprintf("objects end in line %d: %v", e.Line+1, e.Err)
}

func (e *TailError) Unwrap() error { return e.Err }

// Read yields the entries of every object in data, then the document's marks,
// and returns how many objects it understood. Kinds that say nothing about a
// death count as understood and yield nothing. The error is ErrNotObject, a
// *TailError, or nil; a stop by yield is nil.
func Read(doc document.Document, data []byte, yield func(ingest.Entry) bool) (n int, err error) {
	if len(data) > MaxDocument {
		return 0, fmt.Errorf("%w: larger than %d MB", ErrNotObject, MaxDocument>>20)
	}
	r := &reader{doc: doc.Name, data: data, yield: yield}
	start := preamble(data)
	if isJSON(data[start:]) {
		err = r.readJSON(start)
	} else {
		err = r.readYAML(start)
	}
	return r.finishRead(err)
}

// reader is one call of Read.
type reader struct {
	doc   string
	data  []byte
	yield func(ingest.Entry) bool

	stopped bool // yield wants no more
	objects int  // understood
	lists   int  // lists opened, even empty ones
	unknown int  // items of lists that are no objects
	events  int
	line    int // line in which the object being read starts, 1-based
	lineAt  int // offset up to which line was counted
	marks   []ingest.Entry
}

// errStopped ends the reading without being an error.
var errStopped = errors.New("stopped")

// finishRead yields the marks and settles what Read returns.
func (r *reader) finishRead(err error) (int, error) {
	if r.stopped {
		return r.objects, nil
	}
	if r.objects == 0 && (err != nil || r.lists == 0 || r.unknown > 0) {
		return 0, errors.Join(ErrNotObject, err)
	}
	if r.events > 0 || r.objects == 0 {
		r.coverKind(ingest.Entry{}, r.events)
	}
	for _, m := range r.marks {
		if !r.yield(m) {
			return r.objects, nil
		}
	}
	return r.objects, err
}

// coverKind remembers that the API's view of what id names was read.
func (r *reader) coverKind(id ingest.Entry, lines int) {
	id.Source, id.Trust, id.Doc = ingest.Kube, ingest.Attested, r.doc
	id.Mark = &ingest.Mark{Kind: ingest.Covered, Lines: lines}
	r.marks = append(r.marks, id)
}

// tailError makes the error for objects that end at offset.
func (r *reader) tailError(offset int, err error) error {
	offset = min(offset, len(r.data))
	return &TailError{Offset: offset, Line: bytes.Count(r.data[:offset], newline), Err: err}
}

var newline = []byte{'\n'}

// seekLine sets line to the line of offset. Offsets only grow.
func (r *reader) seekLine(offset int) {
	offset = min(offset, len(r.data))
	if r.line == 0 {
		r.line = 1
	}
	if offset > r.lineAt {
		r.line += bytes.Count(r.data[r.lineAt:offset], newline)
		r.lineAt = offset
	}
}

// readObject yields the entries of o. It reports false for what is no object.
func (r *reader) readObject(o *object) bool {
	kind := o.kindName()
	if kind == "" {
		return false
	}
	r.objects++
	switch kind {
	case engineKind:
		r.readEngine(&o.engineContainer)
	case runtimeKind:
		r.readRuntime(&o.Status)
	case "Pod":
		r.readPod(o)
	case "Event":
		r.readEvent(o)
	case "Node":
		r.readNode(o)
	case "EphemeralRunner", "Runner":
		r.ephemeralRunner(o)
	case "EphemeralRunnerSet", "RunnerDeployment", "RunnerSet":
		r.runnerSet(o)
	case "RunnerReplicaSet":
		if o.Metadata.ownerName() == "" { // else what made it says more
			r.runnerSet(o)
		}
	case "HorizontalRunnerAutoscaler":
		r.emitFact(inNamespace(o), "runner autoscaler", text("").timeValue(), o.autoscaler())
	case "AutoscalingListener":
		r.emitFact(inNamespace(o), "autoscaling listener", o.Metadata.DeletionTimestamp.timeValue(), o.poolListener())
	case "AutoscalingRunnerSet":
		r.runnerPool(o)
	default:
		if isMachine(kind) {
			r.readMachine(o)
		}
	}
	return true
}
