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
	list      int  // 1 + indentation of a chosen key, whose items may stand right below it; 0 outside
	meta      int  // 1 + indentation of an open metadata:, 0 outside
	metaAt    int  // indentation of its members
	spec      int  // 1 + indentation of an open spec:, 0 outside
	apart     int  // lines since an empty one, a prompt or a fence; 0 = this is one
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
	if l.list > 0 && len(raw)-len(s) == l.list-1 && strings.HasPrefix(s, "- ") {
		l.value, l.free = l.list, true
		return true
	}
	l.list = 0
	return false
}

// freeText are the parts of describe's that hold what somebody wrote.
var freeText = wordSet("environment", "args", "command", "annotations", "labels")

// chosenKeys are the parts of an object in which keys are what somebody chose.
var chosenKeys = wordSet("annotations", "labels", "nodeselector", "matchlabels", "selector", "volumeattributes", "env",
	"args", "command", "data", "stringdata", "parameters", "options", "limits", "requests")

// opens takes note of a key: what stands deeper than one that has a value goes on with that.
// Of keys that tell of a state no value goes on; people cut text so that the first line
// loses its indentation.
func (l *layout) opens(p kv, of ingest.Entry) {
	open := p.val == "" || p.val == "{" || p.val == "["
	if l.spec > 0 && p.indent < l.spec {
		l.spec = 0
	}
	switch {
	case p.key == "spec" && open:
		l.spec = p.indent + 1
	case p.key == "containers" || p.key == "initcontainers":
		l.contained = l.contained || l.described && p.indent == 0
	}
	if l.described && !p.title || !l.silent(p) && tellsState(p) {
		return // in describe's text: a row that was broken, or a person's words
	}
	block := !open && (p.val[0] == '|' || p.val[0] == '>')
	// Describe has the first annotation on the line of the title; a job's page has a heading of that name.
	heading := p.key == "annotations" && open && !l.described
	l.free = p.title && freeText[p.key] && !heading || !p.title && chosenKeys[p.key] && open ||
		p.key == "value" || block
	if l.free || !open && l.inside(of) {
		l.value = p.indent + 1
	}
	if l.list = 0; l.free && open && !p.title {
		l.list = l.value
	}
}

// tellsState says whether a key is one of those that tell of a state. Describe's message has its
// line ends as they are.
func tellsState(p kv) bool {
	switch p.key {
	case "name", "status", "reason", "phase", "type", "state", "laststate":
		return true
	}
	return p.key == "message" && p.title
}

// silent says whether a key stands where no key tells of a state: among the labels and
// annotations, or in what was asked for.
func (l *layout) silent(p kv) bool {
	return l.spec > 0 || l.meta > 0 && p.indent >= l.meta && l.metaAt > 0 && p.indent > l.metaAt
}

// begins takes note of where a line stands. What follows describe's text, once its containers
// began, is claimed: whoever chose a probe's command or a variable can have written it.
func (l *layout) begins(p kv, isKey bool) (claimed bool) {
	switch {
	case !l.described || !isKey || p.title || l.apart != 1 && (l.contained || p.indent > 0):
		return false
	case l.contained:
		claimed = true
	}
	l.described, l.contained = false, false
	return claimed
}

// breaks says whether a line is what people and terminals put between two texts.
func breaks(s string) bool {
	return s == "" || strings.HasPrefix(s, "$ ") || strings.HasPrefix(s, "# ") || strings.HasPrefix(s, "```") ||
		strings.HasPrefix(s, "---") && !strings.HasPrefix(s, "---- ") || strings.HasPrefix(s, "===")
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
	return !l.silent(p) && (!l.described || p.title && p.indent == 0 && !l.contained)
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
