package booktest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/rules"
	"coroner/rules/book"
)

// The tests of the built-in rulebook hold, those in files of their own among them.
func TestBuiltIn(t *testing.T) {
	b, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	failed, ran, err := Run(b, book.Tests)
	if err != nil || ran < 1000 {
		t.Fatalf("%d tests: %v", ran, err)
	}
	for _, text := range failed {
		t.Error(text)
	}
}

// A built-in fact that says something else than before fails a test, which names it.
func TestBrokenFactsFail(t *testing.T) {
	for _, c := range []struct{ fact, value, test string }{
		{"ended_at_once", "ended_zero and exit.ran <= 10", "it ended with 0 ten seconds after its start"},
		{"idle_again", "job_done and seen(runner.listening)", "it listened before its job"},
		{"shown_ready", `filter(kube.row, .mine and .status == "Running")`, "one of two is"},
	} {
		own := fmt.Appendf(nil, "facts:\n  - {name: %s, value: %q}\n", c.fact, c.value)
		b, err := rules.Load(book.Files, fstest.MapFS{"own.yaml": {Data: own}})
		if err != nil {
			t.Fatal(err)
		}
		failed, _, err := Run(b, book.Tests)
		want := fmt.Sprintf("fact %s, test %q: ", c.fact, c.test)
		if err != nil || !slices.ContainsFunc(failed, func(text string) bool { return strings.Contains(text, want) }) {
			t.Errorf("%s: failed %q, %v", want, failed, err)
		}
	}
}

// Under rules of one's own the built-in tests of signals and rules hold, and one that is wrong is told
// with its place.
func TestRulesAreTested(t *testing.T) {
	for _, tt := range []struct {
		want   string
		failed int
	}{
		{"none", 0},
		{"node-OOM", 1},
	} {
		own := fstest.MapFS{"own.yaml": {Data: []byte(`verdicts:
  # a rule that only this test has
  - id: child-OOM-own
    verdict: child-OOM
    after: cgroup-OOM-kernel-kill
    confidence: suspected
    decisive: kernel.oom-kill
    summary: 'own'
    tests:
      - name: none died
        verdict: ` + tt.want + `
        files:
          runner.log: "nothing of note"
`)}}
		b, err := rules.Load(book.Files, own)
		if err != nil {
			t.Fatal(err)
		}
		failed, ran, err := Run(b, own)
		if err != nil {
			t.Fatal(err)
		}
		if len(failed) != tt.failed || ran < 100 {
			t.Errorf("%s: %d tests, failed: %q", tt.want, ran, failed)
		}
		for _, text := range failed {
			if !strings.HasPrefix(text, "own.yaml:") || !strings.Contains(text, "rule child-OOM-own") {
				t.Errorf("does not say where: %s", text)
			}
		}
	}
}

// A fact's tests ask it about the first runner of their documents, or what names nobody; of a
// list they count the lines.
func TestFactsAreTested(t *testing.T) {
	own := fstest.MapFS{"own.yaml": {Data: []byte(`facts:
  - name: own_kills
    doc: a list that only this test has
    value: filter(kernel.oom-kill, not .global)
    tests:
      - {name: nothing of note, files: {a.log: hello}, want: 0}
      - {name: one that is wrong, files: {a.log: hello}, want: 1}
  - name: own_begun
    doc: a condition that only this test has
    value: seen(runner.listening)
    tests:
      - {name: it listens, files: {runner.log: "2026-03-01 10:00:02Z: Listening for Jobs"}, want: true}
      - {name: it is told to, files: {runner.log: "2026-03-01 10:00:02Z: Listen for Jobs"}, want: false}
      - {name: wrong too, files: {runner.log: "2026-03-01 10:00:02Z: Listen for Jobs"}, want: true}
`)}}
	b, err := rules.Load(book.Files, own)
	if err != nil {
		t.Fatal(err)
	}
	own["own_test.yaml"] = &fstest.MapFile{Data: []byte(`tests:
  own_begun:
    - {name: in a file of tests, files: {runner.log: "2026-03-01 10:00:02Z: Listening for Jobs"}, want: false}
  job_seen:
    - {name: a built-in fact, files: {runner.log: "2026-03-01 10:00:02Z: Listening for Jobs"}, want: true}
`)}
	failed, _, err := Run(b, own)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`own_test.yaml:5:7: fact job_seen, test "a built-in fact": is false, want true`,
		`own.yaml:7:9: fact own_kills, test "one that is wrong": is 0, want 1`,
		`own.yaml:14:9: fact own_begun, test "wrong too": is false, want true`,
		`own_test.yaml:3:7: fact own_begun, test "in a file of tests": is true, want false`,
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
}

// Documents are read as coroner explain reads files: an object of Kubernetes as an object, whose owner no
// single line of it tells.
func TestDocuments(t *testing.T) {
	own := fstest.MapFS{"own.yaml": {Data: []byte(`facts:
  - name: owner
    doc: what only this test asks
    value: "any(kube.spec, .mine) ? last(kube.spec).owner : ''"
`)}, "own_test.yaml": {Data: []byte(`tests:
  owner:
    - name: an object
      want: EphemeralRunner/fir-1
      files:
        pod.yaml: |
          kind: Pod
          metadata: {name: fir-1, ownerReferences: [{kind: EphemeralRunner, name: fir-1}]}
          spec: {containers: [{name: runner}]}
          status: {phase: Failed}
`)}}
	b, err := rules.Load(book.Files, own)
	if err != nil {
		t.Fatal(err)
	}
	if failed, _, err := Run(b, own); err != nil || len(failed) > 0 {
		t.Errorf("%q, %v", failed, err)
	}
}
