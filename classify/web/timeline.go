package web

import (
	"fmt"
	"slices"
	"time"

	"coroner/classify/postmortem"
	"coroner/rules"
)

// row is one row of the timeline: a line, several alike, or a gap.
type row struct {
	At       *time.Time
	Lag      string // from the death
	Source   string
	Text     string
	Whole    string // the line as it was, where Text is not all of it
	Times    int
	Until    time.Time
	Decisive bool
	Mine     bool
	Where    string
	Gap      bool
	Day      string // set where another day begins
}

// shown is how many rows the telling part of a timeline has.
const shown = 60

// timeline is every line about the death and every gap around it in order;
// left says how many rows are not among them, none if all is set.
func timeline(v *rules.Verdict, all bool) (out []row, left int) {
	rows := postmortem.Rows(v)
	for i, r := range rows {
		if !all && !r.Decisive && (i < len(rows)-shown || postmortem.Aftermath(v, r)) {
			left++
			continue
		}
		out = append(out, lineRow(v, r))
	}
	out = mergeGaps(out, gapRows(v))
	markDays(out)
	return out, left
}

// mergeGaps puts each gap before the first line that is later; a line without
// a time stays where it stands.
func mergeGaps(lines, gaps []row) (out []row) {
	for _, l := range lines {
		for len(gaps) > 0 && l.At != nil && gaps[0].At.Before(*l.At) {
			out, gaps = append(out, gaps[0]), gaps[1:]
		}
		out = append(out, l)
	}
	return append(out, gaps...)
}

func lineRow(v *rules.Verdict, r postmortem.Row) row {
	out := row{At: r.At, Lag: lagText(v.DiedAt, r.At),
		Source: r.Source, Text: r.Brief(), Times: r.Times, Until: r.Until,
		Decisive: r.Decisive, Mine: r.Mine, Where: r.Where}
	if whole := postmortem.Clean(r.Text); whole != out.Text || len(whole) > maxText {
		out.Whole = cutText(whole, 8*maxText)
	}
	return out
}

func gapRows(v *rules.Verdict) (out []row) {
	for _, s := range v.Coverage {
		if s.Lost != "" {
			out = append(out, row{At: &s.From, Lag: lagText(v.DiedAt, &s.From), Source: s.Source, Gap: true,
				Text: fmt.Sprintf("not read from %s to %s: %s", clockTime(s.From), clockTime(s.To), s.Lost)})
		}
	}
	slices.SortStableFunc(out, func(a, b row) int { return a.At.Compare(*b.At) })
	return out
}

func clockTime(t time.Time) string { return t.UTC().Format("15:04:05") }

// markDays marks the first row of each day.
func markDays(rows []row) {
	day := ""
	for i := range rows {
		if rows[i].At == nil {
			continue
		}
		if d := rows[i].At.UTC().Format("2006-01-02"); d != day {
			rows[i].Day, day = d, d
		}
	}
}

// lagText says how long before or after the death a line was written.
func lagText(died, at *time.Time) string {
	if died == nil || at == nil {
		return ""
	}
	d, sign := at.Sub(*died), "+"
	if d < 0 {
		d, sign = -d, "−"
	}
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%s%.1f s", sign, d.Seconds())
	case d < 100*time.Minute:
		return fmt.Sprintf("%s%.0f min", sign, d.Minutes())
	}
	return fmt.Sprintf("%s%.0f h", sign, d.Hours())
}

// lanes is the picture of what was read: a lane for each source, the gaps and
// the lines drawn on it.
type lanes struct {
	Lanes         []lane
	From, To      time.Time
	Death         float64 // where the death is, of 1000
	Width, Height int
}

type lane struct {
	Source string
	Y      int
	Read   []span
	Lost   []span
	Lines  []mark
	Words  string // the lane for those who cannot see it
}

type span struct {
	X, W float64
	Text string
}

type mark struct {
	X        float64
	Decisive bool
}

// laneSources are those whose silence counts; others have a lane where they spoke.
var laneSources = []string{"kernel", "kubelet", "containerd", "runner", "controller"}

const laneHeight = 22

// newLanes draws the ten minutes before the death; nothing without coverage,
// which verdicts of earlier versions lack.
func newLanes(v *rules.Verdict) (l lanes) {
	if v.DiedAt == nil || len(v.Coverage) == 0 {
		return l
	}
	l = lanes{From: v.DiedAt.Add(-10 * time.Minute), To: v.DiedAt.Add(10 * time.Second), Width: 1000}
	l.Death = l.xOf(*v.DiedAt)
	sources := slices.Clone(laneSources)
	for _, s := range v.Coverage {
		if !slices.Contains(sources, s.Source) {
			sources = append(sources, s.Source)
		}
	}
	for _, source := range sources {
		l.Lanes = append(l.Lanes, l.laneOf(v, source))
	}
	l.Height = laneHeight * len(l.Lanes)
	return l
}

func (l *lanes) xOf(t time.Time) float64 {
	return min(1, max(0, float64(t.Sub(l.From))/float64(l.To.Sub(l.From)))) * 1000
}

func (l *lanes) laneOf(v *rules.Verdict, source string) lane {
	out := lane{Source: source, Y: laneHeight * len(l.Lanes)}
	for _, s := range v.Coverage {
		if s.Source != source {
			continue
		}
		x := l.xOf(s.From)
		part := span{x, max(2, l.xOf(s.To)-x), fmt.Sprintf("%s–%s", clockTime(s.From), clockTime(s.To))}
		if s.Lost != "" {
			part.Text = fmt.Sprintf("lost %s: %s", part.Text, postmortem.Clean(s.Lost))
			out.Lost = append(out.Lost, part)
			continue
		}
		out.Read = append(out.Read, part)
	}
	for _, e := range v.Evidence {
		if e.Source == source && e.At != nil && e.At.After(l.From) && e.At.Before(l.To) {
			out.Lines = append(out.Lines, mark{l.xOf(*e.At), e.Decisive})
		}
	}
	out.Words = laneWords(&out)
	return out
}

func laneWords(l *lane) string {
	text := "not read"
	for i, s := range append(slices.Clone(l.Read), l.Lost...) {
		switch {
		case i == 0 && len(l.Read) > 0:
			text = "read " + s.Text
		default:
			text += ", " + s.Text
		}
	}
	return text
}
