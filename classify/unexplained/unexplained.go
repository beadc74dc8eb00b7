// Package unexplained finds the lines of an input that the rulebook knows nothing of
// and that a person should look at first. It is pure.
//
// Invariant: what it finds depends on the verdicts and the input only, and never
// changes a verdict's label or confidence.
//
// Crash behaviour: there is no state to lose.
package unexplained

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// Search looks at an input once more, every line of it this time, for what
// the rulebook knows nothing of: how many lines there were, and for each verdict
// that explains nothing those lines that stand nearest to its death or sound most
// alarming. They prove nothing; they are where a person looks first.
type Search struct {
	book     *rules.Rulebook
	verdicts []*rules.Verdict
	nearest  [][]candidate // for each verdict, the best first
	lines    int
	known    int                 // lines that a signal knows
	harmless bool                // whether one is known to tell of no death
	room     int                 // bytes that are still read
	kinds    map[string]lineKind // by shape
}

// MaxText is how much text a Search looks at, in bytes. What a responder
// pastes is far less, and a whole day of a node has more than five lines worth
// showing anyway.
const MaxText = 32 << 20

// nearestLines is how many lines a verdict is given.
const nearestLines = 5

// New looks for lines on behalf of those of the verdicts that explain
// nothing.
func New(book *rules.Rulebook, verdicts []rules.Verdict) *Search {
	u := &Search{book: book, room: MaxText, kinds: map[string]lineKind{}}
	for i := range verdicts {
		if v := &verdicts[i]; (v.Label == rules.Unknown || len(v.Evidence) == 0) && len(u.verdicts) < maxVerdicts {
			u.verdicts = append(u.verdicts, v)
		}
	}
	u.nearest = make([][]candidate, len(u.verdicts))
	return u
}

// maxVerdicts is how many verdicts are given lines: nobody reads more pages.
const maxVerdicts = 20

// Wanted reports whether there is a verdict to look for lines for.
func (u *Search) Wanted() bool { return len(u.verdicts) > 0 }

// Take looks at every entry.
func (u *Search) Take(entries iter.Seq[ingest.Entry]) {
	for e := range entries {
		if e.Mark != nil {
			continue
		}
		if u.room -= len(e.Text); u.room < 0 {
			return
		}
		u.lines++
		if found, _ := u.book.ScanWithin(&e); len(found) > 0 {
			u.known++
			continue
		}
		u.consider(&e)
	}
}

// consider keeps the entry for the verdicts that it is among the best for. Most
// entries are of no interest to any, so what costs most is asked last, and once.
func (u *Search) consider(e *ingest.Entry) {
	var asked *candidate
	for i, v := range u.verdicts {
		c := candidate{entry: e, order: u.lines}
		if !c.isNear(v) || !u.mayBeShown(i, c, mostAlarming) {
			continue
		}
		if asked == nil {
			asked = u.askAbout(e)
		}
		if asked.entry == nil {
			return
		}
		c.entry, c.word, c.shape = asked.entry, asked.word, asked.shape
		if u.mayBeShown(i, c, asked.strength) {
			c.strength = asked.strength
			u.keepBest(i, c)
		}
	}
}

// askAbout is what does not depend on a verdict: how alarming the line is, and what it
// says but for its numbers. Its entry is nil for a line that is not worth showing.
func (u *Search) askAbout(e *ingest.Entry) *candidate {
	c := candidate{shape: shapeOf(e.Text)}
	kind, asked := u.kinds[c.shape]
	switch {
	case asked:
	case len(u.kinds) == maxKinds:
		kind.known = true // nobody asks any more: what is shown then is among what was seen
	default:
		isKnown := u.book.Knows(e.Text) != ""
		u.harmless = u.harmless || isKnown
		kind.known = isKnown || strings.TrimSpace(e.Text) == ""
		kind.word, kind.strength = alarmingWord(e.Text)
		u.kinds[c.shape] = kind
	}
	if !kind.known {
		kept := *e
		c.entry, c.word, c.strength = &kept, kind.word, kind.strength
	}
	return &c
}

// lineKind is what is known of all lines of one shape.
type lineKind struct {
	known    bool // by a signal or a list of harmless lines after all
	word     string
	strength int
}

