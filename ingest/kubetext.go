package ingest

import (
	"strings"
)

// kubeText reads what people paste of kubectl: tables, describe's text, and
// pieces of a pod's JSON or YAML that are no whole object (package kube reads
// those). Lines that add nothing stay text.
//
// In all three forms a container's end is a block of keys under an opening
// line, and the container's name is a key beside that opening line:
//
//	"lastState": {             lastState:              Last State:  Terminated
//	    "terminated": {          terminated:             Reason:    OOMKilled
//	        "exitCode": 137        exitCode: 137         Exit Code: 137
type kubeText struct {
	namespace, pod, uid, node string // whose text this is

	container string // describe: the container whose lines follow; else the name at nameAt
	nameAt    int    // indentation of that name
	inits     bool   // below Init Containers:
	restarts  string

	which    string            // state or lastState
	whichAt  int               // indentation of the line that said so
	kind     string            // terminated, waiting or running
	kindAt   int               // indentation of its opening line
	block    map[string]string // its keys; nil outside
	blockRow int
	lastKey  string
	held     []fact // of a container whose name may follow

	beside   map[string]string // keys of one indentation outside blocks
	besideAt int
	meta     int // 1 + indentation of an open metadata:, 0 outside
	table    string
}

// kv is a line as indentation, key and value, whatever the notation.
type kv struct {
	indent   int
	key, val string
	title    bool // written with a capital: describe's
	item     bool // the line starts a list item
}

// line reads one bare line; false leaves it to be text.
func (k *kubeText) line(r *reader, raw string) bool {
	s := strings.TrimLeft(raw, " \t")
	if k.inline(r, s) {
		return true
	}
	k.announced(r, s)
	p, ok := keyValue(raw)
	if !ok {
		if k.brace(r, raw, s) {
			return true
		}
		return k.describedCondition(r, raw, s) || k.row(r, s) || k.continued(raw, s)
	}
	if k.row(r, s) {
		return true
	}
	return k.pair(r, p)
}

// announced takes note of a line in which somebody says what follows:
// `$ kubectl describe pod NAME -n NS`, `--- Description for NAME ---`.
func (k *kubeText) announced(r *reader, s string) {
	if !strings.Contains(s, "describe po") && !(strings.HasPrefix(s, "---") || strings.HasPrefix(s, "===")) {
		return
	}
	w := strings.Fields(strings.ReplaceAll(s, "pod/", "pod "))
	for i, word := range w {
		switch {
		case i > 0 && (w[i-1] == "pod" || w[i-1] == "pods" || w[i-1] == "po" || w[i-1] == "for") && dnsName(word):
			k.end(r)
			*k = kubeText{pod: word, namespace: k.namespace}
		case i > 0 && (w[i-1] == "-n" || w[i-1] == "--namespace") && dnsName(word):
			k.namespace = word
		}
	}
}

// blank ends what an empty line ends.
func (k *kubeText) blank(r *reader) { k.closeBeside(r) }

// end yields what is still held back.
func (k *kubeText) end(r *reader) {
	k.closeBlock(r)
	k.closeBeside(r)
	k.release(r)
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
		case c|0x20 >= 'a' && c|0x20 <= 'z' || digit(c) || c == '.' || c == '/':
			b.WriteByte(lower(c))
		default:
			return p, false
		}
	}
	p.key, p.title = b.String(), name != "" && name[0]-'A' < 26
	p.val = strings.TrimSuffix(strings.TrimSpace(s[i+1:]), ",")
	if len(p.val) > 1 && p.val[0] == '"' {
		p.val, _ = unquote(p.val)
	} else if len(p.val) > 1 && p.val[0] == '\'' {
		p.val = strings.Trim(p.val, "'")
	}
	return p, p.key != ""
}

