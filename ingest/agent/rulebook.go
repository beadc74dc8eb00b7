package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"sync/atomic"

	"coroner/ingest"
	"coroner/ingest/push"
	"coroner/ingest/spool"
	"coroner/rules/book"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"

	"github.com/rs/zerolog"
)

// rulebook is the rulebook in force: the server's, as it was fetched last, else the
// built-in one.
type rulebook struct {
	c       Rulebook
	sender  *push.Sender
	spool   *spool.Spool // keeps it over a restart
	log     zerolog.Logger
	metrics *metrics

	inForce atomic.Pointer[signal.Book]
	changed chan *signal.Book // holds one that was not read again with yet; never closed
	strange atomic.Bool       // a push was filed by another rulebook since the look-back was read
}

func newRulebook(c Rulebook, sender *push.Sender, s *spool.Spool, log zerolog.Logger, m *metrics) *rulebook {
	if c.Compile == nil {
		c.Compile = parseBook
	}
	return &rulebook{c: c, sender: sender, spool: s, log: log, metrics: m, changed: make(chan *signal.Book, 1)}
}

// loadFirst puts the rulebook in force that was fetched last, else the built-in one.
func (r *rulebook) loadFirst() error {
	var source string
	if ok, err := r.spool.LoadState("rulebook", &source); ok && err == nil {
		if b, err := r.c.Compile([]byte(source)); err == nil {
			r.inForce.Store(b)
			r.readAgainUnlessNoted(b)
			return nil
		}
	}
	if r.inForce.Store(r.c.First); r.c.First != nil {
		return nil
	}
	b, err := signal.Load(fs.FS(book.Files))
	r.inForce.Store(b)
	return err
}

// lookedBack names the state that says by which rulebook the look-back was read last.
const lookedBack = "looked-back"

// noteReadAgain notes that the look-back was read by a rulebook, and keeps what it gave.
func (r *rulebook) noteReadAgain(b *signal.Book) error {
	if r.strange.Load() {
		return r.spool.Keep()
	}
	return r.spool.SaveValue(lookedBack, b.Hash)
}

// noteFiledBy notes that a push was filed by a server that has another rulebook, as while servers
// are replaced one by one: it dropped what only the agent's knows. Once the agent asks a server
// that has its own, the look-back is read again.
func (r *rulebook) noteFiledBy(hash string) {
	if hash == "" || hash == r.inForce.Load().Hash || r.strange.Swap(true) {
		return
	}
	if err := r.spool.SaveValue(lookedBack, hash); err != nil {
		r.metrics.spoolErrors.Inc()
		r.log.Error().Err(err).Msg("the spool cannot be written")
	}
}

// haveReadAgain has the look-back read again with a rulebook.
func (r *rulebook) haveReadAgain(b *signal.Book) {
	select {
	case <-r.changed: // one that was not begun is overtaken
	default:
	}
	r.strange.Store(false)
	r.changed <- b
}

// readAgainUnlessNoted has the look-back read where an earlier run fetched a rulebook and did
// not come to that, or not to its end.
func (r *rulebook) readAgainUnlessNoted(b *signal.Book) {
	var read string
	if _, err := r.spool.LoadState(lookedBack, &read); err != nil || read != b.Hash {
		r.changed <- b
	}
}

// wantsRecord reports whether the rulebook could recognise a record of the journal. The
// rulebook may change between this and the scan: the look-back is read again then.
func (r *rulebook) wantsRecord(by ingest.Source, message []byte) bool {
	return r.inForce.Load().Wanted(by, message)
}

// nextMatch is the Next of the rulebook in force. A line that was skipped just before that
// changed is read again with the look-back.
func (r *rulebook) nextMatch(b []byte, from int) int { return r.inForce.Load().Next(b, from) }

// parseBook compiles what a server gave. One that is older than this agent knows no
// secrets: then those of the built-in rulebook are taken out.
func parseBook(source []byte) (*signal.Book, error) {
	layers, err := yamlfile.SplitSource(source)
	if err != nil {
		return nil, err
	}
	b, err := signal.Load(layers...)
	if err != nil || len(b.Secrets) > 0 {
		return b, err
	}
	own, err := signal.Load(fs.FS(book.Files))
	if err != nil {
		return nil, err
	}
	return b.WithSecretsOf(own), nil
}

// refreshLoop asks the server for its rulebook from time to time.
func (r *rulebook) refreshLoop(ctx context.Context) error {
	for {
		if err := r.fetchNew(ctx); err != nil && ctx.Err() == nil {
			r.metrics.bookErrors.Inc()
			r.log.Warn().Err(err).Str("rulebook", r.inForce.Load().Hash).
				Msg("the server's rulebook could not be fetched; the one at hand stays")
		}
		if !pauseFor(ctx, r.c.Interval) {
			return nil
		}
	}
}

const maxBook = 16 << 20

func (r *rulebook) fetchNew(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.c.URL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("If-None-Match", `"`+r.inForce.Load().Hash+`"`)
	if err := r.sender.Authorize(req); err != nil {
		return err
	}
	res, err := r.sender.Client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNotModified {
		if r.strange.Load() {
			r.haveReadAgain(r.inForce.Load())
		}
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, maxBook))
	if err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("the server answered %s", res.Status))
	}
	return r.adoptSource(data)
}

// adoptSource puts a fetched rulebook in force and has the look-back read again.
func (r *rulebook) adoptSource(source []byte) error {
	b, err := r.c.Compile(source)
	if err != nil {
		return fmt.Errorf("the server's rulebook has mistakes: %w", err)
	}
	err = r.spool.SaveValue(lookedBack, "") // it may have been read by this one, and others came since
	if err == nil {
		err = r.spool.SaveValue("rulebook", string(source))
	}
	if err != nil {
		return err
	}
	r.inForce.Store(b)
	r.log.Info().Str("rulebook", b.Hash).Msg("the rulebook changed; the look-back is read again")
	r.haveReadAgain(b)
	return nil
}
