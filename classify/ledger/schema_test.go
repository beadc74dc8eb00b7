package ledger

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger/schema"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

// first is a ledger as the first version wrote it: what fill does, a second
// revision, and a verdict whose case is gone.
func first(t *testing.T) (path string) { return earlier(t, 1) }

// earlier is the same of some version.
func earlier(t *testing.T, version int) (path string) {
	t.Helper()
	ofAFile(t)
	path = filepath.Join(t.TempDir(), "l.db")
	text, err := os.ReadFile(fmt.Sprintf("testdata/v%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	execute(t, path, string(text))
	return path
}

func execute(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err == nil {
		_, err = db.Exec(text)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// More is recorded in a file of the first version, and all of it is found like
// in a new one.
func TestAnEarlierLedgerIsTakenOver(t *testing.T) {
	for _, version := range []int{1, 3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) { isTakenOver(t, reopen(t, earlier(t, version))) })
	}
}

func isTakenOver(t *testing.T, got *Ledger) {
	want := fresh(t)
	write(t, want, t0, fill)
	write(t, want, after(2), func(tx *Tx) error { return tx.AddVerdict("1", verdict("p", 2), after(-5), true) })
	write(t, want, after(3),
		func(tx *Tx) error { return tx.AddVerdict("gone", verdict("forgotten", 1), after(-5), false) })
	for _, l := range []*Ledger{got, want} {
		write(t, l, after(4), func(tx *Tx) error {
			e := line(after(4), "evidence that is new")
			added, err := tx.AddEvidence(&e, []string{"uid:u"}, false)
			if !added {
				t.Error("it was there")
			}
			e = line(t0, "evidence")
			again, err2 := tx.AddEvidence(&e, []string{"uid:u", "name:p"}, false)
			if again {
				t.Error("what it had is added once more")
			}
			return errors.Join(err, err2, tx.AddVerdict("1", verdict("p", 3), after(-5), true))
		})
	}
	if diff := cmp.Diff(read(t, want), read(t, got)); diff != "" {
		t.Error(diff)
	}
	for _, name := range []string{"p", "uid-p", "forgotten", "arc/forgot"} {
		q := Query{Runner: name}
		found := get(got.Verdicts(t.Context(), q))(t)
		if diff := cmp.Diff(get(want.Verdicts(t.Context(), q))(t), found); diff != "" || len(found) != 1 {
			t.Errorf("%s: %d found %s", name, len(found), diff)
		}
	}
	if n := len(get(got.Revisions(t.Context(), "1"))(t)); n != 3 {
		t.Errorf("%d revisions", n)
	}
}

// A server that is killed while it takes a ledger over goes on with it, however far
// it came: nothing is lost, nothing is there twice.
func TestTakingOverGoesOn(t *testing.T) {
	want := read(t, reopen(t, first(t)))
	for steps := range 6 {
		path := first(t)
		execute(t, path, strings.Join(schema.FromFirst, ";"))
		for range steps {
			half(t, path, schema.MoveVerdicts)
		}
		for range max(0, steps-3) {
			half(t, path, schema.NumberNames)
		}
		if diff := cmp.Diff(want, read(t, reopen(t, path))); diff != "" {
			t.Errorf("after %d steps: %s", steps, diff)
		}
	}
}

// The same for a ledger of each version since there are numbers for names.
func TestAddingColumnsGoesOn(t *testing.T) {
	want := read(t, reopen(t, earlier(t, 3)))
	made := strings.Split(strings.TrimSpace(schema.Indexes), "\n")
	added := len(schema.Additions)
	for steps := range added + len(made) + 1 {
		path := earlier(t, 3)
		for _, step := range schema.Additions[:min(steps, added)] {
			half(t, path, func(tx *sql.Tx, _ int) (bool, error) { return false, step(tx) })
		}
		execute(t, path, strings.Join(made[:max(0, steps-added)], ""))
		l := reopen(t, path)
		if diff := cmp.Diff(want, read(t, l)); diff != "" {
			t.Errorf("after %d steps: %s", steps, diff)
		}
		var have int
		const know = "SELECT count(*) FROM sqlite_master WHERE type = 'index' AND sql LIKE '%cluster%'"
		if err := l.queryPool.QueryRow(know).Scan(&have); err != nil || have != 6 {
			t.Errorf("after %d steps: %d indexes know of clusters, %v", steps, have, err)
		}
	}
}

// The indexes are made last: a file that lacks some gets them when it is opened.
func TestIndexesThatLackAreMade(t *testing.T) {
	path := first(t)
	if err := reopen(t, path).Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, path, "DROP INDEX last_node; DROP INDEX cases_heard")
	l := reopen(t, path)
	var n int
	if err := l.queryPool.QueryRow(
		"SELECT count(*) FROM sqlite_master WHERE name IN ('last_node', 'cases_heard')").Scan(&n); err != nil ||
		n != 2 {
		t.Errorf("%d of 2 indexes, %v", n, err)
	}
}

// half does one small step of a migration.
func half(t *testing.T, path string, step func(*sql.Tx, int) (bool, error)) {
	t.Helper()
	db := get(sql.Open("sqlite", "file:"+path))(t)
	db.SetMaxOpenConns(1)
	defer db.Close()
	tx := get(db.Begin())(t)
	_, err := step(tx, 1)
	if err := errors.Join(err, tx.Commit()); err != nil {
		t.Fatal(err)
	}
}

// What was taken over is swept like what is new, with its names.
func TestWhatWasTakenOverIsSwept(t *testing.T) {
	l := reopen(t, first(t))
	write(t, l, after(9), func(tx *Tx) error {
		swept, err := tx.Sweep(after(-9), after(9))
		if swept.Evidence != 2 {
			t.Errorf("%+v", swept)
		}
		return err
	})
	var left int
	if err := l.queryPool.QueryRow("SELECT (SELECT count(*) FROM evidence) + (SELECT count(*) FROM names)").Scan(
		&left); err != nil ||
		left != 0 {
		t.Errorf("%d rows are left, %v", left, err)
	}
}

// A file that cannot be taken over stays as it is: the version that wrote it reads
// it still.
func TestWhatCannotBeTakenOverStays(t *testing.T) {
	path := first(t)
	execute(t, path, "DROP TABLE outbox")
	if l, err := Open(path); err == nil || !strings.Contains(err.Error(), "outbox") {
		t.Fatal(l, err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var had, has int
	err = errors.Join(db.QueryRow("PRAGMA user_version").Scan(&had),
		db.QueryRow("SELECT count(*) FROM names WHERE name = 'uid:u'").Scan(&has))
	if had != 1 || has != 1 || err != nil {
		t.Errorf("version %d, %d of its names, %v", had, has, err)
	}
}

// Every question is answered through an index: nothing looks through a table.
func TestQuestionsHaveTheirIndex(t *testing.T) {
	ofAFile(t)
	l, at := fresh(t), time.Unix(1, 0)
	for _, tt := range []struct {
		index string
		query Query
	}{
		{"last_recorded", Query{}},
		{"last_recorded", Query{Since: at}},
		{"last_label", Query{Labels: []rules.Label{rules.Completed}}},
		{"last_node", Query{Node: "n", Since: at}},
		{"last_died", Query{Node: "n", Died: Between{at, at}}},
		{"last_cluster", Query{Cluster: new(string)}},
		{"last_alike", Query{Pool: "p"}},
		{"last_alike", Query{Pool: "p", Standing: Standing{Alike: 1}}},
		{"last_repository", Query{Repository: "r"}},
		{"verdicts_run", Query{Run: "1"}},
		{"verdicts_job", Query{Job: "1"}},
		{"cases_name", Query{Runner: "r"}},
		{"cases_uid", Query{Runner: "r"}},
	} {
		where, args := tt.query.whereClause(l.names)
		if plan := planOf(t, l, "SELECT * FROM verdicts "+where+
			" ORDER BY recorded DESC, member LIMIT 9", args...); !strings.Contains(
			plan, "USING INDEX "+tt.index,
		) && !strings.Contains(
			plan, "USING COVERING INDEX "+tt.index,
		) {
			t.Errorf("%+v: %s", tt.query, plan)
		}
	}
}

func planOf(t *testing.T, l *Ledger, query string, args ...any) (plan string) {
	t.Helper()
	rows, err := l.queryPool.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query, args...)
	err = eachRow(rows, err, func(r *sql.Rows) error {
		var a, b, c int
		var step string
		err := r.Scan(&a, &b, &c, &step)
		plan += step + "\n"
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
