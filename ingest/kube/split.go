package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"regexp"
	"strings"
)

// splitItems finds the items of a list that is written the way kubectl writes
// it, as offsets into doc: `items:` at the left margin, every item starting
// with a dash in the same column. It returns nil for anything else, and for a
// document with anchors, whose parts need each other.
func splitItems(doc []byte) [][2]int {
	if bytes.Contains(doc, []byte(": &")) || bytes.Contains(doc, []byte("- &")) {
		return nil
	}
	at := itemsStart(doc)
	if at < 0 {
		return nil
	}
	var items [][2]int
	dash := ""
	for at < len(doc) {
		line, after := lineAt(doc, at)
		body := bytes.TrimLeft(line, " ")
		indent := len(line) - len(body)
		switch isDash := len(body) > 0 && body[0] == '-'; {
		case len(body) == 0 || body[0] == '#':
		case dash == "" && isDash:
			dash = strings.Repeat(" ", indent) + "-"
			items = append(items, [2]int{at, len(doc)})
		case dash == "":
			return nil
		case isDash && indent == len(dash)-1:
			items[len(items)-1][1] = at
			items = append(items, [2]int{at, len(doc)})
		case indent < len(dash):
			items[len(items)-1][1] = at
			return items
		}
		at = after
	}
	return items
}

// itemsStart is the offset after a line `items:`, -1 where there is none.
func itemsStart(doc []byte) int {
	for at := 0; at < len(doc); {
		line, after := lineAt(doc, at)
		if string(line) == "items:" {
			return after
		}
		at = after
	}
	return -1
}

// listKind is the kind of the items of a raw API list (PodList).
func listKind(doc []byte) string {
	for at := 0; at < len(doc); {
		line, after := lineAt(doc, at)
		if kind, ok := strings.CutPrefix(string(line), "kind: "); ok {
			item, _ := strings.CutSuffix(strings.TrimSpace(kind), "List")
			return item
		}
		at = after
	}
	return ""
}

// preamble is the length of what people copy along in front of objects: a byte
// order mark, a code fence, the prompt with the kubectl command, blank lines.
func preamble(data []byte) int {
	at := 0
	if bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
		at = 3
	}
	for at < len(data) {
		line, after := lineAt(data, at)
		l := strings.TrimSpace(string(line[:min(len(line), 200)]))
		shell := strings.HasPrefix(l, "$ ") || strings.Contains(l, "kubectl ") && !strings.HasPrefix(l, "{")
		if l != "" && !strings.HasPrefix(l, "```") && !shell {
			break
		}
		at = after
	}
	return at
}

// isJSON says whether data starts like a JSON object or array.
func isJSON(data []byte) bool {
	d := bytes.TrimLeft(data, " \t\r\n")
	if len(d) == 0 || d[0] != '{' && d[0] != '[' {
		return false
	}
	next := bytes.TrimLeft(d[1:], " \t\r\n")
	return len(next) == 0 || strings.IndexByte("\"{[}]", next[0]) >= 0
}

// Sniff says whether the head of a document looks like whole Kubernetes
// objects. It judges the first value only, and only keys at its top: a log
// line that speaks of a Pod is no object.
func Sniff(head []byte) bool {
	head = head[preamble(head):]
	if isJSON(head) {
		return sniffJSON(head)
	}
	return sniffYAML(head)
}

// mostStarts bounds how many places in a text are looked at: each may be read to the text's end.
const mostStarts = 100

// Starts yields where in a text an object may begin, for a caller that blanks in data what
// it read: a line at the left margin that Sniff would take for an object's first, and
// no line of the one before it.
func Starts(data []byte) iter.Seq[int] {
	return func(yield func(int) bool) {
		tried, within := 0, false
		for at := 0; at < len(data) && tried < mostStarts; {
			line, after := lineAt(data, at)
			begins := objectStart.Match(line)
			if begins && !within {
				tried++
				if Sniff(data[at:]) && !yield(at) {
					return
				}
			}
			within = (begins || within) && len(line) > 0 && marginal(line)
			at = after
		}
	}
}

// objectStart is how the first line of an object begins, in YAML and as JSON on many lines or on one.
var objectStart = regexp.MustCompile(
	`^(?:(?:- )?(?:apiVersion|kind|metadata|items|spec|status|involvedObject):(?: |$)|[{\[]$|` +
		`\{ ?"(?:apiVersion|kind|metadata|items)": ?["{\[])`)

// sniffJSON looks for the keys that only objects, their lists and their watch
// events have. Log lines name their message or level first.
func sniffJSON(head []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(head))
	tok, err := dec.Token()
	for err == nil && tok == json.Delim('[') {
		tok, err = dec.Token()
	}
	if err != nil || tok != json.Delim('{') {
		return false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return false
		}
		switch key {
		case "apiVersion":
			var v text
			return dec.Decode(&v) == nil && !strings.HasPrefix(string(v), "audit.k8s.io/")
		case "involvedObject", "regarding":
			return true
		case "State", "status":
			var v json.RawMessage
			if err := dec.Decode(&v); err != nil {
				return false
			}
			if isEngineState(v) || isRuntimeStatus(v) {
				return true
			}
			continue
		case "object", "items":
			return sniffJSON(bytes.TrimLeft(head[dec.InputOffset():], ": \t\r\n"))
		}
		if err := dec.Decode(new(dropped)); err != nil && !errors.As(err, new(*json.UnmarshalTypeError)) {
			return false
		}
	}
	return false
}

// sniffYAML wants two keys of an object at the left margin.
func sniffYAML(head []byte) bool {
	found := 0
	for at := 0; at < len(head) && found < 2; {
		line, after := lineAt(head, at)
		key, value, ok := strings.Cut(string(line[:min(len(line), 200)]), ":")
		if ok && (value == "" || value[0] == ' ') {
			switch strings.TrimPrefix(key, "- ") {
			case "apiVersion", "kind", "metadata", "status", "spec", "items", "involvedObject", "regarding":
				found++
			}
		}
		if !marginal(line) {
			break
		}
		at = after
	}
	return found == 2
}
