package kubectl

import (
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// columnWords are the heads of columns that an event's table can have.
var columnWords = wordSet(
	"NAMESPACE", "NAME", "LASTSEEN", "FIRSTSEEN", "TIME", "AGE", "COUNT", "TYPE", "REASON", "KIND", "OBJECT", "POD",
	"SOURCE", "FROM", "MESSAGE",
)

// eventColumns reads the head of a table of events whose columns somebody chose:
// the message last, and every other one without blanks.
func eventColumns(s string) []string {
	columns := strings.Fields(strings.NewReplacer("LAST SEEN", "LASTSEEN", "FIRST SEEN", "FIRSTSEEN").Replace(s))
	for _, c := range columns {
		if !columnWords[c] {
			return nil
		}
	}
	if len(columns) < 3 || columns[len(columns)-1] != "MESSAGE" || !slices.Contains(columns, "REASON") {
		return nil
	}
	return columns
}

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
	if !reasons[values["REASON"]] || s == "" || !logtext.IsDNSName(name) ||
		values["TYPE"] != "" && values["TYPE"] != "Normal" && values["TYPE"] != "Warning" {
		return f, false
	}
	if kind == "" {
		kind = "Pod"
		if nodeReasons[values["REASON"]] {
			kind = "Node"
		}
	}
	f = eventFact(values["TYPE"], values["REASON"], firstSet(values, "SOURCE", "FROM"), s,
		firstSet(values, "LASTSEEN", "AGE"))
	f.setObject(values["NAMESPACE"], kind+"/"+name)
	return f, true
}

// nodeReasons are the reasons of events about nodes.
var nodeReasons = wordSet("OOMKilling", "SystemOOM", "NodeNotReady", "Rebooted", "Shutdown")

// LoggedEvent reads what a controller's log says of an event that it made: `"Event
// occurred" object="ci/r-1" kind="Pod" type="Warning" reason="…" message="…"`. Who
// made it the line does not say. What the kubelet says so of an eviction is its own word
// and stays text.
func LoggedEvent(text string, line int) (f Fact, ok bool) {
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
