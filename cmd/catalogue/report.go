package catalogue

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"coroner/rules"
)

// Report says what is printed of lists.
type Report struct {
	Rulebook *rules.Rulebook
	Plumbing Plumbing
	Alert    bool // count what warns somebody only
	Unknown  bool // print the rows of which nothing was decided
	Stale    bool // print what is said to be plumbing and took no row; an error then
}

// Print writes a line for each list.
func (r Report) Print(out io.Writer, lists []string) error {
	stale := 0
	for _, path := range lists {
		of := r.Plumbing.Of(path)
		n, err := r.take(out, of, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%-32s %5d known, %4d unknown on purpose, %4d undecided, %5.1f %%\n",
			filepath.Base(path), n.Known, n.Plumbing, n.Undecided, n.Percent())
		if r.Stale {
			for _, place := range of.Idle() {
				stale++
				fmt.Fprintln(out, place)
			}
		}
	}
	if stale > 0 {
		return fmt.Errorf("plumbing that took no row: %d", stale)
	}
	return nil
}

func (r Report) take(out io.Writer, of *Program, path string) (n Count, err error) {
	f, err := os.Open(path)
	if err != nil {
		return n, err
	}
	defer f.Close()
	return Take(f, r.Rulebook, of, r.Alert, func(row string) {
		if r.Unknown {
			fmt.Fprintln(out, row)
		}
	})
}
