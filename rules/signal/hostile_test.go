package signal

import (
	"fmt"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/fixtures/bench"
	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/logtext"
)

// like makes a text that an expression matches, or nearly so: what repeats it
// writes n times, and of alternatives all.
func like(re *syntax.Regexp, n int) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		return visible(re.Rune)
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpStar, syntax.OpPlus:
		return strings.Repeat(like(re.Sub[0], n), n)
	case syntax.OpRepeat:
		return strings.Repeat(like(re.Sub[0], n), max(re.Min, 1))
	}
	var parts []string
	for _, sub := range re.Sub {
		parts = append(parts, like(sub, n))
	}
	if re.Op == syntax.OpAlternate {
		return strings.Join(parts, " ") + " "
	}
	return strings.Join(parts, "")
}

// visible is a character of a class that can be seen, if it has one.
func visible(bounds []rune) string {
	for i := 0; i < len(bounds); i += 2 {
		for c := bounds[i]; c <= min(bounds[i+1], '~'); c++ {
			if c > ' ' && c != '"' && c != '\'' {
				return string(c)
			}
		}
	}
	return string(bounds[0])
}

// hostile are lines that are made to cost as much as lines of that source can: the
// literals of all signals, what their patterns nearly match, one after the other
// and again and again, behind all literals, short and long, with and without a
// letter that is not ASCII.
func hostile(b *Book, by ingest.Source) (lines []string) {
	var literals, near []string
	for _, d := range b.Signals {
		if !d.mayComeFrom(by) {
			continue
		}
		literals = append(literals, d.literals...)
		for _, p := range d.patterns() {
			re, _ := syntax.Parse(p.String(), syntax.Perl) // it was compiled
			text := like(re, 3)
			near = append(near, text, text[:max(len(text)-1, 0)])
		}
	}
	long := func(begin, text string) {
		if text != "" && len(begin) < ingest.MaxText {
			text = begin + strings.Repeat(text, ingest.MaxText/len(text)+1)
			lines = append(lines, strings.ToValidUTF8(text[:ingest.MaxText], ""))
		}
	}
	all := strings.Join(literals, " ")
	for _, begin := range []string{"", "é "} {
		long(begin, all+" ")
		long(begin, strings.Join(near, " "))
		for i, text := range near {
			if i%2 == 0 { // half of them is half the time
				long(begin, text)
				long(begin+all[:min(len(all), ingest.MaxText/2)], text)
			}
			lines = append(lines, begin+strings.Repeat(text+" ", 500/(len(text)+1)+1))
		}
	}
	return lines
}

// perByte is what a scan of the lines costs, a line's least of some tries.
func perByte(b *Book, by ingest.Source, line string) float64 {
	if line == "" {
		return 0
	}
	least := time.Duration(math.MaxInt64)
	e := &ingest.Entry{Source: by, Text: line}
	for range 5 {
		began := time.Now()
		b.Scan(e)
		least = min(least, time.Since(began))
	}
	return float64(least.Nanoseconds()) / float64(len(line))
}

// The worst line that anybody can get into a log costs little more than lines that
// a node prints and that are signals: without a limit the worst of these took a
// thousand times as long.
func TestHostileLinesAreCheap(t *testing.T) {
	b := defaultBook(t)
	limit := 5 * ordinary(b)
	for _, by := range append([]ingest.Source{ingest.Unknown}, ingest.Sources...) {
		worst, of := 0.0, ""
		for _, line := range hostile(b, by) {
			if cost := perByte(b, by, line); cost > worst {
				worst, of = cost, line
			}
		}
		for try := 0; try < 5 || worst > limit && try < 200; try++ { // somebody else may have had the processor
			worst = min(worst, perByte(b, by, of))
		}
		t.Logf("%q: %.1f ns a byte, limit %.0f", by, worst, limit)
		if worst > limit {
			t.Errorf("%q: %.1f ns a byte, want at most %.1f: %.200q", by, worst, limit, of)
		}
	}
}

// ordinary is what a byte costs of lines that a node prints and that are signals.
func ordinary(b *Book) float64 {
	var buf strings.Builder
	_, _ = (bench.Mix{Size: 1 << 20, Hits: 1, Seed: 1}).WriteTo(&buf) // a builder takes everything
	least := time.Duration(math.MaxInt64)
	for range 3 {
		began := time.Now()
		scanBuffer(b, []byte(buf.String()))
		least = min(least, time.Since(began))
	}
	return float64(least.Nanoseconds()) / float64(buf.Len())
}

