package ledger

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

var t0 = time.Date(2026, 5, 4, 10, 0, 0, 123456789, time.UTC)

// after is the time so many seconds after t0.
func after(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

func reopen(t testing.TB, path string) *Ledger {
	t.Helper()
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func fresh(t testing.TB) *Ledger {
	t.Helper()
	return reopen(t, newPlace(t))
}

// write runs f as one write that must succeed.
func write(t testing.TB, l *Ledger, now time.Time, f func(*Tx) error) {
	t.Helper()
	if err := l.Write(t.Context(), now, f); err != nil {
		t.Fatal(err)
	}
}

// get takes the value of a call that must succeed.
func get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func putCases(t testing.TB, l *Ledger, all ...Case) {
	t.Helper()
	write(t, l, t0, func(tx *Tx) error {
		for _, c := range all {
			if err := tx.PutCase(c); err != nil {
				return err
			}
		}
		return nil
	})
}

// line is a record of a runner's container.
func line(at time.Time, text string) ingest.Entry {
	return ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Runner, Node: "n1", Boot: "b", Namespace: "arc",
		Pod: "p", PodUID: "u",
		Container: "runner", ContainerID: "c", Unit: "x.service", Text: text,
		Fields: map[string]string{"k": "v", "l": "v", "m": "v"}, Doc: "0.log", Line: 7, Cursor: "s=1"}
}

func verdict(runner string, revision int) *rules.Verdict {
	died, code := after(-5), 137
	return &rules.Verdict{Runner: runner, Namespace: "arc", Node: "n1", PodUID: "uid-" + runner, Label: rules.CgroupOOM,
		Confidence: rules.Confirmed,
		Revision:   revision, DiedAt: &died, Exit: rules.Exit{Code: &code, Reason: "OOMKilled"}, Summary: "limit",
		Evidence: []rules.EvidenceLine{{At: &died, Text: "oom", Decisive: true, Mine: true}},
		RuledOut: []rules.RuledOut{}, Open: []rules.OpenLabel{}, Missing: []string{"the kubelet: not read"}}
}

func texts(all []ingest.Entry) (out []string) {
	for _, e := range all {
		out = append(out, e.Text)
	}
	return out
}

func ids(all []Case) (out []string) {
	for _, c := range all {
		out = append(out, c.ID)
	}
	return out
}

func revisions(all []Record) (out []string) {
	for _, r := range all {
		out = append(out, r.Case+"/"+strconv.Itoa(r.Verdict.Revision))
	}
	return out
}

// everything is what one ledger answers about the records that fill makes.
type everything struct {
	Named, Wide []ingest.Entry
	Names       int
	Marks, Tail []ingest.Entry
	Cases       []Case
	ByTie       Case
	Nodes       []Node
	Verdicts    []Record
	Items       []OutboxItem
}

func fill(tx *Tx) error {
	e := line(t0, "evidence")
	wide := ingest.Entry{At: t0, Source: ingest.Kernel, Trust: ingest.Attested, Node: "n1", Text: "panic", Mono: 5}
	mark := ingest.Entry{Source: ingest.Kubelet, Node: "n1", Mark: &ingest.Mark{From: after(-60), To: t0, Lines: 3}}
	tail := line(after(1), "last words")
	_, err1 := tx.AddEvidence(&e, []string{"uid:u", "name:p"}, false)
	_, err2 := tx.AddEvidence(&wide, nil, true)
	_, err3 := tx.AddMark(&mark, "node:n1")
	return errors.Join(err1, err2, err3,
		tx.AddTail("uid:u/runner", "uid:u", []ingest.Entry{tail}, 10, asIs),
		tx.PutCase(Case{
			ID:        "1",
			Namespace: "arc",
			Name:      "p",
			UID:       "u",
			Node:      "n1",
			Runner:    true,
			Opened:    after(-9),
			Heard:     t0,
			State:     StateEnding,
			Died:      after(-5),
			Due:       after(60),
			Revision:  1,
		}),
		tx.Tie("", "container", "1"),
		tx.PutNodes(Node{Name: "n1", Reached: after(-1), Heard: t0, Controller: true, Silent: true}),
		tx.AddVerdict("1", verdict("p", 1), after(-5), true))
}

// wideOf is what the ledger holds about node n1.
func wideOf(t testing.TB, l *Ledger, from, to time.Time) (out []ingest.Entry) {
	t.Helper()
	for _, id := range get(l.Wide(t.Context(), "n1", from, to))(t) {
		e, ok, err := l.Evidence(t.Context(), id)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		out = append(out, e)
	}
	return out
}

func read(t testing.TB, l *Ledger) (x everything) {
	t.Helper()
	ctx := t.Context()
	for _, name := range []string{"uid:u", "name:p"} {
		for _, g := range get(l.Unseen(ctx, name, nil))(t) {
			x.Named, x.Names = append(x.Named, g.Entry), x.Names+1
		}
	}
	x.Wide = wideOf(t, l, after(-60), after(60))
	x.Marks = get(l.Marks(ctx, Owners{"node:n1"}, time.Time{}))(t)
	x.Tail = get(l.Tails(ctx, Owners{"uid:u"}))(t)
	x.Cases = get(l.Cases(ctx, StateEnding, 0))(t)
	x.Nodes = get(l.Nodes(ctx))(t)
	x.Verdicts = get(l.Verdicts(ctx, Query{Limit: 10}))(t)
	x.Items = get(l.Outbox.Due(ctx, after(1), 10))(t)
	write(t, l, t0, func(tx *Tx) (err error) {
		x.ByTie, _, err = tx.FindCase(l.cluster, "", "", "", []string{"container"})
		return err
	})
	return x
}

// A server that is started again knows all that it knew, to the field.
func TestReopeningKeepsEverything(t *testing.T) {
	path := newPlace(t)
	l := reopen(t, path)
	write(t, l, t0, fill)
	before := read(t, l)
	if len(before.Named) != 2 || len(before.Wide) != 1 || len(before.Marks) != 1 || len(before.Tail) != 1 ||
		len(before.Cases) != 1 ||
		before.ByTie.ID != "1" || len(before.Nodes) != 1 || len(before.Verdicts) != 1 || len(before.Items) != 1 {
		t.Fatalf("%+v", before)
	}
	want := line(t0, "evidence")
	if diff := cmp.Diff(want, before.Named[0]); diff != "" {
		t.Errorf("what was filed comes back changed:\n%s", diff)
	}
	if diff := cmp.Diff(*verdict("p", 1), before.Items[0].Verdict); diff != "" {
		t.Errorf("a verdict comes back changed:\n%s", diff)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(t, reopen(t, path))); diff != "" {
		t.Error(diff)
	}
}

// Whatever characters its path has, the ledger is the file of that name.
func TestTheFileHasTheNameThatWasGiven(t *testing.T) {
	ofAFile(t)
	for _, name := range []string{
		"a b.db", "50%.db", "a%20b.db", "a#b.db", "a?mode=memory.db", "ü&x=1.db", "noextension",
	} {
		path := filepath.Join(t.TempDir(), name)
		l := reopen(t, path)
		write(t, l, t0, fill)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
		if n := get(reopen(t, path).Outbox.Count(t.Context()))(t); n != 1 {
			t.Errorf("%s: %d verdicts after reopening", name, n)
		}
	}
}

// A push that is sent again adds nothing, and two records that differ in what
// they say, of whom, or when, are two.
func TestTheSameEvidenceIsOnce(t *testing.T) {
	l := fresh(t)
	add := func(e ingest.Entry) (added bool) {
		write(t, l, t0, func(tx *Tx) (err error) {
			added, err = tx.AddEvidence(&e, []string{"name"}, false)
			return err
		})
		return added
	}
	if !add(line(t0, "x")) {
		t.Fatal("the first is not added")
	}
	for what, change := range map[string]func(*ingest.Entry){
		"nothing":             func(*ingest.Entry) {},
		"where it was read":   func(e *ingest.Entry) { e.Doc, e.Line, e.Cursor = "1.log", 9, "s=2" },
		"a zone":              func(e *ingest.Entry) { e.At = e.At.In(time.FixedZone("", 3600)) },
		"the order of fields": func(e *ingest.Entry) { e.Fields = map[string]string{"m": "v", "l": "v", "k": "v"} },
	} {
		e := line(t0, "x")
		if change(&e); add(e) {
			t.Errorf("a record that differs in %s is there twice", what)
		}
	}
	for what, change := range map[string]func(*ingest.Entry){
		"time":      func(e *ingest.Entry) { e.At = e.At.Add(1) },
		"text":      func(e *ingest.Entry) { e.Text = "x " },
		"source":    func(e *ingest.Entry) { e.Source = ingest.Job },
		"node":      func(e *ingest.Entry) { e.Node = "n2" },
		"boot":      func(e *ingest.Entry) { e.Boot = "b2" },
		"namespace": func(e *ingest.Entry) { e.Namespace = "arc2" },
		"pod":       func(e *ingest.Entry) { e.Pod = "p2" },
		"uid":       func(e *ingest.Entry) { e.PodUID = "u2" },
		"container": func(e *ingest.Entry) { e.Container = "dind" },
		"id":        func(e *ingest.Entry) { e.ContainerID = "c2" },
		"unit":      func(e *ingest.Entry) { e.Unit = "y.service" },
		"mono":      func(e *ingest.Entry) { e.Mono = 1 },
		"field":     func(e *ingest.Entry) { e.Fields = map[string]string{"k": "w", "l": "v", "m": "v"} },
		"new field": func(e *ingest.Entry) { e.Fields = map[string]string{"k": "v", "l": "v", "m": "v", "n": ""} },
		"no field":  func(e *ingest.Entry) { e.Fields = nil },
		"a shift":   func(e *ingest.Entry) { e.Pod, e.PodUID = "pu", "" },
	} {
		e := line(t0, "x")
		if change(&e); !add(e) {
			t.Errorf("a record that differs in %s is taken for the same", what)
		}
		if add(e) {
			t.Errorf("%s: added twice", what)
		}
	}
	if all := get(l.Unseen(t.Context(), "name", nil))(t); len(all) != 17 {
		t.Errorf("%d records, want 17", len(all))
	}
}

// Lines without a time are told apart by where they stand: a log can say the
// same thing twice.
func TestLinesWithoutATime(t *testing.T) {
	l := fresh(t)
	for _, tt := range []struct {
		doc   string
		line  int
		added bool
	}{{"a", 1, true}, {"a", 1, false}, {"a", 2, true}, {"b", 1, true}} {
		e := ingest.Entry{Source: ingest.Runner, Text: "x", Doc: tt.doc, Line: tt.line}
		write(t, l, t0, func(tx *Tx) error {
			if added, err := tx.AddEvidence(&e, nil, false); added != tt.added {
				t.Errorf("%+v: %v %v", tt, added, err)
			}
			return nil
		})
	}
}

// A log can name any year. Such a line is kept like others; it must not hold up
// the push that it came with, for that would be sent again for ever.
func TestYearsBeyondWhatCanBeStored(t *testing.T) {
	l := fresh(t)
	far := []time.Time{
		time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)),
		time.Date(1200, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for i, at := range far {
		e := line(at, strconv.Itoa(i))
		e.After = at
		mark := ingest.Entry{
			At:     at,
			Source: ingest.Kernel,
			Node:   strconv.Itoa(i),
			Mark:   &ingest.Mark{Kind: ingest.Gap, From: at, To: at},
		}
		write(t, l, t0, func(tx *Tx) error {
			_, err1 := tx.AddEvidence(&e, []string{"far"}, false)
			_, err2 := tx.AddMark(&mark, "far")
			return errors.Join(err1, err2, tx.AddTail("far", "far", []ingest.Entry{e}, 10, asIs))
		})
		if !mark.Mark.To.Equal(at) || !e.At.Equal(at) {
			t.Error("the caller's entry was changed")
		}
	}
	found := get(l.Unseen(t.Context(), "far", nil))(t)
	if len(found) != 4 || found[0].Entry.At.After(t0) || found[3].Entry.At.Before(t0) {
		t.Errorf("%+v", found)
	}
	if n, m := len(get(l.Marks(t.Context(), Owners{"far"},
		time.Time{}))(t)), len(get(l.Tails(t.Context(), Owners{"far"}))(t)); n < 2 || m != 4 {
		t.Errorf("%d marks, %d last lines", n, m)
	}
}

// Coverage grows as a reader goes on, and a late older statement of the same
// span takes nothing back; a gap is never merged with another.
func TestMarksGrow(t *testing.T) {
	l := fresh(t)
	add := func(kind ingest.MarkKind, source ingest.Source, from, to int, why string) (added bool) {
		e := ingest.Entry{
			Source: source,
			Node:   "n1",
			Mark:   &ingest.Mark{Kind: kind, From: after(from), To: after(to), Why: why},
		}
		write(t, l, t0, func(tx *Tx) (err error) {
			added, err = tx.AddMark(&e, "node:n1")
			return err
		})
		return added
	}
	for i, tt := range []struct {
		kind     ingest.MarkKind
		source   ingest.Source
		from, to int
		why      string
		added    bool
	}{
		{ingest.Covered, ingest.Kernel, 0, 10, "", true},
		{ingest.Covered, ingest.Kernel, 0, 10, "", false},
		{ingest.Covered, ingest.Kernel, 0, 20, "", true},
		{ingest.Covered, ingest.Kernel, 0, 15, "", false},
		{ingest.Covered, ingest.Kernel, 1, 5, "", true},   // another span
		{ingest.Covered, ingest.Kubelet, 0, 10, "", true}, // another source
		{ingest.Gap, ingest.Kernel, 0, 10, "rotated", true},
		{ingest.Gap, ingest.Kernel, 0, 10, "rotated", false},
		{ingest.Gap, ingest.Kernel, 0, 30, "rotated", true},
		{ingest.Gap, ingest.Kernel, 0, 10, "suppressed", true},
		{ingest.Gap, ingest.Kernel, 1, 10, "rotated", true},
	} {
		if added := add(tt.kind, tt.source, tt.from, tt.to, tt.why); added != tt.added {
			t.Errorf("%d: added is %v: %+v", i, added, tt)
		}
	}
	spans := func(from time.Time) (out []string) {
		for _, e := range get(l.Marks(t.Context(), Owners{"node:n1"}, from))(t) {
			out = append(out,
				fmt.Sprint(e.Source, e.Mark.Kind, " ", e.Mark.From.Sub(t0), "-", e.Mark.To.Sub(t0), e.Mark.Why))
		}
		slices.Sort(out)
		return out
	}
	want := []string{
		"kernel0 0s-20s", "kernel0 1s-5s", "kernel1 0s-10srotated", "kernel1 0s-10ssuppressed", "kernel1 0s-30srotated",
		"kernel1 1s-10srotated", "kubelet0 0s-10s",
	}
	if diff := cmp.Diff(want, spans(time.Time{})); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"kernel0 0s-20s", "kernel1 0s-30srotated"}, spans(after(20))); diff != "" {
		t.Errorf("what ends before the time that is asked for must not come: %s", diff)
	}
	if n := len(get(l.Marks(t.Context(), Owners{"node:n2"}, time.Time{}))(t)); n != 0 {
		t.Errorf("%d marks of another node", n)
	}
}

