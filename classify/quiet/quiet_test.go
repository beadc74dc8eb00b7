package quiet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/signal"
)

func loadBook(t *testing.T) *rules.Rulebook {
	t.Helper()
	return shipped.Rulebook(t)
}

// start is the line of a container that starts on a node, so many seconds into a day.
func start(b *rules.Rulebook, node, id string, second int64) *signal.Signal {
	found, _ := b.ScanWithin(&ingest.Entry{
		At: time.Unix(1_790_000_000+second, 0).UTC(), Source: ingest.Containerd, Trust: ingest.Attested, Node: node,
		Text: fmt.Sprintf(`time="2026-11-22T10:00:00Z" level=info `+
			`msg="StartContainer for \"%s\" returns successfully"`, id),
	})
	return &found[0]
}

// idOf is the id of a container, by its number.
func idOf(n int) string { return fmt.Sprintf("%064x", 1+n) }

// idIn is what the line of such a start names.
func idIn(s *signal.Signal) []string {
	_, after, _ := strings.Cut(s.Text, `for \"`)
	return []string{after[:min(64, len(after))]}
}

// starts are lines of many containers, in two parts that are joined: one a second on node a,
// then one on node b.
func starts(b *rules.Rulebook, few, each int) *Lines {
	parts := []*Lines{New(b, few), New(b, few)}
	for i, node := range []string{"a", "b"} {
		for n := range each {
			s := start(b, node, idOf(i*each+n), int64(n))
			parts[i].Add(s, idIn(s))
		}
	}
	parts[0].Join(parts[1])
	return parts[0]
}

// chosen are the nodes and ids of the lines that were chosen.
func chosen(c *Choice) (out []string) {
	c.Each(func(s *signal.Signal) { out = append(out, s.Node+" "+idIn(s)[0]) })
	slices.Sort(out)
	return out
}

// Of many lines those come back whose pod something else names, that were asked for, or
// that were on a node when it was struck; and it is known where the others were read.
func TestChoose(t *testing.T) {
	b := loadBook(t)
	const each = 5000
	q := starts(b, 2, each)
	if q.Len() != 2*each || len(q.Places()) != 2 {
		t.Fatalf("%d lines of %d places", q.Len(), len(q.Places()))
	}
	one := start(b, "b", idOf(each+7), 9)
	if got := chosen(q.Choose([]*signal.Signal{one}, Question{Names: idIn})); !slices.Equal(got, []string{
		"b " + idOf(each+7)}) {
		t.Errorf("by its name: %v", got)
	}
	nobody := func(*signal.Signal) []string { return nil }
	asked := func(s *signal.Signal) bool { return idIn(s)[0] == idOf(3) }
	c := q.Choose(nil, Question{Names: nobody, Asked: asked})
	if got := chosen(c); !slices.Equal(got, []string{"a " + idOf(3)}) {
		t.Errorf("asked for: %v", got)
	}
	if left := c.LeftOut(); len(left) != 2 {
		t.Errorf("left out at %v", left)
	}
	panics, _ := b.ScanWithin(&ingest.Entry{
		At: time.Unix(1_790_000_000, 0).UTC().Add(time.Hour), Source: ingest.Kernel, Trust: ingest.Attested, Node: "b",
		Text: "Kernel panic - not syncing: Fatal exception",
	})
	if len(panics) == 0 {
		t.Fatal("a panic is no signal")
	}
	c = q.Choose([]*signal.Signal{&panics[0]}, Question{Names: nobody})
	got := chosen(c)
	if len(got) == 0 || slices.ContainsFunc(got, func(s string) bool { return s[0] != 'b' }) {
		t.Errorf("struck with its node: %d lines", len(got))
	}
	if left := c.LeftOut(); !slices.ContainsFunc(left, func(p Place) bool { return p.Node == "a" }) {
		t.Errorf("left out at %v", left)
	}
}

// Where hardly any pod would be left out, none is.
func TestFewAreKept(t *testing.T) {
	b := loadBook(t)
	nobody := Question{Names: func(*signal.Signal) []string { return nil }}
	for each, want := range map[int]int{4: 8, 5: 0, 6: 0} {
		if got := chosen(starts(b, 10, each).Choose(nil, nobody)); len(got) != want {
			t.Errorf("of %d lines %d are kept, want %d", 2*each, len(got), want)
		}
	}
}

// A line comes back as it was, with the cluster that its place was given since.
func TestPackedLinesComeBack(t *testing.T) {
	b := loadBook(t)
	q, want := New(b, 2), start(b, "a", idOf(1), 1)
	q.Add(want, idIn(want))
	q.Places()[0].Cluster = "red"
	q.Choose([]*signal.Signal{want}, Question{Names: idIn}).Each(func(got *signal.Signal) {
		if got.Text != want.Text || !got.At.Equal(want.At) || got.Node != "a" || got.Cluster != "red" ||
			got.Def != want.Def || got.Trust != want.Trust {
			t.Errorf("%+v, want %+v", got, want)
		}
		want = nil
	})
	if want != nil {
		t.Error("it did not come back")
	}
}

// What is packed holds no room to spare: a million lines that nobody asks for
// must not cost the memory of the lines themselves.
func TestPackedLinesHoldNoSpareRoom(t *testing.T) {
	q := starts(loadBook(t), 2, 10_000)
	bytes, room := 0, 0
	for _, block := range q.packed {
		bytes, room = bytes+len(block), room+cap(block)
	}
	if bytes == 0 || room > bytes*5/4 {
		t.Errorf("%d bytes take the room of %d", bytes, room)
	}
}
