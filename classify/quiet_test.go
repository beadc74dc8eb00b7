package classify_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest"
	"coroner/rules"
)

// What is packed and left out changes no verdict: neither of the runner that is
// asked for nor of all that died, and not among healthy neighbours either.
func TestPackedLinesChangeNothing(t *testing.T) {
	lines, left := 0, 0
	for _, g := range gates(t) {
		noisy := slices.Concat(living(g.neighbours(240)), g.list)
		for _, in := range []struct {
			what string
			list []ingest.Entry
		}{{"alone", g.list}, {"among neighbours", noisy}} {
			for _, o := range []classify.Options{{}, {Runner: g.ask}, {Strict: true}} {
				want := classify.Replay(slices.Values(in.list), g.book, o)
				undo := classify.PackAll()
				got := classify.Replay(slices.Values(in.list), g.book, o)
				packed, omitted := classify.Packed(in.list, g.book, o)
				undo()
				lines, left = lines+packed, left+omitted
				if !reflect.DeepEqual(withoutNone(got), withoutNone(want)) {
					t.Errorf(
						"%s %s, %+v: packed %v, else %v",
						g.name,
						in.what,
						o,
						verdictsSaid(got),
						verdictsSaid(want),
					)
				}
			}
		}
	}
	t.Logf("%d lines were packed, %d of them left out", lines, left)
	if left < 10_000 {
		t.Error("hardly any line was left out: the test shows nothing")
	}
}

// living are the lines of neighbours that do not end.
func living(neighbours []ingest.Entry) []ingest.Entry {
	return slices.DeleteFunc(neighbours, func(e ingest.Entry) bool {
		return strings.Contains(e.Text, "container finished") || strings.Contains(e.Text, "SyncLoop DELETE") ||
			strings.Contains(e.Text, "SyncLoop REMOVE")
	})
}

// withoutNone leaves out what nothing happened to; of an input in which nothing
// died one such verdict is its answer.
func withoutNone(all []rules.Verdict) []rules.Verdict {
	if len(all) == 1 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(v rules.Verdict) bool { return v.Label == rules.None })
}

func verdictsSaid(all []rules.Verdict) (out []string) {
	for _, v := range all {
		out = append(out, v.Runner+" "+said(v))
	}
	return out
}

// What is packed holds no room to spare: a million lines that nobody asks for
// must not cost the memory of the lines themselves.
func TestPackedLinesHoldNoSpareRoom(t *testing.T) {
	defer classify.PackAll()()
	lines := func(yield func(ingest.Entry) bool) {
		for i := range 20_000 {
			e := ingest.Entry{
				At: time.Unix(
					1_790_000_000+int64(i),
					0,
				), Source: ingest.Containerd, Trust: ingest.Attested, Node: "node-1",
				Text: fmt.Sprintf(
					`time="2026-11-22T10:00:00Z" level=info msg="StartContainer for \"%064x\" returns successfully"`,
					i,
				),
			}
			if !yield(e) {
				return
			}
		}
	}
	bytes, room := classify.PackedBytes(lines, loadBook(t))
	if bytes == 0 {
		t.Fatal("nothing was packed")
	}
	if room > bytes*5/4 {
		t.Errorf("%d bytes take the room of %d", bytes, room)
	}
}
