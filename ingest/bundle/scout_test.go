package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"coroner/ingest"
)

// nextKill knows one text.
func nextKill(b []byte, from int) int {
	if i := bytes.Index(b[from:], []byte("kill")); i >= 0 {
		return from + i
	}
	return -1
}

// longLog has lines of all lengths, wanted ones and odd ones among them.
func longLog(size, longest int) []byte {
	var b bytes.Buffer
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "2026-05-04T10:%02d:%02d+0200 node-1 kubelet[812]: line %d %s", n/60%60, n%60, n, strings.Repeat("x", n%150))
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

// What a scout went through is what is in the document, all of it, and every
// stretch but one of a line that is too long ends with a line.
func TestScoutReadsWhatIsThere(t *testing.T) {
	want := longLog(3*stretchSize, 200_000)
	for i, in := range []io.Reader{bytes.NewReader(want), iotest.HalfReader(bytes.NewReader(want)), iotest.DataErrReader(bytes.NewReader(want))} {
		s := newScout(in, nextKill)
		got, err := io.ReadAll(s)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d: %d bytes of %d, %v", i, len(got), len(want), err)
		}
		if n, err := s.Read(make([]byte, 10)); n != 0 || err != io.EOF {
			t.Errorf("%d: behind the end %d bytes, %v", i, n, err)
		}
		s.callBack()
	}
}

// A document that breaks off says why, after all that could be read of it.
func TestScoutTellsErrors(t *testing.T) {
	want, broken := longLog(stretchSize+1000, 10), errors.New("the disk is gone")
	s := newScout(io.MultiReader(bytes.NewReader(want), iotest.ErrReader(broken)), nextKill)
	defer s.callBack()
	if got, err := io.ReadAll(s); err != broken || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
}

// endless has line after line.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat("a line\n", 1+len(p)/7))
	e.read += n
	return n, nil
}

// A scout that is called back before the end has gone ahead a little only.
func TestScoutIsCalledBack(t *testing.T) {
	for n := range 10 {
		in := &endless{}
		s := newScout(in, nextKill)
		if _, err := io.CopyN(io.Discard, s, int64(n*stretchSize/2)); err != nil {
			t.Fatal(err)
		}
		s.callBack()
		if in.read > (n+2*stretches)*stretchSize {
			t.Errorf("read %d bytes for %d", in.read, n*stretchSize/2)
		}
	}
}

// scouted are the marks of long documents and the entries that nextKill wants, as
// n readers give them: documents as they are, packed, and broken off.
func scouted(t *testing.T, o Options, n int) (entries []ingest.Entry, problems []Problem) {
	t.Helper()
	text := string(longLog(5*stretchSize, 200_000))
	packed := gz(text)
	root := files(t, map[string]string{"a.log": text, "b.log.gz": packed, "c.log.gz": packed[:len(packed)/2], "d.log": text[:300_000]})
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

// Scouts change nothing: not what is found, not what is said of the reading.
func TestScoutsChangeNothing(t *testing.T) {
	want, wantProblems := scouted(t, Options{}, 1)
	for n := range 3 {
		got, problems := scouted(t, Options{Next: nextKill}, n+1)
		if !reflect.DeepEqual(got, want) || len(want) < 10 {
			t.Errorf("%d at a time: %d entries, want %d", n+1, len(got), len(want))
		}
		if !reflect.DeepEqual(problems, wantProblems) || len(problems) != 1 {
			t.Errorf("%d at a time: problems %v, want %v", n+1, problems, wantProblems)
		}
	}
}

// A reader that stops is not kept by its scout.
func TestReadersMayStopBeforeTheirScout(t *testing.T) {
	root := files(t, map[string]string{"a.log": string(longLog(20*stretchSize, 10)), "b.log": string(longLog(stretchSize, 10))})
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
