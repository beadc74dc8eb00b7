package classify_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// However much a job prints, its verdict stays small, and says the same as without:
// the lines that decide stay, and what the node said near the death.
func TestVerdictsStaySmall(t *testing.T) {
	b := loadBook(t)
	words := []string{
		"No space left on device", "cannot fork", "SSL certificate problem", "signal: killed", "memory.peak=1",
		"memory.max=1",
		"Too many open files in system", "Post job cleanup.", "Job failed: exit code 1",
		"Waiting 1 seconds before trying again",
		"##[error]The runner has received a shutdown signal", "oom_kill=1", "Error: Process completed with exit code 1",
	}
	tried := 0
	for _, in := range incidents(t) {
		list := entries(in)
		before := judge(b, list, in)
		if before.EvidenceOmitted != 0 {
			t.Errorf("%s: %d lines of an honest incident are left out", in.Name, before.EvidenceOmitted)
		}
		if before.DiedAt == nil || before.PodUID == "" || !before.Label.Death() {
			continue
		}
		tried++
		for n := range 3000 {
			list = append(list, ingest.Entry{
				At: before.DiedAt.Add(
					-time.Duration(n) * time.Millisecond,
				), Clock: ingest.WallClock, Source: ingest.Job,
				Pod: before.Runner, Namespace: before.Namespace, PodUID: before.PodUID, Container: "junk",
				Doc:  strings.Repeat("deep/", 100),
				Text: fmt.Sprintf("%s %s %d", words[n%len(words)], strings.Repeat("y", 8000), n), Line: n + 1,
			})
		}
		after := judge(b, list, in)
		data, err := json.Marshal(after)
		if err != nil || len(data) > 256<<10 {
			t.Errorf("%s: %d kB: %v", in.Name, len(data)>>10, err)
		}
		if after.EvidenceOmitted < 100 {
			t.Errorf(
				"%s: %d lines, and %d are said to be left out",
				in.Name,
				len(after.Evidence),
				after.EvidenceOmitted,
			)
		}
		kept := map[string]bool{}
		for _, e := range after.Evidence {
			kept[e.Signal+e.Text] = true
		}
		for _, e := range before.Evidence {
			if (e.Decisive || e.Source == string(ingest.Kubelet)) && !kept[e.Signal+e.Text] {
				t.Errorf("%s: lost %s %.100q", in.Name, e.Signal, e.Text)
			}
		}
		if tried == 12 { // of each the flood is judged
			return
		}
	}
	t.Errorf("only %d incidents were tried", tried)
}
