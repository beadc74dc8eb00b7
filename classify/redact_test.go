package classify_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
)

// Redaction changes no verdict: no incident's differs from the one without it.
func TestRedactionChangesNoVerdict(t *testing.T) {
	b := loadBook(t)
	none := *b
	none.Book = b.Book.WithSecretsOf(withoutSecrets(t).Book)
	for _, in := range incidents(t) {
		if got, want := judge(b, entries(in), in), judge(&none, entries(in), in); !sameVerdict(got, want) {
			t.Errorf("%s: %s (%s) by %s, without redaction %s (%s) by %s", in.Name, got.Label, got.Confidence,
				got.Rule, want.Label, want.Confidence, want.Rule)
		}
	}
}

// A secret that stands in what a runner printed, or in what it said at its end, is in
// no verdict, and the verdict is what it was.
func TestNoVerdictHoldsASecret(t *testing.T) {
	b, secrets := loadBook(t), fixtures.Secrets()
	kinds, tried := slices.Sorted(maps.Keys(secrets)), 0
	for i, in := range incidents(t) {
		want := judge(b, entries(in), in)
		for k := range 3 { // each has some, and every kind has its turn
			kind := kinds[(3*i+k)%len(kinds)]
			s := secrets[kind]
			list := slices.Clone(entries(in))
			hidden := 0
			for i := range list {
				if e := &list[i]; e.Mark == nil && e.Source == ingest.Runner {
					e.Text += " " + s.Line()
					hidden++
				} else if v := e.Fields["message"]; v != "" {
					e.Fields["message"] = v + " " + s.Line()
					hidden++
				}
			}
			if hidden == 0 {
				break
			}
			v := judge(b, list, in)
			text, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			tried++
			if all := string(text) + fmt.Sprint(v); strings.Contains(all, s.Value) {
				t.Errorf("%s: a %s stays in %.3000s", in.Name, kind, text)
			}
			if v.Confidence == rules.Confirmed && v.Label != want.Label {
				t.Errorf("%s: with a %s in what the runner printed %s (%s), was %s (%s)", in.Name, kind, v.Label,
					v.Confidence, want.Label, want.Confidence)
			}
		}
	}
	if tried < 200 {
		t.Errorf("only %d were tried", tried)
	}
}

// The last lines of a runner lose a private key that was printed line by line, from
// whatever part of the input they come.
func TestLastWordsLoseAKey(t *testing.T) {
	b := loadBook(t)
	line := func(n int, text string) ingest.Entry {
		return ingest.Entry{Source: ingest.Runner, Namespace: "ci", Pod: "amber", Doc: "runner.log", Line: n,
			Text: text}
	}
	body := fixtures.Filler(64, fixtures.Letters)
	first := classify.Take(slices.Values([]ingest.Entry{line(1, "-----BEGIN PRIVATE KEY-----"), line(2, body)}), b)
	second := classify.Take(slices.Values([]ingest.Entry{line(3, body[1:]), line(4, "-----END PRIVATE KEY-----")}), b)
	text := fmt.Sprint(classify.Join([]*classify.Part{first, second}).Verdicts(b, classify.Options{Runner: "amber"}))
	if strings.Contains(text, body) || strings.Contains(text, body[1:]) || !strings.Contains(text,
		"[redacted:private-key]") {
		t.Errorf("%s", text)
	}
}

// withoutSecrets is a rulebook that takes nothing out.
func withoutSecrets(t *testing.T) *rules.Rulebook {
	t.Helper()
	b, err := rules.Load(fstest.MapFS{"none.yaml": {Data: []byte("labels: []\n")}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
