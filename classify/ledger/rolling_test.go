package ledger

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/alike"
	"coroner/classify/ledger/schema"
	"coroner/ingest"
	"coroner/rules"
)

// spoke is when the servers of both versions write.
var spoke = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// saidBy is a record of a server of some version, which is one of the runner p of that version.
func saidBy(version string, text string) ingest.Entry {
	return ingest.Entry{Cluster: "east", Source: ingest.Kubelet, Trust: ingest.Attested, Node: "n1", At: spoke,
		Text: "version " + version + " " + text}
}

// writeAs8 writes as this version does what testdata/postgres7.sql has of the one before it, of
// another runner, and once more the record that the other one wrote.
func writeAs8(t *testing.T, l *Ledger) {
	write(t, l, spoke.Add(time.Minute), func(tx *Tx) error {
		later := spoke.Add(time.Minute)
		own, theirs := saidBy("8", "said this"), saidBy("7", "said this")
		kernel := ingest.Entry{Cluster: "east", Source: ingest.Kernel, Node: "n1", At: later,
			Mark: &ingest.Mark{Kind: ingest.Covered, From: spoke.Add(-time.Hour), To: later}}
		tail := ingest.Entry{Cluster: "east", Source: ingest.Runner, Namespace: "ci", Pod: "p8", PodUID: "u8",
			Container: "runner", At: later, Text: "last words"}
		id := NewCaseID("east", "ci", "p8", "u8")
		v := &rules.Verdict{Cluster: "east", Runner: "p8", Namespace: "ci", Node: "n1", PodUID: "u8", Pool: "big",
			Label: rules.CgroupOOM, Confidence: rules.Confirmed, Revision: 1, DiedAt: &later}
		dead := Case{ID: id, Cluster: "east", Namespace: "ci", Name: "p8", UID: "u8", Node: "n1", Runner: true,
			Opened: spoke, Heard: later, State: StateJudged, Died: later, Revision: 1}
		err := tx.Hold([]string{"east"})
		_, err2 := tx.AddEvidence(&own, []string{"uid:u8", "pod:p8"}, true)
		_, err3 := tx.AddEvidence(&theirs, []string{"uid:u7", "pod:p7"}, true)
		_, err4 := tx.AddMark(&kernel, "node:n1")
		return errors.Join(err, err2, err3, err4,
			tx.PutNodes(Node{Cluster: "east", Name: "n1", Reached: later, Heard: later}),
			tx.AddTail("uid:u8/runner", "uid:u8", []ingest.Entry{tail}, 10, func([]ingest.Entry) {}), tx.PutCase(dead),
			tx.Tie("east", "decade", id), tx.AddVerdict(id, v, later, true))
	})
}

// reads8 says what this version does not read of a runner that a server of some version wrote of.
func reads8(t *testing.T, l *Ledger, version string) {
	t.Helper()
	ctx, q := t.Context(), l.In("east")
	for _, name := range []string{"uid:u" + version, "pod:p" + version} {
		all := get(q.Since(ctx, name, time.Time{}))(t)
		if len(all) != 1 || all[0].Text != "version "+version+" said this" || all[0].Cluster != "east" {
			t.Errorf("under %s of a server of version %s: %+v", name, version, all)
		}
	}
	ids := get(q.Wide(ctx, "n1", spoke, spoke))(t)
	if len(ids) == 0 {
		t.Errorf("nothing about the node that version %s wrote of", version)
	}
	tails := get(q.Tails(ctx, Owners{"uid:u" + version}))(t)
	if len(tails) != 1 || tails[0].Text != "last words" {
		t.Errorf("last words of version %s: %+v", version, tails)
	}
	marks := get(q.Marks(ctx, Owners{"node:n1"}, time.Time{}))(t)
	if len(marks) != 1 || marks[0].Source != ingest.Kernel || !marks[0].Mark.From.Equal(spoke.Add(-time.Hour)) {
		t.Errorf("marks: %+v", marks)
	}
	id := NewCaseID("east", "ci", "p"+version, "u"+version)
	c, ok, err := l.Case(ctx, id)
	if err != nil || !ok || c.State != StateJudged || c.Cluster != "east" || !c.Runner || c.Revision != 1 {
		t.Errorf("the case of version %s: %+v %v %v", version, c, ok, err)
	}
	v, ok, err := l.LastVerdict(ctx, id)
	if err != nil || !ok || v.Verdict.Label != rules.CgroupOOM || v.Verdict.Cluster != "east" {
		t.Errorf("the verdict of version %s: %+v %v %v", version, v, ok, err)
	}
	// What an earlier version wrote has no kind, and is no kind of its own either.
	own := alike.Of(&v.Verdict).Number()
	kinds := map[string]int64{"6": 0, "7": 0, "8": own}
	ends := get(l.Ends(ctx, Query{Pool: "big"}, 9))(t)
	if !slices.ContainsFunc(ends, func(e End) bool { return e.Alike == kinds[version] }) {
		t.Errorf("the end of version %s: %+v", version, ends)
	}
	counts := get(l.CountsByPool(ctx, []string{"big"}, spoke, spoke.Add(time.Hour)))(t)
	if want := (PoolCount{"east", "big", rules.CgroupOOM, kinds[version], 1}); !slices.Contains(counts, want) {
		t.Errorf("counts of version %s: %+v", version, counts)
	}
	found := false
	items := get(l.Outbox.Due(ctx, spoke.Add(time.Hour), 10))(t)
	for _, item := range items {
		found = found || item.Case == id
	}
	if !found {
		t.Errorf("the verdict of version %s is not in the outbox: %+v", version, items)
	}
}

