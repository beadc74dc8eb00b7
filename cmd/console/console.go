// Package console is the terminal: whether there is one, how wide it is, and a line of
// progress on it.
//
// Invariant: a line of progress holds no control character of a file's name.
//
// Crash behaviour: it keeps no state; a line of progress that was begun stays.
package console

import (
	"fmt"
	"io"
	"os"
	"time"

	"coroner/classify/postmortem"
	"coroner/ingest/bundle"

	"golang.org/x/term"
)

// pause is between two lines of progress.
const pause = 200 * time.Millisecond

// Progress returns a function that keeps one line of progress on a terminal, and one that
// removes it.
func Progress(w io.Writer, now func() time.Time) (show func(bundle.Progress), clear func()) {
	last := time.Time{}
	show = func(g bundle.Progress) {
		at := now()
		if at.Sub(last) < pause {
			return
		}
		last = at
		fmt.Fprintf(w, "\r\x1b[K%s", progressText(g))
	}
	return show, func() { fmt.Fprint(w, "\r\x1b[K") }
}

func progressText(g bundle.Progress) string {
	const unit = 1 << 20
	doc := postmortem.Clean(g.Doc)
	if len(doc) > 50 {
		doc = "…" + doc[len(doc)-49:]
	}
	if g.Total <= 0 {
		return fmt.Sprintf("reading %.0f MiB  %s", float64(g.Read)/unit, doc)
	}
	return fmt.Sprintf(
		"reading %3.0f%% of %.0f MiB  %s", 100*float64(g.Read)/float64(g.Total), float64(g.Total)/unit, doc)
}

// IsTerminal says whether a standard stream is a terminal.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Width is how many columns a terminal has; 0 where there is none.
func Width(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}
