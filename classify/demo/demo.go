// Package demo tells a live server the incidents that coroner ships with, as deaths of
// the last 24 hours.
//
// Invariant: each run tells the same, whenever it runs: the same runners in the same
// order, each with the verdict that its incident names.
//
// Crash behaviour: it keeps no state.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/rules"
)

// Player sends stories to a server, as the agents of their nodes would.
type Player struct {
	Ledger  *ledger.Ledger // the server's
	Book    *rules.Rulebook
	Sender  *push.Sender
	Receive func(context.Context, []ingest.Entry) error // for what the server itself would read
	Out     io.Writer                                   // gets lines of progress
	Now     func() time.Time
	Told    func() // called when everything was sent
}

// step is how many stories are between two lines of progress.
const step = 20

// Play sends all stories and waits until every one has its verdict. It returns how many
// there are.
func (p *Player) Play(ctx context.Context) (sent int, err error) {
	all, err := storiesBefore(p.Book, p.Now())
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(p.Out, "%d runners died; what their nodes and controllers wrote goes to a server on this machine\n",
		len(all))
	for i, s := range all {
		if err := p.sendStory(ctx, s); err != nil && ctx.Err() == nil {
			return i, fmt.Errorf("sending the incident %s: %w", s.name, err)
		}
		if ctx.Err() != nil {
			return i, nil
		}
		if (i+1)%step == 0 || i+1 == len(all) {
			fmt.Fprintf(p.Out, "sent %d of %d\n", i+1, len(all))
		}
	}
	p.Told()
	return len(all), p.waitJudged(ctx)
}

// waitJudged waits until no case is pending any more, of a runner, a pool or a job.
func (p *Player) waitJudged(ctx context.Context) error {
	fmt.Fprintln(p.Out, "waiting for the last verdicts")
	poll := time.NewTicker(200 * time.Millisecond)
	defer poll.Stop()
	for ctx.Err() == nil {
		soon := p.Now().Add(time.Hour)
		pending, err := p.Ledger.Pending(ctx, soon, 0)
		standing, err2 := p.Ledger.Standing(ctx, soon)
		if err = errors.Join(err, err2); err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && len(pending)+len(standing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		}
	}
	return nil
}

// sendStory pushes one story as the agents of its nodes would: first what they read and
// that the runner's log ended, then how far they have read, so that the case is
// judged once. The rest, such as what the API server says, the server gets as if
// it had heard it itself.
func (p *Player) sendStory(ctx context.Context, s story) error {
	of, nodes := map[string][]ingest.Entry{}, []string{}
	var own []ingest.Entry // what no agent reads, or nobody says of which node
	for _, e := range s.entries {
		if e.Node == "" || (push.Identity{Node: e.Node, Agent: true}).May(&e) != nil {
			own = append(own, e)
			continue
		}
		of[e.Node] = append(of[e.Node], e)
	}
	for _, e := range s.entries {
		if e.Node != "" && !slices.Contains(nodes, e.Node) {
			nodes = append(nodes, e.Node)
		}
	}
	slices.Sort(nodes)
	err := p.Receive(ctx, own)
	for _, node := range nodes {
		if len(of[node]) > 0 {
			err = errors.Join(err, p.pushAs(ctx, node, of[node]))
		}
	}
	now := p.Now()
	for _, node := range nodes {
		read := ingest.Entry{
			Node:   node,
			At:     now,
			Clock:  ingest.WallClock,
			Source: ingest.Agent,
			Mark:   &ingest.Mark{Kind: ingest.Reached, To: now},
		}
		err = errors.Join(err, p.pushAs(ctx, node, []ingest.Entry{read}))
	}
	return err
}

// pushAs sends entries as a node's agent.
func (p *Player) pushAs(ctx context.Context, node string, entries []ingest.Entry) error {
	body, err := push.Encode(entries)
	if err != nil {
		return err
	}
	p.Sender.Node = node
	return p.Sender.Post(ctx, body)
}
