// Package draft writes the beginning of a signal from a line that the rulebook
// does not know yet: what a person then reads, names and completes.
//
// Invariant: what it writes loads, and its signal recognises the line that it was
// drafted from; every text of the line is quoted, so that none of it is read as
// YAML or as a regular expression.
//
// Crash behaviour: it keeps no state.
package draft

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"coroner/ingest"
)

// Signal is the YAML of a signal for the line of an entry.
func Signal(e *ingest.Entry) string {
	text := strings.TrimSpace(e.Text)
	pattern, captures := general(text)
	var out strings.Builder
	fmt.Fprintf(
		&out,
		"signals:\n  - name: %s  # family.name: the word used everywhere; make it say what happened\n",
		name(e, text),
	)
	fmt.Fprintf(
		&out,
		"    source: %s  # who may prove it: the program that writes it, not one that mentions it\n",
		source(e),
	)
	out.WriteString("    doc: Say what this line means for the runner.\n")
	out.WriteString("    printed: name the program and the version that you saw\n")
	out.WriteString("    # reach: node  # if the line is about all pods on its node\n")
	fmt.Fprintf(&out, "    match: %s\n", quoted(pattern))
	if len(captures) > 0 {
		fmt.Fprintf(&out, "    captures: {%s}\n", strings.Join(captures, ", "))
	}
	fmt.Fprintf(&out, "    tests:\n      - {line: %s}\n", quoted(text))
	out.WriteString("      # - {not: a line that looks alike and means something else}\n")
	return out.String()
}

// quoted is a text as a YAML scalar in single quotes.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// source is who wrote the line, as far as its envelope says: a program of the node
// stands under systemd, what a pod prints under job.
func source(e *ingest.Entry) ingest.Source {
	if e.Source == ingest.Unknown && e.Pod != "" {
		return ingest.Job
	}
	return cmp.Or(e.Source, ingest.Systemd)
}

// name is made of the first words of the line.
func name(e *ingest.Entry, text string) string {
	words := plainWord.FindAllString(strings.ToLower(text), 3)
	if len(words) == 0 {
		words = []string{"new-line"}
	}
	return string(source(e)) + "." + strings.Join(words, "-")
}

var plainWord = regexp.MustCompile(`\b[a-z]{3,}\b`)

// part is something in a line that differs from one time to the next: what it looks
// like, what stands for it in the pattern, and the type of what it names.
type part struct {
	looks, pattern, capture, kind string
}

// parts are tried in this order at each place.
var parts = []part{
	{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `[0-9a-f-]{36}`, "pod_uid", "pod-uid"},
	{`\b[0-9a-f]{64}\b`, `[0-9a-f]{64}`, "container_id", "container-id"},
	{`\b(?:\d{1,3}\.){3}\d{1,3}\b`, `[\d.]+`, "", ""},
	{`0x[0-9a-f]+`, `0x[0-9a-f]+`, "", ""},
	{`\d+(?:\.\d+)?`, `[\d.]+`, "", ""},
}

// changing finds any of them.
var changing = func() *regexp.Regexp {
	var all []string
	for _, p := range parts {
		all = append(all, "("+p.looks+")")
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

// maxPattern is how much of a line a pattern is made of, in bytes: what is special
// about a line stands at its beginning.
const maxPattern = 200

// general is a pattern for the line and for others like it, and what it captures.
func general(text string) (pattern string, captures []string) {
	if len(text) > maxPattern {
		text = strings.ToValidUTF8(text[:maxPattern], "")
	}
	var out strings.Builder
	taken := map[string]bool{}
	for text != "" {
		at := changing.FindStringSubmatchIndex(text)
		if at == nil {
			out.WriteString(regexp.QuoteMeta(text))
			break
		}
		out.WriteString(regexp.QuoteMeta(text[:at[0]]))
		p := which(at)
		if p.capture != "" && !taken[p.capture] {
			taken[p.capture] = true
			captures = append(captures, p.capture+": "+p.kind)
			fmt.Fprintf(&out, "(?P<%s>%s)", p.capture, p.pattern)
		} else {
			out.WriteString(p.pattern)
		}
		text = text[at[1]:]
	}
	return out.String(), captures
}

// which says which of the parts a match of changing is.
func which(at []int) part {
	for i, p := range parts {
		if at[2*i+2] >= 0 {
			return p
		}
	}
	return part{}
}
