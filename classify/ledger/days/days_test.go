package days

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger/database"
	"coroner/classify/ledger/schema"
	"coroner/fixtures/postgres"
)

// opened are the tables of a new database.
func opened(t *testing.T) (*Days, func(string) string) {
	t.Helper()
	s := postgres.Start(t, false, "evidence that is split by day")
	url := s.Database(t)
	pools, err := database.OpenURL(url, nil, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pools[0].Close() })
	if err := schema.Expand(pools[0].DB); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), pools[0])
	if err != nil || d == nil {
		t.Fatal(d, err)
	}
	return d, func(text string) string {
		t.Helper()
		out, err := s.Query(postgres.Name(url), text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
}

// A record that is received while its day is about to go keeps it; without it, and with another day's,
// the day goes.
func TestALateRecordWins(t *testing.T) {
	d, query := opened(t)
	now := time.Now().UTC()
	day := table{evidence, dayOf(now.UnixNano())}
	file := func(id int, at, received time.Time) {
		query(fmt.Sprintf("INSERT INTO evidence (id, hash, node, at, wide, received, entry) "+
			"VALUES (%d, '%[1]d', '', %d, false, %d, '')", id, at.UnixNano(), received.UnixNano()))
	}
	file(1, now, now)
	file(2, now, now.Add(time.Hour)) // after it was looked whether the day can go
	file(3, now.Add(24*time.Hour), now.Add(2*time.Hour))
	var k Kept
	if err := d.drop(t.Context(), day, now.Add(time.Hour), 1, &k); err != nil || k.Evidence != 0 {
		t.Errorf("%+v, %v", k, err)
	}
	got := query("SELECT count(*) FROM evidence") + query("SELECT count(*) FROM meta WHERE name = 'swept'")
	if got != "30" {
		t.Errorf("%q", got)
	}
	if err := d.drop(t.Context(), day, now.Add(time.Hour+1), 2, &k); err != nil || k.Evidence != 2 {
		t.Errorf("%+v, %v", k, err)
	}
	got = query("SELECT id FROM evidence") + query("SELECT value FROM meta WHERE name = 'swept'")
	if got != fmt.Sprint("3", now.Add(time.Hour+1).UnixNano()) {
		t.Errorf("%q", got)
	}
}

// Two tables are waited for, one after the other; who comes after waits as long.
func TestHowLongOthersWait(t *testing.T) {
	if 2*waitFor > 100 {
		t.Errorf("somebody who writes waits %d ms", 2*waitFor)
	}
}

// Of a large table it is known about how many rows it has.
func TestCount(t *testing.T) {
	d, query := opened(t)
	day := table{evidence, dayOf(time.Now().UnixNano())}
	for want, text := range map[int64]string{
		0: "", 7_000_000: "UPDATE pg_class SET reltuples = 7e6 WHERE relname = '" + day.String() + "'",
	} {
		if text != "" {
			query(text)
		}
		if n, err := d.count(t.Context(), day); err != nil || n != want {
			t.Errorf("%d, want %d, %v", n, want, err)
		}
		query("UPDATE pg_class SET reltuples = -1 WHERE relname = '" + day.String() + "'")
	}
}

// A clock that was never set keeps nobody from starting.
func TestTheFirstDays(t *testing.T) {
	d, query := opened(t)
	for _, at := range []time.Time{time.Unix(5, 0), time.Unix(-5, 0), {}} {
		if k, err := d.Keep(t.Context(), at, at.Add(-time.Hour)); err != nil || len(k.Late)+len(k.Held) > 0 {
			t.Errorf("%s: %+v, %v", at, k, err)
		}
	}
	if got := query("SELECT to_regclass('evidence_d19700102'), to_regclass('names_d19700104')"); got !=
		"evidence_d19700102|names_d19700104" {
		t.Error(got)
	}
}

// Names of tables that are none of a day's are left alone.
func TestTablesOfOthers(t *testing.T) {
	d, query := opened(t)
	query("CREATE TABLE evidence_d2020 PARTITION OF evidence FOR VALUES FROM (5) TO (6); " +
		"CREATE TABLE evidence_dancing PARTITION OF evidence FOR VALUES FROM (6) TO (7); " +
		"CREATE TABLE evidence_d20200101 (at int)")
	now := time.Now().AddDate(1, 0, 0)
	if _, err := d.Keep(t.Context(), now, now); err != nil {
		t.Fatal(err)
	}
	if got := query("SELECT count(*) FROM pg_class WHERE relname IN ('evidence_d2020', 'evidence_dancing', " +
		"'evidence_d20200101', 'evidence_rest', 'evidence_undated', 'names_rest', 'names_file')"); got != "7" {
		t.Errorf("%s of 7 tables are there", got)
	}
}
