package classify_test

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"

	"coroner/fixtures"
	"coroner/ingest/recorded"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// wrapping is one of the ways in which people hand on what they saved.
type wrapping struct {
	name string
	wrap func(files []txtar.File) []txtar.File

	// gone says what the wrapping takes away, where a verdict of none is honest;
	// empty where it takes nothing away.
	gone string

	keeps int // percent of the incidents that keep their label at least; it may only rise
}

// eachText changes every file's text.
func eachText(change func(name, text string) string) func([]txtar.File) []txtar.File {
	return func(files []txtar.File) []txtar.File {
		out := slices.Clone(files)
		for i, f := range out {
			if strings.HasSuffix(f.Name, recorded.Suffix) {
				continue // what a server kept: nobody pastes it
			}
			out[i].Data = []byte(change(f.Name, string(f.Data)))
		}
		return out
	}
}

// eachLine changes every line, whose number counts from 1.
func eachLine(change func(name string, n int, line string) string) func([]txtar.File) []txtar.File {
	return eachText(func(name, text string) string {
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for i, line := range lines {
			lines[i] = change(name, i+1, line)
		}
		return strings.Join(lines, "\n") + "\n"
	})
}

// before puts the same text before every line.
func before(prefix string) func([]txtar.File) []txtar.File {
	return eachLine(func(_ string, _ int, line string) string { return prefix + line })
}

// oneFile makes one file of all, each behind a heading.
func oneFile(heading func(name string) string) func([]txtar.File) []txtar.File {
	return func(files []txtar.File) []txtar.File {
		var b strings.Builder
		for _, f := range files {
			b.WriteString(heading(f.Name))
			b.Write(f.Data)
			b.WriteString("\n")
		}
		return []txtar.File{{Name: "paste.txt", Data: []byte(b.String())}}
	}
}

// someLines keeps the lines from a to b quarters of the text.
func someLines(a, b int) func([]txtar.File) []txtar.File {
	return eachText(func(_, text string) string {
		lines := strings.SplitAfter(text, "\n")
		return strings.Join(lines[len(lines)*a/4:len(lines)*b/4], "")
	})
}

// broken breaks a line at a width: at a blank where there is one, unless hard.
func broken(line string, width int, hard bool) string {
	var out []string
	for len(line) > width {
		at := strings.LastIndexByte(line[:width+1], ' ')
		if hard || at <= 0 || strings.TrimSpace(line[:at]) == "" {
			at = width
		}
		out = append(out, line[:at])
		line = line[at:]
		if !hard {
			line = strings.TrimPrefix(line, " ")
		}
	}
	return strings.Join(append(out, line), "\n")
}

var (
	longID  = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	anyUUID = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
	blanks  = regexp.MustCompile(`(\S)(?:  +|\t+ *)`)
)

