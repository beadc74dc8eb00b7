package kubectl

import (
	"strings"

	"coroner/ingest"
)

// layout is what the indentation of an object's text says of what is its own and what is a value
// in it: of an annotation, a variable, an argument. Values are whatever somebody wrote.
type layout struct {
	described bool // the text is describe's
	contained bool // its containers have begun: what it says of the pod itself is over
	value     int  // 1 + indentation of a key, below which its value goes on; 0 outside
	free      bool // the value is sure to be what somebody wrote
	meta      int  // 1 + indentation of an open metadata:, 0 outside
	metaAt    int  // indentation of its members
}

// holds says whether a line is part of a value.
func (l *layout) holds(raw, s string) bool {
	if s == "" {
		return l.value > 0
	}
	if l.value > 0 && len(raw)-len(s) >= l.value {
		return true
	}
	l.value = 0
	return false
}

// freeText are the parts of describe's that hold what somebody wrote.
var freeText = wordSet("environment", "args", "command", "annotations", "labels")

// opens takes note of a key: what stands deeper than one that has a value goes on with that.
// Of keys that tell of a state no value goes on; people cut text so that the first line
// loses its indentation.
func (l *layout) opens(p kv, of ingest.Entry) {
	switch p.key {
	case "apiversion", "kind", "metadata":
		l.described, l.contained = false, false
	case "containers", "initcontainers":
		l.contained = l.contained || l.described && p.indent == 0
	case "name", "status", "reason", "phase", "type", "state", "laststate":
		return
	case "message":
		if p.title { // describe's has its line ends as they are
			return
		}
	}
	if l.described && !p.title {
		return // a row that was broken, or a person's words
	}
	scalar := p.val != "" && p.val != "{" && p.val != "["
	l.free = p.title && freeText[p.key] || p.key == "value" || scalar && (p.val[0] == '|' || p.val[0] == '>')
	if l.free || scalar && l.inside(of) {
		l.value = p.indent + 1
	}
}

// opensItem takes note of an item of a list that is a text.
func (l *layout) opensItem(raw, s string, of ingest.Entry) {
	if l.inside(of) && strings.HasPrefix(s, "- ") {
		l.value, l.free = len(raw)-len(s)+1, false
	}
}

// mayTell says whether a key can tell of the pod or of a condition: in describe's text only at
// the margin, before the containers.
func (l *layout) mayTell(p kv) bool {
	return !l.described || p.title && p.indent == 0 && !l.contained
}

// inside says whether the text, which is of a pod or a node or of nobody, is an object's by now.
func (l *layout) inside(of ingest.Entry) bool { return of.Pod != "" || of.Node != "" || l.meta > 0 }

// isValue says whether a line of an object is a key with a value that tells of no state.
func isValue(raw string) bool {
	p, ok := keyValue(raw)
	switch {
	case !ok:
		return false
	case p.key == "state" || p.key == "laststate" || p.key == "terminated" || p.key == "status":
		return false
	}
	return !strings.HasSuffix(p.key, "statuses")
}
