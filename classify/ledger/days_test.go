package ledger

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger/days"
	"coroner/fixtures/postgres"

	"github.com/google/go-cmp/cmp"
)

// today is the day that the tests begin on.
var today = time.Now().UTC().Truncate(24 * time.Hour)

// noon is in the middle of the day so many days from today.
func noon(day int) time.Time { return today.Add(12*time.Hour).AddDate(0, 0, day) }

// tableOf is the table of a day.
func tableOf(root string, day int) string { return root + noon(day).Format("_d20060102") }

// split is a new ledger whose evidence is split by day, with tables from some days ago on.
func split(t *testing.T, s *postgres.Server, from int) (*Ledger, func(string) string) {
	t.Helper()
	l, _, query := inServer(t, s)
	for day := from; day <= 0; day++ { // today's are there, unless the tests began before midnight
		keep(t, l, noon(day), time.Time{})
	}
	return l, query
}

// keep keeps the tables, of which none is used meanwhile.
func keep(t *testing.T, l *Ledger, now, since time.Time) days.Kept {
	t.Helper()
	kept := get(l.Days.Keep(t.Context(), now, since))(t)
	if len(kept.Held)+len(kept.Late) > 0 {
		t.Errorf("%+v", kept)
	}
	return kept
}

// receive files a record of a time as received at another.
func receive(t testing.TB, l *Ledger, at, received time.Time, text string) {
	t.Helper()
	write(t, l, received, func(tx *Tx) error {
		e := line(at, text)
		_, err := tx.AddEvidence(&e, []string{"name", "only " + text}, false)
		return err
	})
}

// textsUnder are the texts that a ledger finds under a name.
func textsUnder(t testing.TB, l *Ledger, name string) []string {
	t.Helper()
	return texts(get(l.Since(t.Context(), name, time.Time{}))(t))
}