// A line takes no more steps than it has, and one that had too few says so.
func TestHostileLinesAreCutShort(t *testing.T) {
	b := defaultBook(t)
	for _, by := range []ingest.Source{ingest.Unknown, ingest.Job, ingest.Runner} {
		short := 0
		for i, line := range hostile(b, by) {
			e := &ingest.Entry{Source: by, Text: line}
			found, cut := b.ScanWithin(e)
			if cut {
				short++
			}
			if i%7 > 0 || cut {
				continue
			}
			if all := scanPlainly(b, e); len(found) != len(all) {
				t.Fatalf(
					"%q: %d of %d signals, and nothing says that it was cut short: %.100q",
					by,
					len(found),
					len(all),
					line,
				)
			}
		}
		if short < 20 {
			t.Errorf("%q: only %d lines were cut short: these are not hostile", by, short)
		}
	}
}

// No line of any incident comes near the limits.
func TestHonestLinesAreNotCutShort(t *testing.T) {
	b := defaultBook(t)
	lines := 0
	honest(t, b, func(where string, e *ingest.Entry) {
		hits, symptoms := b.candidates(e, nil)
		m := matching{e: e, steps: math.MaxInt}
		var fields logtext.Fields
		m.msg, fields, _ = logtext.Message(e, nil)
		for _, i := range hits {
			m.recognise(b.Signals[i], fields)
		}
		many := e.Source.Forgeable() && len(hits) > maxCandidates/2 // of others all are matched
		if used := math.MaxInt - m.steps; many || 4*used > stepsFor(e) {
			t.Errorf("%s: %d candidates, %d of %d steps: %.300q", where, len(hits), used, stepsFor(e), e.Text)
		}
		m.symptoms(b, symptoms, fields)
		if used := symptomSteps(e) - m.steps; 3*used > 2*symptomSteps(e) {
			t.Errorf("%s: %d symptoms, %d of %d steps: %.300q", where, len(symptoms), used, symptomSteps(e), e.Text)
		}
		if got, short := b.ScanWithin(e); short || len(got) != len(scanPlainly(b, e)) {
			t.Errorf("%s: cut short: %.300q", where, e.Text)
		}
		lines++
	})
	if lines < 3000 {
		t.Errorf("only %d lines", lines)
	}
}

// honest gives every line that is known of real logs: of the incidents, as they are
// read, and of the rulebook's own tests.
func honest(t *testing.T, b *Book, take func(where string, e *ingest.Entry)) {
	t.Helper()
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range all {
		for _, f := range in.Files {
			err := document.Document{Name: f.Name}.Read(strings.NewReader(string(f.Data)), func(e ingest.Entry) bool {
				if e.Mark == nil {
					take(in.Name, &e)
				}
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, d := range b.Signals {
		for _, x := range d.Tests {
			take(fmt.Sprintf("test of %s", d.Name), &ingest.Entry{Source: d.Sources[0], Text: x.Line})
		}
	}
}

// What a kernel or kubelet prints is recognised whatever a job got into the line.
func TestNothingInANodesLineHidesIt(t *testing.T) {
	b := defaultBook(t)
	for _, c := range []struct {
		by         ingest.Source
		begin, end string
		want       string
	}{
		{ingest.Kernel, "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0,oom_memcg=/a," +
			"task_memcg=/a/b,task=", ",pid=4242,uid=0", "kernel.oom-kill"},
		{ingest.Kubelet, `I0301 10:00:00.000000     812 kubelet.go:2405] "SyncLoop DELETE" source="api" ` +
			`pods=["ci/amber"] x="`, `"`, "kubelet.delete-asked"},
	} {
		for _, junk := range hostile(b, c.by) {
			junk = strings.NewReplacer(`"`, "", `\`, "", ",", "").Replace(junk[:min(len(junk), 900)])
			e := &ingest.Entry{Source: c.by, Trust: ingest.Attested, Text: c.begin + junk + c.end}
			if !slices.ContainsFunc(b.Scan(e), func(s Signal) bool { return s.Def.Name == c.want }) {
				t.Fatalf("%s is not recognised: %.1500q", c.want, e.Text)
			}
		}
	}
}
