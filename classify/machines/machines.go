// Package machines tells apart the logs of machines that have one name. Somebody gave it to two of
// them, or a folder holds the files of two clusters.
//
// Invariant: a log is another machine's only where a program's lines in it were all kept around a moment
// at which that program named the pod in a log of that host name, and it does not name the pod; or where
// it tells of other pods, and not of this one when it began. What was saved twice names it twice.
//
// Crash behaviour: the package is pure; there is no state to lose.
package machines

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"coroner/classify/nodename"
	"coroner/ingest"
	"coroner/rules/signal"
)

// Moment is when a program of a pod's machine named the pod.
type Moment struct {
	Source ingest.Source
	At     time.Time
	Docs   []string // where it did, in lines with the host's name; none where the pod began then
}

// Logs are what was read of machines. The zero value is empty.
type Logs struct {
	read  map[node]documents
	names nodename.Index
	tells map[told]bool
}

// node is a node's name in its cluster.
type node struct{ cluster, name string }

// documents are what was read of a node in each document.
type documents map[string][]*ingest.Entry

// told is a program that tells of starts and ends of pods in a document.
type told struct {
	source ingest.Source
	doc    string
}

// namesPods says whether a program names each pod that it starts and ends.
func namesPods(s ingest.Source) bool { return s == ingest.Kubelet || s == ingest.Containerd }

// New finds the logs among the marks of a record.
func New(marks []ingest.Entry) *Logs {
	l := &Logs{read: map[node]documents{}, tells: map[told]bool{}}
	for i := range marks {
		m := &marks[i]
		if m.Mark.Kind == ingest.Covered && m.Mark.Partly == "" && m.Source.Host() && m.Node != "" && m.Doc != "" {
			on := node{m.Cluster, m.Node}
			if l.read[on] == nil {
				l.read[on] = documents{}
				l.names.Add(on.cluster, on.name)
			}
			l.read[on][m.Doc] = append(l.read[on][m.Doc], m)
		}
	}
	return l
}

// TellsOfPods takes note that a program tells of a start or an end of a pod in a document.
func (l *Logs) TellsOfPods(program ingest.Source, doc string) { l.tells[told{program, doc}] = true }

// Others are the logs of other machines than the one that a pod was on.
type Others struct {
	docs map[string]bool
	own  []*ingest.Entry // what was read of the pod's own
}

// Others finds the logs with the name of a pod's node that are of another machine. It is nil
// where there are none.
func (l *Logs) Others(cluster, name string, moments []Moment) *Others {
	if name == "" || len(moments) == 0 {
		return nil
	}
	own, o := map[string]bool{}, &Others{docs: map[string]bool{}}
	for _, m := range moments {
		for _, doc := range m.Docs {
			own[doc] = true
		}
	}
	names := l.names.Like(cluster, name)
	for _, like := range names {
		for doc, read := range l.read[node{cluster, like}] {
			if !own[doc] && slices.ContainsFunc(read, func(m *ingest.Entry) bool { return l.lacks(m, moments) }) {
				o.docs[doc] = true
			}
		}
	}
	if len(o.docs) == 0 {
		return nil
	}
	theirs := o.folders(own)
	for _, like := range names {
		for doc, read := range l.read[node{cluster, like}] {
			switch {
			case own[doc]:
				o.own = append(o.own, read...)
			case theirs[path.Dir(doc)]:
				o.docs[doc] = true
			}
		}
	}
	return o
}

// lacks says whether a program was read over one of the moments, and would have named the pod then.
func (l *Logs) lacks(read *ingest.Entry, moments []Moment) bool {
	tells := l.tells[told{read.Source, read.Doc}] // at a low verbosity it need not tell of a start
	return namesPods(read.Source) && slices.ContainsFunc(moments, func(m Moment) bool {
		return m.Source == read.Source && within(read.Mark, m.At) && (len(m.Docs) > 0 || tells)
	})
}

// within says whether a moment is inside of what was read, not at an end of it.
func within(read *ingest.Mark, at time.Time) bool { return read.From.Before(at) && at.Before(read.To) }

// folders are those of other machines: what else stands there is theirs, too.
func (o *Others) folders(own map[string]bool) map[string]bool {
	theirs := map[string]bool{}
	for doc := range o.docs {
		theirs[path.Dir(doc)] = true
	}
	for folder := range theirs {
		for doc := range own {
			if folder == "." || folder == "/" || path.Dir(doc) == folder || strings.HasPrefix(doc, folder+"/") {
				delete(theirs, folder)
			}
		}
	}
	return theirs
}

// Has says whether a document is of another machine.
func (o *Others) Has(doc string) bool { return o != nil && o.docs[doc] }

// Denies says whether a line stands in another machine's log, and the logs of the pod's own machine
// were read over its moment: it happened on the other one.
func (o *Others) Denies(s *signal.Signal) bool {
	if !o.Has(s.Doc) {
		return false
	}
	return slices.ContainsFunc(o.own, func(m *ingest.Entry) bool {
		return m.Source == s.Source && within(m.Mark, s.At)
	})
}

// Key tells the others of one pod from those of another: "" where there are none.
func (o *Others) Key() string {
	if o == nil {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(o.docs)), "\x00")
}
