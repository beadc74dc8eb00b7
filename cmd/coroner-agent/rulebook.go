package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"coroner/cmd/daemon"
	"coroner/ingest/journal"
	"coroner/ingest/podlog"
	"coroner/ingest/push"
	"coroner/rules"
	"coroner/rules/book"
)

// sender makes the client's end of the push protocol from the flags.
func (c *cli) sender() (*push.Sender, error) {
	transport, err := push.TLS{CA: c.CA, Cert: c.Cert, Key: c.Key, Name: c.Name}.Transport()
	if err != nil {
		return nil, fmt.Errorf("--server.ca-file, --server.cert-file, --server.key-file: %w", err)
	}
	return &push.Sender{URL: strings.TrimRight(c.Server, "/") + push.Path, Node: c.Node, Cluster: c.Cluster,
		Token: daemon.Token(c.Token), Client: &http.Client{Transport: transport, Timeout: 30 * time.Second}}, nil
}

// firstBook is the rulebook that was fetched last, else the built-in one.
func (a *agent) firstBook() (*rules.Rulebook, error) {
	var source string
	if ok, err := a.spool.LoadState("rulebook", &source); ok && err == nil {
		if b, err := parseBook([]byte(source)); err == nil {
			return b, nil
		}
	}
	return rules.LoadSignals(fs.FS(book.Files))
}

// parseBook compiles what a server gave. One that is older than this agent knows no
// secrets: then those of the built-in rulebook are taken out.
func parseBook(source []byte) (*rules.Rulebook, error) {
	layers, err := rules.Layers(source)
	if err != nil {
		return nil, err
	}
	b, err := rules.LoadSignals(layers...)
	if err != nil || len(b.Secrets) > 0 {
		return b, err
	}
	own, err := rules.LoadSignals(fs.FS(book.Files))
	if err != nil {
		return nil, err
	}
	return b.WithSecretsOf(own), nil
}

// rulebooks asks the server for its rulebook from time to time.
func (a *agent) rulebooks(ctx context.Context) error {
	for {
		if err := a.fetch(ctx); err != nil && ctx.Err() == nil {
			a.metrics.bookErrors.Inc()
			a.log.Warn().Err(err).Str("rulebook", a.book.Load().Hash).Msg("the server's rulebook could not be fetched; the one at hand stays")
		}
		if !pause(ctx, a.c.Rulebook) {
			return nil
		}
	}
}

const maxBook = 16 << 20

func (a *agent) fetch(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(a.c.Server, "/")+daemon.RulebookPath, nil)
	if err != nil {
		return err
	}
	req.Header.Set("If-None-Match", `"`+a.book.Load().Hash+`"`)
	if err := a.sender.Authorize(req); err != nil {
		return err
	}
	res, err := a.sender.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotModified {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBook))
	if err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("the server answered %s", res.Status))
	}
	return a.adopt(data)
}

// adopt puts a fetched rulebook in force and has the look-back read again.
func (a *agent) adopt(source []byte) error {
	b, err := parseBook(source)
	if err != nil {
		return fmt.Errorf("the server's rulebook has mistakes: %w", err)
	}
	if err := a.spool.SaveState("rulebook", string(source)); err != nil {
		return err
	}
	a.book.Store(b)
	a.log.Info().Str("rulebook", b.Hash).Msg("the rulebook changed; the look-back is read again")
	select {
	case <-a.rescan: // one that was not begun is overtaken
	default:
	}
	a.rescan <- b
	return nil
}

// errCaughtUp ends a re-scan that met the lines that were read with the new
// rulebook anyway.
var errCaughtUp = errors.New("caught up")

// rescans reads the look-back again, beside the live readers, whenever the
// rulebook changed. What was sent before the server keeps once.
func (a *agent) rescans(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-a.rescan:
		}
		start := time.Now()
		err := a.journal("", time.Time{}).Run(ctx, func(b journal.Batch) error {
			return a.again(b.Reached, start, func() { a.scan("rescan", b.Entries, b.Lines, b.Passed) })
		})
		if errors.Is(err, errCaughtUp) {
			err = a.pods(nil).Run(ctx, func(b podlog.Batch) error {
				return a.again(b.Reached, start, func() { a.scan("rescan", b.Entries, b.Lines, b.Passed) })
			})
		}
		if !errors.Is(err, errCaughtUp) && ctx.Err() == nil {
			a.log.Error().Err(err).Msg("the look-back could not be read again")
		}
	}
}

func (a *agent) again(reached, start time.Time, take func()) error {
	a.mu.Lock()
	take()
	a.mu.Unlock()
	if !reached.Before(start) {
		return errCaughtUp
	}
	return nil
}

// next is the Next of the rulebook in force. A line that was passed over just
// before that changed is read again with the look-back.
func (a *agent) next(b []byte, from int) int { return a.book.Load().Next(b, from) }
