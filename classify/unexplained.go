package classify

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

// Unexplained looks at an input once more, every line of it this time, for what
// the rulebook knows nothing of: how many lines there were, and for each verdict
// that explains nothing those lines that stand nearest to its death or sound most
// alarming. They prove nothing; they are where a person looks first.
type Unexplained struct {
	book     *rules.Rulebook
	verdicts []*rules.Verdict
	nearest  [][]candidate // for each verdict, the best first
	lines    int
	known    int
	room     int // bytes that are still read
}

// MaxUnexplained is how much text Unexplained looks at, in bytes. What a responder
// pastes is far less, and a whole day of a node has more than five lines worth
// showing anyway.
const MaxUnexplained = 256 << 20

// nearestLines is how many lines a verdict is given.
const nearestLines = 5

// NewUnexplained looks for lines on behalf of those of the verdicts that explain
// nothing.
func NewUnexplained(book *rules.Rulebook, verdicts []rules.Verdict) *Unexplained {
	u := &Unexplained{book: book, room: MaxUnexplained}
	for i := range verdicts {
		if v := &verdicts[i]; (v.Label == rules.Unknown || len(v.Evidence) == 0) && len(u.verdicts) < maxUnexplained {
			u.verdicts = append(u.verdicts, v)
		}
	}
	u.nearest = make([][]candidate, len(u.verdicts))
	return u
}

// maxUnexplained is how many verdicts are given lines: nobody reads more pages.
const maxUnexplained = 50

// Wanted reports whether there is a verdict to look for lines for.
func (u *Unexplained) Wanted() bool { return len(u.verdicts) > 0 }

