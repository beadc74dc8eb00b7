package web

import (
	"fmt"
	"net/http"
	"slices"
	"time"

	"coroner/classify/postmortem"
	"coroner/rules"
)

// lanes is the picture of what was read: a lane for each source, the gaps and
// the lines drawn on it.
type lanes struct {
	Lanes         []lane
	From, To      time.Time
	Death         float64 // where the death is, of 1000
	Width, Height int
	Ticks         []tick
	Zooms         []zoom
	Span          string // what it shows, in words
}

type lane struct {
	Source string
	Part   string // of the system: node, runtime, runner, controller
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
	Row      string // the place of its line in the page, "" = it is not shown
	Text     string
}

// zoom is a stretch of time that the picture can show.
type zoom struct {
	Name, Text string
	Chosen     bool
	Link       string
	before     time.Duration
}

// zooms are those there are; the usual one has no name in an address.
var zooms = []zoom{
	{Name: "10s", Text: "10 seconds", before: 10 * time.Second},
	{Name: "1m", Text: "1 minute", before: time.Minute},
	{Name: "", Text: "10 minutes", before: 10 * time.Minute},
	{Name: "1h", Text: "1 hour", before: time.Hour},
	{Name: "8h", Text: "8 hours", before: 8 * time.Hour},
}

// zoom are the stretches for a page, the one that is asked for chosen.
func (a *autopsy) zoom(r *http.Request) []zoom {
	out, asked := slices.Clone(zooms), r.URL.Query().Get("zoom")
	if !slices.ContainsFunc(out, func(z zoom) bool { return z.Name == asked }) {
		asked = ""
	}
	for i := range out {
		z := &out[i]
		z.Chosen, z.Link = z.Name == asked, a.Permalink
		if z.Name != "" {
			z.Link += "&zoom=" + z.Name
		}
		if r.URL.Query().Has("all") {
			z.Link += "&all=1"
		}
		z.Link += "#timeline"
	}
	return out
}

// laneSources are those whose silence counts; others have a lane where they spoke.
var laneSources = []string{"kernel", "kubelet", "containerd", "runner", "controller"}

// partOf says of what part of the system a source tells.
var partOf = map[string]string{
	"kernel": "node", "systemd": "node", "kubelet": "runtime", "containerd": "runtime", "kata": "runtime",
	"runner": "runner", "job": "runner", "controller": "controller", "listener": "controller",
}

const laneHeight = 22

// newLanes draws some time before the death; nothing without coverage, which verdicts of
// earlier versions lack.
func newLanes(v *rules.Verdict, rows []row, zooms []zoom) (l lanes) {
	if v.DiedAt == nil || len(v.Coverage) == 0 {
		return l
	}
	chosen := zooms[slices.IndexFunc(zooms, func(z zoom) bool { return z.Chosen })]
	l = lanes{From: v.DiedAt.Add(-chosen.before), To: v.DiedAt.Add(max(chosen.before/60, 2*time.Second)), Width: 1000,
		Zooms: zooms, Span: chosen.Text}
	l.Death = l.xOf(*v.DiedAt)
	sources := slices.Clone(laneSources)
	for _, s := range v.Coverage {
		if !slices.Contains(sources, s.Source) {
			sources = append(sources, s.Source)
		}
	}
	at := rowsAt(rows)
	for _, source := range sources {
		l.Lanes = append(l.Lanes, l.laneOf(v, source, at))
	}
	l.Height = laneHeight * len(l.Lanes)
	l.markTimes()
	return l
}

// rowKey is by what a mark finds its line.
type rowKey struct {
	at     int64
	source string
}

func rowsAt(rows []row) map[rowKey]*row {
	out := map[rowKey]*row{}
	for i := range rows {
		if r := &rows[i]; r.At != nil && !r.Gap {
			out[rowKey{r.At.UnixNano(), r.Source}] = r
		}
	}
	return out
}

// markTimes writes the time below each fifth of the picture.
func (l *lanes) markTimes() {
	for i := range 5 {
		at := l.From.Add(l.To.Sub(l.From) * time.Duration(i) / 5)
		l.Ticks = append(l.Ticks, tick{l.xOf(at), clockTime(at)})
	}
}

func (l *lanes) xOf(t time.Time) float64 {
	return min(1, max(0, float64(t.Sub(l.From))/float64(l.To.Sub(l.From)))) * 1000
}

// laneOf draws what was read of a source, what was lost, and its lines.
func (l *lanes) laneOf(v *rules.Verdict, source string, at map[rowKey]*row) lane {
	out := lane{Source: source, Part: partOf[source], Y: laneHeight * len(l.Lanes)}
	for _, s := range v.Coverage {
		if s.Source != source || s.To.Before(l.From) || s.From.After(l.To) {
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
		if e.Source != source || e.At == nil || e.At.Before(l.From) || e.At.After(l.To) {
			continue
		}
		m := mark{X: l.xOf(*e.At), Decisive: e.Decisive, Text: clockTime(*e.At)}
		if r := at[rowKey{e.At.UnixNano(), source}]; r != nil {
			m.Row, m.Text = r.ID, m.Text+" "+cutText(r.Text, 100)
		}
		out.Lines = append(out.Lines, m)
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
