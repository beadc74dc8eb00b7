package ledger

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/fixtures/postgres"
	"coroner/ingest"
	"coroner/rules"
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

// remote is a new ledger in a database of its own, and where it is.
func remote(t *testing.T) (l *Ledger, url string, query func(text string) string) {
	t.Helper()
	if postgres.Second() {
		t.Skip("shown by the first run: it starts a PostgreSQL of its own")
	}
	return inServer(t, postgres.Start(t, false, "a ledger that several servers share"))
}

// inServer is the same in a server that is there.
func inServer(t *testing.T, s *postgres.Server) (l *Ledger, url string, query func(text string) string) {
	t.Helper()
	url = s.Database(t)
	return reopen(t, url), url, func(text string) string {
		t.Helper()
		return strings.TrimSpace(get(s.Query(postgres.Name(url), text))(t))
	}
}

// Servers of two neighbouring versions run on one schema; one that is too old is told so, and
// a database of another program is left alone.
func TestSchemasOfOtherVersions(t *testing.T) {
	_, url, query := remote(t)
	if got := query("SELECT value FROM meta WHERE name = 'schema'"); got != "9" {
		t.Errorf("schema version %s", got)
	}
	for _, tt := range []struct{ text, says string }{
		{"UPDATE meta SET value = 10 WHERE name = 'schema'; UPDATE meta SET value = 9 WHERE name = 'least'", ""},
		{"UPDATE meta SET value = 11 WHERE name = 'schema'; UPDATE meta SET value = 10 WHERE name = 'least'",
			"schema version 11, which programs of version 10 and later read; this one is of 9"},
		{"DELETE FROM meta WHERE name = 'schema'", "not a ledger's"},
	} {
		query(tt.text)
		l, err := Open(url)
		if err == nil {
			_ = l.Close()
		}
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.text, err)
		}
		if had := query("SELECT count(*) FROM meta WHERE name = 'schema' AND value = 9"); had != "0" {
			t.Error("a newer schema was taken back")
		}
	}
}

// No error of a database that cannot be opened has in it what would open it.
func TestErrorsHaveNoPassword(t *testing.T) {
	for _, url := range []string{
		"postgres://me:hunter2@127.0.0.1:1/x", "postgres://me:hunter2@127.0.0.1:nine/x",
		"postgres://me@127.0.0.1:1/x?password=hunter2&sslmode=nonsense",
	} {
		l, err := Open(url)
		if err == nil {
			t.Fatal(l.Close())
		}
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n\n") {
			t.Errorf("%v", err)
		}
	}
}

