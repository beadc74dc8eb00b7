// Package kubectl reads what people paste of kubectl: describe's text, tables,
// events, and pieces of a pod's JSON or YAML.
//
// Invariant: a line that tells nothing of an object is left to be text. A fact
// about a container is yielded once it is known which container it is.
//
// Crash behaviour: the package holds no state outside the text being read; what
// was not yielded when a reader stops is lost with it.
package kubectl

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// Text reads what people paste of kubectl: tables, describe's text, and
// pieces of a pod's JSON or YAML that are no whole object (package kube reads
// those). Lines that add nothing stay text.
//
// In all three forms a container's end is a block of keys under an opening
// line, and the container's name is a key beside that opening line:
//
//	"lastState": {             lastState:              Last State:  Terminated
//	    "terminated": {          terminated:             Reason:    OOMKilled
//	        "exitCode": 137        exitCode: 137         Exit Code: 137
type Text struct {
	Facts
	line int // number of the line that is being read

	of        ingest.Entry // whose text this is: a pod or a node
	container string       // whose lines follow, or that was named last
	inits     bool         // below Init Containers:
	restarts  string
	state     stateText
	held      []Fact // of a container whose name may follow

	beside   map[string]string // keys of one indentation outside blocks
	besideAt int
	grace    string // the deletionGracePeriodSeconds of an open metadata:
	table    string // describe: the table whose rows follow
	below    openParts
	object   layout
}

// Facts is where facts go.
type Facts struct {
	Yield func(Fact)

	printed bool // what follows can be what a container printed
	claimed bool // what follows can be what somebody wrote, as an event or into an object
}

// yieldFact yields a fact, with what is known of who can have written it.
func (o *Facts) yieldFact(f Fact) {
	f.printed, f.claimed = f.printed || o.printed, o.claimed
	o.Yield(f)
	o.printed = f.printed || f.isEvent() && printsOutput[f.fields["reason"]]
	o.claimed = f.claimed || f.isEvent() // whose message has its line ends as they are
}

// openParts are the tables whose rows follow, and what else is open.
type openParts struct {
	event   int      // 1 + indentation of an event's members, which are no pod's; 0 outside
	columns []string // of a table of events, where somebody chose them
	runners runnersTable
}

// stateText is one state of a container, as it is read.
type stateText struct {
	which   string            // state or lastState
	whichAt int               // indentation of the line that said so
	kind    string            // terminated, waiting or running
	kindAt  int               // indentation of its opening line
	keys    map[string]string // of the state; nil outside
	row     int               // number of its opening line
	lastKey string

	messaged bool // describe's message of a container that ended was read last

	above string // describe's line that may name a container of a pod that was left out
}

// restartFor forgets all but what the text that follows is of.
func (k *Text) restartFor(of ingest.Entry) {
	*k = Text{Facts: k.Facts, line: k.line, of: of}
}

// maxRow is the longest line that can be a row or a key of kubectl's text.
const maxRow = 32 << 10

// kv is a line as indentation, key and value, whatever the notation.
type kv struct {
	indent   int
	key, val string // the key without case, spaces and dashes
	name     string // the key as it was written
	title    bool   // written with a capital: describe's
	item     bool   // the line starts a list item
}

// Read reads one bare line with its number; false leaves it to be text.
func (k *Text) Read(raw string, line int) bool {
	k.line = line
	s := strings.TrimLeft(raw, " \t")
	if k.state.messaged {
		if k.printed = true; k.state.goesOn(raw, s, line) {
			return true
		}
	}
	if k.object.holds(raw, s) {
		return k.continueValue(raw, s) || k.object.free
	}
	if k.object.apart++; breaks(s) {
		k.object.apart = 0
	}
	if !k.object.described && !(k.object.inside(k.of) && isValue(raw)) && k.readInline(s) {
		return true
	}
	if len(raw) > maxRow {
		return false
	}
	k.announced(s)
	if k.describedCondition(raw, s) {
		return true
	}
	p, ok := keyValue(raw)
	if k.object.begins(p, ok) {
		k.End() // what was said before is whoever's it was
		k.claimed = true
	}
	if !ok {
		if k.closeBrace(raw, s) {
			return true
		}
		k.object.opensItem(raw, s, k.of)
		return k.readRow(raw, s) || k.continueValue(raw, s)
	}
	if k.readRow(raw, s) {
		return true
	}
	return k.takePair(p)
}

