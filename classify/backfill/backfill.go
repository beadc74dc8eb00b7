// Package backfill reads from a Loki what can bear on the death of one runner, or of
// every runner that died in a span of time.
//
// Invariant: one runner is looked for in its own output, in the controller's lines, and
// in the whole journal of every node that those lines name around its life, so that the
// coverage of the node is known. It only reads.
//
// Crash behaviour: it keeps no state.
package backfill

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/loki"
)

// Streams are where a Loki has what: selectors, and the labels in them.
type Streams struct {
	Pods       string // streams of runner pods
	PodLabel   string // the label with the pod's name
	Journal    string // streams of the nodes' journals
	NodeLabel  string // the label with the node's name
	Controller string // streams of the controller and its listeners
}

// Source reads what a Loki has between From and To. Its fields are set before the
// first entry is read; it is used once, by one goroutine.
type Source struct {
	Client   *loki.Client
	Streams  Streams
	From, To time.Time
	Progress func(lines int) // called now and then; may be nil

	err   error
	lines int
}

// Err is why not everything was read, nil if it was.
func (s *Source) Err() error { return s.err }

// Lines is how many lines were read.
func (s *Source) Lines() int { return s.lines }

// Runner yields what can bear on one runner: its own output, the controller's
// lines about it, and the whole journal of its node around its life.
func (s *Source) Runner(ctx context.Context, name string) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		short := name[strings.LastIndexByte(name, '/')+1:]
		pod := s.Streams.PodLabel + "=~" + strconv.Quote(quoteMeta(short)+".*")
		own := slices.Collect(s.queryLoki(ctx, withMatcher(s.Streams.Pods, pod), s.From, s.To))
		if len(own) == 0 { // Grafana's k8s-monitoring names the pod in each line's metadata, which no selector finds
			own = slices.Collect(s.queryLoki(ctx, s.Streams.Pods+" | "+pod, s.From, s.To))
		}
		for _, q := range []string{
			s.Streams.Controller + " |= " + strconv.Quote(short),
			s.Streams.Journal + " |= " + strconv.Quote(short),
		} {
			own = slices.AppendSeq(own, s.queryLoki(ctx, q, s.From, s.To))
		}
		for i := range own {
			if !yield(own[i]) {
				return
			}
		}
		s.journals(ctx, own, yield)
	}
}

// journals yields the journals of the nodes that own lines came from.
func (s *Source) journals(ctx context.Context, own []ingest.Entry, yield func(ingest.Entry) bool) {
	var first, last time.Time
	var nodes []string
	for _, e := range own {
		if !e.At.IsZero() && (first.IsZero() || e.At.Before(first)) {
			first = e.At
		}
		if e.At.After(last) {
			last = e.At
		}
		if e.Node != "" && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	from, to := classify.Window(first, last)
	for _, node := range nodes {
		q := withMatcher(s.Streams.Journal, s.Streams.NodeLabel+"=~"+strconv.Quote(quoteMeta(node)+"(:[0-9]+)?"))
		for e := range s.queryLoki(ctx, q, from, to) {
			if !yield(e) {
				return
			}
		}
	}
}

// All yields everything of the time.
func (s *Source) All(ctx context.Context) iter.Seq[ingest.Entry] {
	return func(yield func(ingest.Entry) bool) {
		for _, q := range []string{s.Streams.Controller, s.Streams.Journal, s.Streams.Pods} {
			for e := range s.queryLoki(ctx, q, s.From, s.To) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func (s *Source) queryLoki(ctx context.Context, q string, from, to time.Time) iter.Seq[ingest.Entry] {
	lines := func(yield func(loki.Line, error) bool) {
		for l, err := range s.Client.Lines(ctx, q, from, to) {
			if s.lines++; s.Progress != nil && s.lines%1000 == 0 {
				s.Progress(s.lines)
			}
			if !yield(l, err) {
				return
			}
		}
	}
	return loki.Entries(lines, func(err error) { s.err = errors.Join(s.err, err) })
}

// withMatcher adds a matcher to a stream selector.
func withMatcher(selector, matcher string) string {
	head, ok := strings.CutSuffix(strings.TrimSpace(selector), "}")
	if !ok {
		return selector
	}
	if strings.TrimSpace(strings.TrimPrefix(head, "{")) != "" {
		head += ", "
	}
	return head + matcher + "}"
}

// quoteMeta takes the meaning from what a name can hold that a regular
// expression would read.
func quoteMeta(s string) string { return strings.ReplaceAll(s, ".", `\.`) }