// Evidence that is split by day, each test in a database of its own.
func TestDays(t *testing.T) {
	if postgres.Second() {
		t.Skip("shown by the first run: it starts a PostgreSQL of its own")
	}
	s := postgres.Start(t, false, "evidence that is split by day")
	for name, test := range map[string]func(*testing.T, *postgres.Server){
		"retention drops days":                      retentionDropsDays,
		"days end at midnight":                      daysEndAtMidnight,
		"a day that came before its table":          aDayThatCameBeforeItsTable,
		"a record is one across days":               aRecordIsOneAcrossDays,
		"numbers are not shared":                    numbersAreNotShared,
		"a long reader":                             aLongReader,
		"changes wait for nobody for long":          changesWaitForNobodyForLong,
		"questions of days":                         questionsOfDays,
		"copy into days":                            copyIntoDays,
		"copy of an earlier database":               copyOfAnEarlierDatabase,
		"a database without days":                   aDatabaseWithoutDays,
		"another refusal":                           anotherRefusal,
		"the version before does not write to days": theVersionBeforeDoesNotWriteToDays,
		"tables tell whether they are split":        tablesTellWhetherTheyAreSplit,
	} {
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

// Retention drops the table of a day that is over and of which nothing was received since, and
// nothing else.
func retentionDropsDays(t *testing.T, s *postgres.Server) {
	l, query := split(t, s, -8)
	undated := time.Time{}
	receive(t, l, noon(-6), noon(-6), "six days ago")
	receive(t, l, noon(-6), noon(-5), "six days ago, told a day later")
	receive(t, l, noon(-5), noon(-5), "five days ago")
	receive(t, l, noon(-5), noon(-2), "five days ago, told two days ago")
	receive(t, l, noon(-3), noon(-3), "at the cut")
	receive(t, l, noon(-2), noon(-2), "two days ago")
	receive(t, l, undated, noon(-6), "undated, old")
	receive(t, l, undated, noon(-2), "undated, young")
	receive(t, l, noon(1), noon(-6), "of tomorrow, told six days ago")
	receive(t, l, noon(400), noon(-6), "of next year, told six days ago")
	receive(t, l, noon(-400), noon(-2), "of last year, told two days ago")
	all := len(textsUnder(t, l, "name"))
	if got := query("SELECT (SELECT count(*) FROM evidence_rest), count(*) FROM evidence_undated"); got != "2|2" ||
		all != 11 {
		t.Fatalf("%s of %d records are in no table of a day", got, all)
	}
	cut := noon(-3)
	kept := keep(t, l, noon(0), cut)
	if kept.Evidence != 2 {
		t.Errorf("%+v", kept)
	}
	want := []string{
		"undated, old", "undated, young", "of last year, told two days ago", "five days ago",
		"five days ago, told two days ago", "at the cut", "two days ago", "of tomorrow, told six days ago",
		"of next year, told six days ago",
	}
	// Of the last days of receipt before the cut the names are gone with what was received then.
	there := []string{
		"undated, young", "of last year, told two days ago", "five days ago, told two days ago",
		"at the cut", "two days ago",
	}
	if diff := cmp.Diff(there, textsUnder(t, l, "name")); diff != "" {
		t.Error(diff)
	}
	if got := query("SELECT count(*) FROM evidence"); got != fmt.Sprint(len(want)) {
		t.Errorf("%s records, want %d", got, len(want))
	}
	for _, root := range []string{"evidence", "names"} {
		for day, want := range map[int]bool{-7: false, -6: false, -5: root == "evidence", -4: false, -3: true, -2: true,
			-1: true, 0: true, 1: true, 2: true, 3: true, 4: false} {
			is := query("SELECT to_regclass('"+tableOf(root, day)+"') IS NOT NULL") == "t"
			if is != want {
				t.Errorf("the table of %s %d days from today is there: %v, want %v", root, day, is, want)
			}
		}
	}
	var swept Swept
	write(t, l, noon(0), func(tx *Tx) (err error) {
		swept, err = tx.Sweep(cut, cut)
		return err
	})
	// What has no table of a day goes row by row.
	if want := (Swept{Evidence: 2}); swept != want {
		t.Errorf("%+v, want %+v", swept, want)
	}
	if diff := cmp.Diff(there, textsUnder(t, l, "name")); diff != "" {
		t.Error(diff)
	}
	if to := get(l.SweptTo(t.Context()))(t); !to.Equal(cut) {
		t.Errorf("swept to %s, want %s", to, cut)
	}
	if oldest := get(l.OldestEvidence(t.Context()))(t); !oldest.Equal(noon(-6)) {
		t.Errorf("the oldest was received at %s: that of tomorrow stays until its day is over", oldest)
	}
	if again := keep(t, l, noon(0), cut); again.Evidence != 0 {
		t.Errorf("%+v", again)
	}
	// In time everything goes.
	keep(t, l, noon(5), noon(3))
	write(t, l, noon(5), func(tx *Tx) (err error) {
		swept, err = tx.Sweep(noon(3), noon(3))
		return err
	})
	if got := query("SELECT (SELECT count(*) FROM evidence) + (SELECT count(*) FROM names)"); got != "0" {
		t.Errorf("%s rows are left: %s", got, query("SELECT tableoid::regclass, evidence FROM names"))
	}
}

// A day that is over goes at its end to the nanosecond, and not before; the same for what was received
// at the very moment that is asked for.
func daysEndAtMidnight(t *testing.T, s *postgres.Server) {
	l, query := split(t, s, -4)
	midnight := noon(-1).Add(12 * time.Hour)
	receive(t, l, midnight.Add(-1), midnight.Add(2*time.Hour), "the day's last")
	receive(t, l, midnight, midnight.Add(-2*time.Hour), "the next day's first")
	there := func(root string, day int) bool {
		return query("SELECT to_regclass('"+tableOf(root, day)+"') IS NOT NULL") == "t"
	}
	for _, tt := range []struct {
		now, since      time.Time
		evidence, names bool
	}{
		{midnight.Add(time.Hour), midnight.Add(-1), true, true}, // it was not over then
		{midnight.Add(9 * time.Hour), midnight, true, false},    // something in it was received since
		{midnight.Add(9 * time.Hour), midnight.Add(2 * time.Hour), true, false},
		{midnight.Add(9 * time.Hour), midnight.Add(2*time.Hour + 1), false, false},
	} {
		keep(t, l, tt.now, tt.since)
		if e, n := there("evidence", -1), there("names", -1); e != tt.evidence || n != tt.names {
			t.Errorf("at %s, since %s: evidence %v, names %v", tt.now, tt.since, e, n)
		}
	}
	if got := query("SELECT count(*) FROM evidence"); got != "1" || !there("evidence", 0) {
		t.Errorf("%s records of the next day", got)
	}
}

// Who comes late to a day that has no table yet finds that one made of it, and one that it is too
// late for is told of once.
func aDayThatCameBeforeItsTable(t *testing.T, s *postgres.Server) {
	l, query := split(t, s, 0)
	receive(t, l, noon(5), noon(0), "of a clock that is ahead")
	if tables := query("SELECT to_regclass('" + tableOf("evidence", 3) + "') IS NOT NULL"); tables != "t" {
		t.Error("a new ledger has no tables for the days to come")
	}
	kept := get(l.Days.Keep(t.Context(), noon(2), noon(-2)))(t)
	if diff := cmp.Diff(days.Kept{Late: []string{tableOf("evidence", 5)}}, kept); diff != "" {
		t.Error(diff)
	}
	keep(t, l, noon(2), noon(-2)) // it is not told again
	receive(t, l, noon(5), noon(5), "of that day")
	if got := query("SELECT count(*) FROM evidence_rest"); got != "2" {
		t.Errorf("%s records", got)
	}
	if diff := cmp.Diff([]string{"of a clock that is ahead", "of that day"}, textsUnder(t, l, "name")); diff != "" {
		t.Error(diff)
	}
	receive(t, l, noon(0), noon(30), "of a time that names have no table of")
	write(t, l, noon(40), func(tx *Tx) error {
		_, err := tx.Sweep(noon(31), noon(31))
		return err
	})
	keep(t, l, noon(40), noon(31))
	if left := query("SELECT (SELECT count(*) FROM evidence) + (SELECT count(*) FROM names)"); left != "0" {
		t.Errorf("%s rows are left", left)
	}
}

// A record that comes again on another day, and to another server, is the same one, of whichever
// day it is.
func aRecordIsOneAcrossDays(t *testing.T, s *postgres.Server) {
	a, url, query := inServer(t, s)
	b := reopen(t, url)
	for i, at := range []time.Time{noon(0), noon(1), noon(-9), {}, time.Unix(0, 0), noon(0).Add(1)} {
		for j, received := range []time.Time{noon(0), noon(1), noon(9)} {
			l := []*Ledger{a, b}[j%2]
			write(t, l, received, func(tx *Tx) error {
				e := line(at, fmt.Sprint("record ", i))
				added, err := tx.AddEvidence(&e, []string{"name"}, true)
				if added != (j == 0) {
					t.Errorf("record %d, %s: added %v", i, received, added)
				}
				return err
			})
		}
	}
	if got := query("SELECT count(*) FROM evidence"); got != "6" {
		t.Errorf("%s records", got)
	}
}

// Two records never share a number, whatever days they are of: one of two writes that came to the
// same number is made anew.
func numbersAreNotShared(t *testing.T, s *postgres.Server) {
	a, url, query := inServer(t, s)
	b := reopen(t, url)
	ats := []time.Time{noon(0), noon(1), noon(-9), {}, noon(0).Add(time.Hour)}
	for i, first := range ats {
		for j, second := range ats {
			tries, now := 0, noon(0).Add(time.Duration(10*i+j)*time.Second)
			file := func(l *Ledger, at time.Time, text string, number func(*Tx)) {
				write(t, l, now, func(tx *Tx) error {
					number(tx)
					e := line(at, text)
					_, err := tx.AddEvidence(&e, []string{text}, false)
					return err
				})
			}
			file(a, first, fmt.Sprintf("first %d %d", i, j), func(tx *Tx) { tx.days.Next = 7 })
			file(b, second, fmt.Sprintf("second %d %d", i, j), func(tx *Tx) {
				if tries++; tries == 1 {
					tx.days.Next = 7
				}
			})
			own := func(at time.Time) bool { return at.Truncate(24 * time.Hour).Equal(today) }
			if want := 2; own(first) == own(second) && tries != want {
				t.Errorf("%s and %s have one number: %d tries", first, second, tries)
			}
		}
	}
	if got := query("SELECT count(*) FROM (SELECT id FROM evidence GROUP BY id HAVING count(*) > 1) x"); got != "0" {
		t.Errorf("%s numbers are of two records", got)
	}
	if got := query("SELECT count(*) FROM evidence"); got != "50" {
		t.Errorf("%s records", got)
	}
}

// A reader that does not come to its end keeps tables from being made and dropped, and nobody from
// writing: that is given up after less than a tenth of a second, and done once the reader is gone.
func aLongReader(t *testing.T, s *postgres.Server) {
	l, query := split(t, s, -4)
	receive(t, l, noon(-3), noon(-3), "old")
	reader := get(l.queryPool.BeginTx(t.Context(), nil))(t)
	defer reader.Rollback()
	if _, err := reader.Exec("SELECT count(*) FROM evidence, names"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a wait without a bound ends the test
	defer cancel()
	kept := get(l.Days.Keep(ctx, noon(1), noon(0)))(t)
	for _, table := range []string{
		tableOf("evidence", 4), tableOf("names", 4), tableOf("evidence", -3), tableOf("names", -3),
	} {
		if !strings.Contains(fmt.Sprint(kept.Held), table) {
			t.Errorf("%s is not held: %+v", table, kept)
		}
	}
	if kept.Evidence != 0 || query("SELECT count(*) FROM evidence") != "1" {
		t.Errorf("%+v", kept)
	}
	if waits := query("SELECT count(*) FROM pg_locks JOIN pg_database d ON d.oid = database " +
		"WHERE datname = current_database() AND (NOT granted OR mode = 'AccessExclusiveLock')"); waits != "0" {
		t.Errorf("%s locks are left", waits)
	}
	receive(t, l, noon(0), noon(0), "new") // nobody has to wait for the reader
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if kept := keep(t, l, noon(1), noon(0)); kept.Evidence != 1 {
		t.Errorf("%+v", kept)
	}
}

// What waits for a lock beside a writer gives up by itself, and says what it waited with.
func changesWaitForNobodyForLong(t *testing.T, s *postgres.Server) {
	l, query := split(t, s, -4)
	receive(t, l, noon(-3), noon(-3), "old")
	query(`CREATE TABLE seen (what text, wait text);
		CREATE FUNCTION note() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN INSERT INTO seen VALUES (tg_tag, current_setting('lock_timeout')); END $$;
		CREATE EVENT TRIGGER noted ON ddl_command_start EXECUTE FUNCTION note()`)
	if kept := keep(t, l, noon(1), noon(0)); kept.Evidence != 1 {
		t.Errorf("%+v", kept)
	}
	query("DROP EVENT TRIGGER noted")
	want := "CREATE TABLE|30ms\nDROP TABLE|30ms"
	if got := query("SELECT DISTINCT what, wait FROM seen ORDER BY 1"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever becomes of the tables, a question is answered by way of indexes, and of the days that it
// is of.
func questionsOfDays(t *testing.T, s *postgres.Server) {
	_, query := split(t, s, -4)
	plan := func(text string) string {
		return query("SET enable_seqscan = off; EXPLAIN (COSTS OFF) " + text)
	}
	at := noon(0).UnixNano()
	wide := "SELECT id FROM evidence WHERE wide AND node = 'n' AND at "
	dated := fmt.Sprint(wide, "<> 0 AND at BETWEEN ", at-1e9, " AND ", at)
	for text, only := range map[string]string{
		dated: tableOf("evidence", 0), wide + "= 0": "evidence_undated",
	} {
		got := plan(text)
		if strings.Count(got, "evidence_") != strings.Count(got, only) || !strings.Contains(got, only) {
			t.Errorf("%s asks others than %s:\n%s", text, only, got)
		}
	}
	for _, text := range []string{
		"SELECT e.entry FROM names n CROSS JOIN evidence e WHERE n.name = 7 AND e.id = n.evidence",
		"SELECT entry FROM evidence WHERE id = 7", "SELECT min(received) FROM evidence",
		dated,
		"DELETE FROM names WHERE name = 7 AND evidence = 8",
	} {
		if got := plan(text); strings.Contains(got, "Seq Scan") {
			t.Errorf("%s:\n%s", text, got)
		}
	}
}

// What is copied from a file into a database is in tables of its days, goes with them, and all of
// it can be copied into a file again.
func copyIntoDays(t *testing.T, s *postgres.Server) {
	l, query := split(t, s, 0)
	file, back := reopen(t, filepath.Join(t.TempDir(), "a.db")), reopen(t, filepath.Join(t.TempDir(), "b.db"))
	for _, day := range []int{-1, -3, -2, -500} {
		receive(t, file, noon(day), noon(max(day, -4)), fmt.Sprint("of day ", day))
	}
	receive(t, file, time.Time{}, noon(-1), "undated")
	receive(t, file, noon(90), noon(-1), "of next year")
	all := textsUnder(t, file, "name")
	tell := func(string, int64, int64) {}
	if err := errors.Join(Copy(t.Context(), file, l, tell), Copy(t.Context(), l, back, tell)); err != nil {
		t.Fatal(err)
	}
	for what, l := range map[string]*Ledger{"in the database": l, "in a file again": back} {
		if diff := cmp.Diff(all, textsUnder(t, l, "name")); diff != "" || len(all) != 6 {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if got := query("SELECT count(*) FROM evidence_rest"); got != "1" { // of next year
		t.Errorf("%s records are in no table of a day", got)
	}
	receive(t, l, noon(0), noon(0), "new")
	if kept := keep(t, l, noon(0), noon(-2)); kept.Evidence != 2 {
		t.Errorf("%+v", kept)
	}
	if got := textsUnder(t, l, "name"); len(got) != 5 {
		t.Errorf("%q", got)
	}
	for range 2 {
		keep(t, l, noon(3), noon(1))
		write(t, l, noon(3), func(tx *Tx) error {
			_, err := tx.Sweep(noon(1), noon(1))
			return err
		})
	}
	if got := query("SELECT (SELECT count(*) FROM evidence) + (SELECT count(*) FROM names)"); got != "0" {
		t.Errorf("%s rows are left", got)
	}
}

// A database that an earlier version made keeps its tables; a copy has its evidence by day.
func copyOfAnEarlierDatabase(t *testing.T, s *postgres.Server) {
	_, url, query := inServer(t, s)
	query(emptied + string(dump(t, 8)))
	earlier := reopen(t, url)
	if earlier.Days != nil {
		t.Error("the tables of an earlier version are taken for those of days")
	}
	reads9(t, earlier, "8")
	receive(t, earlier, noon(-2), noon(-2), "of this version")
	l, _, of := inServer(t, s)
	if err := Copy(t.Context(), earlier, l, func(string, int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	reads9(t, l, "8")
	if got := of("SELECT count(*) FROM " + tableOf("evidence", -2)); got != "1" {
		t.Errorf("%s records", got)
	}
}

// A database that knows no such tables has plain ones, and everything else.
func aDatabaseWithoutDays(t *testing.T, s *postgres.Server) {
	for _, code := range []string{"0A000", "42601"} {
		t.Run(code, func(t *testing.T) {
			_, url, query := inServer(t, s)
			query(emptied + refusing(code))
			l := reopen(t, url)
			if l.Days != nil || query("SELECT relkind FROM pg_class WHERE relname = 'evidence'") != "r" {
				t.Fatal("it split tables: this test shows nothing")
			}
			if got := query("SELECT value FROM meta WHERE name = 'least'"); got != "7" {
				t.Errorf("least %s: a program of version 8 may use plain tables", got)
			}
			want := fresh(t)
			write(t, want, t0, fill)
			write(t, l, t0, fill)
			if diff := cmp.Diff(read(t, want), read(t, l)); diff != "" {
				t.Error(diff)
			}
			if kept := keep(t, l, noon(9), noon(9)); kept.Evidence != 0 {
				t.Errorf("%+v", kept)
			}
			write(t, l, after(9), func(tx *Tx) error {
				swept, err := tx.Sweep(after(9), after(9))
				if swept.Evidence != 2 {
					t.Errorf("%+v", swept)
				}
				return err
			})
		})
	}
}

// Of a database that another refusal comes from nothing is made.
func anotherRefusal(t *testing.T, s *postgres.Server) {
	_, url, query := inServer(t, s)
	query(emptied + refusing("53100"))
	if l, err := Open(url); err == nil || !strings.Contains(err.Error(), "what is that?") {
		t.Error(l, err)
	}
	if got := query("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"); got != "0" {
		t.Errorf("%s tables", got)
	}
}

// A server of the version before this one finds what it has to read and write in a database whose
// evidence is split, and does not start: not even one that found no tables a moment before.
func theVersionBeforeDoesNotWriteToDays(t *testing.T, s *postgres.Server) {
	l, _, query := inServer(t, s)
	if l.Days == nil {
		t.Fatal("a new database is not split")
	}
	for name, want := range map[string]string{"schema": "9", "least": "9"} {
		if got := query("SELECT value FROM meta WHERE name = '" + name + "'"); got != want {
			t.Errorf("%s %s, want %s: version 8 starts where it is 8 at most", name, got, want)
		}
	}
	const note = "INSERT INTO meta (name, value) VALUES ('least', 7) " +
		"ON CONFLICT (name) DO UPDATE SET value = excluded.value"
	if _, err := l.queryPool.Exec(note); err == nil || !strings.Contains(err.Error(), "meta_least") {
		t.Errorf("version 8 goes on to make its tables: %v", err)
	}
}

// What stands in meta of a database whose evidence is split is what its tables are, also where it was
// told otherwise.
func tablesTellWhetherTheyAreSplit(t *testing.T, s *postgres.Server) {
	l, url, query := inServer(t, s)
	receive(t, l, noon(0), noon(0), "one")
	query("ALTER TABLE meta DROP CONSTRAINT meta_least; UPDATE meta SET value = 8 WHERE name = 'schema'; " +
		"UPDATE meta SET value = 7 WHERE name = 'least'")
	again := reopen(t, url)
	if again.Days == nil {
		t.Error("split tables are taken for plain ones")
	}
	receive(t, again, noon(0), noon(0), "two")
	if got := query("SELECT value FROM meta WHERE name = 'least'"); got != "9" {
		t.Errorf("least %s", got)
	}
}
