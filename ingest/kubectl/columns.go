package kubectl

import (
	"regexp"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// columnWords are the heads of columns that an event's table can have.
var columnWords = wordSet(
	"NAMESPACE",
	"NAME",
	"LASTSEEN",
	"FIRSTSEEN",
	"TIME",
	"WHEN",
	"LAST",
	"FIRST",
	"AGE",
	"COUNT",
	"TYPE",
	"REASON",
	"KIND",
	"OBJECT",
	"POD",
	"SOURCE",
	"FROM",
	"COMPONENT",
	"MESSAGE",
	"MSG",
	"NOTE",
)

// messageWords are those of the column that holds the message.
var messageWords = wordSet("MESSAGE", "MSG", "NOTE")

// eventColumns reads the head of a table of events whose columns somebody chose:
// the message last, and every other one without blanks.
func eventColumns(s string) []string {
	columns := strings.Fields(strings.NewReplacer("LAST SEEN", "LASTSEEN", "FIRST SEEN", "FIRSTSEEN").Replace(s))
	for _, c := range columns {
		if !columnWords[c] {
			return nil
		}
	}
	if len(columns) < 3 || !messageWords[columns[len(columns)-1]] || !slices.Contains(columns, "REASON") {
		return nil
	}
	return columns
}

// InColumns reports whether rows of such a table may follow, which can begin with a time.
func (k *Text) InColumns() bool { return len(k.below.columns) > 0 }

// columnRow reads a row of such a table.
func columnRow(s string, columns []string) (f Fact, ok bool) {
	if len(columns) == 0 {
		return f, false
	}
	values := map[string]string{}
	for _, c := range columns[:len(columns)-1] {
		word, n := logtext.NextWord(s, 0)
		values[c], s = word, strings.TrimLeft(s[n:], " \t")
	}
	kind, name := values["KIND"], firstSet(values, "OBJECT", "POD", "NAME")
	if k, n, qualified := strings.Cut(name, "/"); qualified {
		kind, name = k, n
	}
	if !reasons[values["REASON"]] || s == "" || name != "" && !logtext.IsDNSName(name) ||
		values["TYPE"] != "" && values["TYPE"] != "Normal" && values["TYPE"] != "Warning" {
		return f, false
	}
	if kind == "" {
		kind = "Pod"
		if nodeReasons[values["REASON"]] {
			kind = "Node"
		}
	}
	f = eventFact(values["TYPE"], values["REASON"], firstSet(values, "SOURCE", "FROM", "COMPONENT"), s,
		firstSet(values, "LASTSEEN", "TIME", "WHEN", "LAST", "AGE"))
	if name != "" {
		f.setObject(values["NAMESPACE"], kind+"/"+name)
	}
	return f, true
}

// nodeReasons are the reasons of events about nodes.
var nodeReasons = wordSet("OOMKilling", "SystemOOM", "NodeNotReady", "Rebooted", "Shutdown")

// framed is an event as Kubernetes' end-to-end framework lists them: event for r-1:
// {kubelet node-1} Failed: text. It leaves out the type; who made it the line says, but nobody vouches for that.
var framed = regexp.MustCompile(`\bevent for ([^\s:]+): \{\S+ (\S*)\} (\w+): (.*)`)

func framedEvent(text string, line int) (f Fact, ok bool) {
	m := framed.FindStringSubmatch(text)
	if m == nil || !reasons[m[3]] || m[3] == "Evicted" || !logtext.IsDNSName(m[1]) {
		return f, false
	}
	f = eventFact("", m[3], "", m[4], "")
	f.setObject("", "Pod/"+m[1])
	f.id.Node, f.id.Line = m[2], line
	return f, true
}

// LoggedEvent reads what a controller's log says of an event that it made: `"Event
// occurred" object="ci/r-1" kind="Pod" type="Warning" reason="…" message="…"`. Who
// made it the line does not say. What the kubelet says so of an eviction is its own word
// and stays text.
func LoggedEvent(text string, line int) (f Fact, ok bool) {
	if strings.Contains(text, "Event(v1.ObjectReference{") {
		return quotedEvent(text, line)
	}
	if strings.Contains(text, "event for ") {
		return framedEvent(text, line)
	}
	if !strings.Contains(text, `"Event occurred"`) {
		return f, false
	}
	_, fields, ok := logtext.Message(&ingest.Entry{Text: text}, nil)
	kind, reason, object := fields.Get("kind"), fields.Get("reason"), fields.Get("object")
	if !ok || kind == "" || object == "" || !reasons[reason] || reason == "Evicted" {
		return f, false
	}
	f = eventFact(fields.Get("type"), reason, "", fields.Get("message"), "")
	namespace, name, qualified := strings.Cut(object, "/")
	if !qualified {
		namespace, name = "", object
	}
	f.setObject(namespace, kind+"/"+name)
	f.id.Line = line
	return f, true
}

// quoted is the same as client-go wrote it before 1.20: Event(v1.ObjectReference{Kind:"Pod",
// Namespace:"ci", Name:"r-1", …}): type: 'Warning' reason: 'Killing' text.
var quoted = regexp.MustCompile(
	`Event\(v1\.ObjectReference\{Kind:"(\w+)", Namespace:"([^"]*)", ` +
		`Name:"([^"]+)".*?\}\): type: '(\w+)' reason: '(\w+)' (.*)`,
)

func quotedEvent(text string, line int) (f Fact, ok bool) {
	m := quoted.FindStringSubmatch(text)
	if m == nil || !reasons[m[5]] || m[5] == "Evicted" {
		return f, false
	}
	f = eventFact(m[4], m[5], "", m[6], "")
	f.setObject(m[2], m[1]+"/"+m[3])
	f.id.Line = line
	return f, true
}
