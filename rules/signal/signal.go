package signal

import (
	"iter"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules/regex"
	"coroner/rules/yamlfile"

	"github.com/expr-lang/expr/types"
)

// Reach says how far a signal speaks: it is about one or several of these.
type Reach uint8

const (
	ReachPod  Reach = 1 << iota // the pod that it names
	ReachNode                   // everything on its node
	ReachPool                   // the pool that it names, or that its pod is of
	ReachJob                    // the job that it names
)

// Has says whether it is about those, among others.
func (r Reach) Has(those Reach) bool { return r&those != 0 }

// reaches are the words for them.
var reaches = map[string]Reach{"pod": ReachPod, "node": ReachNode, "pool": ReachPool, "job": ReachJob}

// Def is one line shape that the rulebook recognises.
type Def struct {
	Name    string // family.name, the word used everywhere
	Family  string
	Sources []ingest.Source // who may prove it; the first is assumed for text that names no writer
	Doc     string          // what the line means
	Printed string          // which program prints it, since when

	form // how its lines are known

	Reach Reach
	Effect
	Down  bool              // its node went down, or came up anew: what ran on it ended with that
	Fills map[string]string // verdict field <- capture

	Tests  []Test
	at     yamlfile.Pos
	quiet  quiet
	number int // its place in Rulebook.Signals
}

// form is how the lines of a signal are known, and read.
type form struct {
	shapes   []shape // what the line can look like
	captures []capture
	subject  map[string]bool     // captures that name whose evidence it is; nil = all identities
	within   [][2]int            // places of captures: the first is a path that lies in the second
	once     string              // the line has it once, "" if that is not asked
	writers  map[string][]writer // of an event: who may say its reason
	literals []string            // every matching text contains one of these
	frame    bool                // it quotes somebody else's words: those can be a symptom
	machine  bool                // Linux or systemd prints it, and no program of another name
}

// Effect is what a line of a signal means for the pod that it is about.
type Effect struct {
	Alarm  bool // the line alone speaks of a death: it is never passed over as nothing
	Starts bool // the pod or a container of it began when this was written
	Ends   bool // the pod or its container was over when this was written
	Exit   bool // carries an exit record: exit_code, reason, signal, …
}

// At is where the rulebook defines the signal.
func (d *Def) At() yamlfile.Pos { return d.at }

// CaptureTypes are the types of the captures by their names, as expressions see them.
func (d *Def) CaptureTypes() types.Map {
	m := types.Map{}
	for _, c := range d.captures {
		m[c.name] = kindTypes[c.kind]
	}
	return m
}

// Quiet says whether lines of this signal, alone or beside any other quiet ones,
// can give a pod that they are about no other verdict than none, whatever they say
// and whenever they were written. A pod of which nothing else was read needs no
// judging.
//
// It is worked out from the rulebook's expressions when the rulebook is loaded:
// a signal that a rule of another label could turn on is not quiet, nor is one
// that ends something, has an exit record or raises an alarm.
func (d *Def) Quiet() bool { return d.quiet.own }

// QuietBeside is Quiet for lines about the pod's node that do not name the pod.
func (d *Def) QuietBeside() bool { return d.quiet.beside }

// SetQuiet says of whom the signal is quiet. A rulebook does that when it is loaded.
func (d *Def) SetQuiet(own, beside bool) { d.quiet = quiet{own, beside} }

// quiet is of whom a signal is quiet: of the pod that it names, and of the others
// on its node.
type quiet struct{ own, beside bool }

// shape is one way to write the line: programs change their words.
type shape struct {
	messages []string        // the bare message is one of these
	match    *pattern        // or it matches this
	loose    *pattern        // match without its anchor, for text that proves nothing anyway
	where    []where         // and these fields match
	whole    [][]*vocabulary // and the line says a word of each of these, its fields too
	but      []*vocabulary   // and none of this
}

// where is what a field must match.
type where struct {
	field string
	*pattern
}

// pattern is a regular expression that knows which of its groups are captures.
type pattern struct {
	*regex.Regexp
	slots    []int // of each group: the capture that it holds, below 0 for none
	anchored bool  // it matches at the beginning only
}

// Test is an inline test of a signal: a line and what it captures.
type Test struct {
	Line   string
	Source ingest.Source
	Fields map[string]string // attributes of an API object instead of text
	Want   map[string]string // captured values as text
	Not    bool              // the line must not match
	pos    yamlfile.Pos
}

// A capture is one typed value of a signal.
type capture struct {
	name   string
	kind   Kind
	fields []string // structured fields that it is read from where no group gave it: the first that is there
	group  bool     // some pattern has a group of its name
}

// Flaws are why a signal's word counts for less than its source says.
type Flaws struct {
	Shared   bool // others wrote in its document, too
	Unsigned bool // its record names no writer: Source is whom the words look like
	Masked   bool // the id of the container that it is about is masked or cut short
}

// Signal is one fact recognised in an entry.
type Signal struct {
	Def    *Def
	At     time.Time
	After  time.Time // where At is zero: the last time before it in its document
	Clock  ingest.Clock
	Source ingest.Source
	Trust  ingest.Trust
	Node   string // on Cluster, as all identities
	Boot   string

	Flaws

	Cluster, Namespace, Pod, PodUID, Container, ContainerID string // identity of the stream

	words []string // what the line has for each capture of Def
	Text  string
	Doc   string
	Line  int      // place in Doc: by time, so that it is below 0 where the newest line stands first
	Again []string // other documents that have the same line
}

// LineNumber is the number of the signal's line in its document, 0 where it has none.
func (s *Signal) LineNumber() int { return max(s.Line, -s.Line) }

// Proven says whether the signal's line comes from a source that the job
// cannot write, through an envelope that it cannot forge.
func (s *Signal) Proven() bool {
	return s.Source.Proves(s.Trust)
}