// A verdict that was recorded is not written over and not published twice.
func TestAVerdictIsRecordedOnce(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) error { return tx.AddVerdict("1", verdict("p", 1), after(-5), true) })
	for _, label := range []rules.Label{rules.CgroupOOM, rules.NodeOOM} {
		again := verdict("p", 1)
		again.Label = label
		for _, publish := range []bool{true, false} {
			_ = l.Write(t.Context(), after(9),
				func(tx *Tx) error { return tx.AddVerdict("1", again, after(9), publish) })
		}
	}
	items := get(l.Outbox.Due(t.Context(), after(99), 10))(t)
	if len(items) != 1 || items[0].Verdict.Label != rules.CgroupOOM || !items[0].Stamp.Equal(after(-5)) ||
		!items[0].Recorded.Equal(t0) {
		t.Errorf("%+v", items)
	}
	if all := get(l.Revisions(t.Context(), "1"))(t); len(all) != 1 {
		t.Errorf("%+v", all)
	}
}

// What goes wrong halfway leaves nothing, and the next write is not hindered.
func TestAFailedWriteLeavesNothing(t *testing.T) {
	l := fresh(t)
	full := errors.New("the disk is full")
	err := l.Write(t.Context(), t0, func(tx *Tx) error { return errors.Join(fill(tx), full) })
	if !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "ledger: ") {
		t.Errorf("%v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	if err := l.Write(gone, t0, func(tx *Tx) error {
		err := fill(tx)
		cancel() // the pusher went away
		return err
	}); err == nil {
		t.Error("a write whose caller went away returned as if it were done")
	}
	if diff := cmp.Diff(everything{}, read(t, l)); diff != "" {
		t.Error(diff)
	}
	write(t, l, t0, fill)
	if got := read(t, l); len(got.Items) != 1 {
		t.Errorf("%+v", got)
	}
}

