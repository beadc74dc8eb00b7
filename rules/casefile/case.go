package casefile

import (
	"cmp"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"
)

// Case is all that is known about one runner, one pool of them or one job: the input of
// Judge. It is built by classify; nothing in it is read from anywhere else.
type Case struct {
	Kind Kind

	Cluster, Namespace, Name, UID, Node string

	Evidence []Evidence // in time order
	Coverage []Coverage // what was read of the case's pod
	Around   []Coverage // what was read of its node and of the controllers; other cases may share it
	Logs

	Attempt int // which life of a pod whose container was started again; 0: it had one

	Containers map[string]string // container id -> name, of this pod
	Sandboxes  map[string]bool   // sandbox ids of this pod

	Crowd bool // it stands for several pods at once, all of which live

	life *life // worked out from the evidence when it is first asked for
}

// Kind says what a case is about.
type Kind string

// The kinds of cases.
const (
	OfRunner Kind = ""     // a pod, container or microVM
	OfPool   Kind = "pool" // a scale set: what makes runners
	OfJob    Kind = "job"  // what waits for a runner, or has one
)

// Word is the public word for the kind.
func (k Kind) Word() string { return cmp.Or(string(k), "runner") }

// MarshalText is the public word for the kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.Word()), nil }

// UnmarshalText reads that word; a verdict of an earlier version has none.
func (k *Kind) UnmarshalText(word []byte) error {
	if *k = Kind(word); *k == "runner" {
		*k = OfRunner
	}
	return nil
}

// WithOnly is the case with a part of its evidence; nil where that is all of it, or
// nothing. Without what was shared with others, the documents that they wrote in are no log.
func (c *Case) WithOnly(some func(*Evidence) bool) *Case {
	only := *c
	only.life = &life{earlier: c.workedOutLife().earlier}
	only.Evidence = make([]Evidence, 0, len(c.Evidence))
	for i := range c.Evidence {
		switch e := &c.Evidence[i]; {
		case some(e):
			only.Evidence = append(only.Evidence, *e)
		case e.Shared:
			only.Log = c.OwnLog
		}
	}
	if len(only.Evidence) == 0 || len(only.Evidence) == len(c.Evidence) {
		return nil
	}
	return &only
}

// Nobody says whether the case stands for text that names no pod at all.
func (c *Case) Nobody() bool {
	return c.Name == "" && c.UID == "" && len(c.Containers) == 0 && len(c.Sandboxes) == 0
}

// Evidence is a signal attributed to a case.
type Evidence struct {
	*signal.Signal
	Mine   bool   // the line names this pod; false: it speaks about its node
	Proven bool   // trusted source, unforgeable envelope, and a tie that is both
	Others bool   // the line names another pod
	Of     string // that pod's name with its namespace, where one is known
	Doubt  Doubt
}

// Doubt says why a line need not be about the pod that it names.
type Doubt int

// The doubts.
const (
	NoDoubt  Doubt = iota
	Beside         // it stands beside a runner's lines without an envelope: a job can have printed it
	Untied         // a row with the pod's name and no time: which pod of that name is meant, nothing says
	Doubtful       // it may be about an earlier pod of that name, or a job wrote it among its runner's lines
)

// SignalNames are the names of the signals that the case has evidence of.
func (c *Case) SignalNames() map[string]bool {
	seen := map[string]bool{}
	for i := range c.Evidence {
		seen[c.Evidence[i].Def.Name] = true
	}
	return seen
}

// Coverage says that Source was read From..To, or, with Why set, that part of
// it was lost.
type Coverage struct {
	Source   ingest.Source
	From, To time.Time // both zero: no times are known
	Why      string    // what lost the records, "" where they were read
	Partly   string    // of records that were read: why others may be missing among them
}

// Logs are how far the runner's own log was read.
type Logs struct {
	Log    LogRead
	OwnLog LogRead // without documents that others wrote in, too
}

// AddMark adds to a case what a mark says of the reading; mixed says that others wrote in its document, too.
func AddMark(c *Case, m *ingest.Entry, mixed bool) {
	switch m.Mark.Kind {
	case ingest.Covered:
		c.Coverage = append(c.Coverage, Coverage{Source: m.Source, From: m.Mark.From, To: m.Mark.To,
			Partly: m.Mark.Partly})
		if m.Source == ingest.Runner {
			c.Log.add(m)
			if !mixed {
				c.OwnLog.add(m)
			}
		}
	case ingest.Gap:
		c.Coverage = append(c.Coverage, Coverage{Source: m.Source, From: m.Mark.From, To: m.Mark.To, Why: m.Mark.Why})
	}
}

// LogRead is how far the runner's own log was read.
type LogRead struct {
	Read        bool
	Lines       int
	First, Last time.Time
	OwnTimes    bool // they are in the runner's own words: the runtime noted none
}

func (l *LogRead) add(e *ingest.Entry) {
	m := e.Mark
	l.Read = true
	l.OwnTimes = l.OwnTimes || e.Pod == "" && e.Container == "" && e.ContainerID == ""
	l.Lines += m.Lines
	if l.First.IsZero() || (!m.From.IsZero() && m.From.Before(l.First)) {
		l.First = m.From
	}
	if m.To.After(l.Last) {
		l.Last = m.To
	}
}

// Alarmed says whether a line that speaks of a death can speak of the runner's; of
// nobody's what no pod explains.
func (c *Case) Alarmed() bool {
	return slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return raisesAlarm(c, &e) })
}

func raisesAlarm(c *Case, e *Evidence) bool {
	switch {
	case !e.Def.Alarm:
		return false
	case c.Nobody():
		return !e.Others && !isExplained(c.Evidence, e)
	}
	return e.Mine && c.MayBeRunners(c.ContainerOf(e)) && !c.SpokeAfter(e)
}

// isExplained says whether the same source names a pod in the moment of a line that
// names none: a report of several lines has the name in one of them.
func isExplained(evidence []Evidence, e *Evidence) bool {
	return slices.ContainsFunc(evidence, func(o Evidence) bool {
		return o.Others && o.Source == e.Source && o.Node == e.Node && o.At.Sub(e.At).Abs() <= sameReport
	})
}

// sameReport is how far the lines of one report are apart.
const sameReport = 2 * time.Second
