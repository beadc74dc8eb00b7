package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"coroner/rules"
)

// BenchmarkQuestions asks a ledger of many verdicts what people ask.
// CORONER_VERDICTS says how many; a million take a minute to make.
func BenchmarkQuestions(b *testing.B) {
	count, err := strconv.Atoi(os.Getenv("CORONER_VERDICTS"))
	if err != nil {
		count = 20000
	}
	l, err := Open(filepath.Join(b.TempDir(), "l.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	fillVerdicts(b, l, count)
	ctx := context.Background()
	for name, ask := range map[string]func() (int, error){
		"name": func() (int, error) {
			c, err := l.FindRunners(ctx, fmt.Sprintf("pool-runner-%07d", count/2), 20)
			return len(c), err
		},
		"uid": func() (int, error) {
			c, err := l.FindRunners(ctx, fmt.Sprintf("%08d-", count/3), 20)
			return len(c), err
		},
		"latest": func() (int, error) { v, err := l.Verdicts(ctx, Query{Limit: 100}); return len(v), err },
		"label": func() (int, error) {
			v, err := l.Verdicts(ctx, Query{Label: "host-teardown", Limit: 100})
			return len(v), err
		},
		"node": func() (int, error) {
			v, err := l.Verdicts(ctx, Query{Node: "node-7", Since: time.Unix(1, 0), Limit: 100})
			return len(v), err
		},
	} {
		b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
			for b.Loop() {
				if n, err := ask(); n == 0 || err != nil {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func fillVerdicts(b *testing.B, l *Ledger, count int) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for from := 0; from < count; from += 10000 {
		err := l.tx(context.Background(), func(tx *sql.Tx) error {
			for i := from; i < min(count, from+10000); i++ {
				t := &Tx{tx, start.Add(time.Duration(i) * time.Second)}
				name, uid := fmt.Sprintf("pool-runner-%07d", i), fmt.Sprintf("%08d-7a3c-4c1f-9a52-6d1f3a7c2b10", i)
				c := Case{ID: NewCaseID("ci", name, uid), Namespace: "ci", Name: name, UID: uid, Node: fmt.Sprintf("node-%d", i%100), Runner: true, Heard: t.now, State: StateJudged, Revision: 1}
				v := &rules.Verdict{Runner: name, Namespace: "ci", Node: c.Node, PodUID: uid, Label: rules.Labels[i%len(rules.Labels)], Revision: 1}
				if err := t.PutCase(c); err != nil {
					return err
				}
				if err := t.AddVerdict(c.ID, v, t.now, false); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
