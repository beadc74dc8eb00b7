package document

import (
	"strconv"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// wrap is a kind of envelope that a line may have around its text.
type wrap uint16

const (
	quoted   wrap = 1 << iota // marks of the mail or terminal that it was pasted from
	shipped                   // a log store's: it names the stream
	stamped                   // a time
	criLine                   // a line of a container's log file
	streamed                  // names the container
	hosted                    // names a program of the host: journald, syslog, dmesg
	running                   // the runner's own prefix
	jobbed                    // GitHub's job log
	anything = 1<<iota - 1
)

// draft is an entry in the making.
type draft struct {
	ingest.Entry
	stream     *stream
	local      logtext.Stamp // the envelope's time, where it lacked a zone or a year
	wraps      wrap          // the envelopes that were found
	incomplete bool          // no record ends with the line: nothing to yield
	pid        bool          // the host program named its process

	unidentified bool // a log store's labels do not say who wrote the line: it is a claim
	size         int  // length of the whole line
}

// envelope recognises one shape. peel returns the text inside and fills d only
// when it does recognise it.
type envelope struct {
	class  wrap
	inside wrap   // what may follow inside it
	first  string // bytes that it can start with: "0" any digit, "a" any letter or non-ASCII
	peel   func(r *reader, d *draft, s string) (inner string, ok bool)
}

// envelopes, the surer shapes first.
var envelopes = [...]envelope{
	{criLine, stamped | running, "0", peelCRI},
	{streamed, stamped | running | criLine, "[", peelPrefix},
	{running, running, "[", peelRunner},
	{running, running, "0", peelConsole},
	{hosted, running, "[", peelDmesg},
	{hosted, 0, "0", peelRingISO},
	{hosted, hosted, "<", peelPriority},
	{hosted, 0, "a0", peelTalos},
	{hosted, running, "a0<:", peelSyslog},
	{hosted, hosted, "a", peelDecoded},
	{hosted, running, "a(", peelIdent},
	{jobbed, 0, "a0([\"", peelTabs},
	{stamped, anything &^ quoted, "0", peelGitLab},
	{shipped, anything &^ shipped &^ quoted, "0{", peelLoki},
	{stamped, anything &^ quoted &^ stamped, "0", peelStamp},
	{streamed, stamped | running, "a+-", peelStern},
	{quoted, anything, ">|^a", peelQuote},
}

// byFirst are the envelopes that a text can have by its first byte.
var byFirst = func() (table [256][]*envelope) {
	for i := range envelopes {
		env := &envelopes[i]
		for c := range table {
			if env.startsWith(byte(c)) {
				table[c] = append(table[c], env)
			}
		}
	}
	return table
}()

func (env *envelope) startsWith(c byte) bool {
	switch {
	case logtext.IsDigit(c):
		return strings.Contains(env.first, "0")
	case c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80:
		return strings.Contains(env.first, "a")
	}
	return strings.IndexByte(env.first, c) >= 0
}

// maxDepth is how many envelopes a line has at most.
const maxDepth = 6

// unwrapLine takes so many of the envelopes off s that are allowed.
func (r *reader) unwrapLine(d *draft, s string, allowed wrap, depth int) string {
	for ; depth > 0 && s != ""; depth-- {
		env, inner := r.findEnvelope(d, s, allowed)
		if env == nil {
			break
		}
		d.wraps |= env.class
		s = inner
		if d.incomplete || d.wraps&jobbed != 0 {
			break
		}
		allowed &= env.inside
		if d.stream != nil || d.Source != ingest.Unknown {
			allowed &= stamped | running | criLine
		}
	}
	return s
}

// peelInner peels what may follow inside a known envelope.
func (r *reader) peelInner(d *draft, s string, allowed wrap) string {
	for s != "" {
		env, inner := r.findEnvelope(d, s, allowed)
		if env == nil {
			break
		}
		d.wraps |= env.class
		s = inner
	}
	return s
}

// allowedWraps are the envelopes that a line of this document can have: in a
// container's output everything but its own log's envelopes is just text.
func (r *reader) allowedWraps() wrap {
	switch {
	case r.containers.main != nil:
		return criLine | stamped | running
	case r.contents.isRunnerLog(r.account.lines):
		return criLine | stamped | running | streamed | quoted
	}
	return anything
}

// findEnvelope finds the envelope of s.
func (r *reader) findEnvelope(d *draft, s string, allowed wrap) (*envelope, string) {
	for _, env := range byFirst[s[0]] {
		if env.class&allowed == 0 {
			continue
		}
		if inner, ok := env.peel(r, d, s); ok {
			return env, inner
		}
	}
	return nil, ""
}

// peelStamp: `2026-05-04T10:00:00.123456789Z text` (kubectl logs --timestamps),
// the same with seven digits (GitHub's job log), and what a table of a web
// page leaves of a time when it is copied.
func peelStamp(r *reader, d *draft, s string) (string, bool) {
	st, ok := logtext.ISOStamp(s)
	if !ok || st.Size == len(s) || s[st.Size] != ' ' && s[st.Size] != '\t' {
		return s, false
	}
	inner := logtext.WithoutColumns(strings.TrimLeft(s[st.Size:], " \t"))
	if s[st.Size] == '\t' && logtext.IsLevel(logtext.Before(inner, "\t")) {
		return s, false // zap's own time
	}
	if word, n := logtext.NextWord(inner, 0); st.Zone == nil && logtext.NamedZone(word) != nil {
		st.Zone, inner = logtext.NamedZone(word), strings.TrimLeft(inner[n:], " ")
	}
	if st.FractionDigits == 7 && d.wraps&(streamed|criLine) == 0 && r.containers.main == nil {
		d.wraps |= jobbed
	}
	if d.Clock != ingest.WallClock {
		r.account.clock.Set(&d.Entry, st)
	}
	return inner, true
}

// peelQuote: `> ` of mails, `⎿` and `│` of terminals, the echo of a key.
func peelQuote(_ *reader, _ *draft, s string) (string, bool) {
	if inner, ok := strings.CutPrefix(s, "^C"); ok && inner != "" {
		return inner, true
	}
	inner := strings.TrimLeft(s, "> |⎿│")
	for _, mark := range []string{">", "⎿", "│", "| "} {
		if strings.HasPrefix(s, mark) && inner != "" {
			return inner, true
		}
	}
	return s, false
}

func itoa(n int) string { return strconv.Itoa(n) }
