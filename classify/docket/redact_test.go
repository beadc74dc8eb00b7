package docket

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures"
	"coroner/fixtures/postgres"
	"coroner/ingest"
)

// Nothing that is stored holds a secret: no evidence, no last line, no mark and no
// verdict, of an agent that redacts nothing and of the API alike.
func TestTheLedgerHoldsNoSecret(t *testing.T) {
	postgres.OfAFile(t) // it looks at the bytes
	b, c, path := loadBook(t), &clock{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}, filepath.Join(t.TempDir(),
		"ledger.db")
	d, l := newDocket(t, path, b, Options{LastLines: 200}, c)
	runner := func(text string) ingest.Entry {
		return ingest.Entry{At: c.at, Clock: ingest.WallClock, Source: ingest.Runner, Node: "n", Namespace: "ci",
			Pod: "p", PodUID: "u", Container: "runner", Text: text}
	}
	ended := runner("")
	ended.Source, ended.Trust, ended.Container, ended.Text = ingest.Kube, ingest.Attested, "", "container terminated"
	ended.Fields = map[string]string{"msg": "container terminated", "pod": "ci/p", "pod_uid": "u",
		"container": "runner", "exit_code": "1", "reason": "Error", "finished_at": c.at.Format(time.RFC3339)}
	gap := runner("")
	gap.Mark = &ingest.Mark{Kind: ingest.Gap, From: c.at, To: c.at, Why: "lost"}
	for kind, s := range fixtures.Secrets() {
		c.at = c.at.Add(time.Second)
		told, lost := ended, gap
		told.At, told.Fields = c.at, map[string]string{}
		for k, v := range ended.Fields {
			told.Fields[k] = v
		}
		told.Fields["message"], told.Text = s.Line(), "container terminated message="+s.Line()
		lost.Mark = &ingest.Mark{Kind: ingest.Gap, From: c.at, To: c.at, Why: "lost " + s.Line()}
		list := []ingest.Entry{runner("√ Connected to GitHub"), runner("2026-12-01 00:00:00Z: Running job: " +
			s.Line()), runner(kind + " " + s.Line()), told, lost}
		for i := range list { // one by one: a push ends anywhere
			if err := d.Receive(context.Background(), list[i:i+1]); err != nil {
				t.Fatal(err)
			}
		}
	}
	key := []string{"-----BEGIN EC PRIVATE KEY-----", "MHcC" + fixtures.Filler(60, fixtures.Letters),
		"AwEH" + fixtures.Filler(60, fixtures.Capital+fixtures.Letters), "AAx=", "-----END EC PRIVATE KEY-----"}
	for i, text := range key {
		e := runner(text)
		e.At, e.Line = c.at.Add(time.Duration(i)*time.Millisecond), i
		if err := d.Receive(context.Background(), []ingest.Entry{e}); err != nil {
			t.Fatal(err)
		}
	}
	c.at = c.at.Add(10 * time.Minute)
	if err := d.Due(context.Background()); err != nil {
		t.Fatal(err)
	}
	records, err := l.Verdicts(context.Background(), ledger.Query{Runner: "p"})
	if err != nil || len(records) != 1 {
		t.Fatalf("%d verdicts: %v", len(records), err)
	}
	incident, err := d.Gather(context.Background(), ledger.Case{ID: records[0].Case, Namespace: "ci", Name: "p",
		UID: "u", Node: "n"})
	if err != nil || len(incident) < 2*len(fixtures.Secrets()) {
		t.Fatalf("%d records: %v", len(incident), err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	stored := everything(t, path)
	if !bytes.Contains(stored, []byte("[redacted:private-key]")) {
		t.Error("no last line is stored")
	}
	shown := append(stored, fmt.Sprint(records, incident)...)
	for kind, s := range fixtures.Secrets() {
		if bytes.Contains(shown, []byte(s.Value)) || bytes.Contains(shown, []byte(strings.ReplaceAll(s.Value, `\`,
			`\\`))) {
			t.Errorf("a %s is stored", kind)
		}
	}
	for _, line := range key[1:3] {
		if bytes.Contains(shown, []byte(line)) {
			t.Errorf("a line of a key is stored")
		}
	}
}

// everything is what is on disk of a ledger.
func everything(t *testing.T, path string) (all []byte) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	return all
}

// What an older version filed with its secrets is judged and given away without.
func TestOldEvidenceIsShownWithoutSecrets(t *testing.T) {
	b, c := loadBook(t), &clock{time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)}
	d, l := newDocket(t, filepath.Join(t.TempDir(), "ledger.db"), b, Options{}, c)
	defer l.Close()
	e := ingest.Entry{At: c.at, Clock: ingest.WallClock, Source: ingest.Runner, Namespace: "ci", Pod: "p",
		PodUID: "u", Text: "2026-12-01 00:00:00Z: Running job: GH_TOKEN=swordfish7"}
	last := e
	last.Text = "GH_TOKEN=swordfish7 is the last word"
	err := l.Write(context.Background(), c.at, func(tx *ledger.Tx) error {
		if _, err := tx.AddEvidence(&e, []string{"uid:u", "pod:p"}, false); err != nil {
			return err
		}
		return tx.AddTail("uid:u/runner", "uid:u", []ingest.Entry{last}, 10, func([]ingest.Entry) {})
	})
	if err != nil {
		t.Fatal(err)
	}
	of := ledger.Case{Namespace: "ci", Name: "p", UID: "u"}
	found, err := d.Gather(context.Background(), of)
	v, err2 := d.Opinion(context.Background(), of)
	if err != nil || err2 != nil || len(found) != 2 {
		t.Fatalf("%v: %v %v", found, err, err2)
	}
	if all := fmt.Sprint(found, *v); strings.Contains(all, "swordfish") || v.Job.Name != "GH_TOKEN=[redacted:token]" {
		t.Errorf("%s", all)
	}
}