// New evidence finds the case of its pod by whatever it calls the pod, and
// never that of another pod of the same name.
func TestFindCase(t *testing.T) {
	l := fresh(t)
	putCases(t, l,
		Case{ID: "old", Namespace: "arc", Name: "a", UID: "u1", Opened: after(1)},
		Case{ID: "new", Namespace: "arc", Name: "a", UID: "u2", Opened: after(2)},
		Case{ID: "named", Namespace: "arc", Name: "b", Opened: after(3)},
		Case{ID: "bare", Name: "c", Opened: after(4)},
		Case{ID: "here", Namespace: "one", Name: "d", UID: "u3", Opened: after(6)},
		Case{ID: "there", Namespace: "two", Name: "d", UID: "u4", Opened: after(5)},
		Case{ID: "nameless", UID: "u5", Opened: after(7)})
	write(t, l, t0, func(tx *Tx) error {
		return errors.Join(tx.Tie("", "c-old", "old"), tx.Tie("", "c-named", "named"),
			tx.Tie("", "c-old", "new"), tx.Tie("", "c-gone", "gone"))
	})
	for _, tt := range []struct {
		what, namespace, name, uid string
		ids                        []string
		want                       string
	}{
		{what: "uid", uid: "u1", want: "old"},
		{what: "uid wins over the name", namespace: "arc", name: "b", uid: "u2", want: "new"},
		{what: "uid wins over the container", uid: "u2", ids: []string{"c-old"}, want: "new"},
		{what: "container", ids: []string{"c-unknown", "c-old"}, want: "old"},
		{what: "the first tie of a container stays", ids: []string{"c-old"}, want: "old"},
		{what: "container of a case without a uid", uid: "u9", ids: []string{"c-named"}, want: "named"},
		{what: "container of another uid", uid: "u9", ids: []string{"c-old"}},
		{what: "a tie to a case that is gone", ids: []string{"c-gone"}},
		{what: "name", namespace: "arc", name: "b", want: "named"},
		{what: "name without a namespace", name: "b", want: "named"},
		{what: "name in another namespace", namespace: "arc2", name: "b"},
		{what: "a case without a namespace", namespace: "arc", name: "c", want: "bare"},
		{what: "a uid learned of a name", namespace: "arc", name: "b", uid: "u9", want: "named"},
		{what: "the latest of a name", namespace: "arc", name: "a", want: "new"},
		{what: "another pod of a name", namespace: "arc", name: "a", uid: "u9"},
		{what: "one name in two namespaces", namespace: "two", name: "d", want: "there"},
		{what: "one name in two namespaces, none given", name: "d", want: "here"},
		{what: "the start of a name", namespace: "arc", name: "b-1"},
		{what: "nothing"},
		{what: "no name must not find the nameless", namespace: "arc"},
	} {
		write(t, l, t0, func(tx *Tx) error {
			c, ok, err := tx.FindCase("", tt.namespace, tt.name, tt.uid, tt.ids)
			if c.ID != tt.want || ok != (tt.want != "") {
				t.Errorf("%s: %q %v, want %q", tt.what, c.ID, ok, tt.want)
			}
			return err
		})
	}
}

// A case's id says of which pod it is: the uid where it is known, else the name
// with its namespace.
func TestNewCaseID(t *testing.T) {
	id := NewCaseID("", "arc", "a", "u")
	if id != NewCaseID("", "", "", "u") || len(id) != 16 {
		t.Errorf("%q", id)
	}
	all := map[string]bool{id: true, NewCaseID("", "arc", "a", ""): true, NewCaseID("", "arc2", "a", ""): true,
		NewCaseID("", "arc", "b", ""): true, NewCaseID("", "arc", "a", "u2"): true}
	if len(all) != 5 {
		t.Errorf("%v", all)
	}
}

// When two names turn out to be one pod, its containers lead to the one case
// that is left.
func TestMergeInto(t *testing.T) {
	l := fresh(t)
	putCases(t, l, Case{ID: "uid", Name: "a", UID: "u"}, Case{ID: "name", Namespace: "arc", Name: "a"},
		Case{ID: "other", Name: "b"})
	write(t, l, t0, func(tx *Tx) error {
		twin, ok, err := tx.FindByName("", "arc", "a")
		if err != nil || !ok || twin.ID != "name" {
			t.Errorf("the case that is known by its name only: %+v %v", twin, ok)
		}
		return errors.Join(err, tx.Tie("", "c1", "name"), tx.Tie("", "c2", "uid"), tx.Tie("", "c3", "other"),
			tx.MergeInto("name", "uid"))
	})
	write(t, l, t0, func(tx *Tx) error {
		for id, want := range map[string]string{"c1": "uid", "c2": "uid", "c3": "other"} {
			if c, _, err := tx.FindCase("", "", "", "", []string{id}); c.ID != want || err != nil {
				t.Errorf("%s leads to %q, want %q", id, c.ID, want)
			}
		}
		_, twin, err1 := tx.FindByID("name")
		_, into, err2 := tx.FindByID("uid")
		_, named, err3 := tx.FindByName("", "arc", "a")
		if twin || !into || named {
			t.Errorf("the twin is there: %v, the other: %v, one without a uid: %v", twin, into, named)
		}
		return errors.Join(err1, err2, err3)
	})
}

