package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
)

// BenchmarkPages asks a ledger of many verdicts what people ask, page and all.
// CORONER_VERDICTS says how many, CORONER_LEDGER where they are kept for the
// next run; a million take some minutes to write.
func BenchmarkPages(b *testing.B) {
	count, err := strconv.Atoi(os.Getenv("CORONER_VERDICTS"))
	if err != nil {
		count = 20_000
	}
	path := os.Getenv("CORONER_LEDGER")
	if path == "" {
		path = filepath.Join(b.TempDir(), "l.db")
	}
	s := newSite(b, path)
	fill(b, s, count)
	middle := fmt.Sprintf("pool-7-runner-%07d", count/2/100*100+7)
	for _, page := range []struct{ name, path string }{
		{"lookup/name", "/api/v1/runners/ci/" + middle},
		{"lookup/prefix", "/api/v1/runners/" + middle[:len(middle)-2]},
		{"lookup/uid", fmt.Sprintf("/api/v1/runners/%08d-7a3c", count/3)},
		{
			"lookup/job",
			fmt.Sprintf("/api/v1/search?q=https://github.com/o/r%d/actions/runs/1/job/%d", count/3%300, count/3),
		},
		{"lookup/node-and-time", "/api/v1/search?q=node-42+2026-05-01+12:40"},
		{"lookup/nobody", "/api/v1/search?q=nobody"},
		{"page/runner", "/runners/ci/" + middle},
		{"page/words", "/?q=journal+speaks"},
		{"page/no-words", "/?q=nothing+like+it"},
		{"page/suggest", "/suggest?q=" + middle[:len(middle)-2]},
		{"list/day", "/"},
		{"list/label", "/?verdict=host-teardown"},
		{"list/node-30-days", "/?node=node-42&since=720h"},
		{"list/pool", "/?pool=pool-7&since=168h"},
		{"list/repository-30-days", "/?repository=o/r7&since=720h"},
		{"list/30-days", "/?since=720h"},
		{"list/90-days", "/?since=2160h&verdict=all"},
	} {
		b.Run(page.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				w := httptest.NewRecorder()
				s.mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, page.path, nil))
				took = append(took, time.Since(start))
				if w.Code != http.StatusOK && !strings.Contains(page.name, "/no") {
					b.Fatalf("%d %.200s", w.Code, w.Body)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// fill spreads verdicts evenly over the 90 days before the site's now, unless
// the ledger has them.
func fill(b *testing.B, s *site, count int) {
	if have, err := s.ledger.Verdicts(b.Context(), ledger.Query{Limit: 1}); err != nil || len(have) > 0 {
		return
	}
	start, step := t0.Add(-90*24*time.Hour), 90*24*time.Hour/time.Duration(count)
	text := strings.Repeat("a line of the node's journal that speaks of it ", 4)
	batch := max(1, count/2160) // an hour's are recorded together
	for from := 0; from < count; from += batch {
		s.write(start.Add(time.Duration(from)*step), func(tx *ledger.Tx) (err error) {
			for i := from; i < min(count, from+batch) && err == nil; i++ {
				died := start.Add(time.Duration(i) * step)
				v := &rules.Verdict{Runner: fmt.Sprintf("pool-%d-runner-%07d", i%100, i), Namespace: "ci",
					Node: fmt.Sprintf("node-%d", i%1000), Pool: fmt.Sprintf("pool-%d", i%100),
					PodUID: fmt.Sprintf("%08d-7a3c-4c1f-9a52-6d1f3a7c2b10", i),
					Label:  rules.Labels[i%len(rules.Labels)], Confidence: rules.Confirmed, Revision: 1, DiedAt: &died,
					Job: rules.Job{
						ID:         fmt.Sprint(i),
						RunID:      fmt.Sprint(i / 4),
						Repository: fmt.Sprintf("o/r%d", i%300),
					},
					Summary:  text,
					Evidence: []rules.EvidenceLine{{At: &died, Source: "kernel", Text: text, Decisive: true}}}
				c := ledger.Case{ID: ledger.NewCaseID("", "ci", v.Runner, v.PodUID), Namespace: "ci", Name: v.Runner,
					UID: v.PodUID, Node: v.Node, Runner: true,
					Opened: died.Add(-time.Hour), Heard: died, State: ledger.StateJudged, Revision: 1}
				err = errors.Join(tx.PutCase(c), tx.AddVerdict(c.ID, v, died, false))
			}
			return err
		})
	}
}
