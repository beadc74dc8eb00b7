package kubectl

import (
	"strings"

	"coroner/ingest/logtext"
)

// opensState takes the lines that begin a container's state.
func (k *Text) opensState(p kv) bool {
	open := p.val == "" || p.val == "{"
	switch p.key {
	case "state", "laststate":
		if !open && p.val != "Terminated" && p.val != "Waiting" && p.val != "Running" {
			return false
		}
		if k.object.described && (!p.title || p.indent == 0) || k.object.silent(p) {
			return false // of a variable's value, which older versions print as it is
		}
		if k.state.above != "" && p.title && p.indent == 4 {
			k.yieldHeld()
			k.container, k.state.above = k.state.above, ""
		}
		which := map[string]string{"state": "state", "laststate": "lastState"}[p.key]
		if k.whichHeld(which) && p.indent <= k.state.whichAt {
			k.yieldHeld()
		}
		k.closeBeside()
		k.state.which, k.state.whichAt = which, p.indent
		if !open {
			k.openState(strings.ToLower(p.val), p.indent)
		} else if p.title && p.val == "{" { // a container engine's: Kubernetes writes it small
			k.openState("terminated", p.indent)
		}
		return true
	case "terminated", "waiting", "running":
		if !open || k.object.described || k.object.silent(p) {
			return false
		}
		if k.state.which == "" || p.indent <= k.state.whichAt {
			k.state.which, k.state.whichAt = "state", p.indent
		}
		k.openState(p.key, p.indent)
		return true
	}
	return false
}

// whichHeld says whether the container at hand already told this state, so
// that another telling must be another container's.
func (k *Text) whichHeld(which string) bool {
	for _, f := range k.held {
		if f.fields["which"] == which {
			return true
		}
	}
	return false
}

func (k *Text) openState(kind string, indent int) {
	s := &k.state
	s.kind, s.kindAt, s.keys, s.lastKey, s.row, s.messaged = kind, indent, map[string]string{}, "", k.line, false
}

// closeBrace closes a JSON block.
func (k *Text) closeBrace(raw, s string) bool {
	if s[0] != '}' && s[0] != ']' {
		return false
	}
	inside := k.state.keys != nil || len(k.held) > 0
	indent := len(raw) - len(s)
	if k.state.keys != nil && indent <= k.state.kindAt {
		k.closeBlock()
	}
	if len(k.held) > 0 && indent < k.state.whichAt {
		k.yieldHeld()
		k.container, k.restarts = "", ""
	}
	k.closeBeside()
	return inside && strings.Trim(s, "]}, ") == ""
}

// continueValue takes a line that goes on with the value of the key before.
func (k *Text) continueValue(raw, s string) bool {
	if k.state.keys == nil || k.state.lastKey == "" || len(raw)-len(s) <= k.state.kindAt ||
		len(k.state.keys[k.state.lastKey]) > 4<<10 {
		return false
	}
	k.state.keys[k.state.lastKey] = strings.TrimSpace(k.state.keys[k.state.lastKey] + " " + s)
	return true
}

// take takes a key of the state. A block inside it can have the same keys (the exit
// codes of docker's health checks): the first counts.
func (s *stateText) take(p kv) {
	s.lastKey = ""
	if _, told := s.keys[p.key]; !told {
		s.keys[p.key], s.lastKey = p.val, p.key
	}
	s.messaged = p.key == "message" && p.title && s.kind == "terminated"
}

// engineEnd makes the State of docker inspect, from docker 1.8 and podman 1.0 on, one of
// Kubernetes; false if the container runs or was never started.
func engineEnd(b map[string]string) bool {
	switch b["oomkilled"] {
	case "":
		return true
	case "true":
		b["reason"] = "OOMKilled"
	}
	b["message"] = b["error"]
	return b["running"] != "true" && b["status"] != "created"
}

// maxMessage is how many bytes, and lines, a termination message has at most.
const maxMessage = 4 << 10

