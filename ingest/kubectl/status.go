package kubectl

import "strings"

// collectBeside collects keys of one indentation that together are a condition or a
// pod's status.
func (k *Text) collectBeside(p kv) bool {
	switch p.key {
	case "status", "reason", "message", "phase", "type", "lasttransitiontime", "qosclass", "qos":
		if k.below.event != p.indent+1 && k.object.mayTell(p) {
			k.noteBeside(p)
		}
	case "involvedobject", "firsttimestamp", "reportingcomponent":
		k.below.event, k.beside = p.indent+1, nil
	case "apiversion", "spec":
		k.below.event = 0
	default:
		if p.item || p.indent < k.besideAt {
			k.closeBeside()
		}
	}
	return false
}

func (k *Text) noteBeside(p kv) {
	if _, told := k.beside[p.key]; told || p.item || p.indent != k.besideAt {
		k.closeBeside()
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
var podReasons = wordSet(
	"Evicted", "Terminated", "NodeShutdown", "Shutdown", "DeadlineExceeded", "NodeLost", "NodeAffinity",
	"UnexpectedAdmissionError", "Preempting", "OutOfcpu", "OutOfmemory", "OutOfpods",
)

// closeBeside yields the condition or the status that the collected keys are.
func (k *Text) closeBeside() {
	b := k.beside
	if len(b) == 0 {
		return
	}
	k.beside = nil
	f := Fact{id: k.of}
	phase := firstSet(b, "phase", "status")
	word, _, _ := strings.Cut(phase, " ")
	switch {
	case b["type"] != "" && (phase == "True" || phase == "False" || phase == "Unknown"):
		f.msg, f.fields = conditionMsg(b["type"]),
			map[string]string{"type": b["type"], "status": phase, "reason": b["reason"], "message": b["message"]}
		at, _ := apiTime(b["lasttransitiontime"])
		f.setTime(at)
	case word == "Terminating" && k.of.Pod != "":
		f.msg = "pod deleting"
	case phases[phase] && (k.of.Pod != "" || b["reason"] != "" || b["phase"] != "") ||
		phase == "" && podReasons[b["reason"]]:
		f.msg, f.fields = "pod status",
			map[string]string{"phase": phase, "reason": b["reason"], "message": b["message"],
				"qos": firstSet(b, "qosclass", "qos")}
	default:
		return
	}
	k.yieldFact(f)
}

func conditionMsg(kind string) string {
	switch kind {
	case "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "KernelDeadlock", "ReadonlyFilesystem":
		return "node condition"
	}
	return "pod condition"
}

// describedCondition reads a row below describe's `Conditions:`, or below the head of a
// node's where that line was left out. A node's has two times, a reason and a message.
func (k *Text) describedCondition(raw, s string) bool {
	if k.of.Pod == "" && strings.HasPrefix(s, "Type ") && strings.Contains(s, " LastHeartbeatTime ") {
		k.table = "conditions"
	}
	if k.table != "conditions" || raw == s {
		return false
	}
	w := splitColumns(s)
	if len(w) < 2 || w[1] != "True" && w[1] != "False" && w[1] != "Unknown" {
		return false
	}
	f := newFact(k.of, "pod condition", map[string]string{"type": w[0], "status": w[1]})
	if k.of.Pod == "" {
		f.msg = "node condition"
	}
	if len(w) >= 6 {
		at, _ := apiTime(w[3])
		f.setTime(at)
		f.fields["reason"], f.fields["message"] = w[4], strings.Join(w[5:], " ")
	}
	k.yieldFact(f)
	return true
}

// splitColumns splits a row where two spaces or a tab stand.
func splitColumns(s string) []string {
	var out []string
	for s = strings.TrimSpace(s); s != "" && len(out) < 12; s = strings.TrimLeft(s, " \t") {
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
