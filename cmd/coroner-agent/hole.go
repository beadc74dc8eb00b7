package main

import (
	"sync"
	"time"

	"coroner/ingest"
	"coroner/ingest/spool"
)

// lapse is a time; without To it is none.
type lapse struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// hole is the time of the evidence that the spool lost and that nobody was told of.
// It is stored with the positions: what is lost must not look like silence to who
// comes after a crash or a stop.
type hole struct {
	mu sync.Mutex
	lapse
}

// add makes the hole span l as well.
func (h *hole) add(l lapse) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if l.To.IsZero() {
		return
	}
	if h.To.IsZero() || l.From.Before(h.From) {
		h.From = l.From
	}
	if l.To.After(h.To) {
		h.To = l.To
	}
}

// seen is the hole as it is.
func (h *hole) seen() lapse {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lapse
}

// take is the hole, which is told of then.
func (h *hole) take() lapse {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := h.lapse
	h.lapse = lapse{}
	return l
}

// lapseOf is what is not known when the entries are lost: when the first and the
// last of them are from, and all that a gap among them told of.
func lapseOf(entries []ingest.Entry) (l lapse) {
	for i := range entries {
		from, to := entries[i].At, entries[i].At
		if m := entries[i].Mark; m != nil && m.Kind == ingest.Gap && !m.From.IsZero() {
			from = m.From
		}
		if to.IsZero() {
			continue
		}
		if l.To.IsZero() || from.Before(l.From) {
			l.From = from
		}
		if to.After(l.To) {
			l.To = to
		}
	}
	return l
}

// lost is told by the spool of what had to go. Lost evidence is a gap in
// everything that the node said then. What it notes goes out with the next marks,
// for a file more now would cost another.
func (a *agent) lost(i spool.Item) {
	a.metrics.dropped.WithLabelValues("spool", "spool-full-"+string(i.Class)).Add(float64(i.Entries))
	a.log.Error().Str("class", string(i.Class)).Int("entries", i.Entries).Msg("the spool is full; the oldest file went")
	if i.Class == spool.Evidence {
		a.hole.add(lapse{i.From, i.To})
	}
}

// gaps adds what the spool lost since the last time as one gap of each source.
func (a *agent) gaps() {
	l := a.hole.take()
	if l.To.IsZero() {
		return
	}
	for _, source := range []ingest.Source{ingest.Kernel, ingest.Kubelet, ingest.Containerd, ingest.Kata, ingest.Systemd} {
		a.evidence = append(a.evidence, ingest.Entry{Node: a.c.Node, At: l.To, Clock: ingest.WallClock, Source: source, Trust: ingest.Attested,
			Mark: &ingest.Mark{Kind: ingest.Gap, From: l.From, To: l.To, Why: "the agent's spool was full: the server was away for too long"}})
	}
}
