package literal_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"coroner/rules/literal"
	"coroner/rules/signal"
)

// texts are fixed texts as a rulebook has them, and lines that hold them: what its own
// tests read.
func texts(t testing.TB) (all, lines []string) {
	t.Helper()
	b, err := signal.Load(os.DirFS("../book"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range b.Signals {
		for _, x := range d.Tests {
			if text := literal.Plain(x.Line); len(text) >= literal.FastLength {
				lines, all = append(lines, x.Line), append(all, text[:min(len(text), 30)])
			}
		}
	}
	for _, l := range slices.Clone(all) {
		lines = append(lines, l, l[1:], l[:len(l)-1], l+l, "x"+l+"y", l[:len(l)/2]+l)
	}
	return all, lines
}

// Next stops in every line of a buffer that holds a text, and in no other.
func FuzzNextStopsAtEveryText(f *testing.F) {
	all, lines := texts(f)
	finder := literal.NewFinder([][]string{all})
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		var buf strings.Builder
		for range r.IntN(20) {
			buf.WriteString(strings.Repeat("-", r.IntN(70)) + lines[r.IntN(len(lines))] + "\n")
		}
		f.Add([]byte(buf.String()))
	}
	f.Fuzz(func(t *testing.T, buf []byte) { nextIsRight(t, finder, all, buf) })
}

func nextIsRight(t *testing.T, f *literal.Finder, all []string, buf []byte) {
	t.Helper()
	at := 0
	for line := range bytes.Lines(buf) {
		want := false
		for _, l := range all {
			want = want || bytes.Contains(line, []byte(l))
		}
		got := f.Next(buf, at)
		if want != (got >= 0 && got < at+len(line)) {
			t.Fatalf("line %q at %d: found at %d, want %v", line, at, got, want)
		}
		at += len(line)
	}
}

// Any texts of at least four bytes are found, wherever they stand, and known by whose
// they are.
func TestFinderOfAnyTexts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	for n := range 60 {
		all := make([]string, 1+r.IntN(40))
		lists := make([][]string, len(all))
		for i := range all {
			l := make([]byte, literal.MinLength+r.IntN(1+n/3))
			for j := range l {
				l[j] = "abc \""[r.IntN(5)]
			}
			all[i] = string(l)
			lists[i] = all[i : i+1]
		}
		buf := make([]byte, 3000)
		for j := range buf {
			buf[j] = "abc \"\n"[r.IntN(6)]
		}
		f := literal.NewFinder(lists)
		nextIsRight(t, f, all, buf)
		for line := range bytes.Lines(buf) {
			var want []int32
			for i, l := range all {
				if bytes.Contains(line, []byte(l)) {
					want = append(want, int32(i))
				}
			}
			if got := f.All(line, nil); !slices.Equal(got, want) {
				t.Fatalf("%q holds the texts of %v, want %v", line, got, want)
			}
		}
	}
}

// Every string that an expression matches holds one of the texts that it requires.
func TestRequired(t *testing.T) {
	for expr, want := range map[string]string{
		`^Killed process (\w+) \(`:       "[Killed process ]",
		`(?:oom|OOM)[- ]killer`:          "[oom killer oom-killer OOM killer OOM-killer]",
		`started|stopped (?:at|on) noon`: "[started stopped at noon stopped on noon]",
		`[Kk]ill`:                        "[Kill kill]",
		`\w+`:                            "[]",
		`(?:abcd)?`:                      "[]",
		`say "something" else`:           "[something]",
	} {
		tree, err := syntax.Parse(expr, syntax.Perl)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(literal.Required(tree)); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}
