package database

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/fixtures/postgres"
)

// A text is the same question in both databases.
func TestTexts(t *testing.T) {
	pools, err := OpenURL("postgres://localhost/x", []string{"WHOLE", "part($)"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := pools[0].Dialect
	for text, want := range map[string]string{
		"SELECT a WHERE b = ? AND c IN (?, ?)":         "SELECT a WHERE b = $1 AND c IN ($2, $3)",
		"b > ?1 AND (c = ?2 OR ?1 = '')":               "b > $1 AND (c = $2 OR $1 = '')",
		"SELECT WHOLE FROM a INDEXED BY last_label":    "SELECT part($) FROM a",
		"+last = 1 AND +label IN (?)":                  "last = 1 AND label IN ($1)",
		"SELECT a FROM b WHERE c = ?" + Locked:         "SELECT a FROM b WHERE c = $1 FOR UPDATE",
		"name LIKE ?4 ESCAPE '\\' AND name = 'LIKE ü'": "name ILIKE $4 ESCAPE '\\' AND name = 'LIKE ü'",
	} {
		if got := d.text(text); got != want || d.text(text) != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
	in := (&Dialect{}).text("a = ?")
	if in != "a = ?" {
		t.Error(in)
	}
	type label string
	got := d.values([]any{"a\x00b\xff", label("l"), 7, []byte("\x00"), nil})
	if got[0] != "ab\ufffd" || got[1] != "l" || got[2] != 7 || string(got[3].([]byte)) != "\x00" || got[4] != nil {
		t.Errorf("%q", got)
	}
}

// What opens a database is in no name and in no error.
func TestPasswordsAreNotTold(t *testing.T) {
	const secret = "hunter2"
	for _, path := range []string{
		"postgres://me:hunter2@host:5432/db?sslmode=require", "postgres://me@host/db?password=hunter2",
		"postgresql://me:hunter2@host:port/db", "postgres://me:hunter2@ho st/%zz",
	} {
		if !IsURL(path) || strings.Contains(Redacted(path), secret) {
			t.Errorf("%s is called %s", path, Redacted(path))
		}
		if _, err := OpenURL(path, nil, 1); err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if IsURL("postgres.db") || Redacted("a?password=b.db") != "a?password=b.db" {
		t.Error("a file is taken for a database")
	}
}

// open makes a table x with the number 0 in a new database and opens it some times.
func open(t *testing.T, s *postgres.Server, times int) (out []*Conn) {
	t.Helper()
	url := s.Database(t)
	const make = "CREATE TABLE x (n BIGINT PRIMARY KEY); INSERT INTO x VALUES (0); " +
		"CREATE TABLE gates (name TEXT PRIMARY KEY); " +
		"CREATE TABLE leases (task TEXT PRIMARY KEY, holder TEXT, until BIGINT)"
	if _, err := s.Query(postgres.Name(url), make); err != nil {
		t.Fatal(err)
	}
	for range times {
		pools, err := OpenURL(url, nil, 2)
		if err != nil {
			t.Fatal(err)
		}
		c, err := NewConn(pools[0])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = c.GiveBack(), pools[0].Close() })
		out = append(out, c)
	}
	return out
}

// increment reads the number and writes the next one.
func increment(c *Conn) error {
	var n int
	if err := c.QueryRow("SELECT n FROM x").Scan(&n); err != nil {
		return err
	}
	_, err := c.Execute("UPDATE x SET n = ?", n+1)
	return err
}

func number(t *testing.T, c *Conn) (n int) {
	t.Helper()
	err := c.Write(t.Context(), func() error { return c.QueryRow("SELECT n FROM x").Scan(&n) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRemote(t *testing.T) {
	s := postgres.Start(t, false, "several servers on one PostgreSQL")
	t.Run("who holds a name is alone", func(t *testing.T) {
		const rounds = 40
		var all sync.WaitGroup
		conns := open(t, s, 3)
		for _, c := range conns {
			all.Go(func() {
				for range rounds {
					err := c.Write(context.Background(), func() error {
						return errors.Join(c.Hold("gate"), increment(c))
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if n := number(t, conns[0]); n != 3*rounds {
			t.Errorf("%d of %d writes are there", n, 3*rounds)
		}
	})
	t.Run("a statement whose failure nobody saw", func(t *testing.T) {
		c := open(t, s, 1)[0]
		err := c.Write(t.Context(), func() error {
			_ = increment(c)
			_, _ = c.Execute("INSERT INTO x VALUES (1)")
			return nil
		})
		if err == nil {
			t.Error("a write of which nothing is there returned as if it were done")
		}
		if n := number(t, c); n != 0 {
			t.Error(n)
		}
	})
	t.Run("a crash of the database", func(t *testing.T) {
		s := postgres.Start(t, true, "a PostgreSQL that crashes and comes back")
		c := open(t, s, 1)[0]
		if err := c.Write(t.Context(), func() error { return increment(c) }); err != nil {
			t.Fatal(err)
		}
		err := c.Write(t.Context(), func() error { return errors.Join(increment(c), s.Kill()) })
		if err == nil || !IsAway(err) {
			t.Errorf("the database died in the middle: %v", err)
		}
		if err := c.Write(t.Context(), func() error { return nil }); err == nil || !IsAway(err) {
			t.Errorf("the database is away: %v", err)
		}
		if err := c.pool.Ping(t.Context()); err == nil || !IsAway(err) {
			t.Errorf("the database is away: %v", err)
		}
		if err := s.Up(); err != nil {
			t.Fatal(err)
		}
		if err := c.pool.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if n := number(t, c); n != 1 {
			t.Errorf("%d, want what was committed", n)
		}
	})
	t.Run("a task has one server", func(t *testing.T) {
		p := open(t, s, 1)[0].pool
		at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
		for i, step := range []struct {
			holder string
			now    int
			leads  bool
		}{
			{"a", 100, true}, {"b", 101, false}, {"a", 110, true}, {"b", 119, false}, {"b", 121, true},
			{"a", 122, false},
		} {
			leads, err := p.Lead(t.Context(), "sweep", step.holder, at(step.now), at(step.now+10))
			if err != nil || leads != step.leads {
				t.Errorf("%d: %+v: %v %v", i, step, leads, err)
			}
		}
	})
	t.Run("clocks", func(t *testing.T) {
		if off, err := open(t, s, 1)[0].pool.Offset(t.Context()); err != nil || off.Abs() > time.Second {
			t.Errorf("the clock of this very machine is %v ahead, %v", off, err)
		}
	})
}
