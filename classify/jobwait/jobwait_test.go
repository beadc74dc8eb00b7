package jobwait

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
)

var t0 = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// taken is GitHub's word that a runner took a job of the pool after it had waited.
func taken(pool string, n int, waited time.Duration) ingest.Entry {
	at := t0.Add(time.Duration(n) * time.Second)
	return ingest.Entry{At: at, Source: ingest.GitHub, Text: fmt.Sprint("github job ", n), Fields: map[string]string{
		"status": "in_progress", "labels": pool, "created_at": at.Add(-waited).Format(time.RFC3339)}}
}

// Nineteen of twenty jobs of a pool waited no longer than is usual there; few teach nothing, and
// neither another pool's do.
func TestUsual(t *testing.T) {
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	err = l.Write(context.Background(), t0, func(tx *ledger.Tx) error {
		for n := range 40 {
			waited := 8 * time.Minute
			if n == 7 {
				waited = 3 * time.Hour
			}
			e, few := taken("heron", n, waited), taken("egret", n+100, waited)
			if _, err := tx.AddEvidence(&e, []string{TakenKey(&e)}, false); err != nil {
				return err
			}
			if n >= fewest-1 {
				continue
			}
			if _, err := tx.AddEvidence(&few, []string{TakenKey(&few)}, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	limits := Limits{Least: 5 * time.Minute, Most: time.Hour}
	for pool, want := range map[string]time.Duration{
		"heron": 8 * time.Minute, "egret": limits.Least, "": limits.Least,
	} {
		got, err := limits.Usual(context.Background(), l.Questions, pool)
		if err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", pool, got, err, want)
		}
	}
}
