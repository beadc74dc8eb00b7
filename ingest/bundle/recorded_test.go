package bundle

import "testing"

// What a server kept is believed where a person put it, and nowhere that a job
// can write to or an artifact of it can bring it.
func TestRecordedOnlyWhereAPersonPutIt(t *testing.T) {
	for name, want := range map[string]bool{
		"amber.txtar!evidence.entries.jsonl":                                                true,
		"incident/amber.txtar!evidence.entries.jsonl":                                       true,
		"evidence.entries.jsonl":                                                            true,
		"incident/evidence.entries.jsonl":                                                   true,
		"evidence.jsonl":                                                                    false,
		"evidence.entries.jsonl.txt":                                                        false,
		"incident.tgz!evidence.entries.jsonl":                                               false,
		"artifact.zip!x.txtar!evidence.entries.jsonl":                                       false,
		"a.txtar!b.txtar!evidence.entries.jsonl":                                            false,
		"_diag/evidence.entries.jsonl":                                                      false,
		"incident/_diag/pages/evidence.entries.jsonl":                                       false,
		"_diag/x.txtar!evidence.entries.jsonl":                                              false,
		"_work/repo/repo/evidence.entries.jsonl":                                            false,
		"var/log/pods/ci_amber_0b1f6f52-7a3c-4c1f-9a52-6d1f3a7c2b10/runner/x.entries.jsonl": false,
	} {
		if got := isRecorded(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
