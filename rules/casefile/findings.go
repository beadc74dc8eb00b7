package casefile

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"
)

// Findings are what is derived from a case before any rule looks at it.
type Findings struct {
	Exit    ExitRecord
	Died    time.Time
	Ended   bool
	Proven  bool // that it ended: a trusted record says so
	Covered map[ingest.Source]bool
	Fills   map[string]string

	ClaimedJob bool // what is known of its job is the runner's own word
}

// ExitRecord is the best account of how the runner's container ended.
type ExitRecord struct {
	Known     bool
	Code      int
	Reason    string
	Signal    int
	Message   string
	Container string
	ID        string // of the container, "" when no record has it
	Source    ingest.Source
	Proven    bool
	Synthetic bool    // made up by the kubelet, not observed
	Restarted bool    // the container runs again: this is its last termination
	Ran       float64 // seconds it ran; -1 when unknown
	at        time.Time
	finished  time.Time
}

// Examine derives the findings of a case.
func Examine(c *Case) Findings {
	f := Findings{}
	f.Exit = c.exitRecord()
	f.Died, f.Ended = c.timeOfDeath(f.Exit)
	f.Proven = f.Exit.Proven ||
		!f.Exit.Known && slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Proven && c.endsRunner(&e) })
	if c.Log.Last.Sub(f.Died) > spokeOn && !f.Died.IsZero() && !(c.Log.OwnTimes && allProven(c)) {
		f.Proven = false // the runner spoke on: it is another container's end, or a clock is wrong
	}
	f.Covered = map[ingest.Source]bool{}
	for _, s := range ingest.Sources {
		f.Covered[s] = c.Covers(s, f.Died)
	}
	disownLater(c.Evidence, f.Died)
	f.Fills, f.ClaimedJob = whatLinesFill(c.Evidence)
	return f
}

// disownLater takes from the runner what is said of a thing that began after its death: names
// come again, and the next of the name has a job of its own. A record says so by its capture
// began.
func disownLater(evidence []Evidence, died time.Time) {
	for i := range evidence {
		e := &evidence[i]
		if began, ok := e.Value("began").(time.Time); ok && !died.IsZero() && began.After(died.Add(clockSlack)) {
			e.Mine = false
		}
	}
}

// clockSlack is how far GitHub's clock and a node's are apart at most.
const clockSlack = 30 * time.Second

// allProven says whether the case is looked at without what is only claimed. Then a time that
// a job can have printed does not count either.
func allProven(c *Case) bool {
	return !slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return !e.Proven })
}

// whatLinesFill is what the lines say that a verdict names: of what several say, the
// last word of those who can be trusted most. What the runner's output says of
// its job counts only where nobody else tells of the job.
func whatLinesFill(evidence []Evidence) (fills map[string]string, claimed bool) {
	fills, ranks := map[string]string{}, map[string]int{}
	told := 0 // how far those can be trusted who name the job
	for i := range evidence {
		e := &evidence[i]
		for target, capture := range e.Def.Fills {
			if v := e.Str(capture); e.Mine && v != "" && e.trustRank() >= ranks[target] {
				fills[target], ranks[target] = v, e.trustRank()
				if identifiesJob(target) {
					told = max(told, e.trustRank())
				}
			}
		}
	}
	for target := range fills {
		if identifiesJob(target) && ranks[target] < told && ranks[target] == 0 {
			delete(fills, target)
		}
	}
	fills["pool"] = ingest.PoolName(fills["pool"])
	return fills, told == 0 && (fills["job.id"] != "" || fills["job.run_id"] != "")
}

// identifiesJob says whether a verdict's field says which job it was.
func identifiesJob(target string) bool {
	return strings.HasPrefix(target, "job.") && target != "job.step"
}

// trustRank is how far a line's word counts: 0 for what the job itself can print.
func (e *Evidence) trustRank() int {
	switch {
	case e.Source.Forgeable() || e.Unsigned:
		return 0
	case e.Proven:
		return 2
	}
	return 1
}

// At gives the findings with a time for a death whose end was not seen.
func (f Findings) At(c *Case, died time.Time) Findings {
	f.Died, f.Covered = died, map[ingest.Source]bool{}
	for _, s := range ingest.Sources {
		f.Covered[s] = c.Covers(s, died)
	}
	return f
}

