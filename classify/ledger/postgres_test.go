package ledger

import (
	"path/filepath"
	"testing"

	"coroner/fixtures/postgres"
)

// Every test of the ledger holds for one in PostgreSQL, but for those about files.
func TestOverPostgres(t *testing.T) { postgres.Again(t) }

// newPlace is where a new ledger can be made.
func newPlace(t testing.TB) string {
	t.Helper()
	return postgres.Place(t, filepath.Join(t.TempDir(), "ledger.db"))
}

// ofAFile is for tests of what only a file does.
func ofAFile(t testing.TB) {
	t.Helper()
	postgres.OfAFile(t)
}
