package classify_test

import (
	"fmt"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest"
)

// A folder with very many pods and very many stretches of one node's journal
// must not take memory for each of both: what was read of a node is said once,
// in few words.
func TestCoverageIsSharedByTheNode(t *testing.T) {
	const many = 2000
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var entries []ingest.Entry
	for i := range many {
		entries = append(entries,
			ingest.Entry{At: at, Source: ingest.Kubelet, Trust: ingest.Attested, Node: "n", Doc: "j", Line: i,
				Text: fmt.Sprintf(`I0301 10:00:00.000000     812 generic.go:358] "Generic (PLEG): container finished" podID="%08d-1111-2222-3333-444455556666" containerID="%064d" exitCode=1`, i, i)},
			ingest.Entry{Source: ingest.Kubelet, Trust: ingest.Attested, Node: "n", Doc: "j", Boot: fmt.Sprint(i),
				Mark: &ingest.Mark{Kind: ingest.Covered, From: at.Add(time.Duration(i-1) * time.Second), To: at.Add(time.Duration(i) * time.Second)}})
	}
	cases := classify.Cases(entries, loadBook(t), classify.Options{})
	if len(cases) != many+1 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases[:many] {
		if len(c.Coverage) != 0 || len(c.Around) != 1 || &c.Around[0] != &cases[0].Around[0] {
			t.Fatalf("%d, %d, shared %v", len(c.Coverage), len(c.Around), &c.Around[0] == &cases[0].Around[0])
		}
	}
}