// exitRank orders sources of exit records: who observed it best comes first.
var exitRank = map[ingest.Source]int{
	ingest.Kube: 1, ingest.Controller: 2, ingest.Containerd: 3, ingest.Kubelet: 4, ingest.Runner: 5,
}

func (c *Case) exitRecord() ExitRecord {
	var all []ExitRecord
	for i := range c.Evidence {
		if e := &c.Evidence[i]; e.Mine && e.Def.Exit && e.Value("exit_code") != signal.NoCode && c.isRunners(e) {
			all = append(all, newExitRecord(c, e))
		}
	}
	if len(all) == 0 {
		return ExitRecord{Ran: -1}
	}
	oneEnd(all)
	return mergeExits(lastExits(all))
}

// oneEnd gives all records of one container's end the same time: a container
// ends once, and whoever speaks of it later - a kubelet that starts again and
// finds what is long over, a controller - has only heard of it.
func oneEnd(all []ExitRecord) {
	ends := map[string]ExitRecord{} // container id -> its end, as those say whose word counts most
	for _, r := range all {
		known, ok := ends[r.ID]
		switch {
		case r.ID == "" || r.at.IsZero() || r.Synthetic || ok && known.Proven && !r.Proven:
		case !ok || r.Proven && !known.Proven:
			ends[r.ID] = r
		default:
			known.at, known.finished = endOfTwo(known, r)
			ends[r.ID] = known
		}
	}
	for i := range all {
		if end, ok := ends[all[i].ID]; ok {
			all[i].at, all[i].finished = end.at, end.finished
		} else if all[i].ID == "" && isSecondHand(all[i].Source) {
			all[i].at = lastBefore(ends, all[i])
		}
	}
}

// lastBefore is when the last container ended with a record's code before the
// record was written, else the record's own time.
func lastBefore(ends map[string]ExitRecord, r ExitRecord) (at time.Time) {
	for _, end := range ends {
		if end.Code == r.Code && !end.at.After(r.at) && end.at.After(at) {
			at = end.at
		}
	}
	if at.IsZero() {
		return r.at
	}
	return at
}

func newExitRecord(c *Case, e *Evidence) ExitRecord {
	num := func(name string) int { n, _ := e.Value(name).(int); return n }
	when := func(name string) time.Time { t, _ := e.Value(name).(time.Time); return t }
	r := ExitRecord{
		Known: true, Code: num("exit_code"), Reason: e.Str("reason"), Signal: num("signal"),
		Message: e.Str("message"), Container: c.ContainerOf(e), ID: ContainerID(e), Source: e.Source,
		Proven: e.Proven && (c.ContainerOf(e) != "" || len(c.Containers) < 2), // whose exit it is must be known
		at:     e.At, finished: when("finished_at"), Ran: -1,
	}
	r.Synthetic = r.Reason == "ContainerStatusUnknown"
	r.Restarted = e.Str("which") == "lastState"
	if start := when("started_at"); !start.IsZero() && !r.finished.IsZero() {
		r.Ran = r.finished.Sub(start).Seconds()
	}
	if !r.finished.IsZero() {
		r.at = r.finished
	}
	return r
}

// lastExits keeps the records of the last termination: those within ten
// seconds of the latest, or without a time.
func lastExits(all []ExitRecord) []ExitRecord {
	var last time.Time
	for _, r := range all {
		if r.at.After(last) {
			last = r.at
		}
	}
	return slices.DeleteFunc(all, func(r ExitRecord) bool {
		return !r.at.IsZero() && last.Sub(r.at) > 10*time.Second
	})
}

// mergeExits takes the best witness and fills what it left out from the
// others. Records made up by the kubelet lose against observed ones.
func mergeExits(all []ExitRecord) ExitRecord {
	slices.SortStableFunc(all, func(a, b ExitRecord) int {
		return cmp.Or(boolCompare(a.Synthetic, b.Synthetic), boolCompare(a.Restarted, b.Restarted),
			cmp.Compare(exitRank[a.Source], exitRank[b.Source]))
	})
	best := all[0]
	for _, r := range all[1:] {
		if r.Code != best.Code {
			continue
		}
		best.Reason = cmp.Or(best.Reason, r.Reason)
		best.Message = cmp.Or(best.Message, r.Message)
		best.Signal = cmp.Or(best.Signal, r.Signal)
		best.ID = cmp.Or(best.ID, r.ID)
		best.Proven = best.Proven || r.Proven
		best.Ran = max(best.Ran, r.Ran)
		best.at, best.finished = endOfTwo(best, r)
	}
	return best
}