// Servers that start together on an empty database all come up.
func TestServersThatStartTogether(t *testing.T) {
	_, _, query := remote(t)
	query("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
	_, url, _ := remote(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			l, err := Open(url)
			if err == nil {
				err = l.Close()
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// A name that no text of the database can be does not hold up a push for ever.
func TestNamesThatAreNoText(t *testing.T) {
	l, _, _ := remote(t)
	write(t, l, t0, func(tx *Tx) error {
		e := ingest.Entry{At: t0, Node: "n\x00\xff", Text: "a\x00\xffb"}
		_, err := tx.AddEvidence(&e, []string{"name:p\x00\xff"}, true)
		return errors.Join(err, tx.PutCase(Case{ID: "1", Name: "p\x00\xff", Runner: true}))
	})
	if all := get(l.Unseen(t.Context(), "name:p\x00\xff", nil))(t); len(all) != 1 ||
		all[0].Entry.Text != "a\x00\ufffdb" {
		t.Errorf("%+v", all)
	}
	long := strings.Repeat("ü", 5000)
	write(t, l, t0, func(tx *Tx) error {
		e := ingest.Entry{At: t0, Node: long, Text: long}
		_, err := tx.AddEvidence(&e, []string{long}, true)
		v := verdict(long, 1)
		v.Node, v.Pool, v.Cluster, v.Label, v.Job.Repository = long, long, long, rules.Label(long), long
		return errors.Join(err, tx.AddTail(long, long, []ingest.Entry{e}, 9, asIs), tx.PutNodes(Node{Name: long}),
			tx.PutCase(Case{ID: "2", Name: long, Namespace: long, Cluster: long, Runner: true}),
			tx.PutCase(Case{ID: "3", Name: long + "x", Namespace: long, Cluster: long, Runner: true}),
			tx.AddVerdict("2", v, t0, false))
	})
	write(t, l, t0, func(tx *Tx) error {
		for id, name := range map[string]string{"2": long, "3": long + "x"} {
			if got, err := tx.FindID(long, long, name, "", nil); got != id || err != nil {
				t.Errorf("%s: %s %v", id, got, err)
			}
		}
		return nil
	})
	write(t, l, t0, func(tx *Tx) error {
		c, ok, err := tx.FindCase("", "", "p\x00\xff", "", nil)
		if !ok || c.Name != "p\ufffd" {
			t.Errorf("%+v %v", c, ok)
		}
		return err
	})
}

// Of several servers each case, and each verdict that is to be sent, has one, until that one
// has had it for too long.
func TestClaims(t *testing.T) {
	a, url, _ := remote(t)
	b := reopen(t, url)
	const n = maxClaimed + 10
	var all []Case
	for i := range n {
		all = append(all, Case{ID: string(rune('A' + i)), Runner: true, State: StateEnding, Opened: t0, Due: after(i)})
	}
	putCases(t, a, all...)
	write(t, a, t0, func(tx *Tx) error {
		return errors.Join(tx.AddVerdict("x", verdict("x", 1), t0, true), tx.AddVerdict("y", verdict("y", 1), t0, true))
	})
	take := func(l *Ledger, at time.Time) []string {
		cases, more, err := l.TakePending(t.Context(), at, time.Second)
		if more != (len(cases) == maxClaimed) || err != nil {
			t.Error(len(cases), more, err)
		}
		return ids(cases)
	}
	now := after(n)
	first, second := take(a, now), take(b, now)
	if slices.Sort(first); len(first) != maxClaimed || len(second) != 10 || slices.Contains(first, second[0]) {
		t.Errorf("%d and %d cases", len(first), len(second))
	}
	if again := take(b, now.Add(ClaimFor-1)); len(again) > 0 {
		t.Errorf("%d cases have two servers", len(again))
	}
	if again := take(b, now.Add(ClaimFor)); len(again) != maxClaimed {
		t.Errorf("%d cases of a server that is gone", len(again))
	}
	write(t, b, now, func(tx *Tx) error {
		c, _, err := tx.FindByID("A")
		c.State, c.Due = StateJudged, time.Time{}
		return errors.Join(err, tx.SettleCase(c))
	})
	if c, _, err := a.Case(t.Context(), "A"); !c.Claimed.IsZero() || err != nil {
		t.Errorf("%+v %v", c, err)
	}
	send := func(l *Ledger, at time.Time) (out []string) {
		for _, item := range get(l.Outbox.Take(t.Context(), at, 1))(t) {
			out = append(out, item.Case)
			if !item.Stamp.Equal(t0) || item.Verdict.Runner == "" {
				t.Errorf("%+v", item)
			}
		}
		return out
	}
	if one, two, none := send(a, now), send(b, now), send(a, now); len(one) != 1 || len(two) != 1 || one[0] == two[0] ||
		len(none) != 0 {
		t.Errorf("%q %q %q", one, two, none)
	}
	if again := send(b, now.Add(ClaimFor)); len(again) != 1 {
		t.Errorf("%q", again)
	}
}

// The name that one server gives to what has none is every server's from its next write on.
func TestAdoptIsKnownToAll(t *testing.T) {
	a, url, _ := remote(t)
	b := reopen(t, url)
	putCases(t, b, Case{ID: "1", Name: "old"})
	if done, err := a.Adopt(t.Context(), "prod"); !done || err != nil {
		t.Fatal(done, err)
	}
	if done, err := b.Adopt(t.Context(), "other"); done || err != nil {
		t.Error(done, err)
	}
	putCases(t, b, Case{ID: "2", Cluster: "prod", Name: "new"})
	write(t, a, t0, func(tx *Tx) error {
		for _, name := range []string{"old", "new"} {
			if c, ok, err := tx.FindByName("prod", "", name); !ok || err != nil || c.Cluster != "prod" {
				t.Errorf("%s: %+v %v %v", name, c, ok, err)
			}
		}
		return nil
	})
}

// Two writes to one cluster at the same time come one after another, whatever they read first.
func TestWritesToOneCluster(t *testing.T) {
	a, url, _ := remote(t)
	putCases(t, a, Case{ID: "1", Name: "p", Runner: true})
	const each = 30
	var all sync.WaitGroup
	for _, l := range []*Ledger{a, reopen(t, url), reopen(t, url)} {
		all.Go(func() {
			for range each {
				err := l.Write(t.Context(), t0, func(tx *Tx) error {
					c, _, err := tx.FindByID("1")
					c.Revision++
					return errors.Join(err, tx.SettleCase(c))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if c, _, err := a.Case(t.Context(), "1"); c.Revision != 3*each || err != nil {
		t.Errorf("%d of %d, %v", c.Revision, 3*each, err)
	}
}
