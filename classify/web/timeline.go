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
	Of       string // whose line it is, where that is a neighbour's
	Gap      bool
	Day      string // set where another day begins
	ID       string // of its place in the page
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
	for i := range out {
		out[i].ID = fmt.Sprint("line-", i+1)
	}
	markDays(out)
	return out, left
}

// proofs is how many of the lines that decide stand above the timeline.
const proofs = 2

// deciding are the first of the lines that decide; more says how many others do.
func deciding(v *rules.Verdict) (out []row, more int) {
	for _, r := range postmortem.Rows(v) {
		switch {
		case !r.Decisive:
		case len(out) == proofs:
			more++
		default:
			out = append(out, lineRow(v, r))
		}
	}
	return out, more
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
		Decisive: r.Decisive, Mine: r.Mine, Where: r.Where, Of: r.Of}
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