// The last words of a container are its latest lines, in whatever order and
// however often they come.
func TestTailKeepsTheLatestLines(t *testing.T) {
	var all []ingest.Entry
	var want []string
	for i := range 12 {
		e := line(after(i/3), fmt.Sprintf("line %c", 'l'-i)) // three to a second, the earlier in the alphabet the later
		e.Line = i + 1
		if i >= 6 {
			e.Line = 0 // as a plain shipper's, in the order of their texts
			e.Text = fmt.Sprintf("line %c", 'm'+i)
		}
		all = append(all, e)
		if i >= 7 {
			want = append(want, e.Text)
		}
	}
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 1))
		l := fresh(t)
		for range 3 {
			lines := slices.Clone(all)
			r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
			for len(lines) > 0 {
				n := 1 + r.IntN(len(lines))
				write(t, l, t0, func(tx *Tx) error { return tx.AddTail("uid:u/runner", "uid:u", lines[:n], 5, asIs) })
				lines = lines[n:]
			}
		}
		if diff := cmp.Diff(want, texts(get(l.Tails(t.Context(), Owners{"uid:u"}))(t))); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
	}
}

// Each container of a pod has its own last words, and a pod only its own.
func TestTailsOfAPod(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) error {
		return errors.Join(
			tx.AddTail("uid:u/runner", "uid:u", []ingest.Entry{line(after(2), "r2"), line(after(1), "r1")}, 5, asIs),
			tx.AddTail("uid:u/dind", "uid:u", []ingest.Entry{line(after(3), "d")}, 5, asIs),
			tx.AddTail("uid:v/runner", "uid:v", []ingest.Entry{line(after(4), "other")}, 5, asIs))
	})
	if diff := cmp.Diff([]string{"d", "r1", "r2"}, texts(get(l.Tails(t.Context(), Owners{"uid:u"}))(t))); diff != "" {
		t.Error(diff)
	}
}