// insertInto is a statement of version 7, with its table and the columns that it fills in.
var insertInto = regexp.MustCompile(`(?m)^INSERT INTO (\w+) \(([^)]*)\) VALUES .*\);$`)

// While one version takes another's place, servers of both write to one schema and read it: that
// of this version what the other wrote before and after the schema was expanded, and that of the
// one before it what this one writes, by the tables and statements that it really had.
func TestTwoVersionsOnOneSchema(t *testing.T) {
	_, url, query := remote(t)
	made := string(get(os.ReadFile("testdata/postgres7.sql"))(t))
	const empty = "DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
	statements := insertInto.FindAllStringSubmatch(made, -1)
	if len(statements) < 12 {
		t.Fatalf("%d statements", len(statements))
	}
	writeAs7 := func() {
		t.Helper()
		for _, s := range statements {
			if s[1] != "meta" {
				query(strings.TrimSuffix(s[0], ";") + " ON CONFLICT DO NOTHING")
			}
		}
	}
	both := func(when string, l *Ledger) {
		t.Helper()
		t.Run(when, func(t *testing.T) {
			reads8(t, l, "7")
			reads8(t, l, "8")
			readsAs7(t, query, statements)
		})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	query(empty + made)
	l := reopen(t, url)
	writeAs8(t, l)
	both("expanded after version 7 wrote", l)

	query(empty + strings.ReplaceAll(insertInto.ReplaceAllString(made, ""), "\n\n", "\n") +
		"INSERT INTO meta VALUES ('schema', 7), ('least', 7)")
	l = reopen(t, url)
	writeAs7()
	writeAs8(t, l)
	both("version 7 writes to what was expanded", l)

	query(empty)
	l = reopen(t, url)
	writeAs8(t, l)
	writeAs7()
	both("version 7 writes to what this version made", l)

	query(empty + string(get(os.ReadFile("testdata/postgres6.sql"))(t))) // from two versions before
	l = reopen(t, url)
	reads8(t, l, "6")
}

// readsAs7 says what a server of version 7 does not read that is in the database.
func readsAs7(t *testing.T, query func(string) string, statements [][]string) {
	t.Helper()
	for _, s := range statements {
		if query(fmt.Sprintf("SELECT %s FROM %s LIMIT 1", s[2], s[1])) == "" {
			t.Errorf("nothing stands in %s", s[1])
		}
	}
	of := func(key string) string {
		return fmt.Sprint(schema.NameNumber((&naming{}).storedKey("east", key)))
	}
	for question, want := range map[string]string{
		`SELECT convert_from(e.entry, 'UTF8')::json ->> 'text' FROM names n CROSS JOIN evidence e
			WHERE n.name = ` + of("uid:u8") + ` AND e.id = n.evidence`: "version 8 said this",
		`SELECT convert_from(e.entry, 'UTF8')::json ->> 'text' FROM names n CROSS JOIN evidence e
			WHERE n.name = ` + of("pod:p7") + ` AND e.id = n.evidence`: "version 7 said this",
		"SELECT count(*) FROM evidence WHERE wide AND at <> 0":                                "2",
		"SELECT cluster, kind, runner, state, revision FROM cases WHERE name = 'p8'":          "east||t|judged|1",
		"SELECT label, last, namespace, pool FROM verdicts WHERE cluster = 'east' LIMIT 1":    "cgroup-OOM|1|ci|big",
		"SELECT count(*) FROM outbox o JOIN verdicts v USING (pod, revision)":                 "2",
		"SELECT count(*) FROM ties t JOIN cases c USING (pod)":                                "2",
		"SELECT cluster, node, controller, silent FROM nodes WHERE NOT silent AND heard <> 0": "east|n1|f|f",
		`SELECT convert_from(entry, 'UTF8')::json ->> 'source' FROM marks
			WHERE reached >= 0 ORDER BY owner, reached, hash`: "kernel",
		`SELECT convert_from(entries, 'UTF8')::json -> 0 ->> 'text' FROM tails
			ORDER BY owner, stream`: "last words\nlast words",
		// A server of version 7 that starts now may, one of version 6 may not: of marks that share
		// a row it reads one.
		"SELECT value FROM meta WHERE name = 'schema'": "8",
		"SELECT value FROM meta WHERE name = 'least'":  "7",
	} {
		if got := query(question); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}
