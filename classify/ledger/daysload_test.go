package ledger

import (
	"crypto/md5"
	"database/sql"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/fixtures/bench"
	"coroner/fixtures/postgres"
)

// numbered is a name of a record: of four kinds, ten records of a day after one another have each.
const numbered = `CREATE FUNCTION named(kind bigint, record bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
  $$ SELECT ('x' || substr(md5(kind || '-' || record / 10), 1, 15))::bit(60)::bigint $$`

// records makes some of the day that begins in a millisecond.
const records = `INSERT INTO evidence (id, hash, node, at, wide, received, entry, names)
SELECT ((%[3]d + n) << 21) + 2 * (n %% 1000), decode(md5('%[3]d ' || n), 'hex'), 'node-' || n %% 20000,
  (%[3]d + n) * 1000000, n %% 20 = 0, (%[3]d + n) * 1000000,
  convert_to('{"text":"' || repeat('what a journal says of it ', 16) || n || '"}', 'UTF8'),
  int8send(named(1, n)) || int8send(named(2, n)) || int8send(named(3, n)) || int8send(named(4, n))
FROM generate_series(%[1]d::bigint, %[2]d) n;
INSERT INTO names (name, evidence) SELECT named(k, n), ((%[3]d + n) << 21) + 2 * (n %% 1000)
FROM generate_series(%[1]d::bigint, %[2]d) n, generate_series(1, 4) k`

// placed is a ledger with records of three days.
type placed struct {
	*Ledger
	what string
	db   *postgres.Server
	run  func(string) string
}

// placeOf makes one whose evidence is split by day, or is not.
func placeOf(t *testing.T, db *postgres.Server, what string, perDay int) *placed {
	url := db.Database(t)
	run := func(text string) string { return get(db.Query(postgres.Name(url), text))(t) }
	if what == "plain" {
		run(refusing("0A000"))
	}
	l := reopen(t, url)
	run(numbered)
	if what == "plain" {
		run("DROP EVENT TRIGGER refusing")
	}
	for day := -2; day <= 0; day++ {
		get(l.Days.Keep(t.Context(), noon(day), time.Time{}))(t)
		for from := 0; from < perDay; from += 100_000 {
			run(fmt.Sprintf(records, from, min(from+100_000, perDay)-1, today.AddDate(0, 0, day).UnixMilli()))
		}
	}
	for table := range strings.FieldsSeq(filled(what)) { // as it is done by itself, where something was added
		run("VACUUM ANALYZE " + table)
	}
	run("CHECKPOINT")
	return &placed{l, what, db, run}
}

// What evidence costs in tables of days and in plain ones: to file, to find, and to remove.
func TestBenchDays(t *testing.T) {
	perDay := 1_000_000
	if bench.Asked(t, "what evidence costs that is split by day") {
		perDay = 100_000
	}
	db := postgres.Start(t, true, "what evidence costs that is split by day")
	both := []*placed{placeOf(t, db, "plain", perDay), placeOf(t, db, "split", perDay)}
	for _, c := range []struct {
		what    string
		measure func(*placed, int)
	}{
		{"file a record", func(p *placed, n int) { p.file(t, n) }},
		{"find 30 records by their name", func(p *placed, n int) { p.find(t, n, perDay) }},
		{"read one by its number", func(p *placed, n int) { p.read(t, n, perDay) }},
	} {
		var wall, cpu [2][]time.Duration // of rounds, which take turns: the machine has other work, too
		for round := range 12 {
			for i, p := range both {
				const each = 1000
				busy, began := db.CPU(), time.Now()
				c.measure(p, each)
				if round >= 2 { // before that pages are read and plans are made
					wall[i], cpu[i] = append(wall[i], time.Since(began)/each), append(cpu[i], (db.CPU()-busy)/each)
				}
			}
		}
		for _, all := range []*[2][]time.Duration{&wall, &cpu} {
			slices.Sort(all[0])
			slices.Sort(all[1])
		}
		t.Logf("to %s: plain %v, split %v; of the database's processor %v, %v", c.what,
			wall[0][5], wall[1][5], cpu[0][5], cpu[1][5])
	}
	for _, p := range both {
		p.plan(t)
		p.remove(t)
	}
}

// filled are the tables that have something in them.
func filled(what string) string {
	if what == "plain" {
		return "evidence names"
	}
	out := ""
	for day := -2; day <= 0; day++ {
		out += " " + tableOf("evidence", day) + " " + tableOf("names", day)
	}
	return out
}

