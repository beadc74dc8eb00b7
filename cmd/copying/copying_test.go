package copying

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/postgres"
	"coroner/rules"
)

// A ledger goes from a file into a database and back with its verdicts; progress is said,
// and what holds something already is left alone.
func TestCopy(t *testing.T) {
	s := postgres.Start(t, false, "that a ledger is copied into a database and back")
	dir := t.TempDir()
	first, second, url := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db"), s.Database(t)
	l, err := ledger.Open(first)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	v := rules.Verdict{Runner: "amber-1", Label: rules.NodeOOM, Revision: 1}
	err = l.Write(t.Context(), now, func(tx *ledger.Tx) error { return tx.AddVerdict("amber", &v, now, true) })
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	run := func(from, to string) (string, error) {
		var said bytes.Buffer
		err := (&Args{From: from, To: to}).Copy(&said, time.Now)
		return said.String(), err
	}
	for _, c := range [][2]string{{first, url}, {url, second}} {
		if said, err := run(c[0], c[1]); err != nil || !strings.Contains(said, "verdicts: 1 of 1") {
			t.Fatalf("%v: %s %v", c, said, err)
		}
	}
	if _, err := run(first, url); err == nil || !strings.Contains(err.Error(), "holds something already") {
		t.Errorf("a second copy: %v", err)
	}
	if _, err := run(filepath.Join(dir, "c.db"), url); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a copy of nothing: %v", err)
	}
	nowhere := filepath.Join(dir, "no", "x.db")
	if _, err := run(first, nowhere); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no folder: %v", err)
	}
	if l, err = ledger.Open(second); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got, err := l.Verdicts(t.Context(), ledger.Query{})
	if err != nil || len(got) != 1 || got[0].Verdict.Runner != "amber-1" || got[0].Case != "amber" {
		t.Errorf("%+v, %v", got, err)
	}
}
