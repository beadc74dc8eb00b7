// Package ingest is the leaf of the program: the words for what was read of a log,
// an Entry with its Source and its Trust, and a Mark about the reading itself; what
// the name of a program, a path or a glob says. The packages below it read.
//
// Invariant: an entry's text is data that somebody else wrote. Whoever makes an
// entry cuts its text to MaxText, makes it valid UTF-8 and free of control
// characters, and trusts no source more than its envelope proves.
//
// Crash behaviour: the package holds no state; nothing here opens a file, reads a
// clock or starts a goroutine.
package ingest

import (
	"strconv"
	"strings"
	"time"
)

// MaxText is the longest text of an entry in bytes. Longer lines are cut at a
// rune boundary and Entry.Cut says how many bytes went.
const MaxText = 16 << 10

// Source says which program wrote a record. What a record can prove depends
// on it.
type Source string

// The sources. Runner and Job are the two whose text the job itself can write.
const (
	Unknown    Source = ""           // the record names no writer
	Kernel     Source = "kernel"     // the node's kernel (a guest's kernel is not it)
	Kubelet    Source = "kubelet"    // the node's kubelet
	Containerd Source = "containerd" // containerd and its shims' common lines
	Kata       Source = "kata"       // kata-containers shim, virtcontainers, qemu's stderr through it
	Systemd    Source = "systemd"    // PID 1, logind, oomd, earlyoom, journald and other host units
	Runner     Source = "runner"     // runner stdout, _diag files
	Controller Source = "controller" // the controller that makes runner pods
	Listener   Source = "listener"   // the scale-set listener
	Kube       Source = "kube"       // API objects, events, kubectl's tables
	Job        Source = "job"        // a job's own output: job logs, other containers of the pod
	GitHub     Source = "github"     // GitHub's own view of a job, asked for after its runner's end
	Agent      Source = "agent"      // coroner itself: what its agents and its server saw of the reading
)

// Sources lists every named source, in the order used to break ties in time:
// what happens on the node first, what is told about it afterwards later.
var Sources = []Source{Kernel, Kata, Systemd, Containerd, Kubelet, Runner, Job, Kube, Controller, Listener, GitHub,
	Agent}

// Forgeable says whether a job that runs in the pod can write records of s.
func (s Source) Forgeable() bool { return s == Runner || s == Job || s == Unknown }

// Proves says whether a record of s, known as t, comes from a source that the job cannot write,
// through an envelope that it cannot forge.
func (s Source) Proves(t Trust) bool { return t == Attested && !s.Forgeable() }

// TellsOfOthers says whether s speaks of the runners that it makes: its own pod is meant by
// no line of it.
func (s Source) TellsOfOthers() bool { return s == Controller || s == Listener }

// Trust says how the source of a record is known.
type Trust uint8

const (
	// Claimed: only the text says so (a pasted line, a file of mixed origin).
	Claimed Trust = iota
	// Attested: the envelope says so, and the writer could not have forged it
	// (journald's trusted fields, a file that holds nothing but one log).
	Attested
)

// Clock says what Entry.At was read from.
type Clock uint8

const (
	NoClock    Clock = iota // At is zero: the record has no time
	WallClock               // a time with a zone
	LocalClock              // a time without a zone or year; both were inferred
	BootClock               // seconds since boot only: At is zero, Mono is set
)

// Entry is one log record as read. Its JSON form is what coroner stores of it.
type Entry struct {
	At    time.Time     `json:"at,omitzero"`    // when it was written; zero when Clock is NoClock or BootClock
	After time.Time     `json:"after,omitzero"` // where At is zero: when the record before was written
	Mono  time.Duration `json:"mono,omitzero"`  // time since boot, where the record has one
	Clock Clock         `json:"clock,omitzero"`

	Source Source `json:"source,omitzero"`
	Trust  Trust  `json:"trust,omitzero"`

	// Cluster is part of every identity below: records of different clusters
	// never meet. "" is the cluster of whoever reads the record.
	Cluster string `json:"cluster,omitzero"`

	Node string `json:"node,omitzero"` // host name, "" when the record does not say
	Boot string `json:"boot,omitzero"` // boot id, "" when the record does not say

	// The pod that the record's stream or object belongs to; all "" for the
	// log of a host program.
	Namespace   string `json:"namespace,omitzero"`
	Pod         string `json:"pod,omitzero"`
	PodUID      string `json:"pod_uid,omitzero"`
	Container   string `json:"container,omitzero"`
	ContainerID string `json:"container_id,omitzero"`

	Unit string `json:"unit,omitzero"` // systemd unit the record is about or from
	Text string `json:"text,omitzero"` // the message, without its envelope
	Cut  int    `json:"cut,omitzero"`  // bytes that MaxText cost

	// Fields are named values that travel beside the text (kata's journald
	// fields, the attributes of an API object). Fields["msg"] is the bare
	// message where the envelope is already structured. Nil for plain text.
	Fields map[string]string `json:"fields,omitzero"`

	Doc    string `json:"doc,omitzero"`    // document that it was read from: a path, or archive!path
	Line   int    `json:"line,omitzero"`   // 1-based line in Doc, 0 where it has none
	Cursor string `json:"cursor,omitzero"` // journald cursor, "" elsewhere

	// Mark is set on the records that speak about the reading itself instead
	// of being read: coverage, gaps, the end of a stream. Text is then "".
	Mark *Mark `json:"mark,omitzero"`
}

// MarkKind is what a Mark states.
type MarkKind uint8

const (
	// Covered: Source (of Node, or of the pod in the Entry) was read without a
	// gap From..To.
	Covered MarkKind = iota
	// Gap: records of Source between From and To were lost; Why says how.
	Gap
	// Mixed: the document held text that a job can write beside records that
	// only claim to be somebody else's, so all of its claims are just claims.
	Mixed
	// Ended: the stream of the pod's container was read to its end.
	Ended
	// Reached: everything that Node's sources held up to To was read. Only a
	// reader that follows them can say it; it covers nothing by itself.
	Reached
)

// Mark is a statement about coverage. Absence of a record proves something
// only inside a Covered mark.
type Mark struct {
	Kind  MarkKind  `json:"kind,omitzero"`
	From  time.Time `json:"from,omitzero"`
	To    time.Time `json:"to,omitzero"`
	Lines int       `json:"lines,omitzero"` // Covered of a stream: how many lines it had
	Why   string    `json:"why,omitzero"`   // Gap: what lost the records, in words for the reader

	// Partly is set on a Covered mark that proves no silence: what of the records was not
	// read, in words for the reader.
	Partly string `json:"partly,omitzero"`
}

// Word makes a value one word of an entry's text, so that no value can add fields of its own.
func Word(v string) string {
	if strings.ContainsAny(v, " \t\"=\\'") {
		return strconv.Quote(v)
	}
	return v
}
