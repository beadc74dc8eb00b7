package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Everything is found in the copy as in the ledger, in either direction; a copy that was cut
// off is completed by the next one, and nothing is put into a ledger that holds
// something else.
func TestCopy(t *testing.T) {
	file := func() *Ledger { return reopen(t, filepath.Join(t.TempDir(), "copy.db")) }
	for name, c := range map[string]struct{ from, to *Ledger }{
		"into a file":   {fresh(t), file()},
		"out of a file": {file(), fresh(t)},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, c.from, t0, fill)
			for i := range 3 * copyBatch / 2 { // more than one batch
				id := fmt.Sprintf("case%04d", i)
				write(t, c.from, t0, func(tx *Tx) error { return tx.PutCase(Case{ID: id, Name: id, State: StateOpen}) })
			}
			want := read(t, c.from)

			cut, stop := context.WithCancel(t.Context())
			err := Copy(cut, c.from, c.to, func(string, int64, int64) { stop() })
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("a copy that was cut off: %v", err)
			}
			seen := map[string]int64{}
			if err := Copy(t.Context(), c.from, c.to, func(table string, rows, of int64) {
				if seen[table] = rows; rows > of {
					t.Errorf("%s: %d of %d", table, rows, of)
				}
			}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, read(t, c.to)); diff != "" {
				t.Errorf("(-ledger +copy)\n%s", diff)
			}
			if seen["cases"] <= copyBatch || len(seen) != len(copiedTables) {
				t.Errorf("told of %v", seen)
			}
			err = Copy(t.Context(), c.from, c.to, func(string, int64, int64) {})
			if err == nil || !strings.Contains(err.Error(), "it holds something already") {
				t.Errorf("a copy into one that is complete: %v", err)
			}
			// It goes on as a ledger: what is written gets a place of its own.
			write(t, c.to, after(60), func(tx *Tx) error { return tx.PutCase(Case{ID: "new", State: StateOpen}) })
			if _, ok, err := c.to.Case(t.Context(), "new"); !ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
}
