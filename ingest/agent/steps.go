package agent

import (
	"context"

	"coroner/ingest"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
)

// Steps are what Run does over and over, one at a time, for who decides himself what
// happens when: a simulator. They are not for an agent that runs.
type Steps struct{ agent *Agent }

// Steps returns the steps of an agent.
func (a *Agent) Steps() Steps { return Steps{a} }

// Stored is from where the journal and the pods' logs are to be read on after a restart.
func (s Steps) Stored() (cursor string, logs []podlog.Position) {
	return s.agent.state.Cursor, s.agent.state.Pods
}

// TakeJournal takes what was read of the journal.
func (s Steps) TakeJournal(b journal.Batch) error { return s.agent.takeJournal(b) }

// TakePods takes what was read of the pods' logs.
func (s Steps) TakePods(b podlog.Batch) error { return s.agent.takePods(b) }

// FetchRulebook asks the server for its rulebook.
func (s Steps) FetchRulebook(ctx context.Context) error { return s.agent.rulebook.fetchNew(ctx) }

// MustReadAgain says whether the rulebook changed and the look-back is still to be read with it.
func (s Steps) MustReadAgain() bool { return len(s.agent.rulebook.changed) > 0 }

// ReadAgain takes the look-back, read with the rulebook that changed.
func (s Steps) ReadAgain(lookBack []ingest.Entry) error {
	b := <-s.agent.rulebook.changed
	s.agent.mu.Lock()
	s.agent.scanEntries("rescan", lookBack, len(lookBack), 0)
	s.agent.mu.Unlock()
	return s.agent.readAgain(b)
}

// Flush spools what waits; last also stores the positions, as at the end of a run. Where the disk
// does not take it, that is not waited for.
func (s Steps) Flush(last bool) {
	once, stop := context.WithCancel(context.Background())
	stop()
	s.agent.flushOnce(once, last)
}

// Send tries to send the oldest item of the spool; some is false where there is none.
func (s Steps) Send(ctx context.Context) (some bool) {
	some, _ = s.agent.delivery.sendNext(ctx, 0)
	return some
}
