// Package subject finds out whom an input is about: a person who saved a folder for one
// runner wants to read of that one first, whoever else died on its node. It is pure.
//
// Invariant: it only chooses among the pods that the input names, never changes what is
// said of one, and chooses nobody where two fit alike.
//
// Crash behaviour: there is no state to lose.
package subject

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// Subject is a pod's name. It may stand for several lives, and for a pod that was made
// anew under the same name.
type Subject struct{ Namespace, Name string }

// String is the name as a person gives it to --runner.
func (s Subject) String() string { return strings.TrimPrefix(s.Namespace+"/"+s.Name, "/") }

// Find says whom an input is about: the pod that a given path is named like, else the
// only one whose object was saved by itself, else the only one whose log lies in a folder
// pods/, of several the only one that runs a runner. The zero Subject is nobody.
func Find(paths []string, marks []ingest.Entry, verdicts []rules.Verdict) Subject {
	var logs, runners, known []Subject
	objects := map[string][]Subject{} // of each document
	for i := range marks {
		m := &marks[i]
		if m.Mark == nil || m.Mark.Kind != ingest.Covered || m.Pod == "" || controls(m) {
			continue
		}
		s := Subject{m.Namespace, m.Pod}
		known = add(known, s)
		if m.Source == ingest.Kube && !events.MatchString(path.Base(m.Doc)) {
			objects[m.Doc] = add(objects[m.Doc], s)
		}
		if podsFolder.MatchString(m.Doc) && m.Source != ingest.Kube {
			logs = add(logs, s)
			if m.Source == ingest.Runner && m.Mark.Lines > 0 {
				runners = add(runners, s)
			}
		}
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.Runner != "" {
			known = add(known, Subject{v.Namespace, v.Runner})
		}
	}
	for _, found := range [][]Subject{namedLike(paths, known), alone(objects), logs, runners} {
		if len(found) == 1 {
			return found[0]
		}
	}
	return Subject{}
}

var (
	// podsFolder is where the kubelet keeps the logs of pods, and where people put them.
	podsFolder = regexp.MustCompile(`(^|/)pods/[^/]+/`)
	// events is a file of events, which tells of pods and is none of their objects.
	events = regexp.MustCompile(`(?i)\bevents?\b`)
)

// alone are those of which a document holds the object and nobody else's: a list is of
// everybody.
func alone(documents map[string][]Subject) (out []Subject) {
	for _, doc := range slices.Sorted(maps.Keys(documents)) {
		if objects := documents[doc]; len(objects) == 1 {
			out = add(out, objects[0])
		}
	}
	return out
}

// controls says whether a mark is of a pod that makes runners and is none.
func controls(m *ingest.Entry) bool {
	program := ingest.ProgramOfPath(m.Pod)
	return m.Source == ingest.Controller || m.Source == ingest.Listener ||
		program == ingest.Controller || program == ingest.Listener
}

// add adds what is not there yet. A name without a namespace is the same as one with.
func add(all []Subject, s Subject) []Subject {
	for i, o := range all {
		if o.Name == s.Name && (o.Namespace == s.Namespace || o.Namespace == "" || s.Namespace == "") {
			all[i].Namespace = max(o.Namespace, s.Namespace)
			return all
		}
	}
	return append(all, s)
}

// namedLike are those whose name the last part of a path holds as a whole word, the
// longest names only: the name of one pod can begin that of another.
func namedLike(paths []string, known []Subject) (out []Subject) {
	longest := 0
	for _, p := range paths {
		for _, s := range known {
			if n := len(s.Name); n >= shortest && n >= longest && holdsWord(path.Base(p), s.Name) {
				if n > longest {
					out, longest = nil, n
				}
				out = add(out, s)
			}
		}
	}
	return out
}

// shortest is how long a name must be for a path to be named like it: "ci" is in too many.
const shortest = 5

// holdsWord says whether word stands in text with no letter or digit beside it.
func holdsWord(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if end := i + len(word); !letterAt(text, i-1) && !letterAt(text, end) {
			return true
		}
		from = i + 1
	}
}

func letterAt(text string, i int) bool {
	if i < 0 || i >= len(text) {
		return false
	}
	c := text[i] | 0x20
	return c >= 'a' && c <= 'z' || text[i] >= '0' && text[i] <= '9'
}

// Is says whether a verdict is about the subject.
func (s Subject) Is(v *rules.Verdict) bool {
	return s.Name != "" && v.Kind == casefile.OfRunner && v.Runner == s.Name &&
		(v.Namespace == s.Namespace || v.Namespace == "" || s.Namespace == "")
}

// Divide puts the subject's verdicts apart from those of its neighbours, each in the order
// in which they came.
func (s Subject) Divide(verdicts []rules.Verdict) (own, neighbours []rules.Verdict) {
	own = slices.DeleteFunc(slices.Clone(verdicts), func(v rules.Verdict) bool { return !s.Is(&v) })
	neighbours = slices.DeleteFunc(slices.Clone(verdicts), func(v rules.Verdict) bool { return s.Is(&v) })
	return own, neighbours
}