// endOfTwo is when two records of one end say that it was: as the runtime wrote
// it, else when the first of them heard of it.
func endOfTwo(a, b ExitRecord) (at, finished time.Time) {
	switch {
	case !a.finished.IsZero():
		return a.at, a.finished
	case !b.finished.IsZero():
		return b.at, b.finished
	case a.at.IsZero() || !b.at.IsZero() && b.at.Before(a.at):
		return b.at, a.finished
	}
	return a.at, a.finished
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// longQuiet is how long after the pod's last line the end of its node is when it died, and not that line.
const longQuiet = 5 * time.Minute

// timeOfDeath is when the runner ended, and whether it did. What the runner and its job printed
// tells when only where nobody else saw it.
func (c *Case) timeOfDeath(exit ExitRecord) (time.Time, bool) {
	if exit.Known && !exit.at.IsZero() {
		return sharpenTime(c.Evidence, exit.at), true
	}
	var printed, last time.Time
	ended := false
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if e.Mine && !e.At.IsZero() {
			last = e.At
		}
		if !c.endsRunner(e) {
			continue
		}
		if !e.Source.Forgeable() {
			if !e.Mine && e.At.Sub(last) > longQuiet {
				last = lastHeard(c.Evidence[:i+1], e.At.Add(-downFor))
			}
			return last, true
		}
		if !ended {
			printed, ended = last, true
		}
	}
	return printed, ended || exit.Known
}

// lastHeard is when a node was heard of for the last time before what the last of some lines tells of it, or when it is
// told if it was not heard of since a time.
func lastHeard(lines []Evidence, since time.Time) time.Time {
	told := len(lines) - 1
	for i := told - 1; i >= 0; i-- {
		if e := &lines[i]; e.Proven && e.Source.Host() && e.At.After(since) && e.At.Before(lines[told].At) {
			return e.At
		}
	}
	return lines[told].At
}

// sharpenTime finds the moment within the second that an exit record names: the
// API cuts its times to seconds, containerd and the kubelet do not.
func sharpenTime(evidence []Evidence, at time.Time) time.Time {
	if at.Nanosecond() != 0 {
		return at
	}
	for _, source := range []ingest.Source{ingest.Containerd, ingest.Kubelet} {
		for _, e := range evidence {
			if e.Mine && e.Proven && e.Source == source && (e.Def.Exit || e.Def.Ends) && !e.At.Before(at) &&
				e.At.Sub(at) < time.Second {
				return e.At
			}
		}
	}
	return at
}

// endsRunner says whether the runner was over when a line was written.
func (c *Case) endsRunner(e *Evidence) bool {
	switch {
	case !e.Def.Ends:
		return false
	case e.Mine:
		return c.isRunners(e)
	}
	return c.endsWithNode(e)
}

// endsWithNode says whether an event of the node ended the pod with it: it
// came after the pod was there. A claim cannot end a pod that trusted records
// know.
func (c *Case) endsWithNode(e *Evidence) bool {
	start := c.podStart()
	return e.Def.Reach.Has(signal.ReachNode) && !start.IsZero() && e.At.After(start) && isNewBoot(c.Evidence, e) &&
		(e.Proven || !c.workedOutLife().proven) && !(e.Source == ingest.Agent && heardAgain(c.Evidence, e))
}

// heardAgain says whether an agent was heard of after a line that says that it is silent.
func heardAgain(evidence []Evidence, silent *Evidence) bool {
	return slices.ContainsFunc(evidence, func(e Evidence) bool {
		return e.Source == ingest.Agent && e.Def.Reach.Has(signal.ReachNode) && !e.Def.Ends && e.At.After(silent.At)
	})
}

// isNewBoot says whether a line is of a boot that no line before it is of.
func isNewBoot(evidence []Evidence, e *Evidence) bool {
	return e.Boot == "" ||
		!slices.ContainsFunc(
			evidence,
			func(b Evidence) bool { return b.Boot == e.Boot && b.At.Before(e.At) && !e.At.IsZero() },
		)
}

// podStart is the first record of a start of the pod or of a container of it;
// zero if none was read. That something was heard of the pod is no start.
func (c *Case) podStart() time.Time { return c.workedOutLife().started }
