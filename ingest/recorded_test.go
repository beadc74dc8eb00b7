package ingest

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What a server kept is read back as it was.
func TestRecorded(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 5, time.UTC)
	want := []Entry{
		{At: at, Clock: WallClock, Source: Kernel, Trust: Attested, Node: "n1", Boot: "b", Text: "oom <&>", Doc: "journal", Line: 7, Cursor: "c"},
		{At: at, Clock: WallClock, Source: Runner, Namespace: "ci", Pod: "amber", PodUID: "u", Container: "runner", Text: "say", Fields: map[string]string{"k": "v"}, Doc: "pod.log", Line: 1},
		{Source: Kernel, Node: "n1", Mark: &Mark{Kind: Gap, From: at, To: at.Add(time.Second), Why: "vacuumed"}},
	}
	var b bytes.Buffer
	if err := WriteRecorded(&b, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, recordedIn(t, "a/x"+RecordedName, b.String())); diff != "" {
		t.Error(diff)
	}
	for _, e := range recordedIn(t, "x.jsonl", b.String()) {
		if e.Source == Kernel || e.Trust == Attested {
			t.Errorf("a document that nobody said to be one is believed: %+v", e)
		}
	}
}

// A line that is no entry is nobody's, one that claims too much is held to what
// its source may, and the rest goes on.
func TestRecordedMistakes(t *testing.T) {
	got := recordedIn(t, "x"+RecordedName, `no JSON
{"source":"oracle","trust":1,"text":"x"}
{"mark":{"kind":99}}

{"source":"runner","trust":1,"text":"x\u001b[31my"}
{"source":"kernel","trust":9,"clock":9,"text":"`+strings.Repeat("z", 2*MaxText)+`"}
`)
	if len(got) != 5 {
		t.Fatalf("%d entries", len(got))
	}
	for _, e := range got[:3] {
		if e.Source != Unknown || e.Trust != Claimed || e.Mark != nil || e.Text == "" {
			t.Errorf("%+v", e)
		}
	}
	if e := got[3]; e.Trust != Claimed || e.Text != "xy" {
		t.Errorf("%+v", e)
	}
	if e := got[4]; e.Trust != Claimed || e.Clock != NoClock || len(e.Text) != MaxText || e.Cut != MaxText {
		t.Errorf("%d %d %d %d", e.Trust, e.Clock, len(e.Text), e.Cut)
	}
}

func recordedIn(t *testing.T, name, text string) []Entry {
	t.Helper()
	entries, marks := readAll(t, Document{Name: name, Recorded: strings.HasSuffix(name, RecordedName)}, text)
	return append(entries, marks...)
}