// goesOn says whether a line goes on with a termination message that describe shows. That
// has its line ends as they are, so whatever stands there is part of it, until the exit code
// comes that describe prints behind it.
func (s *stateText) goesOn(raw, text string, line int) bool {
	own := strings.HasPrefix(text, "Exit Code:") && len(raw)-len(text) > s.kindAt
	if s.keys == nil || own || line-s.row > maxMessage {
		s.messaged = false
		return false
	}
	if m := s.keys["message"]; len(m) < maxMessage {
		s.keys["message"] = strings.TrimSpace(m + " " + text)
	}
	return true
}

// closeBlock turns a state's keys into a fact. It is held until the name of its
// container is known.
func (k *Text) closeBlock() {
	b := k.state.keys
	if b == nil {
		return
	}
	if k.state.keys = nil; !engineEnd(b) {
		return
	}
	if b["reason"] == "OOM Killed" { // until Kubernetes 1.1
		b["reason"] = "OOMKilled"
	}
	f := Fact{msg: "container " + k.state.kind,
		fields: map[string]string{"reason": b["reason"], "message": b["message"]}}
	f.id = k.of
	f.id.Line = k.state.row
	started, startedAt := apiTime(firstSet(b, "startedat", "started"))
	switch k.state.kind {
	case "terminated":
		finished, finishedAt := apiTime(firstSet(b, "finishedat", "finished"))
		f.fields["exit_code"], f.fields["which"] = b["exitcode"], k.state.which
		f.fields["started_at"], f.fields["finished_at"] = startedAt, finishedAt
		if b["signal"] != "0" {
			f.fields["signal"] = b["signal"]
		}
		f.id.ContainerID = bareContainerID(b["containerid"])
		f.fields["container_id"] = f.id.ContainerID
		f.setTime(finished)
	case "running":
		f.fields["started_at"] = startedAt
		f.setTime(started)
	}
	if len(b) > 0 {
		k.held = append(k.held, f)
	}
	if len(k.held) > 16 {
		k.yieldHeld()
	}
}

// yieldHeld yields the held facts of one container.
func (k *Text) yieldHeld() {
	for _, f := range k.held {
		if strings.HasPrefix(f.msg, "container ") {
			f.id.Container, f.fields["container"] = k.container, k.container
			f.fields["restarts"] = k.restarts
		}
		if f.msg == "container terminated" && k.inits {
			f.fields["init"] = "true"
		}
		if f.id.Pod == "" {
			f.belongsTo(k.of)
		}
		k.yieldFact(f)
	}
	k.held = k.held[:0]
}

func firstSet(m map[string]string, keys ...string) string {
	for _, key := range keys {
		if m[key] != "" {
			return m[key]
		}
	}
	return ""
}

// readInline reads a state on one line: `"terminated":{"exitCode":137,…}` of
// compact JSON, `terminated:map[exitCode:137 …]` of Go.
func (k *Text) readInline(s string) bool {
	found := false
	for rest, tries := s, 0; tries < 64; tries++ {
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
		k.state.which = "state"
		if strings.LastIndex(strings.ToLower(head), "laststate") > strings.LastIndex(strings.ToLower(head), `"state`) {
			k.state.which = "lastState"
		}
		k.state.kind, k.state.keys, k.state.row, found = "terminated", b, k.line, true
		k.closeBlock()
		k.yieldHeld()
	}
	return found
}

// inlineBlock reads the keys of one state.
func inlineBlock(s string) map[string]string {
	b := map[string]string{}
	if inner, ok := strings.CutPrefix(s, "map["); ok {
		inner, _, _ = strings.Cut(inner, "]")
		last := ""
		for _, w := range strings.Fields(inner) {
			if key, v, ok := strings.Cut(w, ":"); ok {
				last = strings.ToLower(key)
				b[last] = v
			} else if last != "" { // Go prints a value's blanks as they are
				b[last] += " " + w
			}
		}
	} else if o, ok := logtext.ScanObject([]byte(s)); ok {
		for {
			key, v, more := o.Next()
			if !more {
				break
			}
			b[strings.ToLower(string(key))] = v.Text()
		}
	}
	if b["exitcode"] == "" && b["reason"] == "" {
		return nil
	}
	return b
}
