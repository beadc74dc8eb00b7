package postmortem

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules"
)

// row is one line of the timeline, or several that say the same.
type row struct {
	rules.EvidenceLine
	times int       // how many lines it stands for
	until time.Time // time of the last of them
}

// shown is how many rows a timeline has at most; deciding rows always show.
const shown = 40

func (p *page) timeline() {
	rows := collapse(p.v.Evidence)
	if len(rows) == 0 {
		return
	}
	p.section("timeline (UTC; » decides, · is about the node or another pod)")
	skipped, day := 0, ""
	for i, r := range rows {
		if !p.s.All && !r.Decisive && (i < len(rows)-shown || p.aftermath(r)) {
			skipped++
			continue
		}
		p.skipped(&skipped)
		day = p.day(day, r.At)
		p.row(r)
	}
	p.skipped(&skipped)
}

// tidying is how long after a death the node's lines are about it; after that
// the node tidies up.
const tidying = time.Second

// aftermath says whether a row only tells how the node tidied up. What the
// controller and the API server say of a death comes later by nature.
func (p *page) aftermath(r row) bool {
	node := slices.Contains([]ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Kata, ingest.Systemd}, ingest.Source(r.Source))
	return node && p.v.DiedAt != nil && r.At != nil && r.At.Sub(*p.v.DiedAt) > tidying
}

func (p *page) skipped(n *int) {
	if *n > 0 {
		p.printf("      %s\n", p.paint(dim, fmt.Sprintf("… %d lines left out, --all shows them", *n)))
	}
	*n = 0
}

// day prints the date when it changes.
func (p *page) day(before string, at *time.Time) string {
	if at == nil {
		return before
	}
	d := at.UTC().Format("2006-01-02")
	if d != before && before != "" {
		p.printf("      %s\n", p.paint(dim, d))
	}
	return d
}

func (p *page) row(r row) {
	mark, at := "  ", strings.Repeat(" ", 12)
	if r.Decisive {
		mark = p.paint(red, "»") + " "
	}
	if r.At != nil {
		at = r.At.UTC().Format("15:04:05.000")
	}
	room := p.s.Width - 32
	if r.Decisive {
		room = max(room, hugeLine) // the proof is shown whole
	}
	text := cut(Clean(brief(r.EvidenceLine)), room)
	if r.times > 1 {
		text += p.paint(dim, fmt.Sprintf("  (%d times", r.times))
		if !r.until.IsZero() {
			text += p.paint(dim, " until "+r.until.UTC().Format("15:04:05"))
		}
		text += p.paint(dim, ")")
	}
	switch {
	case r.Decisive:
		text = p.paint(bold, text)
	case !r.Mine:
		mark, text = "· ", p.paint(dim, text)
	}
	p.printf("    %s%s  %s %s\n", mark, p.paint(dim, at), p.paint(cyan, fmt.Sprintf("%-10s", r.Source)), text)
}

var longID = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// brief says what a structured line says without its clockwork: the message
// and its fields, container ids cut short.
func brief(l rules.EvidenceLine) string {
	e := ingest.Entry{Source: ingest.Source(l.Source), Text: l.Text}
	msg, fields, ok := e.Message()
	if !ok || l.Source == string(ingest.Kube) || l.Source == string(ingest.Runner) || l.Source == string(ingest.Job) {
		return longID.ReplaceAllString(l.Text, "$1…")
	}
	var b strings.Builder
	b.WriteString(msg)
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		outer, _, part := strings.Cut(k, ".")
		if !clockwork[k] && fields[k] != "" && fields[k] != msg && !(part && fields[outer] != "") {
			fmt.Fprintf(&b, " %s=%s", k, cut(fields[k], 200))
		}
	}
	return longID.ReplaceAllString(b.String(), "$1…")
}

// clockwork are fields that only tell how a line was written.
var clockwork = map[string]bool{
	"time": true, "ts": true, "level": true, "severity": true, "logger": true, "version": true, "source": true,
	"caller": true, "msg": true, "message": true, "namespace": true, "controller": true, "v": true, "name": true,
}

// collapse joins runs of one signal from one source, so that an hour of
// heartbeats is one row.
func collapse(lines []rules.EvidenceLine) (rows []row) {
	for _, l := range lines {
		if n := len(rows); n > 0 && same(rows[n-1].EvidenceLine, l) {
			last := &rows[n-1]
			last.times++
			if l.At != nil {
				last.until = *l.At
			}
			continue
		}
		rows = append(rows, row{EvidenceLine: l, times: 1})
	}
	return dropRepeated(rows)
}

func same(a, b rules.EvidenceLine) bool {
	return a.Signal == b.Signal && a.Source == b.Source && a.Mine == b.Mine && !a.Decisive && !b.Decisive && a.Signal != "runner.last-words" &&
		a.Signal != "kube.event"
}

// dropRepeated removes rows whose line is shown already: one line can carry
// several signals.
func dropRepeated(rows []row) []row {
	out := rows[:0]
	for _, r := range rows {
		if n := len(out); n > 0 && out[n-1].Text == r.Text && out[n-1].Source == r.Source {
			out[n-1].Decisive = out[n-1].Decisive || r.Decisive
			continue
		}
		out = append(out, r)
	}
	return out
}