// wrappings are those that every incident must bear.
var wrappings = []wrapping{
	{name: "CRLF", keeps: 100,
		wrap: eachText(func(_, s string) string { return strings.ReplaceAll(s, "\n", "\r\n") })},
	{name: "blanks at the end", keeps: 100,
		wrap: eachLine(func(_ string, _ int, s string) string { return s + "   " })},
	{name: "empty lines between", keeps: 98,
		wrap: eachText(func(_, s string) string { return strings.ReplaceAll(s, "\n", "\n\n") })},
	{name: "indented", keeps: 98, wrap: before("    ")},
	{name: "quoted", keeps: 100, wrap: before("> ")},
	{name: "quoted twice", keeps: 100, wrap: before("> > ")},
	{name: "diff", keeps: 99, wrap: before("+ ")},
	{name: "fenced", keeps: 99, wrap: eachText(func(_, s string) string { return "```\n" + s + "```\n" })},
	{name: "fenced with prose", keeps: 95, wrap: eachText(func(_, s string) string {
		return "We saw this on the node last night, any ideas?\n\n```log\n" + s + "```\n\nThanks in advance!\n"
	})},
	{name: "quoted fence", keeps: 99, wrap: eachText(func(_, s string) string {
		return "> ```\n> " + strings.ReplaceAll(strings.TrimSuffix(s, "\n"), "\n", "\n> ") + "\n> ```\n"
	})},
	{name: "list of code", keeps: 99,
		wrap: eachLine(func(_ string, _ int, s string) string { return "- `" + s + "`" })},
	{name: "Markdown table", keeps: 100,
		wrap: eachLine(func(_ string, _ int, s string) string { return "| " + s + " |" })},
	{name: "grep -n", keeps: 100,
		wrap: eachLine(func(_ string, n int, s string) string { return fmt.Sprintf("%d:%s", n, s) })},
	{name: "grep -H", keeps: 97, wrap: eachLine(func(f string, _ int, s string) string { return f + ":" + s })},
	{name: "grep -rn", keeps: 97,
		wrap: eachLine(func(f string, n int, s string) string { return fmt.Sprintf("saved/%s:%d:%s", f, n, s) })},
	{name: "cat -n", keeps: 100,
		wrap: eachLine(func(_ string, n int, s string) string { return fmt.Sprintf("%6d\t%s", n, s) })},
	{name: "less -N", keeps: 99,
		wrap: eachLine(func(_ string, n int, s string) string { return fmt.Sprintf("%7d %s", n, s) })},
	{name: "Slack", keeps: 95,
		wrap: eachText(func(_, s string) string { return "nora\n  10:04 AM\n" + s + "\n:eyes: 2\n1 reply\n" })},
	{name: "Slack times", keeps: 95, wrap: before("[10:04 AM] ")},
	{name: "HTML entities", keeps: 100, wrap: eachText(func(_, s string) string { return html.EscapeString(s) })},
	{name: "HTML page", keeps: 100, wrap: eachText(func(_, s string) string {
		return "<pre><code>" + strings.ReplaceAll(html.EscapeString(s), "&#34;", "&quot;") + "</code></pre>\n"
	})},
	{name: "colours", keeps: 100,
		wrap: eachLine(func(_ string, _ int, s string) string { return "\x1b[0;33m" + s + "\x1b[0m" })},
	{name: "no-break spaces", keeps: 100,
		wrap: eachText(func(_, s string) string { return strings.ReplaceAll(s, " ", "\u00a0") })},
	{name: "curly quotes", keeps: 100, wrap: eachText(func(_, s string) string { return curly(s) })},
	{name: "tabs lost", keeps: 99,
		wrap: eachText(func(_, s string) string { return blanks.ReplaceAllString(s, "$1 ") })},
	{name: "indentation lost", keeps: 95,
		wrap: eachLine(func(_ string, _ int, s string) string { return strings.TrimLeft(s, " \t") })},
	{name: "wrapped at 80", keeps: 91,
		wrap: eachLine(func(_ string, _ int, s string) string { return broken(s, 80, false) })},
	{name: "cut at 80 by a terminal", keeps: 97,
		wrap: eachLine(func(_ string, _ int, s string) string { return broken(s, 80, true) })},
	{name: "wrapped at 80 and quoted", keeps: 91, wrap: eachLine(func(_ string, _ int, s string) string {
		return "> " + strings.ReplaceAll(broken(s, 80, false), "\n", "\n> ")
	})},
	{name: "long lines cut", keeps: 76, wrap: eachLine(func(_ string, _ int, s string) string {
		if len(s) > 160 {
			return s[:160] + "…"
		}
		return s
	}), gone: "the ends of lines"},
	{name: "first half", keeps: 51, wrap: someLines(0, 2), gone: "half of the lines"},
	{name: "second half", keeps: 68, wrap: someLines(2, 4), gone: "half of the lines"},
	{name: "middle cut out", keeps: 64, wrap: eachText(func(_, s string) string {
		lines := strings.SplitAfter(s, "\n")
		n := len(lines)
		return strings.Join(lines[:n*3/8], "") + "[... cut ...]\n" + strings.Join(lines[n*5/8:], "")
	}), gone: "a quarter of the lines"},
	{name: "ids of 12", keeps: 97, wrap: eachText(func(_, s string) string {
		return longID.ReplaceAllStringFunc(s, func(id string) string { return id[:12] })
	})},
	{name: "ids redacted", keeps: 90, wrap: eachText(func(_, s string) string {
		return anyUUID.ReplaceAllString(longID.ReplaceAllString(s, "<redacted>"),
			"xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx")
	}), gone: "the ids that tie lines to the pod"},
	{name: "one paste", keeps: 92,
		wrap: oneFile(func(string) string { return "" }), gone: "the names of files, which name pods"},
	{name: "one paste with cat", keeps: 91, wrap: oneFile(func(f string) string { return "$ cat " + f + "\n" }),
		gone: "the names of files, which name pods"},
	{name: "tail of several", keeps: 91, wrap: oneFile(func(f string) string { return "==> " + f + " <==\n" }),
		gone: "the names of files, which name pods"},
	{name: "newest first", keeps: 92, wrap: eachText(func(_, s string) string {
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		slices.Reverse(lines)
		return strings.Join(lines, "\n") + "\n"
	})},
}

