package document

import "coroner/ingest"

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
