package kubectl

import (
	"regexp"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

const (
	ageWord = `(?:\d+[smhdy](?:\d+[smhd])*|<unknown>|<invalid>)`
	ageText = ageWord + `(?: \(x\d+ over ` + ageWord + `\))?`
	reason  = `[A-Z][A-Za-z0-9_-]{2,}`
)

var (
	// describe's events: Type Reason Age From Message. Old ones have the node in From.
	describeEvent = regexp.MustCompile(`^(Normal|Warning)\s+(` + reason + `)\s+(` + ageText + `)\s+` +
		`([a-zA-Z0-9][-a-zA-Z0-9_./]*(?:, \S+)?)\s+(\S.*)$`)
	// kubectl get events: LAST SEEN, TYPE, REASON, OBJECT, MESSAGE; -A puts the namespace first.
	listedEvent = regexp.MustCompile(`^(?:([a-z0-9][-a-z0-9]*)\s+)?(` + ageText + `)\s+(Normal|Warning)\s+(` + reason +
		`)\s+([A-Za-z.]+/[^\s/]+)\s+(\S.*)$`)
	// kubectl get events of 1.12 and 1.13: LAST SEEN TYPE REASON KIND MESSAGE, without a name
	kindEvent = regexp.MustCompile(`^(` + ageText + `)\s+(Normal|Warning)\s+(` + reason + `)\s+(Pod|Node)\s+(\S.*)$`)
	// kubectl get events before 1.14: … COUNT NAME KIND SUBOBJECT TYPE REASON SOURCE MESSAGE.
	oldEvent = regexp.MustCompile(`^\S+\s+\S+\s+(\d+)\s+([a-z0-9][-a-z0-9.]*?)(?:\.[0-9a-f]{8,})?\s+` +
		`([A-Z][a-z]+[A-Za-z]*)\s+(?:(\S+\{[^}]*\}|\S+)\s+)?(Normal|Warning)\s+(` + reason +
		`)\s+([^\s,{]+(?:, \S+)?|\{\S+ ?\S*\})\s+(\S.*)$`)
	// the same with its columns run together, or with a column of dots: only
	// behind a reason that we know
	barestEvent = regexp.MustCompile(`^(?:(Normal|Warning)|\.\.\.)\s+(` + reason + `)\s+(\S.*)$`)
	repeated    = regexp.MustCompile(` \(x(\d+) over `)
)

// reasons are the event reasons that tell of a death or of a life that did not
// begin.
var reasons = wordSet(
	"Failed", "BackOff", "FailedScheduling", "Killing", "Evicted", "OOMKilling", "SystemOOM",
	"NodeNotReady", "FailedMount", "FailedCreatePodSandBox", "FailedKillPod", "Preempted", "Unhealthy",
	"TaintManagerEviction", "DeadlineExceeded", "FailedAttachVolume", "Preempting", "ExceededGracePeriod",
	"Rebooted", "Shutdown", "NodeShutdown", "InspectFailed", "ErrImageNeverPull",
	"Descheduled", "ScaleDown", "Disrupted", "DisruptionTerminating", "DeletingNode", "RemovingNode",
)

// statuses are words of kubectl's STATUS column that can follow a pod's name
// alone on a line.
var statuses = wordSet(
	"Running", "Pending", "Succeeded", "Failed", "Completed", "Error", "OOMKilled", "Evicted",
	"Terminating", "ContainerCreating", "PodInitializing", "CrashLoopBackOff", "ImagePullBackOff",
	"ErrImagePull", "ContainerStatusUnknown", "NodeLost", "DeadlineExceeded", "CreateContainerError",
	"CreateContainerConfigError", "RunContainerError", "ContainerCannotRun", "StartError",
	"InvalidImageName", "NodeShutdown", "Shutdown", "NodeAffinity", "UnexpectedAdmissionError", "Unknown",
)

// printsOutput are the reasons of events whose message holds what a container printed.
var printsOutput = wordSet("Unhealthy", "ProbeWarning", "FailedPostStartHook", "FailedPreStopHook")

// readRow reads a line of one of kubectl's tables. Inside of an object a table stands at its
// margin, but for describe's events: what is indented can be the value of an annotation or
// a variable.
func (k *Text) readRow(raw, s string) bool {
	w := strings.Fields(s)
	if len(w) < 2 {
		return false
	}
	if table, ok := openTable(s); ok {
		k.below.runners, k.below.columns = table, nil
		return true
	}
	if columns := eventColumns(s); columns != nil && !isHeader(w) {
		k.below.columns = columns
		return true
	}
	if isHeader(w) {
		k.below.columns, k.below.runners.kind = nil, nil
		return true
	}
	f, ok := columnRow(s, k.below.columns)
	if !ok && k.below.runners.kind != nil {
		f, ok = k.below.runners.readRow(s)
	}
	if !ok {
		f, ok = podRow(w)
	}
	if !ok {
		f, ok = nodeRow(w)
	}
	if !ok {
		f, ok = eventRow(s, w, k.of)
	}
	if !ok {
		f, ok = serverError(s)
	}
	if !ok {
		return false
	}
	described := f.msg == "event" && f.fields["object"] == "" && k.table == "events"
	f.printed = len(raw) > len(s) && k.object.inside(k.of) && !described
	k.yieldFact(f)
	return true
}

// isHeader says whether the words are the head of a table.
func isHeader(w []string) bool {
	switch strings.Join(w[:min(len(w), 4)], " ") {
	case "NAME READY STATUS RESTARTS", "NAMESPACE NAME READY STATUS", "LAST SEEN TYPE REASON",
		"NAMESPACE LAST SEEN TYPE",
		"NAME STATUS ROLES AGE", "LAST SEEN FIRST SEEN", "LASTSEEN FIRSTSEEN COUNT NAME", "LASTSEEN TYPE REASON OBJECT",
		"Type Reason Age From", "---- ------ ---- ----", "Type Status", "FirstSeen LastSeen Count From":
		return true
	}
	return false
}

// podRow: `[NAMESPACE] NAME 0/1 STATUS RESTARTS [(5m ago)] AGE [IP NODE …]`.
func podRow(w []string) (f Fact, ok bool) {
	if len(w) == 2 && statuses[w[1]] && strings.Count(w[0], "-") >= 2 && logtext.IsDNSName(w[0]) {
		return newFact(ingest.Entry{Pod: w[0]}, "pod row", map[string]string{"status": w[1]}), true
	}
	i := 1
	if len(w) > 2 && !isReady(w[1]) {
		i = 2
	}
	if len(w) < i+4 || !isReady(w[i]) || logtext.Number(w[i+2], 0, len(w[i+2])) < 0 || !isStatus(w[i+1]) {
		return f, false
	}
	f = Fact{msg: "pod row", fields: map[string]string{"ready": w[i], "status": w[i+1], "restarts": w[i+2]}}
	f.id.Pod = strings.TrimPrefix(strings.TrimPrefix(w[i-1], "pods/"), "pod/")
	if i == 2 {
		f.id.Namespace = w[0]
	}
	rest := w[i+3:]
	if len(rest) > 2 && strings.HasPrefix(rest[0], "(") && rest[1] == "ago)" {
		rest = rest[2:]
	}
	if f.fields["age"] = rest[0]; !logtext.IsDigit(rest[0][0]) && rest[0][0] != '<' {
		return f, false
	}
	if len(rest) > 2 && rest[2] != "<none>" && logtext.IsDNSName(rest[2]) {
		f.id.Node = rest[2]
	}
	if !logtext.IsDNSName(f.id.Pod) {
		return f, false
	}
	if strings.HasSuffix(f.id.Pod, "-listener") {
		f.fields["listener_of"] = ingest.PoolOfPod(f.id.Pod)
	}
	return f, true
}

// isReady: `1/2`.
func isReady(s string) bool {
	a, b, ok := strings.Cut(s, "/")
	return ok && len(a) < 4 && len(b) < 4 && a != "" && b != "" && logtext.Number(a, 0, len(a)) >= 0 &&
		logtext.Number(b, 0, len(b)) >= 0
}

func isStatus(s string) bool { return s[0]-'A' < 26 && len(s) < 64 }

// nodeRow: `NAME Ready,SchedulingDisabled ROLES AGE v1.34.1 …`.
func nodeRow(w []string) (f Fact, ok bool) {
	if len(w) < 5 || !strings.HasPrefix(w[4], "v1.") || !logtext.IsDNSName(w[0]) {
		return f, false
	}
	ready, rest, _ := strings.Cut(w[1], ",")
	f = newFact(ingest.Entry{Node: w[0]}, "node condition",
		map[string]string{"type": "Ready", "reason": rest, "age": w[3]})
	switch ready {
	case "Ready":
		f.fields["status"] = "True"
	case "NotReady":
		f.fields["status"] = "False"
	default:
		return f, false
	}
	return f, true
}

// eventRow reads an event in any of the forms that kubectl had for it.
func eventRow(s string, w []string, of ingest.Entry) (f Fact, ok bool) {
	if !strings.Contains(s, "Normal") && !strings.Contains(s, "Warning") && w[0] != "..." {
		return f, false
	}
	if m := describeEvent.FindStringSubmatch(s); m != nil {
		from, node, _ := strings.Cut(m[4], ", ")
		f = eventFact(m[1], m[2], from, m[5], m[3])
		f.belongsTo(of)
		if node != "" {
			f.id.Node = node
		}
		return f, true
	}
	if m := listedEvent.FindStringSubmatch(s); m != nil {
		f = eventFact(m[3], m[4], "", m[6], m[2])
		f.setObject(m[1], m[5])
		return f, true
	}
	if m := kindEvent.FindStringSubmatch(s); m != nil {
		return kindEventFact(m), true
	}
	if m := oldEvent.FindStringSubmatch(s); m != nil {
		from, node, _ := strings.Cut(strings.Trim(m[7], "{}"), " ") // `kubelet, node-a`, or `{kubelet node-a}`
		from = strings.TrimSuffix(from, ",")
		f = eventFact(m[5], m[6], from, m[8], "")
		f.setObject("", m[3]+"/"+m[2])
		f.fields["count"] = m[1]
		if node != "" {
			f.id.Node = node
		}
		return f, true
	}
	if m := barestEvent.FindStringSubmatch(s); m != nil && reasons[m[2]] {
		f = eventFact(m[1], m[2], "", m[3], "")
		f.id.Namespace, f.id.Pod, f.id.PodUID = of.Namespace, of.Pod, of.PodUID
		return f, true
	}
	return f, false
}

// kindEventFact is that of a row that names the kind of its object alone. A node's name
// stands in the message.
func kindEventFact(m []string) Fact {
	age, kind, reason, object, message := m[1], m[2], m[3], m[4], m[5]
	f := eventFact(kind, reason, "", message, age)
	f.fields["object"] = object + "/"
	if object != "Node" {
		return f
	}
	name, i := logtext.NextWord(strings.TrimPrefix(message, "Node "), 0)
	if i > 0 && logtext.IsDNSName(name) {
		f.setObject("", "Node/"+name)
	}
	return f
}

// eventFact makes the fact of an event. Its age is relative to a moment that
// nobody wrote down, so it has no time.
func eventFact(kind, reason, from, message, age string) Fact {
	f := Fact{msg: "event",
		fields: map[string]string{"type": kind, "reason": reason, "from": from, "message": message, "age": age}}
	if m := repeated.FindStringSubmatch(age); m != nil {
		f.fields["count"] = m[1]
	}
	if m := ofContainer.FindStringSubmatch(message); m != nil {
		f.id.Container = m[1] + m[2]
	}
	return f
}

// ofContainer is how a kubelet names the container that it stops; what it says of its pod's does not.
var ofContainer = regexp.MustCompile(
	`^(?:Stopping container ([a-z0-9-]+)$|` +
		`Container ([a-z0-9-]+) (?:failed (?:liveness|startup) probe|definition changed), )`)

// setObject says whom an event is about: `pod/NAME`, `Node/NAME`.
func (f *Fact) setObject(namespace, object string) {
	kind, name, _ := strings.Cut(object, "/")
	f.id.Namespace = namespace
	switch strings.ToLower(kind) {
	case "pod", "po", "pods":
		kind, f.id.Pod = "Pod", name
	case "node", "no", "nodes":
		kind, f.id.Node = "Node", name
	default:
		kind = strings.ToUpper(kind[:1]) + kind[1:]
	}
	f.fields["object"] = kind + "/" + name
}

var waitingError = regexp.MustCompile(`container "([^"]+)" in pod "([^"]+)" is waiting to start: (\S.*)$`)

var notFound = regexp.MustCompile(`^Error from server \(NotFound\): pods "([^"]+)" not found`)

// serverError: `Error from server (NotFound): pods "p" not found`, and `Error from
// server (BadRequest): container "c" in pod "p" is
// waiting to start: ContainerCreating`, what kubectl logs says then.
func serverError(s string) (f Fact, ok bool) {
	if m := notFound.FindStringSubmatch(s); m != nil && logtext.IsDNSName(m[1]) {
		return newFact(ingest.Entry{Pod: m[1]}, "pod missing", map[string]string{"message": "not found"}), true
	}
	if !strings.HasPrefix(s, "Error from server (BadRequest): container ") {
		return f, false
	}
	m := waitingError.FindStringSubmatch(s)
	if m == nil {
		return f, false
	}
	f = newFact(ingest.Entry{Pod: m[2], Container: m[1]}, "container waiting",
		map[string]string{"container": m[1], "message": m[3]})
	if !strings.Contains(m[3], " ") {
		f.fields["reason"] = m[3]
	}
	return f, true
}

// wordSet is a set of words.
func wordSet(words ...string) map[string]bool {
	set := make(map[string]bool, len(words))
	for _, w := range words {
		set[w] = true
	}
	return set
}
