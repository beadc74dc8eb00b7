package ledger

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/bench"
	"coroner/fixtures/postgres"
	"coroner/rules"
)

// multiply makes verdicts from :a to :b of the one that there is, each of a runner of its own in
// one of 5,000 pools, on one of 20,000 nodes in 50 clusters; one in ten is a death with all its
// evidence, the others are runners that ended well and keep none.
const multiply = `
INSERT INTO cases (pod, id, cluster, namespace, name, uid, node, runner, opened, heard, state, died, due, revision)
SELECT n, 'id-' || n, 'cluster-' || n %% 50, 'ci', 'pool' || n %% 5000 || '-' || substr(md5(n::text), 1, 5) ||
  '-runner-' || substr(md5(n::text), 6, 5), md5('u' || n), 'node-' || n %% 20000, true, %[3]d + n, %[3]d + n, 'judged',
  %[3]d + n, 0, 1 FROM generate_series(%[1]d::bigint, %[2]d) n;
INSERT INTO verdicts (number, pod, revision, member, runner, uid, recorded, died, cluster, namespace, node, label, pool,
  repository, run, job, last, verdict)
SELECT n, n, 1, 'id-' || n, '', '', %[3]d + n, %[3]d + n, 'cluster-' || n %% 50, 'ci', 'node-' || n %% 20000,
  CASE WHEN n %% 10 = 0 THEN 'host-teardown' ELSE 'completed' END, 'pool' || n %% 5000, 'acme/mill' || n %% 300,
  (n * 7)::text, (n * 11)::text, 1, CASE WHEN n %% 10 = 0 THEN death ELSE brief END
FROM generate_series(%[1]d::bigint, %[2]d) n, (SELECT (SELECT verdict FROM verdicts WHERE member = 'c-a-death') death,
  (SELECT verdict FROM verdicts WHERE member = 'c-a-brief') brief) kept`

// What people ask of as many verdicts as CORONER_BENCH_VERDICTS says, in PostgreSQL: ten million
// are ten days of a million runners each.
func TestBenchMillions(t *testing.T) {
	quick := bench.Asked(t, "what a look-up takes among millions of verdicts")
	many, _ := strconv.Atoi(os.Getenv("CORONER_BENCH_VERDICTS"))
	if many == 0 && quick {
		many = 100_000
	} else if many == 0 {
		many = 10_000_000
	}
	db := postgres.Start(t, false, "a look-up among millions of verdicts")
	url := db.Database(t)
	l, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began := time.Now().Add(-time.Hour)
	line := rules.EvidenceLine{At: &began, Source: "kubelet", Text: strings.Repeat("what a journal says of it ", 6)}
	for name, v := range map[string]rules.Verdict{
		"a-death": {Label: rules.HostTeardown, Evidence: slices.Repeat([]rules.EvidenceLine{line}, 12)},
		"a-brief": {Label: rules.Completed},
	} {
		v.Runner, v.Namespace, v.Revision, v.DiedAt, v.Summary = name, "ci", 1, &began, line.Text
		write(t, l, began, func(tx *Tx) error { return tx.AddVerdict("c-"+name, &v, began, false) })
	}
	const some = 100_000
	for from := 100; from < many; from += some {
		text := fmt.Sprintf(multiply, from, min(from+some, many)-1, began.UnixNano())
		for part := range strings.SplitSeq(text, ";\n") {
			if _, err := db.Query(postgres.Name(url), part); err != nil {
				t.Fatal(err)
			}
		}
	}
	name := postgres.Name(url)
	if _, err := db.Query(name, "ANALYZE"); err != nil {
		t.Fatal(err)
	}
	size, err := db.Query(name, "SELECT pg_size_pretty(pg_database_size('"+name+"'))")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d verdicts take %s", many, strings.TrimSpace(size))
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		what string
		ask  func() Query
		some bool // something is found
	}{
		{"the start of a runner's name", func() Query {
			pod, err := db.Query(name, fmt.Sprintf("SELECT substr(name, 1, length(name) - 2) FROM cases WHERE pod = %d",
				100+random.IntN(many-100)))
			if err != nil {
				t.Fatal(err)
			}
			return Query{Runner: strings.TrimSpace(pod), Limit: 20}
		}, true},
		{"a pool's name as the start", func() Query {
			return Query{Runner: fmt.Sprint("pool", random.IntN(5000)), Limit: 20}
		}, true},
		{"a name that nobody has", func() Query {
			return Query{Runner: fmt.Sprint("quern-", random.IntN(5000))}
		}, false},
		{"a job", func() Query { return Query{Job: strconv.Itoa(11 * (100 + random.IntN(many-100)))} }, true},
		{"a node's latest", func() Query {
			return Query{Node: fmt.Sprint("node-", random.IntN(20000)), Limit: 50, Brief: true}
		}, true},
		{"the latest", func() Query { return Query{Limit: 50, Brief: true} }, true},
		{"the latest deaths of one label", func() Query {
			return Query{Labels: []rules.Label{rules.HostTeardown}, Limit: 50, Brief: true}
		}, true},
	} {
		var took []time.Duration
		for range 100 {
			q := c.ask()
			began := time.Now()
			found, err := firstOf(t.Context(), l, q)
			took = append(took, time.Since(began))
			if err != nil || found != c.some {
				t.Fatalf("%s: %+v: found %v, %v", c.what, q, found, err)
			}
		}
		slices.Sort(took)
		t.Logf("%-34s %8s at the median, %8s at p99", c.what, took[50].Round(10*time.Microsecond),
			took[99].Round(10*time.Microsecond))
	}
}

// firstOf asks for a page, as the API does.
func firstOf(ctx context.Context, l *Ledger, q Query) (bool, error) {
	some, err := l.Next(ctx, NewCursor(q))
	return len(some) > 0, err
}
