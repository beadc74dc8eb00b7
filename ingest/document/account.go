package document

import (
	"strconv"
	"time"

	"coroner/ingest"
	"coroner/ingest/extent"
	"coroner/ingest/logtext"
	"coroner/ingest/prefilter"
)

// maxGaps bounds how many losses one document tells of.
const maxGaps = 1024

type podKey struct{ namespace, pod, uid string }

// account is what the marks at a document's end are made of: how much was read, of
// whom, over which time, and who may have written it. Reading a line in full and
// skipping it both report to it.
type account struct {
	clock      logtext.Clock
	provenance provenance
	lines      int  // that were not blank
	fed        bool // by a Feed, whose caller knows what was covered

	lastSeen extent.PerSource[time.Time] // when each program of a host wrote last

	boots       extent.Boots
	picked      extent.Picked
	guessed     bool // a time's zone was no more than a guess
	blocks      bool // there are lines missing where grep wrote --
	gaps        []ingest.Entry
	runnerFrom  time.Time // of the lines of a runner's _diag file, which names no pod
	runnerTo    time.Time
	runnerLines int
	pods        map[podKey]bool // of kubectl's text
}

// readPartly says why what was read need not be all that the node wrote in the time that it
// seems to span, "" where nothing shows that. A guess at the zone does no harm where the document
// is alone: all times are by one clock.
func (a *account) readPartly(alone bool) string {
	switch by := a.picked.By(); {
	case a.fed || by == "" && !a.blocks && (alone || !a.guessed):
		return ""
	case by == "" && a.blocks:
		return "only blocks of lines were saved, with -- between them as grep has it"
	case by == "":
		return "its times name no zone (--zone says which)"
	case by == extent.Severity:
		return "only lines of some severities were saved"
	default:
		return "only lines with " + strconv.Quote(by) + " were saved"
	}
}

// countEntry takes note of an entry on its way out, and dates it where it is undated.
func (a *account) countEntry(d *draft) {
	e := &d.Entry
	e.After = time.Time{}
	if e.Clock == ingest.LocalClock || e.Clock == ingest.WallClock {
		a.clock.Last = e.At
	} else {
		e.After = a.clock.Last
	}
	a.noteSource(e.Source, e.At)
	switch {
	case a.fed || d.stream != nil || d.wraps&shipped != 0:
	case e.Source == ingest.Runner && d.wraps&hosted == 0:
		a.runnerLines++
		if !e.At.IsZero() {
			a.runnerFrom, a.runnerTo = widenTo(a.runnerFrom, a.runnerTo, e.At)
		}
	case e.Source == ingest.Kube || e.Source == ingest.Job || e.Source == ingest.Runner:
	case e.Source == ingest.Unknown && d.wraps&hosted == 0:
	default:
		a.boots.Saw(e.Node, e.Boot, e.Source, e.Trust, e.At)
		a.guessed = a.guessed || e.Clock == ingest.LocalClock && a.clock.GuessesZone()
		if a.picked.IsOpen(e.Source) { // else its text need not be copied
			a.picked.Saw(e.Source, e.Node, []byte(e.Text))
		}
		if e.Source == ingest.Systemd && e.Text == "Journal stopped" {
			a.boots.CutAfter(e.Node, e.Boot)
		}
	}
}

// isOneLine says whether the document is one line of a program of the node and nothing else:
// somebody picked it out, of whatever text it stood in.
func (a *account) isOneLine() bool {
	return !a.fed && a.lines == 1 && a.boots.Any() && a.provenance.hasAny(claimsHost)
}

// countSkipped takes note of a line of the host that gives no entry, as entry would.
func (a *account) countSkipped(l *prefilter.KnownLine, boot string) {
	a.lines++
	if l.Dated {
		a.clock.Saw(l.At)
	}
	a.clock.Last = l.At
	a.noteSource(l.Source, l.At)
	a.boots.Saw(l.Node, boot, l.Source, a.hostTrust(l.Source, l.Trust), l.At)
	a.guessed = a.guessed || l.Clock == ingest.LocalClock && a.clock.GuessesZone()
	a.picked.Saw(l.Source, l.Node, l.Text)
}

// noteSource notes when a program of the host wrote last.
func (a *account) noteSource(src ingest.Source, at time.Time) {
	if src.Host() && !at.IsZero() {
		*a.lastSeen.ValueOf(src) = at
	}
}

// hostTrust is what a line of src is worth that its envelope makes that trusted.
func (a *account) hostTrust(src ingest.Source, trust ingest.Trust) ingest.Trust {
	switch {
	case src.Host():
		a.provenance.addMore(claimsHost)
		return min(trust, a.provenance.hostTrust())
	case src == ingest.Unknown:
		return ingest.Claimed
	}
	return trust
}

// notePod takes note of a pod that kubectl's text tells of.
func (a *account) notePod(k podKey) {
	if a.pods == nil {
		a.pods = make(map[podKey]bool)
	}
	if k.pod != "" && len(a.pods) < maxStreams {
		a.pods[k] = true
	}
}

// noteGap notes what a program of the host's says of lines that it lost.
func (a *account) noteGap(d *draft, text string) {
	if d.unidentified || len(a.gaps) >= maxGaps {
		return
	}
	end := d.At
	if !end.IsZero() {
		end = end.Add(logtext.LossGoesOn(text))
	}
	for _, src := range logtext.LostBy(d.Source, d.Unit, text) {
		by := d.Unit
		switch d.Source {
		case ingest.Systemd:
			by = "journald"
		case ingest.Kernel:
			by = "the kernel"
		}
		e := ingest.Entry{Source: src, Trust: d.Trust, Cluster: d.Cluster, Node: d.Node, Boot: d.Boot, Line: d.Line}
		e.Mark = &ingest.Mark{Kind: ingest.Gap, From: a.lossBegan(src), To: end,
			Why: by + ": " + logtext.Brief(text, 256)}
		a.gaps = append(a.gaps, e)
	}
}

// lossBegan is the earliest that records of src can have been dropped: after
// its last one, however much others said since.
func (a *account) lossBegan(src ingest.Source) time.Time {
	if at := a.lastSeen.LookUp(src); at != nil {
		return *at
	}
	return a.clock.Last
}
