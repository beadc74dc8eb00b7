package recorded

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/logtext"
)

// What a server kept is read back as it was.
func TestRecorded(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 5, time.UTC)
	want := []ingest.Entry{
		{
			At:     at,
			Clock:  ingest.WallClock,
			Source: ingest.Kernel,
			Trust:  ingest.Attested,
			Node:   "n1",
			Boot:   "b",
			Text:   "oom <&>",
			Doc:    "journal",
			Line:   7,
			Cursor: "c",
		},
		{
			At:        at,
			Clock:     ingest.WallClock,
			Source:    ingest.Runner,
			Namespace: "ci",
			Pod:       "amber",
			PodUID:    "u",
			Container: "runner",
			Text:      "say",
			Fields:    map[string]string{"k": "v"},
			Doc:       "pod.log",
			Line:      1,
		},
		{
			Source: ingest.Kernel,
			Node:   "n1",
			Mark:   &ingest.Mark{Kind: ingest.Gap, From: at, To: at.Add(time.Second), Why: "vacuumed"},
		},
	}
	var b bytes.Buffer
	if err := Write(&b, want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, recordedIn(t, "a/x"+Suffix, b.String())); diff != "" {
		t.Error(diff)
	}
}

// Only where somebody says so is a document one of these.
func TestRecordedByNobody(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, []ingest.Entry{{Source: ingest.Kernel, Trust: ingest.Attested, Node: "n1",
		Text: "oom"}}); err != nil {
		t.Fatal(err)
	}
	err := document.Document{Name: "x" + Suffix}.Read(&b, func(e ingest.Entry) bool {
		if e.Source == ingest.Kernel || e.Trust == ingest.Attested {
			t.Errorf("a document that nobody said to be one is believed: %+v", e)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A line that is no entry is nobody's, one that claims too much is held to what
// its source may, and the rest goes on.
func TestRecordedMistakes(t *testing.T) {
	got := recordedIn(t, "x"+Suffix, `no JSON
{"source":"oracle","trust":1,"text":"x"}
{"mark":{"kind":99}}

{"source":"runner","trust":1,"text":"x\u001b[31my"}
{"source":"kernel","trust":9,"clock":9,"text":"`+strings.Repeat("z", 2*ingest.MaxText)+`"}
`)
	if len(got) != 5 {
		t.Fatalf("%d entries", len(got))
	}
	for _, e := range got[:3] {
		if e.Source != ingest.Unknown || e.Trust != ingest.Claimed || e.Mark != nil || e.Text == "" {
			t.Errorf("%+v", e)
		}
	}
	if e := got[3]; e.Trust != ingest.Claimed || e.Text != "xy" {
		t.Errorf("%+v", e)
	}
	if e := got[4]; e.Trust != ingest.Claimed || e.Clock != ingest.NoClock || len(e.Text) != ingest.MaxText ||
		e.Cut != ingest.MaxText {
		t.Errorf("%d %d %d %d", e.Trust, e.Clock, len(e.Text), e.Cut)
	}
}

func recordedIn(t *testing.T, name, text string) (entries []ingest.Entry) {
	t.Helper()
	err := Read(strings.NewReader(text), name, func(e ingest.Entry) bool {
		entries = append(entries, e)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// Whatever a document holds, its entries are clean, short and trusted no more than
// their sources can be.
func FuzzRead(f *testing.F) {
	f.Add(
		[]byte(
			`{"source":"kernel","trust":1,"clock":1,"at":"2026-05-04T10:00:00Z","text":"x\u001b",` +
				`"fields":{"a":"\u0000"}}` + "\n" + `{"mark":{"kind":1,"why":"\u202e"}}`,
		),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		n := 0
		err := Read(bytes.NewReader(data), "x"+Suffix, func(e ingest.Entry) bool {
			n++
			texts := []string{
				e.Text,
				e.Cluster,
				e.Node,
				e.Boot,
				e.Namespace,
				e.Pod,
				e.PodUID,
				e.Container,
				e.ContainerID,
				e.Unit,
				e.Cursor,
			}
			for _, v := range e.Fields {
				texts = append(texts, v)
			}
			for _, s := range texts {
				if len(s) > ingest.MaxText || logtext.Cleaned(s) != s {
					t.Errorf("%d bytes: %.100q", len(s), s)
				}
			}
			if e.Source.Forgeable() && e.Trust != ingest.Claimed || e.Clock == ingest.NoClock && !e.At.IsZero() {
				t.Errorf("%+v", e)
			}
			return true
		})
		if err != nil || n > 1+bytes.Count(data, []byte("\n")) {
			t.Errorf("%d entries, %v", n, err)
		}
	})
}
