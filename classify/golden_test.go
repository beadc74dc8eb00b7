package classify_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every verdict of every incident on one page, whose difference shows what a
// change of the code or the rulebook did to all of them. The incidents say
// what is right; this list says what is so, initiators and ruled out labels
// included. Rewrite it with -update.
func TestGoldenVerdicts(t *testing.T) {
	const path = "testdata/verdicts.tsv"
	b := loadBook(t)
	var page strings.Builder
	page.WriteString("incident\tverdict\tconfidence\trule\tinitiator\truled out\n")
	for _, in := range incidents(t) {
		v := judge(b, entries(in), in)
		var out []string
		for _, r := range v.RuledOut {
			out = append(out, string(r.Label))
		}
		row := []string{in.Name, string(v.Label), string(v.Confidence), v.Rule, v.Initiator, strings.Join(out, " ")}
		page.WriteString(strings.Join(row, "\t") + "\n")
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(page.String(), "\n")); diff != "" {
		t.Errorf(
			"verdicts changed (-before +after); go test ./classify -run TestGoldenVerdicts -update, "+
				"if they should:\n%s",
			diff,
		)
	}
}