// maxKinds bounds how many kinds of lines are looked at: it takes long to see how
// alarming one is, and a job can print any number.
const maxKinds = 10_000

// mayBeShown reports whether the line would be among those of a verdict if it had an
// alarming word of some strength.
func (u *Search) mayBeShown(i int, c candidate, strength int) bool {
	c.strength = strength
	list := u.nearest[i]
	return len(list) < nearestLines || c.worthMore(list[nearestLines-1])
}

// keepBest puts the line at its place, in place of one that says the same.
func (u *Search) keepBest(i int, c candidate) {
	list := u.nearest[i]
	if at := slices.IndexFunc(list, c.saysTheSame); at >= 0 {
		if !c.worthMore(list[at]) {
			return
		}
		list = slices.Delete(list, at, at+1)
	}
	at := len(list)
	for at > 0 && c.worthMore(list[at-1]) {
		at--
	}
	list = slices.Insert(list, at, c)
	u.nearest[i] = list[:min(len(list), nearestLines)]
}

// Understood reports whether the rulebook knows a line of what Take was given, as a signal or
// as one that tells of no death.
func (u *Search) Understood() bool { return u.known > 0 || u.harmless }

// Tell writes what was found into the verdicts.
func (u *Search) Tell() {
	for i, v := range u.verdicts {
		v.LinesRead = u.lines
		if u.known == 0 && v.Label == rules.None {
			v.Summary = u.noneKnown(u.lines > 0 && len(u.nearest[i]) == 0)
		}
		for _, c := range u.nearest[i] {
			u.book.Redact(c.entry)
			v.NotUnderstood = append(v.NotUnderstood, c.asUnknownLine())
		}
	}
}

// noneKnown is the answer to an input without a signal; harmless says whether each of its lines is
// known to tell of no death.
func (u *Search) noneKnown(harmless bool) string {
	read, said := fmt.Sprintf("Read %d lines", u.lines), ", understood none of them"
	if u.lines == 1 {
		read, said = "Read 1 line", " and did not understand it"
	}
	switch {
	case harmless && u.lines == 1:
		said = ", which does not tell how anything ended"
	case harmless:
		said = ", none of which tells how anything ended"
	}
	return read + said + ". That is no all-clear" + whatHelps
}

const whatHelps = ": the node's journal around the death (journalctl -o export), the pod (kubectl get pod -o yaml) " +
	"or the controller's log would tell more."

// candidate is a line that nothing is known of, as one verdict sees it.
type candidate struct {
	entry    *ingest.Entry
	word     string // that sounds alarming
	strength int    // of the word: 0 none, 1 weak, 2 strong
	shape    string // what it says but for numbers
	mine     bool   // it names the runner
	timed    bool   // lag is known
	lag      time.Duration
	order    int
}

// isNear sees how far the line is from the verdict's death, and reports whether it is
// near enough to be worth a look.
func (c *candidate) isNear(v *rules.Verdict) bool {
	text := c.entry.Text
	c.mine = v.Runner != "" && (c.entry.Pod == v.Runner || strings.Contains(text, v.Runner)) ||
		v.PodUID != "" && (c.entry.PodUID == v.PodUID || strings.Contains(text, v.PodUID))
	if v.DiedAt == nil || c.entry.At.IsZero() {
		return true
	}
	c.timed, c.lag = true, v.DiedAt.Sub(c.entry.At)
	return c.lag.Abs() <= worthALook
}

// worthALook is how far from a death a line of nobody in particular is shown.
const worthALook = 10 * time.Minute

// weightOf says how much the line is worth.
func (c *candidate) weightOf() int {
	w := 10 * c.strength
	if c.mine {
		w += 10
	}
	switch away := c.lag.Abs(); {
	case !c.timed:
	case away <= 5*time.Second:
		w += 20
	case away <= time.Minute:
		w += 12
	default:
		w += 4
	}
	return w
}

// worthMore reports whether c is worth more than d. Of two that are worth the same the
// one nearer to the death comes first; without a death the first alarming one, for
// others follow from it, and the last of those that are not.
func (c candidate) worthMore(d candidate) bool {
	x, y := c.weightOf(), d.weightOf()
	switch {
	case x != y:
		return x > y
	case c.timed && d.timed && c.lag.Abs() != d.lag.Abs():
		return c.lag.Abs() < d.lag.Abs()
	case c.strength > 0 && !c.timed:
		return c.order < d.order
	}
	return c.order > d.order
}

