package daemon

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ReloadEvery is how long after a reload that had something to read the next one
// can be: to compile a rulebook takes a third of a second of a processor.
const ReloadEvery = 5 * time.Second

// reloads sees to it that one reload runs at a time, that who waited for one
// that began after he came shares what came of it, and that what did not change is
// not read again.
type reloads struct {
	begun atomic.Uint64 // how many were begun
	mu    sync.Mutex    // held while one runs
	done  uint64        // the one that ended last
	err   error         // what came of it
	last  time.Time     // when something was read
	of    string        // its content
	read  error         // what came of that
}

// tooSoon is a reload that has to wait.
type tooSoon struct{ wait time.Duration }

func (e tooSoon) Error() string {
	return fmt.Sprintf("what was reloaded last is too young; come again in %s", e.wait.Round(time.Second))
}

func (d *Daemon) reloadNow() error {
	if d.Reload == nil {
		return nil
	}
	r := &d.reloads
	came := r.begun.Load()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.done <= came {
		n := r.begun.Add(1)
		r.err = d.reloadIfChanged(r, time.Now())
		r.done = n
	}
	return r.err
}

// reloadIfChanged reloads, unless what would be read is what was read last.
func (d *Daemon) reloadIfChanged(r *reloads, now time.Time) error {
	if d.Content == nil {
		return d.loadAndTell()
	}
	content, err := d.Content()
	if err != nil {
		return err
	}
	if content == r.of {
		return r.read
	}
	if wait := r.last.Add(ReloadEvery).Sub(now); wait > 0 {
		return tooSoon{wait}
	}
	r.last, r.of = now, content
	r.read = d.loadAndTell()
	return r.read
}

// loadAndTell reloads, says so and shows it.
func (d *Daemon) loadAndTell() error {
	if err := d.Reload(); err != nil {
		d.reloaded.Set(0)
		d.Log.Error().Err(err).Msg("a file has mistakes; the one before stays in force")
		return err
	}
	d.reloaded.Set(1)
	d.reloadTime.SetToCurrentTime()
	d.Log.Info().Msg("rulebook loaded")
	return nil
}

// serveReload answers POST /-/reload.
func (d *Daemon) serveReload(w http.ResponseWriter, _ *http.Request) {
	err := d.reloadNow()
	var soon tooSoon
	switch {
	case errors.As(err, &soon):
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(soon.wait.Seconds()))))
		http.Error(w, err.Error(), http.StatusTooManyRequests)
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
	default:
		fmt.Fprintln(w, "reloaded")
	}
}

// reloadOnHangup reloads on SIGHUP; where it is too soon for that, when it may be.
func (d *Daemon) reloadOnHangup(ctx context.Context) error {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	var again <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hup:
		case <-again:
		}
		again = nil
		var soon tooSoon
		if errors.As(d.reloadNow(), &soon) { // any other is logged, and shown by the gauge
			again = time.After(soon.wait)
		}
	}
}
