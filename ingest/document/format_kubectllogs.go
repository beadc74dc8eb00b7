package document

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// peelPrefix: `[pod/NAME/CONTAINER] text`, kubectl logs --prefix, since 1.17.
func peelPrefix(r *reader, d *draft, s string) (string, bool) {
	rest, ok := strings.CutPrefix(s, "[pod/")
	if !ok {
		return s, false
	}
	id, text, ok := strings.Cut(rest, "]")
	pod, container, both := strings.Cut(id, "/")
	if !ok || !both || !logtext.IsDNSName(pod) || !logtext.IsDNSName(container) {
		return s, false
	}
	d.stream = r.containers.streamOf(ingest.Container{Pod: pod, Name: container})
	return strings.TrimPrefix(text, " "), true
}

// peelStern: `pod container text`, with -A `namespace pod container text`, and
// the lines that announce a container, `+ pod › container`. docker compose
// writes `container  | text`.
func peelStern(r *reader, d *draft, s string) (string, bool) {
	if s[0] == '+' || s[0] == '-' {
		return r.containers.announced(d, s)
	}
	a, i := logtext.NextWord(s, 0)
	b, j := logtext.NextWord(s, i)
	if !logtext.IsDNSName(a) || i == len(s) {
		return s, false
	}
	if b == "|" && j < len(s) && (r.containers.all[ingest.Container{Name: a}] != nil || logtext.IsSurelyLog(s[j+1:])) {
		d.stream = r.containers.streamOf(ingest.Container{Name: a})
		return strings.TrimPrefix(s[j:], " "), true
	}
	if rest := strings.TrimLeft(s[i:], " "); r.containers.all[ingest.Container{Name: a}] != nil ||
		logtext.IsActionsRunner(rest) {
		d.stream = r.containers.streamOf(ingest.Container{Name: a})
		return rest, true
	}
	if j == len(s) || !logtext.IsDNSName(b) || len(s)-j < 2 {
		return s, false
	}
	if k := (ingest.Container{Pod: a, Name: b}); r.containers.all[k] != nil ||
		strings.Contains(a, "-") && logtext.IsSurelyLog(s[j+1:]) {
		d.stream = r.containers.streamOf(k)
		return s[j+1:], true
	}
	c, k := logtext.NextWord(s, j)
	key := ingest.Container{Namespace: a, Pod: b, Name: c}
	if k < len(s) && logtext.IsDNSName(c) &&
		(r.containers.all[key] != nil || strings.Contains(b, "-") && logtext.IsSurelyLog(s[k+1:])) {
		d.stream = r.containers.streamOf(key)
		return s[k+1:], true
	}
	return s, false
}

// announced reads stern's `+ namespace pod › container`; `-` ends it.
func (c *containers) announced(d *draft, s string) (string, bool) {
	names, container, ok := strings.Cut(s[1:], "›")
	w := strings.Fields(names)
	container = strings.TrimSpace(container)
	if !ok || len(w) == 0 || len(w) > 2 || !logtext.IsDNSName(container) || !logtext.IsDNSName(w[len(w)-1]) {
		return s, false
	}
	k := ingest.Container{Pod: w[len(w)-1], Name: container}
	if len(w) == 2 {
		k.Namespace = w[0]
	}
	c.streamOf(k)
	d.incomplete = true
	return "", true
}