// saysTheSame reports whether d says the same as c, with other numbers.
func (c candidate) saysTheSame(d candidate) bool { return c.shape == d.shape }

// shapeOf is a line without its numbers and ids: of each word that holds a digit only
// the place is left, and of the line only what begins it.
func shapeOf(text string) string {
	text = text[:min(len(text), 200)]
	out := make([]byte, 0, len(text))
	word, digit := 0, false // where the word begins in out, and whether it holds a digit
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			digit = true
		case c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c >= 0x80:
		default:
			if digit {
				out = append(out[:word], '0')
			}
			out = append(out, c)
			word, digit = len(out), false
			continue
		}
		out = append(out, c)
	}
	if digit {
		out = append(out[:word], '0')
	}
	return string(out)
}

func (c candidate) asUnknownLine() rules.UnknownLine {
	l := rules.UnknownLine{
		Source:  string(c.entry.Source),
		Node:    c.entry.Node,
		Text:    clipText(c.entry.Text),
		Because: c.reasonShown(),
	}
	if c.entry.Line > 0 {
		l.Where = fmt.Sprintf("%s:%d", c.entry.Doc, c.entry.Line)
	}
	if !c.entry.At.IsZero() {
		at := c.entry.At.UTC()
		l.At = &at
	}
	return l
}

const maxUnknownText = 500

func clipText(text string) string {
	if len(text) <= maxUnknownText {
		return text
	}
	return strings.ToValidUTF8(text[:maxUnknownText], "") + "…"
}

// reasonShown says why the line is shown.
func (c candidate) reasonShown() string {
	var why []string
	if c.timed && c.lag.Abs() <= 10*time.Minute {
		away := c.lag.Abs().Round(time.Second)
		switch {
		case away == 0:
			why = append(why, "in the second of the death")
		case c.lag > 0:
			why = append(why, away.String()+" before the death")
		default:
			why = append(why, away.String()+" after the death")
		}
	}
	if c.mine {
		why = append(why, "names the runner")
	}
	if c.word != "" {
		why = append(why, fmt.Sprintf("says %q", c.word))
	}
	return cmp.Or(strings.Join(why, ", "), "among the last lines")
}

// mostAlarming is the strength of a strong word.
const mostAlarming = 2

// alarmingWord returns the most alarming word of a line and how alarming it is.
func alarmingWord(text string) (word string, strength int) {
	text = text[:min(len(text), 500)]
	if word = strongAlarm.FindString(text); word != "" {
		return word, mostAlarming
	}
	if word = weakAlarm.FindString(text); word != "" {
		return word, 1
	}
	return "", 0
}

// What sounds alarming in the log of any program, most of all first.
var (
	strongAlarm = regexp.MustCompile(
		`(?i)\b(?:panic|fatal|seg(?:mentation )?fault|core dumped|killed|oom|out of memory|` +
			`cannot allocate(?: memory)?|crash(?:ed|ing)?|died|abort(?:ed|ing)?|no space left|` +
			`i/o error|corrupt(?:ed|ion)?|` +
			`power (?:cut|loss|failure|fail)|hardware error|sigkill|sigterm|sigsegv|signal \d+|evict(?:ed|ion|ing)?|` +
			`preempt(?:ed|ion|ing)?|exit(?:ed)?(?: with)?(?: code| status)?[ :=]{1,3}[1-9]\d*)\b`,
	)
	weakAlarm = regexp.MustCompile(
		`(?i)\b(?:error|err|fail(?:ed|ure|ing|s)?|unable|cannot|can't|could not|denied|refused|` +
			`forbidden|unauthorized|rejected|timed? ?out|deadline exceeded|exceed(?:ed|s)|lost|unreachable|` +
			`disconnect(?:ed|ing)?|terminat(?:ed|ing|ion)|shut(?:ting)? ?down|drain(?:ing|ed)?|interrupt(?:ed|ion)?|` +
			`reboot(?:ed|ing)?|unhealthy|not ready|not found|removed|deleted|stopp(?:ed|ing))\b`,
	)
)
