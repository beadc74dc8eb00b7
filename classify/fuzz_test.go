package classify_test

import (
	"io"
	"slices"
	"testing"

	"coroner/classify"
	"coroner/classify/postmortem"
	"coroner/ingest/bundle"
	"coroner/rules"
)

// FuzzReplay takes any text all the way: it always comes out as at least one
// verdict of a known label, confirmed only with a decisive line that is there,
// and as a page that can be written.
func FuzzReplay(f *testing.F) {
	book := loadBook(f)
	for _, in := range incidents(f) {
		for _, file := range in.Files {
			f.Add(file.Name, file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		verdicts := classify.Replay(bundle.Bytes(name, data, bundle.Options{}).Entries(nil), book, classify.Options{})
		if len(verdicts) == 0 {
			t.Fatal("no verdict")
		}
		for i := range verdicts {
			check(t, &verdicts[i])
			if err := postmortem.Write(io.Discard, &verdicts[i], postmortem.Style{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func check(t *testing.T, v *rules.Verdict) {
	if !slices.Contains(rules.Labels, v.Label) {
		t.Fatalf("label %q", v.Label)
	}
	decisive := slices.ContainsFunc(v.Evidence, func(e rules.EvidenceLine) bool { return e.Decisive })
	if v.Confidence == rules.Confirmed && !decisive {
		t.Fatalf("%s is confirmed by %s without a decisive line", v.Label, v.Rule)
	}
}