func lower(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// pair takes a key.
func (k *kubeText) pair(r *reader, p kv) bool {
	if k.block != nil {
		if p.indent > k.kindAt {
			k.block[p.key] = p.val
			k.lastKey = p.key
			return true
		}
		k.closeBlock(r)
	}
	if len(k.held) > 0 && (p.indent < k.whichAt || p.item && p.indent <= k.whichAt) {
		k.release(r)
		k.container, k.restarts = "", ""
	}
	if k.opens(r, p) {
		return true
	}
	return k.header4(r, p) || k.besides(r, p)
}

// opens takes the lines that begin a container's state.
func (k *kubeText) opens(r *reader, p kv) bool {
	open := p.val == "" || p.val == "{"
	switch p.key {
	case "state", "laststate":
		if !open && p.val != "Terminated" && p.val != "Waiting" && p.val != "Running" {
			return false
		}
		which := map[string]string{"state": "state", "laststate": "lastState"}[p.key]
		if k.whichHeld(which) && p.indent <= k.whichAt {
			k.release(r)
		}
		k.closeBeside(r)
		k.which, k.whichAt = which, p.indent
		if !open {
			k.open(r, strings.ToLower(p.val), p.indent)
		}
		return true
	case "terminated", "waiting", "running":
		if !open {
			return false
		}
		if k.which == "" || p.indent <= k.whichAt {
			k.which, k.whichAt = "state", p.indent
		}
		k.open(r, p.key, p.indent)
		return true
	}
	return false
}

// whichHeld says whether the container at hand already told this state, so
// that another telling must be another container's.
func (k *kubeText) whichHeld(which string) bool {
	for _, f := range k.held {
		if f.fields["which"] == which {
			return true
		}
	}
	return false
}

func (k *kubeText) open(r *reader, kind string, indent int) {
	k.kind, k.kindAt, k.block, k.lastKey, k.blockRow = kind, indent, map[string]string{}, "", r.n
}

// brace closes a JSON block.
func (k *kubeText) brace(r *reader, raw, s string) bool {
	if s[0] != '}' && s[0] != ']' {
		return false
	}
	inside := k.block != nil || len(k.held) > 0
	indent := len(raw) - len(s)
	if k.block != nil && indent <= k.kindAt {
		k.closeBlock(r)
	}
	if len(k.held) > 0 && indent < k.whichAt {
		k.release(r)
		k.container, k.restarts = "", ""
	}
	k.closeBeside(r)
	return inside && strings.Trim(s, "]}, ") == ""
}

// continued takes a line that goes on with the value of the key before.
func (k *kubeText) continued(raw, s string) bool {
	if k.block == nil || k.lastKey == "" || len(raw)-len(s) <= k.kindAt || len(k.block[k.lastKey]) > 4<<10 {
		return false
	}
	k.block[k.lastKey] = strings.TrimSpace(k.block[k.lastKey] + " " + s)
	return true
}

// closeBlock turns a state's keys into a fact. It is held until the name of its
// container is known.
func (k *kubeText) closeBlock(r *reader) {
	b := k.block
	if b == nil {
		return
	}
	k.block = nil
	f := fact{msg: "container " + k.kind, fields: map[string]string{"reason": b["reason"], "message": b["message"]}}
	f.id = Entry{Namespace: k.namespace, Pod: k.pod, PodUID: k.uid, Node: k.node, Line: k.blockRow}
	started, startedAt := apiTime(first(b, "startedat", "started"))
	switch k.kind {
	case "terminated":
		finished, finishedAt := apiTime(first(b, "finishedat", "finished"))
		f.fields["exit_code"], f.fields["which"] = b["exitcode"], k.which
		f.fields["started_at"], f.fields["finished_at"] = startedAt, finishedAt
		if b["signal"] != "0" {
			f.fields["signal"] = b["signal"]
		}
		f.id.ContainerID = bareContainerID(b["containerid"])
		f.fields["container_id"] = f.id.ContainerID
		f.at(finished)
	case "running":
		f.fields["started_at"] = startedAt
		f.at(started)
	}
	if len(b) > 0 {
		k.held = append(k.held, f)
	}
	if len(k.held) > 16 {
		k.release(r)
	}
}

// release yields the held facts of one container.
func (k *kubeText) release(r *reader) {
	for _, f := range k.held {
		f.id.Container, f.fields["container"] = k.container, k.container
		if f.msg == "container terminated" {
			f.fields["restarts"] = k.restarts
			if k.inits {
				f.fields["init"] = "true"
			}
		}
		if f.id.Pod == "" {
			f.id.Namespace, f.id.Pod, f.id.PodUID, f.id.Node = k.namespace, k.pod, k.uid, k.node
		}
		r.yieldFact(f)
	}
	k.held = k.held[:0]
}

func first(m map[string]string, keys ...string) string {
	for _, key := range keys {
		if m[key] != "" {
			return m[key]
		}
	}
	return ""
}

// header4 takes the keys that say whose text this is.
func (k *kubeText) header4(r *reader, p kv) bool {
	switch {
	case k.meta > 0 && p.indent >= k.meta && k.metadata(r, p):
		return true
	case k.meta > 0 && p.indent < k.meta:
		k.meta = 0
	}
	switch p.key {
	case "metadata":
		if p.val == "" || p.val == "{" {
			k.release(r)
			k.meta = p.indent + 1
		}
	case "name":
		return k.name(r, p)
	case "namespace":
		if p.indent == 0 && p.title && dnsName(p.val) {
			k.namespace = p.val
			if k.pod == "" {
				k.pod, k.node = k.node, ""
			}
			return k.pod != ""
		}
	case "node", "nodename":
		if node, _, _ := strings.Cut(p.val, "/"); dnsName(node) && (p.indent == 0 && k.pod != "" || p.key == "nodename") {
			k.node = node
			return p.indent == 0
		}
	case "restartcount":
		if p.indent <= k.whichAt {
			k.restarts = p.val
		}
	case "containers", "initcontainers":
		k.release(r)
		if p.val == "" {
			k.inits = p.key == "initcontainers"
		}
	case "conditions", "events":
		if p.val == "" && p.indent == 0 {
			k.end(r)
			k.table = p.key
		}
	default:
		k.described(r, p)
	}
	return false
}

// metadata takes the identity of the object that a fragment begins with.
func (k *kubeText) metadata(r *reader, p kv) bool {
	switch p.key {
	case "name":
		k.pod, k.container = brief(p.val, 253), ""
	case "namespace":
		k.namespace = brief(p.val, 253)
	case "uid":
		k.uid = brief(p.val, 64)
	case "deletiongraceperiodseconds":
		k.restarts = ""
		k.note(r, p)
	case "deletiontimestamp":
		f := fact{Entry{}, "pod deleting", map[string]string{"grace_seconds": k.beside["deletiongraceperiodseconds"]}}
		at, text := apiTime(p.val)
		f.fields["deletion_timestamp"] = text
		f.at(at)
		k.which, k.whichAt = "", p.indent
		k.held = append(k.held, f)
	default:
		return false
	}
	return false
}

// name: of a described object at the margin, of a container beside its state.
func (k *kubeText) name(r *reader, p kv) bool {
	if p.indent == 0 && p.title && dnsName(p.val) {
		k.end(r)
		*k = kubeText{node: p.val} // a node's, unless a namespace follows
		return true
	}
	if len(k.held) > 0 && p.indent == k.whichAt || k.block == nil && dnsName(p.val) {
		k.container, k.nameAt = brief(p.val, 253), p.indent
	}
	return false
}

// described takes describe's line that names a container, `  runner:`.
func (k *kubeText) described(r *reader, p kv) {
	if p.val == "" && p.indent == 2 && k.pod != "" && dnsName(p.key) {
		k.release(r)
		k.container, k.restarts = p.key, ""
	}
}

// besides collects keys of one indentation that together are a condition or a
// pod's status.
func (k *kubeText) besides(r *reader, p kv) bool {
	switch p.key {
	case "status", "reason", "message", "phase", "type", "lasttransitiontime", "qosclass", "qos":
		k.note(r, p)
	default:
		if p.item || p.indent < k.besideAt {
			k.closeBeside(r)
		}
	}
	return false
}

func (k *kubeText) note(r *reader, p kv) {
	if _, told := k.beside[p.key]; told || p.item || p.indent != k.besideAt {
		k.closeBeside(r)
	}
	if k.beside == nil {
		k.beside = map[string]string{}
	}
	k.besideAt = p.indent
	k.beside[p.key] = p.val
}

var phases = map[string]bool{"Pending": true, "Running": true, "Succeeded": true, "Failed": true, "Unknown": true}

// podReasons are the reasons that the kubelet and the controllers give a pod
// as a whole.
var podReasons = map[string]bool{
	"Evicted": true, "Terminated": true, "NodeShutdown": true, "Shutdown": true, "DeadlineExceeded": true, "NodeLost": true,
	"NodeAffinity": true, "UnexpectedAdmissionError": true, "Preempting": true, "OutOfcpu": true, "OutOfmemory": true, "OutOfpods": true,
}

// closeBeside yields the condition or the status that the collected keys are.
func (k *kubeText) closeBeside(r *reader) {
	b := k.beside
	if len(b) == 0 {
		return
	}
	k.beside = nil
	f := fact{id: Entry{Namespace: k.namespace, Pod: k.pod, PodUID: k.uid, Node: k.node}}
	phase := first(b, "phase", "status")
	word, _, _ := strings.Cut(phase, " ")
	switch {
	case b["type"] != "" && (phase == "True" || phase == "False" || phase == "Unknown"):
		f.msg, f.fields = conditionMsg(b["type"]), map[string]string{"type": b["type"], "status": phase, "reason": b["reason"], "message": b["message"]}
		at, _ := apiTime(b["lasttransitiontime"])
		f.at(at)
	case word == "Terminating" && k.pod != "":
		f.msg = "pod deleting"
	case phases[phase] && (k.pod != "" || b["reason"] != "" || b["phase"] != "") || phase == "" && podReasons[b["reason"]]:
		f.msg, f.fields = "pod status", map[string]string{"phase": phase, "reason": b["reason"], "message": b["message"], "qos": first(b, "qosclass", "qos")}
	default:
		return
	}
	r.yieldFact(f)
}

func conditionMsg(kind string) string {
	switch kind {
	case "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "KernelDeadlock", "ReadonlyFilesystem":
		return "node condition"
	}
	return "pod condition"
}

// describedCondition reads a row below describe's `Conditions:`. A node's has
// two times, a reason and a message.
func (k *kubeText) describedCondition(r *reader, raw, s string) bool {
	if k.table != "conditions" || raw == s {
		return false
	}
	w := columns(s)
	if len(w) < 2 || w[1] != "True" && w[1] != "False" && w[1] != "Unknown" {
		return false
	}
	f := fact{Entry{Namespace: k.namespace, Pod: k.pod, PodUID: k.uid, Node: k.node}, "pod condition", map[string]string{"type": w[0], "status": w[1]}}
	if k.pod == "" {
		f.msg = "node condition"
	}
	if len(w) >= 6 {
		at, _ := apiTime(w[3])
		f.at(at)
		f.fields["reason"], f.fields["message"] = w[4], strings.Join(w[5:], " ")
	}
	r.yieldFact(f)
	return true
}

// columns splits a row where two spaces or a tab stand.
func columns(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " \t") {
		i := strings.Index(s, "  ")
		if t := strings.IndexByte(s, '\t'); t >= 0 && (i < 0 || t < i) {
			i = t
		}
		if i < 0 {
			return append(out, s)
		}
		out = append(out, s[:i])
		s = s[i:]
	}
	return out
}

