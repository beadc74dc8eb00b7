package postmortem

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/rules"
)

// Row is one line of the timeline, or several that say the same.
type Row struct {
	rules.EvidenceLine
	Times int       // how many lines it stands for
	Until time.Time // time of the last of them
}

// Rows is the timeline of v: runs of one signal joined, a line that carries
// several signals once.
func Rows(v *rules.Verdict) []Row { return collapse(v.Evidence) }

// Brief says what the row's line says without its clockwork, cleaned.
func (r Row) Brief() string { return Clean(briefLine(r.EvidenceLine)) }

// Aftermath says whether a row only tells how the node tidied up after the
// death. What the controller and the API server say of it comes later by nature.
func Aftermath(v *rules.Verdict, r Row) bool {
	node := slices.Contains(
		[]ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Kata, ingest.Systemd},
		ingest.Source(r.Source),
	)
	return node && v.DiedAt != nil && r.At != nil && r.At.Sub(*v.DiedAt) > tidying
}

func (p *page) timeline() {
	rows := collapse(p.v.Evidence)
	if len(rows) == 0 {
		return
	}
	p.writeSection("timeline (UTC; » decides, · does not name this pod)")
	show, day := p.rowsShown(rows), ""
	var skipped leftOut
	for i, r := range rows {
		if !show[i] {
			skipped.add(r)
			continue
		}
		p.writeSkipped(&skipped)
		day = p.dayChange(day, r.At)
		p.writeRow(r)
	}
	p.writeSkipped(&skipped)
	if n := p.v.EvidenceOmitted; n > 0 {
		text := "1 more line was read"
		if n != 1 {
			text = fmt.Sprintf("%d more lines were read", n)
		}
		kept := "a verdict keeps those that decide and the nearest"
		if p.v.EvidenceRemoved {
			kept = "of a runner that ended well they are kept for a shorter time than the verdict"
		}
		p.printf("      %s\n", p.painted(dim, text+"; "+kept))
	}
}

// tidying is how long after a death the node's lines are about it; after that
// the node tidies up.
const tidying = time.Second

// dayChange prints the date when it changes.
func (p *page) dayChange(before string, at *time.Time) string {
	if at == nil {
		return before
	}
	d := at.UTC().Format("2006-01-02")
	if d != before && before != "" {
		p.printf("      %s\n", p.painted(dim, d))
	}
	return d
}

func (p *page) writeRow(r Row) {
	mark, at := "  ", strings.Repeat(" ", 12)
	if r.Decisive {
		mark = p.painted(red, "»") + " "
	}
	if r.At != nil {
		at = r.At.UTC().Format("15:04:05.000")
	}
	room := p.s.Width - 32
	if r.Decisive {
		room = max(room, hugeLine) // the proof is shown whole
	}
	text := cutTo(r.Brief(), room)
	if r.Of != "" {
		text += p.painted(dim, "  (of "+shortValue(r.Of)+")")
	}
	if r.Times > 1 {
		text += p.painted(dim, fmt.Sprintf("  (%d times", r.Times))
		if !r.Until.IsZero() {
			text += p.painted(dim, " until "+r.Until.UTC().Format("15:04:05"))
		}
		text += p.painted(dim, ")")
	}
	switch {
	case r.Decisive:
		text = p.painted(bold, text)
	case !r.Mine:
		mark, text = "· ", p.painted(dim, text)
	}
	p.printf("    %s%s  %s %s\n", mark, p.painted(dim, at), p.painted(cyan, fmt.Sprintf("%-10s", r.Source)), text)
}

var longID = regexp.MustCompile(`\b([0-9a-f]{12})[0-9a-f]{52}\b`)

// briefLine says what a structured line says without its clockwork: the message
// and its fields, container ids cut short.
func briefLine(l rules.EvidenceLine) string {
	e := ingest.Entry{Source: ingest.Source(l.Source), Text: l.Text}
	msg, list, ok := logtext.Message(&e, nil)
	if !ok || l.Source == string(ingest.Kube) || l.Source == string(ingest.Runner) || l.Source == string(ingest.Job) {
		return longID.ReplaceAllString(l.Text, "$1…")
	}
	fields := list.Map()
	var b strings.Builder
	b.WriteString(msg)
	for _, k := range slices.Sorted(maps.Keys(fields)) {
		outer, _, part := strings.Cut(k, ".")
		if !clockwork[k] && fields[k] != "" && fields[k] != msg && !(part && fields[outer] != "") {
			fmt.Fprintf(&b, " %s=%s", k, cutTo(fields[k], 200))
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
func collapse(lines []rules.EvidenceLine) (rows []Row) {
	for _, l := range lines {
		if n := len(rows); n > 0 && sameLine(rows[n-1].EvidenceLine, l) {
			last := &rows[n-1]
			last.Times++
			if l.At != nil {
				last.Until = *l.At
			}
			continue
		}
		rows = append(rows, Row{EvidenceLine: l, Times: 1})
	}
	return dropRepeated(rows)
}

func sameLine(a, b rules.EvidenceLine) bool {
	return a.Signal == b.Signal && a.Source == b.Source && a.Mine == b.Mine && a.Of == b.Of &&
		!a.Decisive && !b.Decisive &&
		a.Signal != "runner.last-words" &&
		a.Signal != "kube.event"
}

// dropRepeated removes rows whose line is shown already: one line can carry
// several signals.
func dropRepeated(rows []Row) []Row {
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
