package agent

import (
	"slices"
	"time"

	"coroner/ingest"
)

// marks is what the readers said of their reading and was not sent yet.
type marks struct {
	node    string
	covered map[string]ingest.Entry // the latest span of each source and boot
	beats   map[string]ingest.Entry // and of each runner's log
	reached map[string]time.Time    // by source
	sent    time.Time               // the Reached mark that was spooled last
}

func newMarks(node string) marks {
	return marks{
		node: node, covered: make(map[string]ingest.Entry), beats: make(map[string]ingest.Entry),
		reached: make(map[string]time.Time),
	}
}

// addCovered takes what is covered of a source of the journal.
func (m *marks) addCovered(e ingest.Entry) {
	m.covered[string(e.Source)+" "+e.Boot+" "+e.Mark.From.String()] = e
}

// addHeartbeat takes what is covered of a runner's log.
func (m *marks) addHeartbeat(e ingest.Entry) { m.beats[e.Doc+" "+e.Mark.From.String()] = e }

// moveTo moves everything to the queue, and adds how far all sources were read.
func (m *marks) moveTo(q *queue) {
	for key, e := range m.covered {
		q.evidence = append(q.evidence, e)
		delete(m.covered, key)
	}
	for key, e := range m.beats {
		q.context = append(q.context, e)
		delete(m.beats, key)
	}
	reached := m.reached[fromJournal]
	if p := m.reached[fromPods]; p.Before(reached) {
		reached = p
	}
	if reached.After(m.sent) {
		m.sent = reached
		q.evidence = append(
			q.evidence,
			m.newMark(ingest.Agent, reached, ingest.Mark{Kind: ingest.Reached, To: reached}),
		)
	}
}

// gaps are what the spool lost, as one gap of each source. Those of runners and jobs name no
// pod: they are about every pod of the node.
func (a *Agent) gaps(lost timeRange) (out []ingest.Entry) {
	const why = "the agent's spool was full: the server was away for too long"
	all := slices.Clone(lost.Tellers)
	for _, source := range []ingest.Source{
		ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Kata, ingest.Systemd, ingest.Runner, ingest.Job,
	} {
		all = append(all, teller{Source: source})
	}
	for _, t := range all {
		gap := ingest.Mark{Kind: ingest.Gap, From: lost.From, To: lost.To, Why: why}
		e := a.marks.newMark(t.Source, lost.To, gap)
		e.Cluster, e.Namespace, e.Pod = a.c.Cluster, t.Namespace, t.Pod
		out = append(out, e)
	}
	return out
}

func (m *marks) newMark(source ingest.Source, at time.Time, mark ingest.Mark) ingest.Entry {
	return ingest.Entry{
		Node:   m.node,
		At:     at,
		Clock:  ingest.WallClock,
		Source: source,
		Trust:  ingest.Attested,
		Mark:   &mark,
	}
}