// curly makes of straight quotes what word processors make of them.
func curly(s string) string {
	open := true
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			open = true
		case c == '"' && open:
			open = false
			return '“'
		case c == '"':
			open = true
			return '”'
		}
		return c
	}, s)
}

var sureness = map[rules.Confidence]int{rules.Suspected: 1, rules.Probable: 2, rules.Confirmed: 3}

// maxOthers is how many incidents have another label in a wrapping that takes
// nothing away, of all incidents in all wrappings. It may only fall.
const maxOthers = 25

// An incident is the same in any wrapping: its label stays or is unknown, and is
// never surer. Where the wrapping takes lines or ids away the verdict may become
// another one, and is not confirmed then. A sample of the incidents is read in each
// wrapping, all of them where CORONER_INCIDENTS is set (make incidents).
func TestIncidentsInAnyWrapping(t *testing.T) {
	b, all := loadBook(t), fixtures.Wholly()
	kept, tried, others := 0, 0, 0
	for i, w := range wrappings {
		keptHere, triedHere := 0, 0
		for j, in := range incidents(t) {
			if !all && (i+j)%6 != 0 {
				continue
			}
			v := judge(b, entries(fixtures.Incident{Name: in.Name, Story: "x", Files: w.wrap(in.Files)}), in)
			triedHere++
			same := string(v.Label) == in.Want.Verdict
			if same {
				keptHere++
			} else if v.Label.Death() && v.Label != rules.Unknown && w.gone == "" {
				others++
				t.Logf("%s, %s: %s", in.Name, w.name, said(v))
			}
			wrong := v.Label.Death() && !same && v.Label != rules.Unknown && v.Confidence == rules.Confirmed
			surer := same && sureness[v.Confidence] > sureness[rules.Confidence(in.Want.Confidence)]
			clear := sureness[rules.Confidence(in.Want.Confidence)] > 1 && v.Confidence != rules.Suspected &&
				rules.Label(in.Want.Verdict).Death() && !v.Label.Death() && !v.Label.Lasting() &&
				in.Want.Verdict != string(rules.Unknown) && (w.gone == "" || v.Label != rules.None &&
				in.Want.Verdict != string(rules.ChildOOM)) // whose runner lived on
			if clear {
				t.Errorf("%s, %s: the all-clear %s, want %s", in.Name, w.name, said(v), in.Want.Verdict)
			}
			if wrong || surer && (w.gone == "" || v.Confidence == rules.Confirmed) {
				t.Errorf("%s, %s: %s, want %s (%s)", in.Name, w.name, said(v), in.Want.Verdict, in.Want.Confidence)
			}
		}
		if percent := keptHere * 100 / triedHere; all && percent < w.keeps {
			t.Errorf("%s: %d %% of the incidents keep their label, want %d", w.name, percent, w.keeps)
		}
		kept, tried = kept+keptHere, tried+triedHere
	}
	t.Logf("%d of %d keep their label, %d have another", kept, tried, others)
	if kept*100 < tried*92 {
		t.Errorf("%d of %d keep their label, want 92 %%", kept, tried)
	}
	if others > maxOthers {
		t.Errorf("%d have another label, want at most %d", others, maxOthers)
	}
}
