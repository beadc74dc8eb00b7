package ingest

import "strings"

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
		if strings.HasPrefix(f.msg, "container ") {
			f.id.Container, f.fields["container"] = k.container, k.container
		}
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

// inline reads a state on one line: `"terminated":{"exitCode":137,…}` of
// compact JSON, `terminated:map[exitCode:137 …]` of Go.
func (k *kubeText) inline(r *reader, s string) bool {
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
		k.which = "state"
		if strings.LastIndex(strings.ToLower(head), "laststate") > strings.LastIndex(strings.ToLower(head), `"state`) {
			k.which = "lastState"
		}
		k.kind, k.block, k.blockRow, found = "terminated", b, r.n, true
		k.closeBlock(r)
		k.release(r)
	}
	return found
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