// file files records as pushes do.
func (p *placed) file(t *testing.T, n int) {
	const together = 50
	began := time.Now()
	for i := 0; i < n; i += together {
		write(t, p.Ledger, began, func(tx *Tx) error {
			for j := i; j < i+together; j++ {
				e := line(noon(0).Add(time.Duration(j)), fmt.Sprint("record ", j, began))
				names := []string{fmt.Sprint("a", j/10, began), fmt.Sprint("b", j/10, began), fmt.Sprint("c", j, began)}
				if _, err := tx.AddEvidence(&e, names, j%20 == 0); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

const byName = "SELECT e.id, e.entry FROM names n CROSS JOIN evidence e WHERE n.name = ? AND e.id = n.evidence"

// find asks as the gathering of a case does.
func (p *placed) find(t *testing.T, times, perDay int) {
	for range times {
		n := 0
		rows, err := p.query(t.Context(), byName, p.named(1+rand.IntN(4), rand.IntN(perDay)))
		err = eachRow(rows, err, func(r *sql.Rows) error {
			n++
			return r.Scan(new(int64), new(sql.RawBytes))
		})
		if n != 30 || err != nil {
			t.Fatalf("%d records of a name, %v", n, err)
		}
	}
}

// named is what numbered has in SQL.
func (p *placed) named(kind, record int) int64 {
	sum := md5.Sum(fmt.Appendf(nil, "%d-%d", kind, record/10))
	return int64(binary.BigEndian.Uint64(sum[:8]) >> 4)
}

// read reads as the looking at lines about a node does.
func (p *placed) read(t *testing.T, times, perDay int) {
	for range times {
		n := int64(rand.IntN(perDay))
		id := (today.AddDate(0, 0, -rand.IntN(3)).UnixMilli()+n)<<21 + 2*(n%1000)
		if _, ok, err := p.Evidence(t.Context(), id); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
}

// plan shows how the database finds records by their name.
func (p *placed) plan(t *testing.T) {
	t.Log(p.run(fmt.Sprintf("SET plan_cache_mode = force_generic_plan; PREPARE f (bigint) AS %s; "+
		"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) EXECUTE f (%d)", strings.ReplaceAll(byName, "?", "$1"), p.named(1, 7))))
}

// spread says what is usual of some times, and what is rare.
func spread(all []time.Duration) string {
	slices.Sort(all)
	n := len(all)
	return fmt.Sprintf("%v at the median, %v at p99, %v at most", all[n/2], all[n*99/100], all[n-1])
}

// remove removes the oldest day while somebody writes beside it, and tries to remove another
// one while somebody reads it.
func (p *placed) remove(t *testing.T) {
	l, db := p.Ledger, p.db
	other := reopen(t, l.path)
	beside := func(do func()) string {
		stop := make(chan struct{})
		var waited []time.Duration
		var all sync.WaitGroup
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				began := time.Now()
				receive(t, other, noon(0).Add(time.Duration(began.Nanosecond())), time.Now(), fmt.Sprint("beside ", i))
				waited = append(waited, time.Since(began))
			}
		})
		do()
		close(stop)
		all.Wait()
		return "who writes beside it waits " + spread(waited)
	}
	cut, gone, cpu := today.AddDate(0, 0, -1), int64(0), db.CPU()
	began, took := time.Now(), time.Duration(0)
	waits := beside(func() {
		gone = get(l.Days.Keep(t.Context(), noon(0), cut))(t).Evidence
		for more := true; more; {
			write(t, l, noon(0), func(tx *Tx) error {
				s, err := tx.Sweep(cut, cut)
				gone, more = gone+s.Evidence, s.More
				return err
			})
		}
		took = time.Since(began)
	})
	t.Logf("%s: %d records go in %v, %v of the database's processor; %s", p.what, gone, took, db.CPU()-cpu, waits)
	if l.Days == nil {
		return
	}
	reader := get(l.queryPool.BeginTx(t.Context(), nil))(t)
	defer reader.Rollback()
	if err := reader.QueryRow("SELECT count(*) FROM evidence WHERE id = 7").Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	held := 0
	waits = beside(func() {
		for range 50 {
			held += len(get(l.Days.Keep(t.Context(), noon(0), today))(t).Held)
		}
	})
	t.Logf("%s: %d times a table was in use: %s", p.what, held, waits)
}