// inline reads a state on one line: `"terminated":{"exitCode":137,…}` of
// compact JSON, `terminated:map[exitCode:137 …]` of Go.
func (k *kubeText) inline(r *reader, s string) bool {
	found := false
	for rest := s; ; {
		i := strings.Index(rest, "erminated")
		if i < 1 || i > 64<<10 {
			return found
		}
		head, tail := rest[:i-1], rest[i+len("erminated"):]
		rest = tail
		b := inlineBlock(strings.TrimLeft(tail, `": `))
		if b == nil {
			continue
		}
		k.which = "state"
		if strings.LastIndex(strings.ToLower(head), "laststate") > strings.LastIndex(strings.ToLower(head), `"state`) {
			k.which = "lastState"
		}
		k.kind, k.block, k.blockRow, found = "terminated", b, r.n, true
		k.closeBlock(r)
		k.release(r)
	}
}

// inlineBlock reads the keys of one state.
func inlineBlock(s string) map[string]string {
	b := map[string]string{}
	if inner, ok := strings.CutPrefix(s, "map["); ok {
		inner, _, _ = strings.Cut(inner, "]")
		for _, w := range strings.Fields(inner) {
			if key, v, ok := strings.Cut(w, ":"); ok {
				b[strings.ToLower(key)] = v
			}
		}
	} else if o, ok := scanObject([]byte(s)); ok {
		for {
			key, v, more := o.next()
			if !more {
				break
			}
			b[strings.ToLower(string(key))] = v.text()
		}
	}
	if b["exitcode"] == "" && b["reason"] == "" {
		return nil
	}
	return b
}
