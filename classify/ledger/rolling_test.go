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

// writeAs9 writes as this version does what testdata/postgres8.sql has of the one before it, of
// another runner, and once more the record that the other one wrote.
func writeAs9(t *testing.T, l *Ledger) {
	write(t, l, spoke.Add(time.Minute), func(tx *Tx) error {
		later := spoke.Add(time.Minute)
		own, theirs := saidBy("9", "said this"), saidBy("8", "said this")
		kernel := ingest.Entry{Cluster: "east", Source: ingest.Kernel, Node: "n1", At: later,
			Mark: &ingest.Mark{Kind: ingest.Covered, From: spoke.Add(-time.Hour), To: later}}
		tail := ingest.Entry{Cluster: "east", Source: ingest.Runner, Namespace: "ci", Pod: "p9", PodUID: "u9",
			Container: "runner", At: later, Text: "last words"}
		id := NewCaseID("east", "ci", "p9", "u9")
		v := &rules.Verdict{Cluster: "east", Runner: "p9", Namespace: "ci", Node: "n1", PodUID: "u9", Pool: "big",
			Label: rules.CgroupOOM, Confidence: rules.Confirmed, Revision: 1, DiedAt: &later}
		dead := Case{ID: id, Cluster: "east", Namespace: "ci", Name: "p9", UID: "u9", Node: "n1", Runner: true,
			Opened: spoke, Heard: later, State: StateJudged, Died: later, Revision: 1}
		err := tx.Hold([]string{"east"})
		_, err2 := tx.AddEvidence(&own, []string{"uid:u9", "pod:p9"}, true)
		_, err3 := tx.AddEvidence(&theirs, []string{"uid:u8", "pod:p8"}, true)
		_, err4 := tx.AddMark(&kernel, "node:n1")
		return errors.Join(err, err2, err3, err4,
			tx.PutNodes(Node{Cluster: "east", Name: "n1", Reached: later, Heard: later}),
			tx.AddTail("uid:u9/runner", "uid:u9", []ingest.Entry{tail}, 10, func([]ingest.Entry) {}), tx.PutCase(dead),
			tx.Tie("east", "decade", id), tx.AddVerdict(id, v, later, true))
	})
}

// reads9 says what this version does not read of a runner that a server of some version wrote of.
func reads9(t *testing.T, l *Ledger, version string) {
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
	kinds := map[string]int64{"6": 0, "7": 0, "8": own, "9": own}
	ends := get(l.Ends(ctx, Query{Pool: "big"}, 9))(t)
	if !slices.ContainsFunc(ends, func(e End) bool { return e.Alike == kinds[version] }) {
		t.Errorf("the end of version %s: %+v", version, ends)
	}
	counts := get(l.CountsByPool(ctx, []string{"big"}, spoke, spoke.Add(time.Hour)))(t)
	if !slices.ContainsFunc(counts, func(c PoolCount) bool {
		return c == PoolCount{"east", "big", rules.CgroupOOM, kinds[version], c.N}
	}) {
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

// insertInto is a statement of version 8, with its table and the columns that it fills in.
var insertInto = regexp.MustCompile(`(?m)^INSERT INTO (\w+) \(([^)]*)\) VALUES .*\);$`)

// emptied makes a database as it was when it was new.
const emptied = "DROP SCHEMA public CASCADE; CREATE SCHEMA public; "

// dump is a database that a program of an earlier version made.
func dump(t *testing.T, version int) string {
	t.Helper()
	return string(get(os.ReadFile(fmt.Sprintf("testdata/postgres%d.sql", version)))(t))
}

// refusing makes a database refuse tables that are split, with a code.
func refusing(code string) string {
	return `CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN IF current_query() ~ 'PARTITION BY' THEN RAISE 'what is that?' USING ERRCODE = '` + code + `'; END IF;
		END $$; CREATE EVENT TRIGGER refusing ON ddl_command_start EXECUTE FUNCTION refuse()`
}

// While one version takes another's place, servers of both write to one schema and read it: that
// of this version what the other wrote before and after the schema was expanded, and that of the
// one before it what this one writes, by the tables and statements that it really had.
func TestTwoVersionsOnOneSchema(t *testing.T) {
	_, url, query := remote(t)
	made := dump(t, 8)
	statements := insertInto.FindAllStringSubmatch(made, -1)
	if len(statements) < 12 {
		t.Fatalf("%d statements", len(statements))
	}
	writeAs8 := func() {
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
			if l.Days != nil {
				t.Error("its evidence is split: version 8 cannot write to it")
			}
			reads9(t, l, "8")
			reads9(t, l, "9")
			readsAs8(t, query, statements)
		})
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	query(emptied + made)
	l := reopen(t, url)
	writeAs9(t, l)
	both("expanded after version 8 wrote", l)

	query(emptied + strings.ReplaceAll(insertInto.ReplaceAllString(made, ""), "\n\n", "\n") +
		"INSERT INTO meta VALUES ('schema', 8), ('least', 7)")
	l = reopen(t, url)
	writeAs8()
	writeAs9(t, l)
	both("version 8 writes to what was expanded", l)

	query(emptied + refusing("0A000"))
	l = reopen(t, url)
	writeAs9(t, l)
	writeAs8()
	both("version 8 writes to what this version made, in a database that cannot split tables", l)
	query("DROP EVENT TRIGGER refusing")

	for _, version := range []int{7, 6} { // from two versions before, and from three
		query(emptied + dump(t, version))
		l = reopen(t, url)
		reads9(t, l, fmt.Sprint(version))
	}
}

// readsAs8 says what a server of version 8 does not read that is in the database.
func readsAs8(t *testing.T, query func(string) string, statements [][]string) {
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
			WHERE n.name = ` + of("uid:u9") + ` AND e.id = n.evidence`: "version 9 said this",
		`SELECT convert_from(e.entry, 'UTF8')::json ->> 'text' FROM names n CROSS JOIN evidence e
			WHERE n.name = ` + of("pod:p8") + ` AND e.id = n.evidence`: "version 8 said this",
		"SELECT count(*) FROM evidence WHERE wide AND at <> 0":                                "2",
		"SELECT cluster, kind, runner, state, revision FROM cases WHERE name = 'p9'":          "east||t|judged|1",
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
		"SELECT value FROM meta WHERE name = 'schema'": "9",
		"SELECT value FROM meta WHERE name = 'least'":  "7",
	} {
		if got := query(question); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
}
