package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// chart shows verdicts over time, when they were recorded, stacked by label. Its
// picture has a table of the same numbers for those who cannot see it.
type chart struct {
	Labels        []labelCount
	Bars          []bar
	Ticks         []tick // of time, below
	Steps         []tick // of numbers, at the left
	Width, Height int
}

// labelCount is one entry of the legend.
type labelCount struct {
	Label rules.Label
	N     int
	Link  string
}

// bar is one span of time.
type bar struct {
	From  time.Time
	X, W  float64
	Parts []part
	N     int
	Link  string
	link  []string // what of the filter it changes
}

// part is one label's share of a bar.
type part struct {
	Label rules.Label
	N     int
	Y, H  float64
	Link  string
}

type tick struct {
	At   float64
	Text string
}

const (
	chartWidth, chartHeight = 960, 200
	bars                    = 48
)

// fillCharts fills in both charts, of the time from the filter's beginning up to
// where this page of the list begins.
func (p *Pages) fillCharts(r *http.Request, data *listing, q ledger.Query) error {
	to := p.Now()
	if data.Later {
		to = q.Until
	}
	width := widthOf(to.Sub(q.Since))
	spans := ledger.Spans{From: q.Since.Truncate(width), To: to, Width: width}
	counts, err := p.Charts.CountsOverTime(r.Context(), q, spans)
	if err != nil {
		return err
	}
	data.Chart = newChart(counts, data.Filter, spans, q.Since)
	for _, c := range counts {
		data.Total += c.N
	}
	counts, err = p.Charts.CountsByNode(r.Context(), q, to, nodeRows)
	data.Nodes = newNodeChart(counts, data.Filter)
	return err
}

// widths of a bar that people can read off.
var widths = []time.Duration{
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 48 * time.Hour, 96 * time.Hour, 7 * 24 * time.Hour,
}

func widthOf(whole time.Duration) time.Duration {
	for _, w := range widths {
		if whole <= bars*w {
			return w
		}
	}
	return (whole/bars + 24*time.Hour).Truncate(24 * time.Hour)
}

func newChart(counts []ledger.Count, f filter, s ledger.Spans, since time.Time) chart {
	c := chart{Width: chartWidth, Height: chartHeight, Labels: legendOf(counts, f)}
	n := max(1, int((s.To.Sub(s.From)+s.Width-1)/s.Width))
	for i := range n {
		at := s.From.Add(time.Duration(i) * s.Width)
		width := float64(chartWidth) / float64(n)
		b := bar{
			From: at,
			X:    float64(i) * width,
			W:    max(1, width-1.5),
			link: []string{
				"since", timeForPrograms(ingest.LaterOf(at, since)),
				"until", timeForPrograms(ingest.EarlierOf(at.Add(s.Width), s.To)),
			},
		}
		b.Link = f.With(b.link...)
		c.Bars = append(c.Bars, b)
	}
	for _, k := range counts {
		b := &c.Bars[min(max(0, int(k.From.Sub(s.From)/s.Width)), n-1)]
		b.N += k.N
		b.Parts = append(b.Parts, part{Label: k.Label, N: k.N})
	}
	c.scaleParts(f)
	c.markTimes(s.Width)
	return c
}

// legendOf counts labels, those of a family together, of each the most frequent first.
func legendOf(counts []ledger.Count, f filter) (out []labelCount) {
	for _, k := range counts {
		i := slices.IndexFunc(out, func(l labelCount) bool { return l.Label == k.Label })
		if i < 0 {
			i = len(out)
			out = append(out, labelCount{Label: k.Label, Link: f.With("verdict", string(k.Label))})
		}
		out[i].N += k.N
	}
	slices.SortFunc(out, func(a, b labelCount) int {
		return cmp.Or(familyRank(a.Label)-familyRank(b.Label), b.N-a.N, cmp.Compare(a.Label, b.Label))
	})
	return out
}

