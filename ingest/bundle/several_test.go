package bundle

import (
	"bytes"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coroner/ingest"
)

// nextKill knows one text.
func nextKill(b []byte, from int) int {
	if i := bytes.Index(b[from:], []byte("kill")); i >= 0 {
		return from + i
	}
	return -1
}

// longLog has lines of all lengths, wanted ones and ones that need cleaning among them.
func longLog(size, longest int) []byte {
	var b bytes.Buffer
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(
			&b,
			"2026-05-04T10:%02d:%02d+0200 node-1 kubelet[812]: line %d %s",
			n/60%60,
			n%60,
			n,
			strings.Repeat("x", n%150),
		)
		switch {
		case n%1000 == 500:
			b.WriteString(" kill")
		case n%777 == 0:
			b.WriteString("\té")
		case n%900 == 7:
			b.WriteString(strings.Repeat(" on", n%longest))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// several are the marks of long documents and the entries that nextKill wants, as
// n readers give them: documents as they are, packed, and broken off.
func several(t *testing.T, o Options, n int) (entries []ingest.Entry, problems []Problem) {
	t.Helper()
	text := string(longLog(5*(2*headSize), 200_000))
	packed := gz(text)
	root := files(
		t,
		map[string]string{
			"a.log":    text,
			"b.log.gz": packed,
			"c.log.gz": packed[:len(packed)/2],
			"d.log":    text[:300_000],
		},
	)
	b, err := Open([]string{root}, o)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]ingest.Entry, 4)
	b.Parts(n, nil, func(i int, entries iter.Seq[ingest.Entry]) { parts[i] = slices.Collect(entries) })
	for _, e := range slices.Concat(parts...) {
		if e.Mark != nil || strings.Contains(e.Text, "kill") {
			entries = append(entries, e)
		}
	}
	return entries, b.Problems()
}

// Skipping uninteresting lines in several goroutines changes nothing: not what is
// found, not what is said of the reading.
func TestSeveralReadersChangeNothing(t *testing.T) {
	want, wantProblems := several(t, Options{}, 1)
	for n := range 3 {
		got, problems := several(t, Options{Next: nextKill}, n+1)
		if !reflect.DeepEqual(got, want) || len(want) < 10 {
			t.Errorf("%d at a time: %d entries, want %d", n+1, len(got), len(want))
		}
		if !reflect.DeepEqual(problems, wantProblems) || len(problems) != 1 {
			t.Errorf("%d at a time: problems %v, want %v", n+1, problems, wantProblems)
		}
	}
}

// A reader that stops in a long document ends the others.
func TestReadersMayStopEarly(t *testing.T) {
	root := files(
		t,
		map[string]string{"a.log": string(longLog(20*(2*headSize), 10)), "b.log": string(longLog((2 * headSize), 10))},
	)
	b, err := Open([]string{root}, Options{Next: nextKill})
	if err != nil {
		t.Fatal(err)
	}
	b.Parts(2, nil, func(_ int, entries iter.Seq[ingest.Entry]) {
		for range entries {
			return
		}
	})
}
