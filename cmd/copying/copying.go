// Package copying is coroner ledger copy: everything of one ledger into another.
//
// Invariant: what was there before stays; a ledger that holds something else is refused.
//
// Crash behaviour: a copy that was cut off is completed by the same command.
package copying

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"coroner/classify/ledger"
)

// Args are the command's arguments.
type Args struct {
	From string `arg:"" help:"The ledger's file, or postgres://USER@HOST/DATABASE."`
	To   string `arg:"" help:"An empty ledger, or one with an unfinished copy."`
}

// Help is shown by coroner ledger copy --help.
func (Args) Help() string {
	return `Copies verdicts, evidence and what is still to be sent. Stop the servers of both first. A copy
that is cut off is completed by the same command.`
}

// Copy copies until it is done or the program is told to stop; progress is a line a second.
func (a *Args) Copy(progress io.Writer, now func() time.Time) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if _, err := os.Stat(a.From); err != nil && !strings.Contains(a.From, "://") {
		return fmt.Errorf("ledger %s: there is no such file", a.From)
	}
	from, err := ledger.Open(a.From)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := ledger.Open(a.To)
	if err != nil {
		return err
	}
	defer to.Close()
	said := time.Time{}
	err = ledger.Copy(ctx, from, to, func(table string, rows, of int64) {
		if at := now(); rows == of || at.Sub(said) > time.Second {
			said = at
			fmt.Fprintf(progress, "%s: %d of %d\n", table, rows, of)
		}
	})
	if err != nil && ctx.Err() != nil {
		return errors.New("stopped; the same command goes on")
	}
	return err
}
