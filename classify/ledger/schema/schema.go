// Package schema has the tables of a ledger, and makes them: in a new file, in a file of an
// earlier version, which it rewrites, and in a database, which it only ever expands.
//
// Invariant: what was recorded by an earlier version is there afterwards, and nothing else is
// changed; what a later version made is not touched.
//
// Crash behaviour: a run that was cut off is completed by the next one.
package schema

import (
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// version is that of a file's schema. A file of an earlier one is rewritten when it is opened,
// a file of a later one is not touched. 2 is a file of the first one that is being
// rewritten; 3 knew no clusters, 4 no cases but runners', 5 no cases that are claimed,
// 6 no marks that share a row, 7 not which verdicts are alike. That of a database is
// remoteVersion.
const version = 8

// tables hold what is recorded. A cluster stands as naming.storedCluster has it; in a text
// that is a key it stands before the name, see naming.storedKey. A row's number, and what a table is sorted by,
// grows with time wherever it can: a new row then stands beside the one before it,
// and the pages that a write changes are few, however many there are.
const tables = evidenceTables + otherTables

// evidenceTables are those that a database has split by day, see byDay.
const evidenceTables = `
CREATE TABLE IF NOT EXISTS evidence (
	id       INTEGER PRIMARY KEY,
	hash     BLOB NOT NULL UNIQUE,
	node     TEXT NOT NULL,      -- a key
	at       INTEGER NOT NULL,   -- nanoseconds; 0 = the record has no time
	wide     INTEGER NOT NULL,   -- speaks of everything on its node
	received INTEGER NOT NULL,
	entry    BLOB NOT NULL,
	names    BLOB NOT NULL DEFAULT x''); -- the numbers of its names, see pack
CREATE TABLE IF NOT EXISTS names (
	name     INTEGER NOT NULL,   -- a key's number, see number
	evidence INTEGER NOT NULL,
	PRIMARY KEY (name, evidence)) WITHOUT ROWID;
`

const otherTables = `
CREATE TABLE IF NOT EXISTS marks (
	hash     BLOB PRIMARY KEY,
	owner    TEXT NOT NULL,      -- a key: the pod's, of "node:NAME", or of "controller"
	reached  INTEGER NOT NULL,   -- nanoseconds; the end of what it states
	received INTEGER NOT NULL,   -- to ten minutes
	entry    BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS tails (
	stream   TEXT PRIMARY KEY,   -- a key
	owner    TEXT NOT NULL,      -- a key
	received INTEGER NOT NULL,
	entries  BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS nodes (
	cluster    TEXT NOT NULL,
	node       TEXT NOT NULL,
	reached    INTEGER NOT NULL, -- everything on it up to here was read
	heard      INTEGER NOT NULL, -- when its agent last pushed
	controller INTEGER NOT NULL, -- its agent reads a controller's log
	silent     INTEGER NOT NULL,
	PRIMARY KEY (cluster, node)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cases (
	pod       INTEGER PRIMARY KEY AUTOINCREMENT, -- its number in this file, which none that is gone had
	id        TEXT NOT NULL UNIQUE,
	cluster   TEXT NOT NULL DEFAULT '',
	namespace TEXT NOT NULL, name TEXT NOT NULL, uid TEXT NOT NULL, node TEXT NOT NULL,
	runner    INTEGER NOT NULL,
	opened    INTEGER NOT NULL, heard INTEGER NOT NULL,
	state     TEXT NOT NULL,     -- open, ending, judged
	died      INTEGER NOT NULL,  -- ending: the latest time that it is known of
	due       INTEGER NOT NULL,  -- ending: judged at the latest then
	revision  INTEGER NOT NULL,
	kind      TEXT NOT NULL DEFAULT '',      -- what it is about; '' = a pod
	episodes  INTEGER NOT NULL DEFAULT 0,    -- of another kind: how many times something was wrong with it
	version   INTEGER NOT NULL DEFAULT 0,    -- grows with each record that speaks of it
	claimed   INTEGER NOT NULL DEFAULT 0);   -- until when a server judges it; 0 = none does
CREATE TABLE IF NOT EXISTS ties (
	id  TEXT PRIMARY KEY,        -- a key
	pod INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS verdicts (
	number   INTEGER PRIMARY KEY,
	pod      INTEGER NOT NULL, revision INTEGER NOT NULL,
	member   TEXT NOT NULL,      -- the id of its case
	runner   TEXT NOT NULL,      -- where it is not the case's name, which only records may give it
	uid      TEXT NOT NULL,      -- the same
	recorded INTEGER NOT NULL, died INTEGER NOT NULL,
	cluster  TEXT NOT NULL DEFAULT '',
	namespace TEXT NOT NULL, node TEXT NOT NULL, label TEXT NOT NULL,
	pool     TEXT NOT NULL, repository TEXT NOT NULL, run TEXT NOT NULL, job TEXT NOT NULL, -- ids as GitHub has them
	last     INTEGER NOT NULL,   -- no later revision is known
	verdict  BLOB NOT NULL,
	kind     TEXT NOT NULL DEFAULT '',
	state    TEXT NOT NULL DEFAULT '', -- of what lasts: open, resolved
	alike    INTEGER NOT NULL DEFAULT 0, -- the number of its kind, see package alike; 0 = it is not known
	UNIQUE (pod, revision));
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS outbox (
	pod INTEGER NOT NULL, revision INTEGER NOT NULL, stamp INTEGER NOT NULL,
	due INTEGER NOT NULL, attempts INTEGER NOT NULL,
	PRIMARY KEY (pod, revision)) WITHOUT ROWID;
`

// DeliveryTables hold, for each receiver of verdicts but Loki, what it is still to be sent, and
// of what it was sent the notes. Up to where its list is made stands in meta.
const DeliveryTables = `
CREATE TABLE IF NOT EXISTS deliveries (
	receiver TEXT NOT NULL,
	pod      BIGINT NOT NULL, revision BIGINT NOT NULL,
	due      BIGINT NOT NULL, attempts BIGINT NOT NULL,
	done     BIGINT NOT NULL DEFAULT 0, -- nanoseconds; 0 = it is still to be sent
	note     TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (receiver, pod, revision));
CREATE INDEX IF NOT EXISTS deliveries_due ON deliveries (receiver, due) WHERE done = 0;
`

// Indexes are what the docket asks all the time, and what the charts and the lists
// of the latest verdicts ask, each with what its chart counts. Every one costs
// every record a page to write: a question that another index answers in about the
// same time has none of its own. A verdict is found by its runner's names through
// its case, but for the few that name it otherwise.
const Indexes = `
CREATE INDEX IF NOT EXISTS evidence_wide ON evidence (node, at) WHERE wide;
CREATE INDEX IF NOT EXISTS evidence_received ON evidence (received);
CREATE INDEX IF NOT EXISTS marks_of ON marks (owner);
CREATE INDEX IF NOT EXISTS marks_received ON marks (received);
CREATE INDEX IF NOT EXISTS tails_owner ON tails (owner);
CREATE INDEX IF NOT EXISTS tails_received ON tails (received);
CREATE INDEX IF NOT EXISTS cases_uid ON cases (uid);
CREATE INDEX IF NOT EXISTS cases_name ON cases (name);
CREATE INDEX IF NOT EXISTS cases_node ON cases (node, state);
CREATE INDEX IF NOT EXISTS cases_heard ON cases (heard, runner, name, namespace, cluster);
CREATE INDEX IF NOT EXISTS cases_waiting ON cases (state, due, runner) WHERE runner;
CREATE INDEX IF NOT EXISTS cases_standing ON cases (due) WHERE kind <> '';
CREATE INDEX IF NOT EXISTS ties_pod ON ties (pod);
CREATE INDEX IF NOT EXISTS verdicts_runner ON verdicts (runner) WHERE runner <> '';
CREATE INDEX IF NOT EXISTS verdicts_uid ON verdicts (uid) WHERE uid <> '';
CREATE INDEX IF NOT EXISTS verdicts_run ON verdicts (run);
CREATE INDEX IF NOT EXISTS verdicts_job ON verdicts (job);
CREATE INDEX IF NOT EXISTS last_recorded ON verdicts (last, recorded, label, node, cluster);
CREATE INDEX IF NOT EXISTS last_died ON verdicts (last, died, node);
CREATE INDEX IF NOT EXISTS last_label ON verdicts (last, label, recorded);
CREATE INDEX IF NOT EXISTS last_node ON verdicts (last, node, recorded, label, cluster);
CREATE INDEX IF NOT EXISTS last_cluster ON verdicts (last, cluster, recorded, label, node);
CREATE INDEX IF NOT EXISTS last_alike ON verdicts (last, pool, recorded, label, node, cluster, alike);
CREATE INDEX IF NOT EXISTS last_repository ON verdicts (last, repository, recorded, label, node, cluster);
CREATE INDEX IF NOT EXISTS last_open ON verdicts (last, recorded) WHERE state = 'open';
CREATE INDEX IF NOT EXISTS outbox_due ON outbox (due);
`

// unfollowed are nodes whose agent never said how far it has read: an earlier version
// took a shipper's gap for an agent's. An agent that is there says it again at once.
const unfollowed = "DELETE FROM nodes WHERE reached = 0"

// FirstColumns are those of cases that every version has.
const FirstColumns = "id, namespace, name, uid, node, runner, opened, heard, state, died, due, revision"

// MakeFile makes the schema in a new file and rewrites a file of an earlier version.
func MakeFile(db *sql.DB) error { return fileSchema{db}.migrate() }

// fileSchema brings a file to the schema of this version.
type fileSchema struct{ db *sql.DB }

// Additions give a file of version 3 and later, one after the other, what it lacks of the next
// version. Each takes it to that.
var Additions = []func(*sql.Tx) error{addClusters, addKinds, addClaims, shareMarks, addAlike}

// afterFirst is the version that the first of them begins with.
const afterFirst = 3

// migrate makes the schema in a new file and rewrites a file of an earlier version. A run
// that was interrupted is completed by the next one.
func (m fileSchema) migrate() error {
	have, err := m.fileVersion()
	if err != nil {
		return err
	}
	if _, err := m.db.Exec("PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	if have == 1 {
		if err := m.writeStep(func(tx *sql.Tx) error { return execAll(tx, FromFirst...) }); err != nil {
			return err
		}
	}
	if have == 1 || have == 2 {
		if err := m.moveRows(); err != nil {
			return err
		}
	}
	if have == 0 {
		return m.writeStep(func(tx *sql.Tx) error {
			return execAll(tx, tables, DeliveryTables, Indexes, versionIs(version))
		})
	}
	for i, step := range Additions {
		if have > afterFirst+i {
			continue
		}
		if err := m.writeStep(step); err != nil {
			return err
		}
	}
	if err := m.writeStep(func(tx *sql.Tx) error { return execAll(tx, unfollowed, DeliveryTables) }); err != nil {
		return err
	}
	return m.makeIndexes()
}

// makeIndexes makes those that lack, each by itself: there can be very much to sort.
func (m fileSchema) makeIndexes() error {
	for index := range strings.SplitSeq(strings.TrimSpace(Indexes), "\n") {
		var has bool
		name := strings.Fields(index)[5] // CREATE INDEX IF NOT EXISTS name
		err := m.db.QueryRow("SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = ?)", name).Scan(&has)
		if err != nil {
			return err
		}
		if has {
			continue
		}
		if err := m.writeStep(func(tx *sql.Tx) error { return execAll(tx, index) }); err != nil {
			return err
		}
	}
	return nil
}

func versionIs(n int) string { return "PRAGMA user_version = " + strconv.Itoa(n) }

// writeStep is one write of a fileSchema.
func (m fileSchema) writeStep(f func(*sql.Tx) error) error {
	tx, err := m.db.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// fileVersion is the version that the file has; 0 is an empty file.
func (m fileSchema) fileVersion() (have int, _ error) {
	var tables int
	if err := m.db.QueryRow("PRAGMA user_version").Scan(&have); err != nil {
		return 0, fmt.Errorf("not a ledger: %w", err)
	}
	if err := m.db.QueryRow("SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
		return 0, err
	}
	if have > version || have < 0 || have == 0 && tables > 0 {
		return 0, fmt.Errorf("schema version %d, this program reads %d; "+
			"move the file away, or run the version that wrote it", have, version)
	}
	return have, nil
}

func execAll(tx *sql.Tx, all ...string) error {
	for _, text := range all {
		if _, err := tx.Exec(text); err != nil {
			return err
		}
	}
	return nil
}

// FromFirst makes the tables of a file of version 1, which had texts for names and
// ids for numbers, and takes the cases over. A verdict whose case is gone gets one.
var FromFirst = []string{`
	ALTER TABLE names RENAME TO old_names; ALTER TABLE cases RENAME TO old_cases; ALTER TABLE ties RENAME TO old_ties;
	ALTER TABLE verdicts RENAME TO old_verdicts; ALTER TABLE outbox RENAME TO old_outbox;
	ALTER TABLE evidence ADD COLUMN names BLOB NOT NULL DEFAULT x'';`, tables, `
	INSERT INTO cases (` + FirstColumns + `) SELECT ` + FirstColumns + ` FROM old_cases ORDER BY opened, id;
	INSERT OR IGNORE INTO cases (` + FirstColumns + `)
		SELECT member, namespace, runner, uid, node, 1, recorded, recorded, 'judged', died, 0, revision
		FROM old_verdicts ORDER BY revision DESC, recorded, member;
	INSERT INTO ties SELECT t.id, c.pod FROM old_ties t JOIN cases c ON c.id = t.member ORDER BY t.id;
	INSERT INTO outbox SELECT c.pod, o.revision, o.stamp, o.due, o.attempts
		FROM old_outbox o JOIN cases c ON c.id = o.member;
	PRAGMA user_version = 2`}

// moveRows takes over what there may be very much of, some in each write. With the last
// of them the file is of version 3, but for the indexes.
func (m fileSchema) moveRows() error {
	for _, some := range []func(tx *sql.Tx, most int) (bool, error){MoveVerdicts, NumberNames} {
		for more := true; more; {
			err := m.writeStep(func(tx *sql.Tx) (err error) {
				more, err = some(tx, 10_000)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return m.writeStep(func(tx *sql.Tx) error {
		return execAll(tx, `DROP TABLE old_names; DROP TABLE old_outbox; DROP TABLE old_verdicts; DROP TABLE old_ties;
			DROP TABLE old_cases;
			DELETE FROM meta WHERE name = 'numbered'`, versionIs(3))
	})
}

// MoveVerdicts takes over the next verdicts, in their order.
func MoveVerdicts(tx *sql.Tx, most int) (more bool, err error) {
	res, err := tx.Exec(`INSERT INTO verdicts (number, pod, revision, member, runner, uid,
			recorded, died, namespace, node, label, pool, repository, run, job, last, verdict)
		SELECT v.rowid, c.pod, v.revision, v.member, CASE v.runner WHEN c.name THEN '' ELSE v.runner END,
			CASE v.uid WHEN c.uid THEN '' ELSE v.uid END, v.recorded, v.died, v.namespace, v.node, v.label,
			v.pool, v.repository, v.run, v.job, v.last, v.verdict
		FROM old_verdicts v CROSS JOIN cases c
		WHERE v.rowid > (SELECT coalesce(max(number), 0) FROM verdicts) AND c.id = v.member
		ORDER BY v.rowid LIMIT ?`, most)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n == int64(most), err
}

// addClusters gives a file of version 3 the columns that it lacks: what it has is of
// the cluster without a name. The indexes that lack it are made anew, and the file is
// of version 4 with that.
func addClusters(tx *sql.Tx) error {
	for _, table := range []string{"cases", "verdicts"} {
		if err := addColumn(tx, table, "cluster", "TEXT NOT NULL DEFAULT ''"); err != nil {
			return err
		}
	}
	has, err := hasColumn(tx, "nodes", "cluster")
	if err == nil && !has {
		err = execAll(tx, "ALTER TABLE nodes RENAME TO old_nodes", tables, `
			INSERT INTO nodes (cluster, node, reached, heard, controller, silent)
				SELECT '', node, reached, heard, controller, silent FROM old_nodes;
			DROP TABLE old_nodes`)
	}
	if err != nil {
		return err
	}
	return execAll(tx, `DROP INDEX IF EXISTS cases_heard; DROP INDEX IF EXISTS last_recorded;
		DROP INDEX IF EXISTS last_node; DROP INDEX IF EXISTS last_pool; DROP INDEX IF EXISTS last_repository`,
		versionIs(4))
}

// addKinds gives a file of version 4 the columns that it lacks: what it has is about
// pods. The file is of version 5 with that.
func addKinds(tx *sql.Tx) error {
	for _, c := range [][3]string{
		{"cases", "kind", "TEXT NOT NULL DEFAULT ''"},
		{"cases", "episodes", "INTEGER NOT NULL DEFAULT 0"},
		{"verdicts", "kind", "TEXT NOT NULL DEFAULT ''"},
		{"verdicts", "state", "TEXT NOT NULL DEFAULT ''"},
	} {
		if err := addColumn(tx, c[0], c[1], c[2]); err != nil {
			return err
		}
	}
	return execAll(tx, versionIs(5))
}

// addClaims gives a file of version 5 the columns that it lacks. The file is of version 6
// with that.
func addClaims(tx *sql.Tx) error {
	for _, column := range []string{"version", "claimed"} {
		if err := addColumn(tx, "cases", column, "INTEGER NOT NULL DEFAULT 0"); err != nil {
			return err
		}
	}
	return execAll(tx, versionIs(6))
}

// shareMarks takes a file of version 6 to version 7: marks are found by whose they are alone,
// so that one that grows changes no index.
func shareMarks(tx *sql.Tx) error {
	return execAll(tx, "DROP INDEX IF EXISTS marks_owner", versionIs(7))
}

// addAlike gives a file of version 7 the column that it lacks, and takes away the index in whose
// place one with it comes.
func addAlike(tx *sql.Tx) error {
	if err := addColumn(tx, "verdicts", "alike", "INTEGER NOT NULL DEFAULT 0"); err != nil {
		return err
	}
	return execAll(tx, "DROP INDEX IF EXISTS last_pool", versionIs(8))
}

func addColumn(tx *sql.Tx, table, column, kind string) error {
	has, err := hasColumn(tx, table, column)
	if err != nil || has {
		return err
	}
	return execAll(tx, "ALTER TABLE "+table+" ADD COLUMN "+column+" "+kind)
}

func hasColumn(tx *sql.Tx, table, column string) (has bool, err error) {
	err = tx.QueryRow("SELECT EXISTS (SELECT 1 FROM pragma_table_info(?) WHERE name = ?)", table, column).Scan(&has)
	return has, err
}

// NumberNames files the next evidence under the numbers of its names.
func NumberNames(tx *sql.Tx, most int) (more bool, err error) {
	var from sql.NullInt64
	err = tx.QueryRow(`SELECT min(evidence) FROM old_names
		WHERE evidence > (SELECT coalesce(max(value), 0) FROM meta WHERE name = 'numbered')`).Scan(&from)
	if err != nil || !from.Valid {
		return false, err
	}
	last := from.Int64 + int64(most) - 1
	names := map[int64][]string{}
	const part = "SELECT evidence, name FROM old_names WHERE evidence BETWEEN ? AND ? ORDER BY evidence, name"
	rows, err := tx.Query(part, from.Int64, last)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var name string
		err = errors.Join(err, rows.Scan(&id, &name))
		names[id] = append(names[id], name)
	}
	err = errors.Join(err, rows.Err())
	for _, id := range slices.Sorted(maps.Keys(names)) {
		err = errors.Join(err, numbered(tx, id, names[id]))
	}
	done := "INSERT OR REPLACE INTO meta VALUES ('numbered', " + strconv.FormatInt(last, 10) + ")"
	return true, errors.Join(err, execAll(tx, done))
}

func numbered(tx *sql.Tx, id int64, names []string) error {
	_, err := tx.Exec("UPDATE evidence SET names = ? WHERE id = ?", PackNumbers(names), id)
	for _, name := range names {
		if err == nil {
			_, err = tx.Exec("INSERT OR IGNORE INTO names (name, evidence) VALUES (?, ?)", NameNumber(name), id)
		}
	}
	return err
}

// NameNumber stands for a name in the file: short, so that the index of the names is.
// That two names share one is as good as impossible, and would do no harm: what is
// judged looks at each record itself.
func NameNumber(name string) int64 {
	sum := sha256.Sum256([]byte(name))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// PackNumbers is the numbers of names, eight bytes each.
func PackNumbers(names []string) []byte {
	out := make([]byte, 0, 8*len(names))
	for _, name := range names {
		out = binary.BigEndian.AppendUint64(out, uint64(NameNumber(name)))
	}
	return out
}

// UnpackNumbers gives the numbers back.
func UnpackNumbers(packed []byte) (out []int64) {
	for ; len(packed) >= 8; packed = packed[8:] {
		out = append(out, int64(binary.BigEndian.Uint64(packed)))
	}
	return out
}
