package stored

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/google/go-cmp/cmp"
)

var at = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

func record() ingest.Entry {
	return ingest.Entry{Cluster: "east", Source: ingest.Kubelet, Node: "n1", Boot: "b", Namespace: "ns", Pod: "p",
		PodUID: "u", Container: "c", ContainerID: "id", Unit: "kubelet.service", At: at, Text: "said",
		Fields: map[string]string{"a": "1", "b": "2"}, Doc: "journal", Line: 7}
}

// What stands in a ledger of today must be found by a program of tomorrow: else each record that
// is sent again would be filed a second time.
func TestIdentitiesStay(t *testing.T) {
	e := record()
	if got, want := hex.EncodeToString(RecordID(&e)), "69a40e20306a7474fb902933cfa5ccd7cf483e8d"; got != want {
		t.Errorf("a record is %s, was %s", got, want)
	}
	e.Mark = &ingest.Mark{Kind: ingest.Covered, From: at, To: at.Add(time.Hour)}
	if got, want := hex.EncodeToString(MarkID(&e)), "ba9c5585873b19c10aa07433a9d2060d"; got != want {
		t.Errorf("a mark is %s, was %s", got, want)
	}
}

func TestWhatMakesRecordsTwo(t *testing.T) {
	base := record()
	for name, change := range map[string]func(*ingest.Entry){
		"cluster":   func(e *ingest.Entry) { e.Cluster = "west" },
		"source":    func(e *ingest.Entry) { e.Source = ingest.Kernel },
		"node":      func(e *ingest.Entry) { e.Node = "n2" },
		"boot":      func(e *ingest.Entry) { e.Boot = "c" },
		"namespace": func(e *ingest.Entry) { e.Namespace = "other" },
		"pod":       func(e *ingest.Entry) { e.Pod = "q" },
		"uid":       func(e *ingest.Entry) { e.PodUID = "v" },
		"container": func(e *ingest.Entry) { e.Container = "d" },
		"id":        func(e *ingest.Entry) { e.ContainerID = "other" },
		"unit":      func(e *ingest.Entry) { e.Unit = "other" },
		"time":      func(e *ingest.Entry) { e.At = at.Add(1) },
		"since":     func(e *ingest.Entry) { e.Mono = 1 },
		"text":      func(e *ingest.Entry) { e.Text = "said so" },
		"field":     func(e *ingest.Entry) { e.Fields = map[string]string{"a": "1", "b": "3"} },
	} {
		e := record()
		if change(&e); bytes.Equal(RecordID(&e), RecordID(&base)) {
			t.Errorf("%s: two records are one", name)
		}
	}
	again := record()
	again.Doc, again.Line, again.Trust = "another file", 99, ingest.Claimed
	if !bytes.Equal(RecordID(&again), RecordID(&base)) {
		t.Error("one record that was read twice is two")
	}
	again.At, base.At = time.Time{}, time.Time{}
	if bytes.Equal(RecordID(&again), RecordID(&base)) {
		t.Error("two lines without a time are one")
	}
}

func TestWhatMakesMarksTwo(t *testing.T) {
	mark := func(kind ingest.MarkKind, from, to time.Time, why string) []byte {
		e := record()
		e.Mark = &ingest.Mark{Kind: kind, From: from, To: to, Why: why}
		return MarkID(&e)
	}
	grown := mark(ingest.Covered, at, at.Add(time.Hour), "")
	if !bytes.Equal(grown, mark(ingest.Covered, at, at.Add(time.Minute), "")) {
		t.Error("a span that went on is two")
	}
	if bytes.Equal(grown, mark(ingest.Covered, at.Add(1), at.Add(time.Hour), "")) {
		t.Error("two spans are one")
	}
	gap := mark(ingest.Gap, at, at.Add(time.Hour), "lost")
	if bytes.Equal(gap, grown) || bytes.Equal(gap, mark(ingest.Gap, at, at.Add(time.Minute), "lost")) ||
		bytes.Equal(gap, mark(ingest.Gap, at, at.Add(time.Hour), "rotated")) {
		t.Error("two gaps are one")
	}
}

// cover is a span of coverage of node n1's source.
func cover(source ingest.Source, from, to int) ingest.Entry {
	end := at.Add(time.Duration(to) * time.Second)
	return ingest.Entry{Cluster: "east", Source: source, Node: "n1", Boot: "b", At: end, Clock: ingest.WallClock,
		Trust: ingest.Attested, Doc: "journal",
		Mark: &ingest.Mark{Kind: ingest.Covered, From: at.Add(time.Duration(from) * time.Second), To: end}}
}

// What a node says of all that it reads is one row, which is the same one when it goes on, and
// gives back what was said, whatever came first.
func TestMarksThatShareARow(t *testing.T) {
	of := func(to int) []Mark {
		return []Mark{
			{cover(ingest.Kubelet, 5, to), "node:n1"},
			{cover(ingest.Kernel, 0, to), "node:n1"},
			{cover(ingest.Kernel, 0, to-1), "node:n1"}, // the shorter self of a push before
			{cover(ingest.Systemd, 0, to), "node:n1"},
		}
	}
	early, err := JoinMarks(of(10))
	all := of(20)
	slices.Reverse(all)
	late, err2 := JoinMarks(all)
	if err != nil || err2 != nil || len(early) != 1 || len(late) != 1 {
		t.Fatalf("%v %v, %d and %d rows", err, err2, len(early), len(late))
	}
	if !bytes.Equal(early[0].Hash, late[0].Hash) || !late[0].To.Equal(at.Add(20*time.Second)) {
		t.Errorf("the row that goes on: %+v, then %+v", early[0], late[0])
	}
	got, err := ReadMarks(late[0].Entry)
	want := []ingest.Entry{cover(ingest.Kernel, 0, 20), cover(ingest.Kubelet, 5, 20), cover(ingest.Systemd, 0, 20)}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestMarksThatShareNoRow(t *testing.T) {
	gap := cover(ingest.Kernel, 0, 10)
	gap.Mark.Kind, gap.Mark.Why = ingest.Gap, "rotated"
	other := cover(ingest.Kernel, 0, 10)
	other.Node = "n2"
	rebooted := cover(ingest.Systemd, 0, 10)
	rebooted.Boot = "c"
	all := []Mark{
		{cover(ingest.Kernel, 0, 10), "node:n1"},
		{cover(ingest.Kubelet, 0, 11), "node:n1"}, // ends later
		{gap, "node:n1"},
		{other, "node:n2"},
		{rebooted, "node:n1"},
		{cover(ingest.Systemd, 0, 10), "controller"}, // another's
	}
	rows, err := JoinMarks(all)
	if err != nil || len(rows) != len(all) {
		t.Fatalf("%v, %d rows of %d marks", err, len(rows), len(all))
	}
	if !slices.IsSortedFunc(rows, func(a, b Row) int { return bytes.Compare(a.Hash, b.Hash) }) {
		t.Error("two writes that want the same rows could wait for each other")
	}
	for _, r := range rows {
		got, err := ReadMarks(r.Entry)
		if err != nil || len(got) != 1 || !slices.ContainsFunc(all, func(m Mark) bool {
			return cmp.Equal(m.Entry, got[0]) && m.Owner == r.Owner && bytes.Equal(MarkID(&m.Entry), r.Hash)
		}) {
			t.Errorf("%v, nobody said %+v", err, got)
		}
	}
}
