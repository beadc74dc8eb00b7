package draft_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"coroner/ingest"
	"coroner/rules/draft"
	"coroner/rules/signal"
)

// recognises says whether the draft's signal recognises a line.
func recognises(t *testing.T, yaml string, e ingest.Entry) bool {
	t.Helper()
	b, err := signal.Load(fstest.MapFS{"draft.yaml": {Data: []byte(yaml)}})
	if err != nil {
		t.Fatalf("the draft does not load: %v\n%s", err, yaml)
	}
	return len(b.Scan(&e)) == 1
}

// A draft loads, and knows its line and the same line with other numbers and ids;
// it does not know its neighbour.
func TestDraftKnowsItsLine(t *testing.T) {
	const uid, other = "0a0b0c0d-1111-2222-3333-444455556666", "9f9e9d9c-1111-2222-3333-444455556666"
	for _, c := range []struct{ line, like, unlike string }{
		{"power cut in rack 7, shedding load", "power cut in rack 12, shedding load", "power cut test passed"},
		{"reaper: pod " + uid + " took 3.5s too long", "reaper: pod " + other + " took 12s too long",
			"reaper: nothing to do"},
		{`it's "quoted" [and] (bracketed) {and: yaml} # 1`, `it's "quoted" [and] (bracketed) {and: yaml} # 22`,
			"it is quoted"},
		{"snapshot " + strings.Repeat("ab", 32) + " of 10.0.0.7 is gone", "snapshot " + strings.Repeat("cd", 32) +
			" of 10.0.0.12 is gone", "snapshot is there"},
	} {
		e := ingest.Entry{Source: ingest.Systemd, Trust: ingest.Attested, Node: "node-1", Text: c.line}
		yaml := draft.Signal(&e)
		for text, want := range map[string]bool{c.line: true, c.like: true, c.unlike: false} {
			other := e
			other.Text = text
			if got := recognises(t, yaml, other); got != want {
				t.Errorf("%q recognised: %v, want %v, by\n%s", text, got, want, yaml)
			}
		}
	}
}