// announced takes note of a line in which somebody says what follows:
// `$ kubectl describe pod NAME -n NS`, `--- Description for NAME ---`.
func (k *Text) announced(s string) {
	if !strings.Contains(s, "describe po") && !(strings.HasPrefix(s, "---") || strings.HasPrefix(s, "===")) {
		return
	}
	w := strings.Fields(strings.ReplaceAll(s, "pod/", "pod "))
	for i, word := range w {
		switch {
		case i > 0 && (w[i-1] == "pod" || w[i-1] == "pods" || w[i-1] == "po" || w[i-1] == "for") &&
			logtext.IsDNSName(word):
			k.End()
			k.restartFor(ingest.Entry{Pod: word, Namespace: k.of.Namespace})
			k.object.described = true
		case i > 0 && (w[i-1] == "-n" || w[i-1] == "--namespace") && logtext.IsDNSName(word):
			k.of.Namespace = word
		}
	}
}

// Blank ends what an empty line ends.
func (k *Text) Blank() {
	k.closeBeside()
	k.object.apart = 0
}

// End yields what is still held back.
func (k *Text) End() {
	k.closeBlock()
	k.closeBeside()
	k.yieldHeld()
}

// keyValue reads `"key": value,`, `- key: value` and `Some Key:   value`.
func keyValue(raw string) (p kv, ok bool) {
	s := strings.TrimLeft(raw, " \t")
	p.indent = len(raw) - len(s)
	if rest, item := strings.CutPrefix(s, "- "); item {
		inner := strings.TrimLeft(rest, " ")
		p.indent += len(s) - len(inner)
		s, p.item = inner, true
	}
	i := strings.IndexByte(s, ':')
	if i <= 0 || i > 40 || i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\t' && s[0] != '"' {
		return p, false
	}
	name := strings.Trim(strings.TrimRight(s[:i], " "), `"`)
	var b strings.Builder
	for j := 0; j < len(name); j++ {
		switch c := name[j]; {
		case c == ' ' || c == '-' || c == '_':
		case c|0x20 >= 'a' && c|0x20 <= 'z' || logtext.IsDigit(c) || c == '.' || c == '/':
			b.WriteByte(lowerCase(c))
		default:
			return p, false
		}
	}
	p.key, p.name, p.title = b.String(), name, name != "" && name[0]-'A' < 26
	p.val = strings.TrimSuffix(strings.TrimSpace(s[i+1:]), ",")
	if len(p.val) > 1 && p.val[0] == '"' {
		p.val, _ = logtext.Unquote(p.val)
	} else if len(p.val) > 1 && p.val[0] == '\'' {
		p.val = strings.Trim(p.val, "'")
	}
	return p, p.key != ""
}

