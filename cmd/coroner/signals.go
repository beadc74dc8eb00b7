package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"coroner/cmd/parallel"
	"coroner/ingest"
	"coroner/rules/signal"
)

type signalsCmd struct {
	Count bool `help:"Only count how often each signal was seen."`
	inputFlags
}

// signalLine is one recognised line. Part of the contract: fields are added,
// never renamed.
type signalLine struct {
	File     string         `json:"file"`
	Line     int            `json:"line"`
	At       *time.Time     `json:"at"`
	Signal   string         `json:"signal"`
	Source   ingest.Source  `json:"source"`
	Node     string         `json:"node,omitempty"`
	Pod      string         `json:"pod,omitempty"`
	Captures map[string]any `json:"captures"`
	Text     string         `json:"text"`
}

// Run prints the signals of the input in the order of the input.
func (c *signalsCmd) Run(p *program) error {
	in, err := c.start(p)
	if err != nil {
		return err
	}
	defer in.bundle.Close()
	l := &listing{reading: in, count: c.Count, counts: map[string]int{}, output: parallel.NewOutput(p.out)}
	in.parts(l.part)
	in.clear()
	if c.Count {
		p.counts(l.counts)
	}
	return errors.Join(l.output.Err(), in.report(p))
}

// listing is what is printed of the signals.
type listing struct {
	*reading
	count  bool // only how many there are
	output *parallel.Output

	mu     sync.Mutex
	counts map[string]int
}

// part lists the signals of one file.
func (l *listing) part(i int, entries iter.Seq[ingest.Entry]) {
	out, counts := l.output.Place(i), map[string]int{}
	defer out.Close()
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for e := range entries {
		if e.Mark != nil {
			continue
		}
		found, short := l.book.ScanWithin(&e)
		if short {
			l.short.Add(1)
		}
		for _, s := range found {
			counts[s.Def.Name]++
			if !l.count && enc.Encode(newSignalLine(&s)) != nil {
				return // the output knows why
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, n := range counts {
		l.counts[name] += n
	}
}

func (p *program) counts(counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(p.out, "%8d %s\n", counts[name], name)
	}
}

func newSignalLine(s *signal.Signal) signalLine {
	l := signalLine{
		File:     s.Doc,
		Line:     s.Line,
		Signal:   s.Def.Name,
		Source:   s.Source,
		Node:     s.Node,
		Pod:      s.Pod,
		Captures: s.Captures(),
		Text:     s.Text,
	}
	if !s.At.IsZero() {
		l.At = &s.At
	}
	return l
}
