package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/console"
	"coroner/cmd/listforms"
)

type watchCmd struct {
	filterFlags
	Last     int           `help:"${watch_last}" default:"10" placeholder:"N"`
	Interval time.Duration `help:"How often the server is asked." default:"2s"`
	listforms.Pages
	serverFlags
}

// Help is shown by coroner watch --help.
func (watchCmd) Help() string {
	return `Shows verdicts as they come, until Ctrl-C. A verdict that late evidence changed comes
again, with its revision.
Examples:
  coroner watch --verdict host-teardown,node-crash
  coroner watch -o json --last 0 | jq --unbuffered -r '.verdict + " " + .runner'`
}

// Run follows the verdicts of a server.
func (c *watchCmd) Run(p *program) error {
	w, err := c.newWatcher(p)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return w.runUntilDone(ctx)
}

func (c *watchCmd) newWatcher(p *program) (*watcher, error) {
	form, err := c.Form()
	if err != nil {
		return nil, usage("%w", err)
	}
	client, err := c.newClient()
	if err != nil {
		return nil, err
	}
	q, err := c.makeQuery(p.now(), client)
	if err != nil {
		return nil, err
	}
	if c.Last < 0 || c.Last > lookup.FeedPage || c.Interval <= 0 {
		return nil, usage("want --last from 0 to %d, and --interval above zero", lookup.FeedPage)
	}
	return &watcher{
		cmd:    c,
		p:      p,
		form:   form,
		layout: postmortem.Layout{Node: 12, Runner: 36, Width: console.Width(p.out)},
		feed:   lookup.NewFeed(client.Verdicts, q),
	}, nil
}

// watcher shows what comes of a feed.
type watcher struct {
	cmd    *watchCmd
	p      *program
	form   listforms.Form
	layout postmortem.Layout
	feed   *lookup.Feed
	shown  int
	lost   bool // the server did not answer last time
}

// longestPause is between two questions to a server that is away.
const longestPause = 10 * time.Second

func (w *watcher) runUntilDone(ctx context.Context) error {
	found, err := w.feed.Start(ctx, w.cmd.Last)
	if err != nil && ctx.Err() == nil {
		return w.cmd.requestError(err)
	}
	pause := w.cmd.Interval
	for {
		if err := w.showAll(found); err != nil {
			return err
		}
		if !waitFor(ctx, pause) {
			return nil
		}
		found, err = w.feed.Next(ctx)
		pause = w.noteAnswer(ctx, err, pause)
	}
}

// waitFor waits; false says that it is over.
func waitFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// noteAnswer says on standard error when the server goes away and comes back, and returns how
// long to wait.
func (w *watcher) noteAnswer(ctx context.Context, err error, pause time.Duration) time.Duration {
	switch {
	case ctx.Err() != nil || err == nil && !w.lost:
		return w.cmd.Interval
	case err == nil:
		w.lost = false
		fmt.Fprintf(w.p.err, "coroner: server %s is back\n", w.cmd.shownAddress())
		return w.cmd.Interval
	case !w.lost:
		w.lost = true
		fmt.Fprintf(w.p.err, "coroner: %v; trying again until Ctrl-C\n", w.cmd.requestError(err))
	}
	return min(2*pause, max(longestPause, w.cmd.Interval))
}

// showAll writes verdicts, each with one write, so that a reader of a pipe has it
// at once.
func (w *watcher) showAll(all []lookup.Recorded) error {
	for i := range all {
		if err := w.writeOne(all[i : i+1]); err != nil {
			return err
		}
		w.shown++
	}
	return nil
}

func (w *watcher) writeOne(v []lookup.Recorded) error {
	switch {
	case !w.form.ForPeople():
		return w.form.Write(w.p.out, recordedItems(v))
	case w.form.Name == listforms.Markdown:
		if w.shown > 0 {
			fmt.Fprint(w.p.out, "\n---\n\n")
		}
		return postmortem.Markdown(w.p.out, &v[0].Verdict)
	}
	if w.shown == 0 && w.cmd.Cluster == "" && v[0].Cluster != "" {
		w.layout.Cluster = 12 // others may come
	}
	line := w.layout.Line(&v[0].Verdict) + "\n"
	if w.shown == 0 {
		line = w.layout.Head() + "\n" + line
	}
	_, err := fmt.Fprint(w.p.out, line)
	return err
}
