package signal

import (
	"bytes"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coroner/fixtures/bench"
	"coroner/ingest"
	"coroner/ingest/logtext"
)

func defaultBook(t testing.TB) *Book {
	t.Helper()
	b, err := Load(os.DirFS("../book"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// scanPlainly is Scan without a finder and without a limit: every definition on
// every line.
func scanPlainly(b *Book, e *ingest.Entry) (out []Signal) {
	m := matching{e: e, steps: math.MaxInt}
	var fields logtext.Fields
	m.msg, fields, _ = logtext.Message(e, nil)
	for _, v := range b.words {
		for _, w := range v.words {
			m.words = append(m.words, w.number)
		}
	}
	slices.Sort(m.words)
	for i, d := range b.Signals {
		if i == b.exact &&
			(len(e.Text) > maxSymptomLine || slices.ContainsFunc(out, func(s Signal) bool { return !s.Def.frame })) {
			break
		}
		if words, ok := m.recognise(d, fields); ok && d.mayComeFrom(e.Source) {
			may, sure := d.mayWrite(e, fields)
			if !may {
				continue
			}
			out = append(out, d.newSignal(e, words))
			out[len(out)-1].makeClaim(!sure)
		}
	}
	return out
}

// seedLines are lines near to those that the rulebook knows: its own tests, and
// literals that are cut, doubled and pushed together.
func seedLines(b *Book) (lines []string) {
	for _, d := range b.Signals {
		for _, s := range d.Tests {
			lines = append(lines, s.Line)
		}
		for _, l := range d.literals {
			lines = append(lines, l, l[1:], l[:len(l)-1], l+l, "x"+l+"y", l[:len(l)/2]+l)
		}
	}
	return lines
}

// The fast scan finds what the plain one finds, in every line and from every source;
// of one that is cut short, it may find less.
func FuzzScanFindsWhatThePlainOneFinds(f *testing.F) {
	b := defaultBook(f)
	for i, l := range seedLines(b) {
		f.Add(l, uint8(i))
	}
	sources := append([]ingest.Source{ingest.Unknown}, ingest.Sources...)
	f.Fuzz(func(t *testing.T, text string, n uint8) {
		e := ingest.Entry{Source: sources[int(n)%len(sources)], Trust: ingest.Attested, Text: text}
		got, short := b.findSignals(&e)
		want := scanPlainly(b, &e)
		if short {
			want = slices.DeleteFunc(want, func(s Signal) bool {
				return !slices.ContainsFunc(got, func(g Signal) bool { return g.Def == s.Def })
			})
		}
		if len(want) == 0 { // a line with a masked id is matched once more, by itself
			got = slices.DeleteFunc(got, func(s Signal) bool { return s.Masked })
		}
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q from %q:\n got %v\nwant %v", text, e.Source, got, want)
		}
	})
}

// A line without a hit costs no allocation, whatever it is.
func TestScanOfAnEverydayLineAllocatesNothing(t *testing.T) {
	b := defaultBook(t)
	e := ingest.Entry{
		Source: ingest.Kubelet,
		Text: `I0301 10:00:00.000000     812 reconciler_common.go:251] ` +
			`"operationExecutor.VerifyControllerAttachedVolume started for volume" pod="ci/amber"`,
	}
	buf := []byte(strings.Repeat(e.Text+"\n", 100))
	if n := testing.AllocsPerRun(100, func() { b.Scan(&e); b.Next(buf, 0) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// What is looked for first misses no mask.
func FuzzMayMask(f *testing.F) {
	for _, text := range []string{"{id}", "< the-container >", "a[REDACTED-1]", "Hidden", "masked", "removed", "*#*#",
		"xXxX",
		"0a1b2c...", "a0b1c2d…", `x \"deadbeef01\"`, `"..."`, `"…"`, "plain", `"` + noID + `"`, "{x:1}", "xxx",
		"abcde...", "{é id}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.NewReplacer("ſ", "s", "K", "k").Replace(text) // in an expression without case they are letters
		if mask.MatchString(text) && !mayMask(text) {
			t.Errorf("%q is missed", text)
		}
	})
}

// The shortest fixed text sets how closely every line is looked at: one of seven bytes
// took the instructions of the hot loop from 4.4 to 7.2 million a MB.
func TestFixedTextsAreLong(t *testing.T) {
	const shortest = 8
	for _, d := range defaultBook(t).Signals {
		for _, text := range d.literals {
			if d.isPrinted() && len(text) < shortest {
				t.Errorf("%s: the fixed text %q has %d bytes; it needs %d, write what stands beside it too",
					d.Name, text, len(text), shortest)
			}
		}
	}
}

// Everyday lines are passed over because no fixed text of a signal stands in them.
// One that does makes every such line be read in full: the scan was five times as
// slow for a text that each mounted volume's line has.
func TestEverydayLinesHoldNoFixedText(t *testing.T) {
	var log bytes.Buffer
	if _, err := (bench.Mix{Size: 8e6, Seed: 1}).WriteTo(&log); err != nil {
		t.Fatal(err)
	}
	f, held, lines := defaultBook(t).raw, map[string]int{}, 0
	for line := range bytes.Lines(log.Bytes()) {
		lines++
		f.Any(line, func(text string, _ []int32) bool {
			held[text]++
			return false
		})
	}
	for text, n := range held {
		if n*5000 > lines {
			t.Errorf("%q stands in %d of %d everyday lines: a signal or symptom needs a rarer text", text, n, lines)
		}
	}
}
