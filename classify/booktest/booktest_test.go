package booktest

import (
	"strings"
	"testing"
	"testing/fstest"

	"coroner/rules"
	"coroner/rules/book"
)

// The rulebook's own tests hold, and one that is wrong is told with its place.
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
		failed, ran := Run(b)
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
