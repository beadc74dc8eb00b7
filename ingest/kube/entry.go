package kube

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// maxValue is the longest value of a field in bytes. The API caps a
// termination message at 4 KB and an event's note at 1 KB.
const maxValue = 4 << 10

// pair is one field. A slice of them keeps the order in which Text names them,
// which is that of package ingest, which reads the same facts from kubectl's
// text.
type pair struct{ key, value string }

// emitFact yields one fact about what id names. Pairs without a value are left out.
func (r *reader) emitFact(id ingest.Entry, msg string, at time.Time, pairs []pair) {
	id.Trust = ingest.Attested
	r.emitClaim(id, msg, at, pairs)
}

// emitClaim yields what an object holds in somebody else's words.
func (r *reader) emitClaim(id ingest.Entry, msg string, at time.Time, pairs []pair) {
	if r.stopped {
		return
	}
	id.Source, id.Doc, id.Line = ingest.Kube, r.doc, r.line
	id.At = at
	if !at.IsZero() {
		id.Clock = ingest.WallClock
	}
	id.Fields, id.Text, id.Cut = fieldsAndText(msg, pairs)
	r.stopped = !r.yield(id)
}

// fieldsAndText makes an entry's Fields and Text out of a message and its values.
func fieldsAndText(msg string, pairs []pair) (map[string]string, string, int) {
	m := make(map[string]string, len(pairs)+1)
	m["msg"] = msg
	var b strings.Builder
	b.WriteString(msg)
	for _, p := range pairs {
		v := cleanValue(p.value)
		if v == "" {
			continue
		}
		m[p.key] = v
		b.WriteString(" " + p.key + "=" + ingest.Word(v))
	}
	text, cut := logtext.Shorten(b.String())
	return m, text, cut
}

// escapes are the colours that a termination message has when the kubelet took
// it from the end of the log.
var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// cleanValue makes v valid UTF-8 on one line without control characters, capped.
func cleanValue(v string) string {
	v = cutTo(v, maxValue)
	if strings.Contains(v, "\x1b[") {
		v = escapes.ReplaceAllString(v, "")
	}
	v = strings.Map(printable, strings.ToValidUTF8(v, "\uFFFD"))
	return cutTo(strings.TrimSpace(v), maxValue)
}

// printable is what becomes of r: line ends become spaces, control characters
// and those that turn the reading direction are dropped.
func printable(r rune) rune {
	switch {
	case r == '\t':
		return r
	case r >= '\n' && r <= '\r', r == 0x85, r == '\u2028', r == '\u2029':
		return ' '
	case r < ' ', r >= 0x7f && r < 0xa0, r == '\uFEFF':
		return -1
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return -1
	}
	return r
}

// cutTo shortens s to at most n bytes at a rune boundary.
func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := n; i > n-utf8.UTFMax; i-- {
		if utf8.RuneStart(s[i]) {
			return s[:i]
		}
	}
	return s[:n]
}

// stampText is the time of t as a field's value.
func stampText(t text) string {
	if at := t.timeValue(); !at.IsZero() {
		return at.Format(time.RFC3339Nano)
	}
	return ""
}

// bareID strips the runtime from a container id (`containerd://…`).
func bareID(t text) string {
	s := strings.TrimSpace(string(t))
	if _, id, ok := strings.Cut(s, "://"); ok {
		s = id
	}
	return cleanValue(s)
}

// nameText is t as an identity: cleaned and short. The API allows 253 bytes.
func nameText(t text) string { return cutTo(cleanValue(string(t)), 253) }