// Who asks for a name gets the runner of that name and not those that begin
// with it; a name is never a pattern.
func TestFindRunners(t *testing.T) {
	l := fresh(t)
	c := func(id, namespace, name, uid string, heard int) Case {
		return Case{
			ID:        id,
			Namespace: namespace,
			Name:      name,
			UID:       uid,
			Runner:    true,
			Heard:     after(heard),
			State:     StateOpen,
		}
	}
	other := c("not", "arc", "amber", "u0", 99)
	other.Runner = false
	putCases(t, l, other, c("1", "arc", "amber", "u1", 1), c("2", "ci", "amber", "u2", 2),
		c("3", "arc", "amber-4k", "u3", 3),
		c("4", "arc", "am_er", "u4", 4), c("5", "arc", "am%er", "u5", 5), c("6", "arc", `am\er`, "u6", 6),
		c("7", "arc", "amxer", "amber-uid", 7), c("8", "arc", "late", "", 8))
	for _, tt := range []struct {
		what  string
		limit int
		want  []string
	}{
		{"amber", 10, []string{"2", "1"}},
		{"amber", 1, []string{"2"}},
		{"arc/amber", 10, []string{"1"}},
		{"nowhere/amber", 10, nil},
		{"ambe", 10, []string{"7", "3", "2", "1"}},
		{"arc/amb", 10, []string{"7", "3", "1"}},
		{"amb", 2, []string{"7", "3"}},
		{"am_er", 10, []string{"4"}},
		{"am_", 10, []string{"4"}},
		{"am%er", 10, []string{"5"}},
		{"am%", 10, []string{"5"}},
		{`am\er`, 10, []string{"6"}},
		{`am\`, 10, []string{"6"}},
		{"%", 10, nil},
		{"_", 10, nil},
		{"mber", 10, []string{"3", "2", "1"}}, // a part of names
		{"MBER-4K", 10, []string{"3"}},
		{"nowhere/mber", 10, nil},
		{"u2", 10, []string{"2"}},
		{"u", 10, nil}, // so short a start says nothing
		{"ci/", 10, []string{"2"}},
		{"arc/", 2, []string{"8", "7"}},
		{"arc/", 99, []string{"8", "7", "6", "5", "4", "3", "1"}},
		{"amber' OR 1=1 --", 10, nil},
	} {
		if diff := cmp.Diff(tt.want,
			ids(get(found(l.FindRunners(t.Context(), nil, tt.what, tt.limit)))(t))); diff != "" {
			t.Errorf("%s (%d): %s", tt.what, tt.limit, diff)
		}
	}
}

func found(all []Case, _ bool, err error) ([]Case, error) { return all, err }

// A name that is not known is not the name that begins with it, and the answer
// says which it is; of very many the latest come.
func TestFindRunnersSaysWhatFits(t *testing.T) {
	l := fresh(t)
	var all []Case
	for i := range many + 5 {
		all = append(all,
			Case{
				ID:        fmt.Sprint(i),
				Namespace: "ci",
				Name:      fmt.Sprintf("runner-%04d", i),
				Runner:    true,
				Heard:     after(i),
				State:     StateOpen,
			})
	}
	putCases(t, l, all...)
	for what, want := range map[string]bool{
		"runner-0001": true, "ci/runner-0001": true, "runner-000": false, "runner-": false, "ci/": false,
	} {
		got, exact, err := l.FindRunners(t.Context(), nil, what, 3)
		if err != nil || exact != want || len(got) == 0 {
			t.Errorf("%s: %d, exact %v, %v", what, len(got), exact, err)
		}
		if !want && what != "runner-000" && got[0].ID != fmt.Sprint(many+4) {
			t.Errorf("%s: the latest is not first but %s", what, got[0].ID)
		}
	}
}

// The docket sees the cases that wait for it, the most urgent first, and only
// those of runners.
func TestCasesThatWait(t *testing.T) {
	l := fresh(t)
	c := func(id string, state State, due int) Case {
		out := Case{ID: id, Node: "n1", Runner: true, State: state, Opened: t0, Heard: t0}
		if due != 0 {
			out.Due = after(due)
		}
		return out
	}
	pod, elsewhere := c("pod", StateEnding, 1), c("elsewhere", StateOpen, 0)
	pod.Runner, elsewhere.Node = false, "n2"
	quiet := c("quiet", StateJudged, 0)
	quiet.Heard = after(-10)
	putCases(t, l, pod, elsewhere, quiet, c("open", StateOpen, 0), c("look", StateOpen, 30),
		c("soon", StateEnding, 60), c("sooner", StateEnding, 20), c("judged", StateJudged, 0), c("was", StateJudged, 5))
	pending := func(at int) []string { return ids(get(l.Pending(t.Context(), after(at), 5*time.Second))(t)) }
	if diff := cmp.Diff([]string{"sooner"}, pending(29)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sooner", "look", "soon"}, pending(60)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sooner", "soon"}, ids(get(l.Cases(t.Context(), StateEnding, 0))(t))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"sooner"}, ids(get(l.Cases(t.Context(), StateEnding, 1))(t))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[State]int{StateOpen: 3, StateEnding: 2, StateJudged: 3},
		get(l.CountCases(t.Context()))(t)); diff != "" {
		t.Error(diff)
	}
	write(t, l, t0, func(tx *Tx) error {
		live, err1 := tx.LiveOn("", "n1")
		judged, err2 := tx.JudgedOn("", "n1", t0)
		slices.SortFunc(live, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
		slices.SortFunc(judged, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
		if diff := cmp.Diff([]string{"look", "open"}, ids(live)); diff != "" {
			t.Errorf("live: %s", diff)
		}
		if diff := cmp.Diff([]string{"judged", "was"}, ids(judged)); diff != "" {
			t.Errorf("judged: %s", diff)
		}
		return errors.Join(err1, err2)
	})
	if got, ok, err := l.Case(t.Context(), "soon"); !ok || err != nil || !cmp.Equal(got, c("soon", StateEnding, 60)) {
		t.Errorf("%+v %v %v", got, ok, err)
	}
	if _, ok, err := l.Case(t.Context(), "nobody"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

// How far a node was read never goes back, whatever a late push says.
func TestNodesGoForward(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) error {
		if n, err := tx.Node("", "n1"); err != nil || !cmp.Equal(n, Node{Name: "n1"}) {
			t.Errorf("a new node: %+v %v", n, err)
		}
		return errors.Join(
			tx.PutNodes(Node{Name: "n1", Reached: after(10), Heard: after(10), Controller: true, Silent: true}),
			tx.PutNodes(Node{Name: "n1", Reached: after(5), Heard: after(5)}),
			tx.PutNodes(Node{Name: "n1", Heard: after(20)}),
			tx.PutNodes(Node{Name: "n0", Reached: after(1)}))
	})
	want := []Node{
		{Name: "n0", Reached: after(1)}, {Name: "n1", Reached: after(10), Heard: after(20), Controller: true},
	}
	if diff := cmp.Diff(want, get(l.Nodes(t.Context()))(t)); diff != "" {
		t.Error(diff)
	}
}

// Evidence comes in the order of its time, whenever it was pushed, under each
// of its names; and a node's events come for the time that is asked for.
func TestEvidenceComesInTimeOrder(t *testing.T) {
	l := fresh(t)
	for i, second := range []int{3, 1, 2} {
		e := line(after(second), strconv.Itoa(second))
		write(t, l, after(100+i), func(tx *Tx) error {
			_, err := tx.AddEvidence(&e, []string{"name:p", "uid:" + strconv.Itoa(second), "name:p"}, true)
			return err
		})
	}
	named := func(name string) (out []string) {
		for _, g := range get(l.Unseen(t.Context(), name, nil))(t) {
			out = append(out, g.Entry.Text)
		}
		return out
	}
	if diff := cmp.Diff([]string{"1", "2", "3"}, named("name:p")); diff != "" {
		t.Error(diff)
	}
	if a, b := named("uid:2"), named("uid:9"); len(a) != 1 || len(b) != 0 {
		t.Errorf("%v %v", a, b)
	}
	undated := ingest.Entry{Node: "n1", Text: "undated"}
	elsewhere, narrow := line(after(2), "elsewhere"), line(after(2), "narrow")
	elsewhere.Node = "n2"
	write(t, l, t0, func(tx *Tx) error {
		_, err1 := tx.AddEvidence(&undated, nil, true)
		_, err2 := tx.AddEvidence(&elsewhere, nil, true)
		_, err3 := tx.AddEvidence(&narrow, nil, false)
		return errors.Join(err1, err2, err3)
	})
	wide := texts(wideOf(t, l, after(2), after(3)))
	slices.Sort(wide)
	if diff := cmp.Diff([]string{"2", "3", "undated"}, wide); diff != "" {
		t.Error(diff)
	}
}

// A case need not wait for its time once its node and the controllers' logs were
// read far enough past its end.
func TestCasesThatAreSettled(t *testing.T) {
	l := fresh(t)
	c := func(id, node string) Case {
		return Case{
			ID:     id,
			Node:   node,
			Runner: true,
			State:  StateEnding,
			Opened: t0,
			Heard:  t0,
			Died:   after(10),
			Due:    after(60),
		}
	}
	putCases(t, l, c("one", "n1"), c("two", "n2"), c("unfollowed", "n9"), c("nowhere", ""))
	for _, step := range []struct {
		node Node
		want []string
	}{
		{Node{Name: "n1", Reached: after(14)}, nil},
		{Node{Name: "n1", Reached: after(15)}, []string{"one"}},
		{Node{Name: "n2", Reached: after(99), Silent: true}, []string{"one"}},
		{Node{Name: "n2", Reached: after(99)}, []string{"one", "two"}},
		{Node{Name: "arc", Reached: after(14), Controller: true}, nil},
		{Node{Name: "arc", Reached: after(14), Controller: true, Silent: true}, []string{"one", "two"}},
		{Node{Name: "arc", Reached: after(15), Controller: true}, []string{"one", "two"}},
	} {
		write(t, l, t0, func(tx *Tx) error { return tx.PutNodes(step.node) })
		got := ids(get(l.Pending(t.Context(), after(30), 5*time.Second))(t))
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("%+v: %s", step.node, diff)
		}
	}
}

// A node in a crash loop costs a case no more than a bound, and what is nearest
// to the end stays.
func TestWideIsBounded(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) (err error) {
		for i := range maxWide + 50 {
			e := ingest.Entry{At: after(i), Node: "n1", Text: "x"}
			if _, err = tx.AddEvidence(&e, nil, true); err != nil {
				return err
			}
		}
		return nil
	})
	got := wideOf(t, l, t0, after(1<<20))
	if len(got) != maxWide || !slices.ContainsFunc(got,
		func(e ingest.Entry) bool { return e.At.Equal(after(maxWide + 49)) }) {
		t.Errorf("%d records", len(got))
	}
}

// A sweep that has much to do does some of it, and says so; the next ones do the
// rest, past the old cases that stay for their verdicts' sake.
func TestSweepIsBounded(t *testing.T) {
	l := fresh(t)
	const kept, gone = lookedAt + 10, 10
	for from := 0; from < kept+gone; from += maxSwept { // each write is small, however slow the disk is
		write(t, l, t0, func(tx *Tx) (err error) {
			for i := from; i < min(from+maxSwept, kept+gone); i++ {
				id := fmt.Sprintf("%06d", i)
				e := line(after(i), id)
				_, err1 := tx.AddEvidence(&e, nil, false)
				err = errors.Join(err, err1, tx.PutCase(Case{ID: id, Heard: after(i), State: StateJudged}))
				if i < kept {
					err = errors.Join(err, tx.AddVerdict(id, verdict(id, 1), t0, false))
				}
			}
			return err
		})
	}
	var total Swept
	for range 2 + (kept+gone)/maxSwept {
		write(t, l, t0, func(tx *Tx) error {
			s, err := tx.Sweep(after(-9), after(kept+gone+1))
			if s.Evidence > maxSwept || s.More != (s.Evidence == maxSwept) {
				t.Errorf("%+v", s)
			}
			total.Evidence, total.Cases = total.Evidence+s.Evidence, total.Cases+s.Cases
			return err
		})
	}
	if want := (Swept{Evidence: kept + gone, Cases: gone}); total != want {
		t.Errorf("%+v, want %+v", total, want)
	}
}

// The list of verdicts has one line for each runner: what is thought of it now.
func TestVerdicts(t *testing.T) {
	l := fresh(t)
	add := func(id string, recorded int, v *rules.Verdict) {
		write(t, l, after(recorded), func(tx *Tx) error { return tx.AddVerdict(id, v, t0, false) })
	}
	v := func(runner string, revision int, change func(*rules.Verdict)) *rules.Verdict {
		out := verdict(runner, revision)
		if change != nil {
			change(out)
		}
		return out
	}
	add("a", 1, v("amber", 1, nil))
	add("b", 2, v("birch", 1, func(v *rules.Verdict) { v.Node, v.Namespace = "n2", "ci" }))
	add("c", 3, v("am_er", 1, nil))
	add("a", 4, v("amber", 2, func(v *rules.Verdict) { v.Label = rules.NodeOOM }))
	add("d", 5, v("undated", 1, func(v *rules.Verdict) { v.DiedAt = nil }))
	for _, tt := range []struct {
		what string
		q    Query
		want []string
	}{
		{"all", Query{}, []string{"d/1", "a/2", "c/1", "b/1"}},
		{"limit", Query{Limit: 2}, []string{"d/1", "a/2"}},
		{"runner", Query{Runner: "amber"}, []string{"a/2"}},
		{"start of a runner", Query{Runner: "b"}, []string{"b/1"}},
		{"end of a runner", Query{Runner: "irch"}, nil},
		{"namespace", Query{Runner: "ci/birch"}, []string{"b/1"}},
		{"other namespace", Query{Runner: "ci/amber"}, nil},
		{"whole namespace", Query{Runner: "ci/"}, []string{"b/1"}},
		{"uid", Query{Runner: "uid-bi"}, []string{"b/1"}},
		{"_ is itself", Query{Runner: "am_er"}, []string{"c/1"}},
		{"% is itself", Query{Runner: "%"}, nil},
		{"node", Query{Node: "n2"}, []string{"b/1"}},
		{"start of a node", Query{Node: "n"}, nil},
		{"label", Query{Labels: []rules.Label{"node-OOM"}}, []string{"a/2"}},
		{"label that was revised away", Query{Runner: "amber", Labels: []rules.Label{"cgroup-OOM"}}, nil},
		{"since", Query{Since: after(3)}, []string{"d/1", "a/2", "c/1"}},
		{"since just after", Query{Since: after(3).Add(1)}, []string{"d/1", "a/2"}},
		{
			"all of it", Query{Runner: "am", Node: "n1", Labels: []rules.Label{"node-OOM"}, Since: after(4), Limit: 1},
			[]string{"a/2"},
		},
	} {
		if diff := cmp.Diff(tt.want, revisions(get(l.Verdicts(t.Context(), tt.q))(t))); diff != "" {
			t.Errorf("%s: %s", tt.what, diff)
		}
	}
	if diff := cmp.Diff([]string{"a/1", "a/2"}, revisions(get(l.Revisions(t.Context(), "a"))(t))); diff != "" {
		t.Error(diff)
	}
	if last, ok, err := l.LastVerdict(t.Context(), "a"); !ok || err != nil || last.Verdict.Revision != 2 ||
		!last.Recorded.Equal(after(4)) {
		t.Errorf("%+v %v %v", last, ok, err)
	}
	if _, ok, err := l.LastVerdict(t.Context(), "nobody"); ok || err != nil {
		t.Errorf("%v %v", ok, err)
	}
}

// The outbox gives what is due, the oldest first, and under the stamp that it
// had the first time, however often it was tried.
func TestOutbox(t *testing.T) {
	l := fresh(t)
	for i, name := range []string{"b", "a", "c"} {
		write(t, l, after(i), func(tx *Tx) error { return tx.AddVerdict(name, verdict(name, 1), after(-10*i), true) })
	}
	write(t, l, after(3), func(tx *Tx) error { return tx.AddVerdict("silent", verdict("silent", 1), t0, false) })
	due := func(at time.Time, limit int) (out []string) {
		for _, x := range get(l.Outbox.Due(t.Context(), at, limit))(t) {
			out = append(out, fmt.Sprint(x.Case, " ", x.Stamp.Sub(t0), " ", x.Attempts))
		}
		return out
	}
	all := get(l.Outbox.Due(t.Context(), t0, 10))(t)
	if diff := cmp.Diff([]string{"b 0s 0", "a -10s 0", "c -20s 0"}, due(t0, 10)); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff([]string{"b 0s 0"}, due(t0, 1)); diff != "" {
		t.Error(diff)
	}
	write(t, l, after(4), func(tx *Tx) error {
		return errors.Join(tx.Sent(all[0]), tx.Postpone(all[1], after(60), time.Time{}),
			tx.Postpone(all[2], after(61), after(7)))
	})
	for at, want := range map[time.Time][]string{
		after(60).Add(-1): nil, after(60): {"a -10s 1"}, after(61): {"a -10s 1", "c 7s 1"},
	} {
		if diff := cmp.Diff(want, due(at, 10)); diff != "" {
			t.Errorf("%s: %s", at, diff)
		}
	}
	write(t, l, after(5), func(tx *Tx) error {
		return errors.Join(tx.Postpone(all[1], after(70), time.Time{}), tx.Postpone(all[2], after(70), time.Time{}))
	})
	if diff := cmp.Diff([]string{"a -10s 2", "c 7s 2"}, due(after(70), 10)); diff != "" {
		t.Error(diff)
	}
	if n := get(l.Outbox.Count(t.Context()))(t); n != 2 {
		t.Errorf("%d", n)
	}
	if rec, ok, _ := l.LastVerdict(t.Context(), "b"); !ok || rec.Case != "b" {
		t.Error("what was sent is not kept")
	}
}

// A sweep takes what is too old and nothing else: a verdict that is still to be
// published stays, a case that waits for its verdict too.
func TestWhoPublishesIsWoken(t *testing.T) {
	l := fresh(t)
	woken := func() bool {
		select {
		case <-l.Outbox.Ready():
			return true
		default:
			return false
		}
	}
	add := func(publish bool, runners ...string) {
		write(t, l, t0, func(tx *Tx) (err error) {
			for _, r := range runners {
				err = errors.Join(err, tx.AddVerdict(r, verdict(r, 1), t0, publish))
			}
			return err
		})
	}
	if add(false, "a"); woken() {
		t.Error("by what is not published")
	}
	failed := errors.New("failed")
	err := l.Write(t.Context(), t0,
		func(tx *Tx) error { return errors.Join(tx.AddVerdict("b", verdict("b", 1), t0, true), failed) })
	if !errors.Is(err, failed) || woken() || len(get(l.Outbox.Due(t.Context(), t0, 9))(t)) > 0 {
		t.Error("by what was not recorded", err)
	}
	add(true, "b", "c")
	if add(true, "d"); !woken() || woken() {
		t.Error("not once by several")
	}
}

// What was sent is not kept in memory, nor what is large.
func TestTheVerdictCacheForgets(t *testing.T) {
	l := fresh(t)
	large := verdict("large", 1)
	large.Evidence = []rules.EvidenceLine{{Text: strings.Repeat("x", maxCachedSize)}}
	write(t, l, t0, func(tx *Tx) error {
		return errors.Join(tx.AddVerdict("a", verdict("a", 1), t0, true),
			tx.AddVerdict("b", verdict("b", 1), t0, true), tx.AddVerdict("large", large, t0, true))
	})
	if n := l.Outbox.verdictCache.Len(); n != 2 {
		t.Errorf("%d cached verdicts", n)
	}
	all := get(l.Outbox.Due(t.Context(), t0, 9))(t)
	write(t, l, t0, func(tx *Tx) error { return errors.Join(tx.Sent(all[0]), tx.Sent(all[1]), tx.Sent(all[2])) })
	if n := l.Outbox.verdictCache.Len(); n != 0 || len(all) != 3 {
		t.Errorf("%d cached verdicts of %d items that were sent", n, len(all))
	}
}

// An item is the same whether its verdict is still in memory or not.
func TestAnOutboxItemIsWhatIsOnDisk(t *testing.T) {
	path := newPlace(t)
	l := reopen(t, path)
	write(t, l, t0, func(tx *Tx) (err error) {
		for i, text := range []string{"text", "no text \xff\xfe", "a rune that stands for one \ufffd", "<&>\u2028"} {
			v := verdict(fmt.Sprint("p", i), 1)
			v.Evidence = []rules.EvidenceLine{{At: v.DiedAt, Text: text}, {}}
			err = errors.Join(err, tx.AddVerdict(v.Runner, v, t0, true))
		}
		return err
	})
	inMemory := get(l.Outbox.Due(t.Context(), t0, 9))(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(get(reopen(t, path).Outbox.Due(t.Context(), t0, 9))(t), inMemory); diff != "" ||
		len(inMemory) != 4 {
		t.Error(len(inMemory), diff)
	}
}

// A case that is only heard of, or judged, stays what it is else.
func TestHearAndSettleCase(t *testing.T) {
	l := fresh(t)
	c := Case{
		ID:        "a",
		Namespace: "ns",
		Name:      "p",
		UID:       "u",
		Node:      "n",
		Runner:    true,
		Opened:    t0,
		Heard:     t0,
		State:     StateEnding,
		Died:      t0,
		Due:       after(5),
		Revision:  2,
	}
	write(t, l, t0, func(tx *Tx) error {
		return errors.Join(tx.PutCase(c), tx.HearCase("a", after(3)), tx.HearCase("nobody", after(3)),
			tx.SettleCase(Case{ID: "a", State: StateJudged, Due: after(9), Revision: 3}))
	})
	c.Heard, c.State, c.Due, c.Revision, c.Version = after(3), StateJudged, after(9), 3, 1
	got, ok, err := l.Case(t.Context(), "a")
	if diff := cmp.Diff(c, got); diff != "" || !ok || err != nil {
		t.Error(ok, err, diff)
	}
}

func TestSweep(t *testing.T) {
	l := fresh(t)
	for _, second := range []int{-1, 0} {
		name := []string{"new", "old"}[-second]
		write(t, l, after(second), func(tx *Tx) error {
			e := line(t0, name)
			_, err := tx.AddEvidence(&e, []string{"name", "only-" + name}, false)
			return errors.Join(err,
				tx.AddTail(name, "owner", []ingest.Entry{line(t0, name)}, 9, asIs),
				tx.AddVerdict(name, verdict(name, 1), t0, false),
				tx.AddVerdict("unsent-"+name, verdict("unsent-"+name, 1), t0, true),
				tx.PutCase(Case{ID: name, Heard: after(second), State: StateJudged}),
				tx.PutCase(Case{ID: "unsent-" + name, Heard: after(second), State: StateJudged}),
				tx.PutCase(Case{ID: "open-" + name, Heard: after(second), State: StateOpen}),
				tx.PutCase(Case{ID: "ending-" + name, Heard: after(second), State: StateEnding, Runner: true}),
				// nobody will judge it
				tx.PutCase(Case{ID: "no-runner-" + name, Heard: after(second), State: StateEnding}),
				tx.Tie("", "c-"+name, "open-"+name), tx.Tie("", "d-"+name, "ending-"+name),
				tx.PutNodes(Node{Name: name, Heard: after(second)}))
		})
		write(t, l, t0.Add(time.Duration(second)*(receivedIn+time.Second)), func(tx *Tx) error {
			_, err := tx.AddMark(&ingest.Entry{Node: name, Mark: &ingest.Mark{To: t0}}, "owner")
			return err
		})
	}
	var swept Swept
	sweep := func(verdicts, evidence time.Time) {
		write(t, l, after(9), func(tx *Tx) (err error) {
			swept, err = tx.Sweep(verdicts, evidence)
			return err
		})
	}
	is := func(query string, want ...string) {
		t.Helper()
		rows, err := l.queryPool.QueryContext(t.Context(), query)
		var got []string
		err = eachRow(rows, err, func(r *sql.Rows) error {
			var s string
			err := r.Scan(&s)
			got = append(got, s)
			return err
		})
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", query, err, diff)
		}
	}
	count := func(table string, n int) {
		t.Helper()
		is("SELECT count(*) FROM "+table, strconv.Itoa(n))
	}

	sweep(after(-1), after(-1)) // nothing is older than that
	if swept != (Swept{}) {
		t.Errorf("%+v", swept)
	}
	sweep(after(-9), t0) // verdicts are kept longer than evidence
	if want := (Swept{Evidence: 1, Cases: 2}); swept != want {
		t.Errorf("%+v, want %+v", swept, want)
	}
	for name, n := range map[string]int{"name": 1, "only-new": 1, "only-old": 0} {
		if found := get(l.Unseen(t.Context(), name, nil))(t); len(found) != n {
			t.Errorf("%s: %d records, want %d", name, len(found), n)
		}
	}
	count("evidence", 1)
	count("names", 2)
	is("SELECT stream FROM tails", "new")
	count("marks", 1)
	is("SELECT node FROM nodes", "new")
	is("SELECT id FROM cases ORDER BY id", "ending-new", "ending-old", "new", "no-runner-new", "old", "open-new",
		"unsent-new", "unsent-old")
	is("SELECT id FROM ties ORDER BY id", "c-new", "d-new", "d-old")
	count("verdicts", 4)

	sweep(t0, t0)
	if want := (Swept{Verdicts: 1, Cases: 1}); swept != want {
		t.Errorf("%+v, want %+v", swept, want)
	}
	is("SELECT member FROM verdicts ORDER BY member", "new", "unsent-new", "unsent-old")
	is("SELECT id FROM cases ORDER BY id", "ending-new", "ending-old", "new", "no-runner-new", "open-new",
		"unsent-new", "unsent-old")
	items := get(l.Outbox.Due(t.Context(), t0, 9))(t)
	if len(items) != 2 {
		t.Fatalf("%d items", len(items))
	}
	write(t, l, after(9), func(tx *Tx) error { return tx.Sent(items[0]) })
	sweep(t0, t0)
	if want := (Swept{Verdicts: 1, Cases: 1}); swept != want {
		t.Errorf("once it is sent: %+v, want %+v", swept, want)
	}
}

// The oldest evidence and the bytes in use are what the size limit goes by.
func TestSizes(t *testing.T) {
	ofAFile(t)
	l := fresh(t)
	if oldest := get(l.OldestEvidence(t.Context()))(t); !oldest.IsZero() {
		t.Errorf("nothing is there, and the oldest is of %s", oldest)
	}
	empty := get(l.Used(t.Context()))(t)
	for i := range 2 {
		write(t, l, after(-i), func(tx *Tx) (err error) {
			for n := range 100 {
				e := line(after(n), strings.Repeat("x", 4000)+strconv.Itoa(i))
				if _, err = tx.AddEvidence(&e, nil, false); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if oldest := get(l.OldestEvidence(t.Context()))(t); !oldest.Equal(after(-1)) {
		t.Errorf("the oldest is of %s", oldest)
	}
	full := get(l.Used(t.Context()))(t)
	if full < empty+200*4000 || l.Size() < full-empty {
		t.Errorf("empty %d, full %d, files %d", empty, full, l.Size())
	}
	write(t, l, after(9), func(tx *Tx) error {
		_, err := tx.Sweep(after(9), after(9))
		return err
	})
	if used := get(l.Used(t.Context()))(t); used > empty+64<<10 {
		t.Errorf("%d bytes are in use after all was swept, %d when it was new", used, empty)
	}
}

// Each mistake with the file is one clear line, and the file stays as it is.
func TestOpenRefuses(t *testing.T) {
	ofAFile(t)
	dir := t.TempDir()
	file := func(name string, make func(path string)) string {
		path := filepath.Join(dir, name)
		make(path)
		return path
	}
	exec := func(path, query string) {
		db := get(sql.Open("sqlite", "file:"+path))(t)
		defer db.Close()
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ what, path, says string }{
		{"text", file("notes.txt", func(p string) {
			_ = os.WriteFile(p, []byte("these are notes, not a database, and they must stay as they are\n"), 0o600)
		}), "not a ledger"},
		{"a newer ledger", file("newer.db", func(p string) {
			_ = reopen(t, p).Close()
			exec(p, "PRAGMA user_version = 9")
		}), "schema version 9, this program reads 8"},
		{
			"another program's database", file("other.db", func(p string) { exec(p, "CREATE TABLE x (a)") }),
			"schema version 0, this program reads 8",
		},
		{"a folder", file("folder.db", func(p string) { _ = os.Mkdir(p, 0o700) }), "it is a folder"},
		{
			"no folder", filepath.Join(dir, "nowhere", "ledger.db"),
			"the folder " + filepath.Join(dir, "nowhere") + " does not exist",
		},
		{"a file as the folder", filepath.Join(dir, "notes.txt", "ledger.db"), "does not exist"},
	} {
		before, _ := os.ReadFile(tt.path)
		l, err := Open(tt.path)
		if err == nil {
			_ = l.Close()
			t.Errorf("%s: opened", tt.what)
			continue
		}
		if text := err.Error(); !strings.HasPrefix(text, "ledger "+tt.path+": ") || !strings.Contains(text, tt.says) ||
			strings.Contains(text, "\n") {
			t.Errorf("%s: %q, want …%s…", tt.what, text, tt.says)
		}
		if now, _ := os.ReadFile(tt.path); !bytes.Equal(before, now) {
			t.Errorf("%s: the file was changed", tt.what)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("the missing folder was made")
	}
	empty := filepath.Join(dir, "empty.db")
	_ = os.WriteFile(empty, nil, 0o600)
	if n := get(reopen(t, empty).Outbox.Count(t.Context()))(t); n != 0 {
		t.Errorf("an empty file holds %d items", n)
	}
}

// Pushes, judgements and questions come at the same time; a question sees each
// write whole or not at all.
func TestConcurrentReadersAndWriters(t *testing.T) {
	l := fresh(t)
	const writers, writes = 4, 15
	var readers, all sync.WaitGroup
	done := make(chan struct{}) // closed once every writer has ended
	for w := range writers {
		all.Go(func() {
			for i := range writes {
				err := l.Write(context.Background(), t0, func(tx *Tx) error {
					a, b := line(after(i), fmt.Sprint("a", w)), line(after(i), fmt.Sprint("b", w))
					id := fmt.Sprint(w, "-", i)
					_, err1 := tx.AddEvidence(&a, []string{"name"}, false)
					_, err2 := tx.AddEvidence(&b, []string{"name"}, false)
					return errors.Join(err1, err2, tx.PutCase(Case{ID: id, State: StateJudged, Runner: true}),
						tx.AddVerdict(id, verdict(id, 1), t0, true))
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			for {
				found, err1 := l.Unseen(context.Background(), "name", nil)
				_, err2 := l.Verdicts(context.Background(), Query{Limit: 10})
				_, _, err3 := l.FindRunners(context.Background(), nil, "1", 10)
				if err := errors.Join(err1, err2, err3); err != nil || len(found)%2 != 0 {
					t.Errorf("%d records, %v", len(found), err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	all.Wait()
	close(done)
	readers.Wait()
	if n := len(get(l.Unseen(t.Context(), "name", nil))(t)); n != 2*writers*writes {
		t.Errorf("%d records", n)
	}
	if n := get(l.Outbox.Count(t.Context()))(t); n != writers*writes {
		t.Errorf("%d items", n)
	}
}

// kill -9, or the plug, at any time: what a Write that returned did is in the
// files, and nothing of one that did not.
func TestFilesAsACrashLeavesThem(t *testing.T) {
	ofAFile(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "ledger.db")
	crash := func(name string) *Ledger {
		for _, end := range []string{"", "-wal"} {
			data, err := os.ReadFile(path + end)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name+end), data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return reopen(t, filepath.Join(dir, name))
	}
	l := reopen(t, path)
	if diff := cmp.Diff(everything{}, read(t, crash("new"))); diff != "" {
		t.Error(diff)
	}
	write(t, l, t0, func(tx *Tx) error {
		err := fill(tx)
		if diff := cmp.Diff(everything{}, read(t, crash("during"))); diff != "" {
			t.Error(diff)
		}
		return err
	})
	after := crash("after")
	if diff := cmp.Diff(read(t, l), read(t, after)); diff != "" {
		t.Error(diff)
	}
	write(t, after, t0, func(tx *Tx) error { return tx.AddVerdict("2", verdict("q", 1), t0, true) })
	if n := get(after.Outbox.Count(t.Context()))(t); n != 2 {
		t.Errorf("the copy does not go on: %d items", n)
	}
}

// Two servers on one file would judge every death twice.
func TestOneServerAtATime(t *testing.T) {
	ofAFile(t)
	path := filepath.Join(t.TempDir(), "l.db")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a second one: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l, err = Open(path); err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

// asIs redacts nothing: what is taken out of a tail is not the ledger's business.
func asIs([]ingest.Entry) {}

// Of many names those are told under which something is filed, of this cluster only.
func TestNamesThatAreFiled(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) error {
		for i, names := range [][]string{{"pod:amber"}, {"pod:amber", "pod:birch"}, {"uid:u"}} {
			e := ingest.Entry{At: after(i), Source: ingest.Kubelet, Text: "line"}
			if _, err := tx.AddEvidence(&e, names, false); err != nil {
				return err
			}
		}
		other := ingest.Entry{At: t0, Source: ingest.Kubelet, Cluster: "east", Text: "line"}
		_, err := tx.AddEvidence(&other, []string{"pod:cedar"}, false)
		return err
	})
	asked := []string{"pod:cedar", "pod:birch", "pod:amb", "pod:amber", "pod:'); DROP TABLE names"}
	got := get(l.Filed(t.Context(), asked))(t)
	if slices.Sort(got); !slices.Equal(got, []string{"pod:amber", "pod:birch"}) {
		t.Errorf("got %q", got)
	}
	if got := get(l.In("east").Filed(t.Context(), asked))(t); !slices.Equal(got, []string{"pod:cedar"}) {
		t.Errorf("of another cluster: %q", got)
	}
	if got := get(l.Filed(t.Context(), nil))(t); len(got) != 0 {
		t.Errorf("of none: %q", got)
	}
}

// However many nodes are heard of at once, each is noted, and one that was silent is left alone
// and told apart.
func TestManyNodesAreHeard(t *testing.T) {
	l := fresh(t)
	var all []Node
	for i := range 87 { // of which no statement has so many
		all = append(all, Node{Name: fmt.Sprintf("n%02d", i), Reached: after(1), Heard: after(1)})
	}
	hear := func(at int, want bool) {
		t.Helper()
		for i := range all {
			all[i].Reached, all[i].Heard = after(at), after(at)
		}
		write(t, l, after(at), func(tx *Tx) error {
			ok, err := tx.HearNodes(all)
			if ok != want {
				t.Errorf("at %d all were heard: %v", at, ok)
			}
			return err
		})
	}
	hear(1, true)
	hear(2, true)
	silent := all[70]
	silent.Silent = true
	write(t, l, after(3), func(tx *Tx) error { return tx.PutNodes(silent) })
	hear(4, false)
	want := slices.Clone(all)
	want[70] = silent
	if diff := cmp.Diff(want, get(l.Nodes(t.Context()))(t)); diff != "" {
		t.Error(diff)
	}
}
