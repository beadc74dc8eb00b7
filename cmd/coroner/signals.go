package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"coroner/ingest"
	"coroner/rules"
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
	enc, counts := json.NewEncoder(p.out), map[string]int{}
	enc.SetEscapeHTML(false)
	for e := range in.entries {
		if e.Mark != nil {
			continue
		}
		for _, s := range in.book.Scan(&e) {
			counts[s.Def.Name]++
			if !c.Count {
				if err := enc.Encode(newSignalLine(&s)); err != nil {
					return err
				}
			}
		}
	}
	in.clear()
	if c.Count {
		p.counts(counts)
	}
	return report(p, in.bundle)
}

func (p *program) counts(counts map[string]int) {
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(p.out, "%8d %s\n", counts[name], name)
	}
}

func newSignalLine(s *rules.Signal) signalLine {
	l := signalLine{File: s.Doc, Line: s.Line, Signal: s.Def.Name, Source: s.Source, Node: s.Node, Pod: s.Pod, Captures: s.Captures(), Text: s.Text}
	if !s.At.IsZero() {
		l.At = &s.At
	}
	return l
}