func lowerCase(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// takePair takes a key.
func (k *Text) takePair(p kv) bool {
	if k.table != "events" {
		k.object.opens(p, k.of)
	}
	if k.state.keys != nil {
		if p.indent > k.state.kindAt {
			k.state.take(p)
			return true
		}
		k.closeBlock()
	}
	if len(k.held) > 0 && (p.indent < k.state.whichAt || p.item && p.indent <= k.state.whichAt) {
		k.yieldHeld()
		k.container, k.restarts = "", ""
	}
	if k.opensState(p) {
		return true
	}
	return k.takeIdentity(p) || k.collectBeside(p)
}

// takeIdentity takes the keys that say whose text this is.
func (k *Text) takeIdentity(p kv) bool {
	if k.object.meta > 0 && p.indent >= k.object.meta {
		if k.object.metaAt == 0 {
			k.object.metaAt = p.indent
		}
		if p.indent == k.object.metaAt && !p.item {
			k.takeMetadata(p)
		}
		return false
	}
	k.object.meta = 0
	switch p.key {
	case "name":
		return k.takeName(p)
	case "namespace", "node":
		return p.indent == 0 && p.title && k.takeMargin(p)
	case "nodename":
		if logtext.IsDNSName(p.val) {
			k.of.Node = p.val
		}
	case "restartcount":
		if p.indent <= k.state.whichAt {
			k.restarts = p.val
		}
	default:
		k.takeSection(p)
	}
	return false
}

// takeMargin takes what describe says at its margin below the name.
func (k *Text) takeMargin(p kv) bool {
	value, _, _ := strings.Cut(p.val, "/") // a node has its address behind it
	if !logtext.IsDNSName(value) || p.key == "node" && k.of.Pod == "" {
		return false
	}
	if p.key == "node" {
		k.of.Node = value
		return true
	}
	k.of.Namespace = value
	if k.of.Pod == "" { // the name before it was no node's
		k.of.Pod, k.of.Node = k.of.Node, ""
	}
	return k.of.Pod != ""
}

// listOfContainers are the keys of the lists of containers in a pod's spec and status.
var listOfContainers = wordSet("containers", "initcontainers", "containerstatuses", "initcontainerstatuses",
	"ephemeralcontainerstatuses")

// takeSection takes the keys that begin a part of an object.
func (k *Text) takeSection(p kv) {
	open := p.val == "" || p.val == "{"
	switch {
	case p.key == "metadata" && open:
		k.yieldHeld()
		k.object.meta, k.object.metaAt = p.indent+1, 0
	case listOfContainers[p.key]:
		k.yieldHeld()
		if open {
			k.inits = strings.HasPrefix(p.key, "init")
		}
	case (p.key == "conditions" || p.key == "events") && open && p.indent == 0:
		k.End()
		k.table = p.key
	case open && p.indent == 2 && k.of.Pod != "" && logtext.IsDNSName(p.name): // describe's line that names a container
		k.yieldHeld()
		k.container, k.restarts = p.name, ""
	case p.val == "" && p.indent == 2 && logtext.IsDNSName(p.name):
		k.state.above = p.name
	}
}

// takeMetadata takes the identity of the object that a fragment begins with.
func (k *Text) takeMetadata(p kv) {
	switch p.key {
	case "name":
		k.of.Pod, k.container = logtext.Brief(p.val, 253), ""
	case "namespace":
		k.of.Namespace = logtext.Brief(p.val, 253)
	case "uid":
		k.of.PodUID = logtext.Brief(p.val, 64)
	case "deletiongraceperiodseconds":
		k.grace = p.val
	case "deletiontimestamp":
		f := newFact(ingest.Entry{}, "pod deleting", map[string]string{"grace_seconds": k.grace})
		at, text := apiTime(p.val)
		f.fields["deletion_timestamp"] = text
		f.setTime(at)
		k.state.which, k.state.whichAt = "", p.indent
		k.held = append(k.held, f)
	}
}

// takeName: of a described object at the margin, of a container beside its state.
func (k *Text) takeName(p kv) bool {
	if p.indent == 0 && p.title && logtext.IsDNSName(p.val) {
		k.End()
		k.claimed = k.claimed || k.object.contained && k.object.apart != 1
		k.restartFor(ingest.Entry{Node: p.val}) // a node's, unless a namespace follows
		k.object.described = true
		return true
	}
	if len(k.held) > 0 && p.indent == k.state.whichAt || k.state.keys == nil && logtext.IsDNSName(p.val) {
		k.container = logtext.Brief(p.val, 253)
	}
	return false
}