// Take looks at every entry.
func (u *Unexplained) Take(entries iter.Seq[ingest.Entry]) {
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

// consider keeps the entry for the verdicts that it is among the best for.
func (u *Unexplained) consider(e *ingest.Entry) {
	if strings.TrimSpace(e.Text) == "" {
		return
	}
	word, strength := alarm(e.Text)
	for i, v := range u.verdicts {
		c := candidate{entry: *e, word: word, strength: strength, order: u.lines}
		c.weigh(v)
		list := u.nearest[i]
		if len(list) == nearestLines && !c.before(list[nearestLines-1]) || u.book.Knows(e.Text) != "" {
			continue
		}
		if at := slices.IndexFunc(list, c.repeats); at >= 0 {
			if !c.before(list[at]) {
				continue
			}
			list = slices.Delete(list, at, at+1)
		}
		at, _ := slices.BinarySearchFunc(list, c, func(x, c candidate) int {
			if x.before(c) {
				return -1
			}
			return 1
		})
		list = slices.Insert(list, at, c)
		u.nearest[i] = list[:min(len(list), nearestLines)]
	}
}

// Understood reports whether the rulebook knows a line of what Take was given.
func (u *Unexplained) Understood() bool { return u.known > 0 }

// Tell writes what was found into the verdicts.
func (u *Unexplained) Tell() {
	for i, v := range u.verdicts {
		v.LinesRead = u.lines
		if u.known == 0 && v.Label == rules.None {
			v.Summary = notUnderstood(u.lines)
		}
		for _, c := range u.nearest[i] {
			u.book.Redact(&c.entry)
			v.NotUnderstood = append(v.NotUnderstood, c.line())
		}
	}
}

// notUnderstood is the answer to an input of which no line is known.
func notUnderstood(lines int) string {
	if lines == 1 {
		return "Read 1 line and did not understand it. That is no all-clear" + whatHelps
	}
	return fmt.Sprintf("Read %d lines, understood none of them. That is no all-clear%s", lines, whatHelps)
}

const whatHelps = ": the node's journal around the death (journalctl -o export), the pod (kubectl get pod -o yaml) " +
	"or the controller's log would tell more."

// candidate is a line that nothing is known of, as one verdict sees it.
type candidate struct {
	entry    ingest.Entry
	word     string // that sounds alarming
	strength int    // of the word: 0 none, 1 weak, 2 strong
	mine     bool   // it names the runner
	timed    bool   // lag is known
	lag      time.Duration
	weight   int
	order    int
}

// weigh says how much the line is worth to the verdict.
func (c *candidate) weigh(v *rules.Verdict) {
	text := c.entry.Text
	c.mine = v.Runner != "" && (c.entry.Pod == v.Runner || strings.Contains(text, v.Runner)) ||
		v.PodUID != "" && (c.entry.PodUID == v.PodUID || strings.Contains(text, v.PodUID))
	c.weight = 10 * c.strength
	if c.mine {
		c.weight += 10
	}
	if v.DiedAt == nil || c.entry.At.IsZero() {
		return
	}
	c.timed, c.lag = true, v.DiedAt.Sub(c.entry.At)
	switch away := c.lag.Abs(); {
	case away <= 5*time.Second:
		c.weight += 20
	case away <= time.Minute:
		c.weight += 12
	case away <= 10*time.Minute:
		c.weight += 4
	default:
		c.weight -= 20
	}
}

// before reports whether c is worth more than d. Of two that are worth the same
// the one nearer to the death comes first, else the later one.
func (c candidate) before(d candidate) bool {
	if c.weight != d.weight {
		return c.weight > d.weight
	}
	if c.timed && d.timed && c.lag.Abs() != d.lag.Abs() {
		return c.lag.Abs() < d.lag.Abs()
	}
	return c.order > d.order
}

// repeats reports whether d says the same as c, with other numbers.
func (c candidate) repeats(d candidate) bool { return shape(c.entry.Text) == shape(d.entry.Text) }

// shape is a line without its numbers and ids.
func shape(text string) string { return numbers.ReplaceAllString(text[:min(len(text), 400)], "0") }

var numbers = regexp.MustCompile(`\b(?:\w*\d\w*|[0-9a-f]{3,})\b`)

func (c candidate) line() rules.UnknownLine {
	l := rules.UnknownLine{Source: string(c.entry.Source), Node: c.entry.Node, Text: clip(c.entry.Text), Because: c.because()}
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

func clip(text string) string {
	if len(text) <= maxUnknownText {
		return text
	}
	return strings.ToValidUTF8(text[:maxUnknownText], "") + "…"
}

// because says why the line is shown.
func (c candidate) because() string {
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

// alarm returns the most alarming word of a line and how alarming it is.
func alarm(text string) (word string, strength int) {
	text = text[:min(len(text), 2000)]
	if word = strongAlarm.FindString(text); word != "" {
		return word, 2
	}
	if word = weakAlarm.FindString(text); word != "" {
		return word, 1
	}
	return "", 0
}

// What sounds alarming in the log of any program, most of all first.
var (
	strongAlarm = regexp.MustCompile(`(?i)\b(?:panic|fatal|seg(?:mentation )?fault|core dumped|killed|oom|out of memory|` +
		`cannot allocate(?: memory)?|crash(?:ed|ing)?|died|abort(?:ed|ing)?|no space left|i/o error|corrupt(?:ed|ion)?|` +
		`power (?:cut|loss|failure|fail)|hardware error|sigkill|sigterm|sigsegv|signal \d+|evict(?:ed|ion|ing)?|preempt(?:ed|ion|ing)?|` +
		`exit(?:ed)?(?: with)?(?: code| status)?[ :=]{1,3}[1-9]\d*)\b`)
	weakAlarm = regexp.MustCompile(`(?i)\b(?:error|err|fail(?:ed|ure|ing|s)?|unable|cannot|can't|could not|denied|refused|forbidden|` +
		`unauthorized|rejected|timed? ?out|deadline exceeded|exceed(?:ed|s)|lost|unreachable|disconnect(?:ed|ing)?|terminat(?:ed|ing|ion)|` +
		`shut(?:ting)? ?down|drain(?:ing|ed)?|interrupt(?:ed|ion)?|reboot(?:ed|ing)?|unhealthy|not ready|not found|removed|deleted|stopp(?:ed|ing))\b`)
)
