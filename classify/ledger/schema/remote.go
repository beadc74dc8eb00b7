package schema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"coroner/classify/ledger/database"
)

// remoteSchema brings a database to the schema of this version.
//
// Servers of two versions run on it while one is rolled out. So a version only ever
// expands it: it adds tables, columns with a default, and indexes, which the version
// before it passes over. What that one still needs is taken out by the version after,
// which then notes in "least" that no server before it may open the database any longer.
type remoteSchema struct{ db *sql.DB }

// remoteVersion is that of a database's schema: 9 splits evidence by day where it makes the
// tables. What a file of the same number has is what a database of it has.
const remoteVersion = 9

// The version of the oldest program that may use a database that this one made or expanded:
// 6 reads of marks that share a row the first one only, 8 cannot write to tables that are
// split.
const (
	least      = 7
	leastByDay = 9
)

// addedColumns are those that an earlier version made its tables without. One that still runs
// leaves them at their default.
const addedColumns = "ALTER TABLE verdicts ADD COLUMN IF NOT EXISTS alike INTEGER NOT NULL DEFAULT 0;"

// remoteTables are what a file has no need of. That a case has one current verdict is held
// by an index, too. Marks and nodes change all the time: a new version of such a row that
// finds room beside the one before it changes no index, and leaves nothing to clean up.
const remoteTables = database.HoldTables + `
CREATE UNIQUE INDEX IF NOT EXISTS verdicts_current ON verdicts (pod) WHERE last = 1;
DROP INDEX IF EXISTS marks_owner;
DROP INDEX IF EXISTS last_pool;
ALTER TABLE marks SET (fillfactor = 50);
ALTER TABLE nodes SET (fillfactor = 50);
`

// schemaInPostgres are pieces of the schema as PostgreSQL has them. Texts are in the order of
// their bytes, whatever the database's own order is.
var schemaInPostgres = strings.NewReplacer(
	"INTEGER PRIMARY KEY AUTOINCREMENT", "BIGINT PRIMARY KEY",
	"wide     INTEGER", "wide BOOLEAN", "runner    INTEGER", "runner BOOLEAN",
	"controller INTEGER", "controller BOOLEAN", "silent     INTEGER", "silent BOOLEAN",
	"INTEGER", "BIGINT", "BLOB", "BYTEA", "TEXT", `TEXT COLLATE "C"`, "WITHOUT ROWID", "", "x''", "''",
)

// Expand makes what lacks in a database. Servers that start together do it one after
// another: who comes second finds it done, or tries again.
func Expand(db *sql.DB) error { return remoteSchema{db}.expand() }

// maxTries is how often it is tried that others are in the way of.
const maxTries = 12

// migrateFor is how long that may take.
const migrateFor = 10 * time.Minute

// expand makes what lacks. Servers that start together do it one after another: who comes
// second finds it done, or tries again.
func (m remoteSchema) expand() error {
	split := true
	for attempt := 1; ; attempt++ {
		err := m.expandOnce(split)
		if split && cannotSplit(err) {
			split = false
			continue
		}
		if err == nil || attempt == maxTries || !database.IsMade(err) {
			return err
		}
	}
}

// expandOnce is one attempt; split says whether new tables are to be split by day.
func (m remoteSchema) expandOnce(split bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), migrateFor)
	defer cancel()
	have, err := m.versionOf(ctx)
	if err != nil || have >= remoteVersion {
		return err
	}
	oldest := least
	if is, err := ByDay(ctx, m.db); err != nil {
		return err
	} else if is || split && have == 0 {
		oldest = leastByDay
	}
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing to do after a commit
	const note = "INSERT INTO meta (name, value) VALUES ('%s', %d) " +
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value"
	of := []string{tables + DeliveryTables + addedColumns + Indexes + remoteTables}
	if split && have == 0 {
		of = []string{byDay.Replace(evidenceTables), otherTables + DeliveryTables + Indexes + remoteTables, restTables}
	}
	for i := range of {
		of[i] = schemaInPostgres.Replace(of[i])
	}
	err = execAll(tx, append(of, fmt.Sprintf(note, "schema", remoteVersion), fmt.Sprintf(note, "least", oldest))...)
	if err != nil {
		return err
	}
	return tx.Commit()
}

// versionOf is the version that the database was expanded to; 0 is an empty one.
func (m remoteSchema) versionOf(ctx context.Context) (have int, err error) {
	var known int
	const of = `SELECT count(*) FROM information_schema.tables
		WHERE table_schema = current_schema() AND table_name IN ('meta', 'cases', 'evidence', 'verdicts')`
	if err := m.db.QueryRowContext(ctx, of).Scan(&known); err != nil || known == 0 {
		return 0, err
	}
	var needs int
	const versions = `SELECT coalesce(max(CASE name WHEN 'schema' THEN value END), 0),
		coalesce(max(CASE name WHEN 'least' THEN value END), 0) FROM meta`
	if err := m.db.QueryRowContext(ctx, versions).Scan(&have, &needs); err != nil || have == 0 {
		return 0, errors.Join(errors.New("the tables in it are not a ledger's; name an empty database"), err)
	}
	if needs > remoteVersion {
		return 0, fmt.Errorf("schema version %d, which programs of version %d and later read; this one is of %d: "+
			"run the version of coroner that the others run", have, needs, remoteVersion)
	}
	return have, nil
}