// Says is what a line says, whatever it names: its signal, of an event or a condition which one,
// and of an OOM kill whether a limit or the whole node was out of memory.
func (s *Signal) Says() string {
	switch s.Source {
	case ingest.Kube:
		return s.Def.Name + " " + s.Str("type") + " " + s.Str("status") + " " + s.Str("reason")
	case ingest.Kernel:
		return s.Def.Name + " " + s.Str("constraint")
	}
	return s.Def.Name
}

// Value returns the capture called name, typed; nil if the signal has none.
func (s *Signal) Value(name string) any {
	for i := range s.words {
		if s.Def.captures[i].name == name {
			return s.valueAt(i)
		}
	}
	return nil
}

// valueAt is a capture as what it is: judging asks for a few, scanning for none.
func (s *Signal) valueAt(i int) any {
	c := &s.Def.captures[i]
	if s.words[i] == "" && s.Def.Exit && c.name == "exit_code" && !c.group {
		return NoCode
	}
	return c.kind.parseText(s.words[i])
}

// NoCode is the exit code of a structured record that has none: not 0.
const NoCode = -1

// Str returns the text capture name, or "".
func (s *Signal) Str(name string) string {
	for i, word := range s.words {
		if c := &s.Def.captures[i]; c.name == name {
			return c.kind.textOf(word)
		}
	}
	return ""
}

// OwnWords replaces the signal's captured words by what keep returns for them, so
// that none of them holds on to the buffer that its line was read in.
func (s *Signal) OwnWords(keep func(string) string) {
	own := make([]string, len(s.words))
	for i, w := range s.words {
		own[i] = keep(w)
	}
	s.words = own
}

// Captures returns all captures by name.
func (s *Signal) Captures() map[string]any {
	m := make(map[string]any, len(s.words))
	s.PutCaptures(m)
	return m
}

// PutCaptures adds all captures to m.
func (s *Signal) PutCaptures(m map[string]any) {
	for i := range s.words {
		m[s.Def.captures[i].name] = s.valueAt(i)
	}
}

// HasKind reports whether the signal captures a word of the kind.
func (d *Def) HasKind(k Kind) bool {
	return slices.ContainsFunc(d.captures, func(c capture) bool { return c.kind == k })
}

// OfKind are the captured words of some kinds, in capture order.
func (s *Signal) OfKind(kinds ...Kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, word := range s.words {
			if slices.Contains(kinds, s.Def.captures[i].kind) && !yield(word) {
				return
			}
		}
	}
}

// IDKind is what a captured value identifies.
type IDKind uint8

// The identities that tie a line to a pod.
const (
	IDPod       IDKind = iota + 1 // namespace/name, or a bare name
	IDUID                         // pod UID
	IDContainer                   // container or sandbox id
	IDSandbox                     // sandbox id: its exit is not the runner's
	IDPID                         // process id on the host, for seconds only
	IDRunner                      // runner name: the pod's name unless told otherwise
)

// Identity is one name for a pod found in a signal.
type Identity struct {
	Kind  IDKind
	Value string
}

// Identities returns the names that the signal's captures give to its
// subject, in capture order.
func (s *Signal) Identities() []Identity {
	var out []Identity
	for i := range s.words {
		c := &s.Def.captures[i]
		if c.kind.namesPod() && (s.Def.subject == nil || s.Def.subject[c.name]) {
			out = appendIdentities(out, c.kind, s.words[i])
		}
	}
	return out
}

func appendIdentities(out []Identity, k Kind, word string) []Identity {
	add := func(kind IDKind, value string) {
		if value != "" {
			out = append(out, Identity{kind, value})
		}
	}
	switch k {
	case kindPod, kindUID, kindContainer, kindSandbox, kindRunner:
		add(identityKinds[k], k.textOf(word))
	case KindPID:
		if pid := parseInt(word); pid > 0 {
			add(IDPID, itoa(pid))
		}
	case kindPods:
		for _, p := range parsePods(word) {
			add(IDPod, p)
		}
	case KindCgroup, KindUnit:
		g := ParseCgroup(word)
		add(IDUID, g.PodUID)
		add(IDContainer, g.ContainerID)
	}
	return out
}

// PoolName is the pool that the signal names, or that the runner is of that it names
// or stands in the output of; "" where it tells of none.
func (s *Signal) PoolName() string {
	for pool := range s.valuesOf(kindPool, kindPoolSet) {
		return pool
	}
	for runner := range s.valuesOf(kindRunner, kindPod) {
		if pool := ingest.PoolOfPod(runner); pool != "" {
			return pool
		}
	}
	return ingest.PoolOfPod(s.Pod)
}

// JobID is the job that the signal names, "" where it names none. A number of its pool's has the
// pool's name before it: another pool has the same numbers.
func (s *Signal) JobID() string {
	for id := range s.valuesOf(kindJob) {
		return id
	}
	for id := range s.valuesOf(kindRequest) {
		if strings.Contains(id, "-") {
			return id
		}
		if pool := s.PoolName(); pool != "" {
			return pool + ":" + id
		}
	}
	return ""
}

// valuesOf are the captures of some kinds that are not empty.
func (s *Signal) valuesOf(kinds ...Kind) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, word := range s.words {
			kind := s.Def.captures[i].kind
			if v := kind.textOf(word); slices.Contains(kinds, kind) && v != "" && !yield(v) {
				return
			}
		}
	}
}

// LastWords marks the last lines of a runner's own output. They are kept with
// every case as context and prove nothing.
var LastWords = &Def{
	Name: "runner.last-words", Family: "runner", Sources: []ingest.Source{ingest.Runner},
	Doc: "One of the last lines that the runner printed.", Reach: ReachPod,
}