// scaleParts gives every part its height, the legend's first label at the bottom.
func (c *chart) scaleParts(f filter) {
	most := 0
	for _, b := range c.Bars {
		most = max(most, b.N)
	}
	top := roundUp(most)
	rank := func(l rules.Label) int {
		return slices.IndexFunc(c.Labels, func(x labelCount) bool { return x.Label == l })
	}
	for i := range c.Bars {
		b, y := &c.Bars[i], float64(chartHeight)
		slices.SortFunc(b.Parts, func(a, z part) int { return rank(a.Label) - rank(z.Label) })
		for j := range b.Parts {
			part := &b.Parts[j]
			part.H = float64(part.N) / float64(top) * chartHeight
			y -= part.H
			part.Y = y
			part.Link = f.With(append([]string{"verdict", string(part.Label)}, b.link...)...)
		}
	}
	for _, n := range []int{top, top / 2} {
		if n > 0 {
			c.Steps = append(c.Steps, tick{chartHeight - float64(n)/float64(top)*chartHeight, fmt.Sprint(n)})
		}
	}
}

// roundUp is the next 2, 4 or 10 times a power of ten, at least 4.
func roundUp(n int) int {
	for unit := 1; ; unit *= 10 {
		for _, k := range []int{2, 4, 10} {
			if k*unit >= max(n, 4) {
				return k * unit
			}
		}
	}
}

// markTimes writes times below about every eighth of the chart.
func (c *chart) markTimes(span time.Duration) {
	layout := "15:04"
	if span >= 2*time.Hour {
		layout = "01-02 15:04"
	}
	if span >= 24*time.Hour {
		layout = "2006-01-02"
	}
	step := max(1, (len(c.Bars)+7)/8)
	for i := 0; i < max(1, len(c.Bars)-2); i += step { // a label at the very end would be cut off
		c.Ticks = append(c.Ticks, tick{c.Bars[i].X, c.Bars[i].From.UTC().Format(layout)})
	}
}

// nodeChart shows on which nodes they died.
type nodeChart struct {
	Rows []nodeRow
	More int // nodes that are not shown
}

type nodeRow struct {
	Cluster, Node string
	N             int
	Link          string
	Parts         []nodePart
}

type nodePart struct {
	Label rules.Label
	N     int
	X, W  float64 // of 100
}

const nodeRows = 12

// newNodeChart shows the nodes with the most, and last those of no known node.
func newNodeChart(counts []ledger.Count, f filter) (c nodeChart) {
	at := map[[2]string]int{} // cluster and node
	for _, k := range counts {
		node := [2]string{k.Cluster, k.Node}
		i, ok := at[node]
		switch {
		case !ok && k.Label == "":
			c.More++
			continue
		case !ok:
			i = len(c.Rows)
			at[node] = i
			row := nodeRow{Cluster: k.Cluster, Node: k.Node, Link: f.With("node", k.Node)}
			if k.Cluster != "" {
				row.Link = f.With("node", k.Node, "cluster", k.Cluster)
			}
			c.Rows = append(c.Rows, row)
		}
		c.Rows[i].N += k.N
		c.Rows[i].Parts = append(c.Rows[i].Parts, nodePart{Label: k.Label, N: k.N})
	}
	most := 0
	for _, r := range c.Rows {
		most = max(most, r.N)
	}
	for i := range c.Rows {
		c.Rows[i].scaleTo(most)
	}
	slices.SortStableFunc(c.Rows, func(a, b nodeRow) int { return boolLast(a.Node == "") - boolLast(b.Node == "") })
	return c
}

func (r *nodeRow) scaleTo(most int) {
	slices.SortFunc(r.Parts, func(a, b nodePart) int {
		return cmp.Or(familyRank(a.Label)-familyRank(b.Label), b.N-a.N, cmp.Compare(a.Label, b.Label))
	})
	x := 0.0
	for i := range r.Parts {
		part := &r.Parts[i]
		part.X, part.W = x, float64(part.N)/float64(most)*100
		x += part.W
	}
}

func boolLast(b bool) int {
	if b {
		return 1
	}
	return 0
}
