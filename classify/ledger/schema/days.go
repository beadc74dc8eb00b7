package schema

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// A new database has evidence split by the day of its time, and names by the day that their
// evidence was received on, so that what is too old goes with its table. A database that an
// earlier version made keeps its tables: to split them all rows would have to be moved, and that
// version could not write to them. So does one that cannot split tables.
//
// A unique key of a split table has the column in it that it is split by. A record's hash is
// made of its time, so (hash, at) tells as much as the hash. Its number is not: a number is
// unique within a table of a day, and package days sees to the rest.

// byDay makes of evidenceTables those that are split. They must not be there: of servers that
// make them together one fails, and tries again.
var byDay = strings.NewReplacer(
	" IF NOT EXISTS", "",
	"INTEGER PRIMARY KEY", "INTEGER NOT NULL",
	"NOT NULL UNIQUE", "NOT NULL",
	"DEFAULT x'');", "DEFAULT x'', UNIQUE (hash, at)) PARTITION BY RANGE (at);",
	"WITHOUT ROWID", "PARTITION BY RANGE (evidence)",
)

// The tables that a database has beside those of the days: for records without a time, for the
// names of evidence that was copied from a file, which numbers it from 1 on, and for what has no
// table of its own. A day cannot get one while others write without that last one being read
// through, so it should have little in it.
const (
	Undated     = "evidence_undated"
	OtherDays   = "evidence_rest"
	NamesOfFile = "names_file"
	OtherNames  = "names_rest"

	// MaxOfFile is above all numbers that a file gives, and below those of all days but the first.
	MaxOfFile = 1 << 40
)

// restTables make them, and see to it that an earlier version that finds no tables yet and goes
// on to make its own fails.
const restTables = `
CREATE TABLE ` + Undated + ` PARTITION OF evidence (PRIMARY KEY (id)) FOR VALUES FROM (0) TO (1);
CREATE TABLE ` + OtherDays + ` PARTITION OF evidence (PRIMARY KEY (id)) DEFAULT;
CREATE TABLE ` + NamesOfFile + ` PARTITION OF names FOR VALUES FROM (MINVALUE) TO (1099511627776);
CREATE TABLE ` + OtherNames + ` PARTITION OF names DEFAULT;
CREATE INDEX names_rest_evidence ON ` + OtherNames + ` (evidence);
ALTER TABLE meta ADD CONSTRAINT meta_least CHECK (name <> 'least' OR value >= 9);
`

// ByDay says whether a database's evidence is split by day.
func ByDay(ctx context.Context, db *sql.DB) (is bool, err error) {
	const split = `SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE n.nspname = current_schema() AND c.relname = 'evidence' AND c.relkind = 'p')`
	err = db.QueryRowContext(ctx, split).Scan(&is)
	return is, err
}

// cannotSplit says whether a database that was told to split tables does not know how.
func cannotSplit(err error) bool {
	var of *pgconn.PgError
	return errors.As(err, &of) && slices.Contains([]string{"0A000", "42601"}, of.Code)
}
