package document

import "coroner/ingest"

// provenance is what a document held that makes its claims worth less, text that
// a job can print beside records that only look like somebody else's, and which
// claims it made.
type provenance uint8

const (
	printedByJob  provenance = 1 << iota // lines that only a runner or a job prints, outside any envelope
	ofNobody                             // lines of nobody
	prefixed                             // lines that a prefix gives to one of several containers
	claimsHost                           // a program of the node, or the API server in its audit log
	claimsProgram                        // a controller or a listener
	claimsKube                           // kubectl's text
	markup                               // what people put around what they hand on
)

func (p *provenance) addMore(more provenance) { *p |= more }

// hasAny says whether the document held any of these.
func (p provenance) hasAny(any provenance) bool { return p&any != 0 }

// hostTrust is what a host's line is worth so far: such text is attested only
// in a document that is nothing else.
func (p provenance) hostTrust() ingest.Trust {
	if p.hasAny(printedByJob | ofNobody) {
		return ingest.Claimed
	}
	return ingest.Attested
}

// programTrust: the logs of controllers and kubectl's tables have lines of
// every shape; only a runner's among them spoil them.
func (p provenance) programTrust() ingest.Trust {
	if p.hasAny(printedByJob) {
		return ingest.Claimed
	}
	return ingest.Attested
}

// nameTrust: a log that is a controller's by its name or prefixes is that as long as nobody handed it on.
func (r *reader) nameTrust() ingest.Trust {
	if r.doc.Pasted || r.account.provenance.hasAny(markup) {
		return ingest.Claimed
	}
	return r.account.provenance.programTrust()
}

func (p provenance) isMixed() bool {
	return p.hasAny(claimsHost) && p.hasAny(printedByJob|ofNobody) || p.hasAny(claimsProgram) && p.hasAny(markup) ||
		p.hasAny(claimsProgram|claimsKube) && p.hasAny(printedByJob) ||
		p.hasAny(claimsProgram) && p.hasAny(prefixed) && p.hasAny(ofNobody) // a job can print a prefix too
}

// contents is what the document seems to be, by its name and the lines that were
// read so far.
type contents struct {
	program ingest.Source // whose log the whole document is, by its name
	proven  bool          // a line of it had the form of a program's log
	runners int           // lines that only a runner prints
	begun   bool          // the first lines of a runner's output were among them
	jobs    int           // lines that only a job's log has
}

// isRunnerLog says whether what was read so far, that many lines, is a runner's log.
func (c *contents) isRunnerLog(lines int) bool { return c.runners >= 5 && c.runners*2 > lines }

// isJobLog says whether what was read so far is a job's log: what else it shows
// was printed by the job.
func (c *contents) isJobLog() bool { return c.jobs >= 5 }
