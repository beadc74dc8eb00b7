package signal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"coroner/fixtures/bench"
	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/rules/book"
	"coroner/rules/literal"
)

// scanBuffer is the scan as the readers do it: the lines that can hold a signal
// are found in the buffer, cut into their parts and recognised, captures and all.
func scanBuffer(b *Book, buf []byte) (signals int) {
	feed := document.Document{Name: "journal.log"}.Feed()
	scan := func(entries []ingest.Entry) {
		for i := range entries {
			signals += len(b.Scan(&entries[i]))
		}
	}
	for at := b.Next(buf, 0); at >= 0; {
		from := bytes.LastIndexByte(buf[:at], '\n') + 1
		end := len(buf)
		if n := bytes.IndexByte(buf[at:], '\n'); n >= 0 {
			end = at + n
		}
		scan(feed.Line(buf[from:end], 0))
		at = b.Next(buf, end)
	}
	scan(feed.Flush())
	return signals
}

// scanFile scans a file a megabyte of whole lines at a time.
func scanFile(b *Book, path string) (signals int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	buf, held := make([]byte, 1<<20), 0
	for {
		n, err := f.Read(buf[held:])
		if n == 0 {
			return signals + scanBuffer(b, buf[:held]), ignoreEOF(err)
		}
		whole := bytes.LastIndexByte(buf[:held+n], '\n') + 1
		signals += scanBuffer(b, buf[:whole])
		held = copy(buf, buf[whole:held+n])
	}
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// patterns are the regular expressions of what scanBuffer looks for, without
// the names of their groups, which other programs want to be unique.
func patterns(b *Book) (out []string) {
	names := regexp.MustCompile(`\?P<\w+>`)
	for _, d := range b.Signals {
		if !d.isPrinted() {
			continue
		}
		for _, sh := range d.shapes {
			for _, m := range sh.messages {
				out = append(out, regexp.QuoteMeta(m))
			}
			if sh.match != nil {
				out = append(out, unanchored(names.ReplaceAllString(sh.match.String(), "?:")))
			}
			for _, w := range sh.where {
				if len(sh.messages) == 0 && sh.match == nil {
					out = append(out, names.ReplaceAllString(w.String(), "?:"))
				}
			}
		}
	}
	return out
}

// unanchored lets a pattern for a message match in the middle of a line.
func unanchored(pattern string) string {
	return strings.ReplaceAll(strings.TrimPrefix(pattern, "^"), "|^", "|")
}

// mtailProgram is a program for mtail that counts the lines of each pattern.
func mtailProgram(list []string) string {
	var p strings.Builder
	p.WriteString("counter hits\n")
	for _, re := range list {
		fmt.Fprintf(&p, "/%s/ {\n  hits++\n}\n", strings.ReplaceAll(re, "/", `\/`))
	}
	return p.String()
}

// tenfold is the rulebook with ten times its signals: the others look for the
// same texts with a letter more in every word.
func tenfold(t *testing.T, b *Book) *Book {
	t.Helper()
	defs := append([]*Def{}, b.Signals...)
	words := regexp.MustCompile(`[A-Za-z]{3,}`)
	for n := range 9 {
		for _, d := range b.Signals {
			c := *d
			c.Name, c.literals = fmt.Sprintf("%s-%d", d.Name, n), nil
			for _, l := range d.literals {
				c.literals = append(c.literals, words.ReplaceAllStringFunc(l, func(w string) string {
					return w[:2] + string(rune('a'+(n*7+len(w))%26)) + w[2:]
				}))
			}
			defs = append(defs, &c)
		}
	}
	var printed [][]string
	for _, d := range defs {
		printed = append(printed, nil)
		if d.isPrinted() {
			printed[len(printed)-1] = d.literals
		}
	}
	ten := *b
	ten.Signals, ten.raw = defs, literal.NewFinder(printed)
	return &ten
}

// BenchmarkScanBuffer is the scan without anything beside it, by the share of
// lines that are hits: of the first, looking for them is the cost, of the last,
// reading them.
func BenchmarkScanBuffer(b *testing.B) {
	book := defaultBook(b)
	for _, hits := range []float64{0.001, 0.01, 0.1, 1} {
		buf := bytes.Buffer{}
		if _, err := (bench.Mix{Size: 8 << 20, Hits: hits, Seed: 1}).WriteTo(&buf); err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("hits=%g", hits), func(b *testing.B) {
			b.SetBytes(int64(buf.Len()))
			b.ReportAllocs()
			for b.Loop() {
				scanBuffer(book, buf.Bytes())
			}
		})
	}
}

// BenchmarkLoad is most of an agent's start.
func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(book.Files); err != nil {
			b.Fatal(err)
		}
	}
}

// The scan beside ripgrep and mtail, with the same patterns on the same logs.
func TestBenchScan(t *testing.T) {
	bench.Asked(t, "the scan's speed beside ripgrep and mtail")
	book := defaultBook(t)
	ten, dir := tenfold(t, book), bench.Folder()
	list := patternFile(t, book)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, c := range []struct{ hits, bar float64 }{{0.001, 4}, {0.01, 3}, {0.1, 1}} {
		hits := c.hits
		path := filepath.Join(dir, fmt.Sprintf("mix-%g.log", hits))
		if err := (bench.Mix{Size: 1e9, Hits: hits, Seed: 1}).WriteFile(path); err != nil {
			t.Fatal(err)
		}
		scan := func(b *Book) func() {
			return func() {
				if n, err := scanFile(b, path); err != nil || n == 0 {
					t.Error("nothing was found", err)
				}
			}
		}
		contenders := []bench.Contender{
			{Name: fmt.Sprintf("coroner, %d signals", len(book.Signals)), Do: scan(book)},
			{Name: fmt.Sprintf("coroner, %d signals", len(ten.Signals)), Do: scan(ten)},
		}
		if bench.Has("rg") {
			contenders = append(
				contenders,
				bench.Contender{Name: "ripgrep -j1 -c -f", Cmd: []string{"rg", "-j1", "-c", "-f", list, path}},
			)
		} else {
			t.Log(bench.Missing("ripgrep"))
		}
		results := race(t, fmt.Sprintf("Scan of 1 GB, %g %% of the lines are hits", 100*hits), contenders, path)
		what := fmt.Sprintf("%g %% hits", 100*hits)
		note(t, bench.Figure{Topic: "scan", What: what, Unit: "MB/s of a core", Value: 1000 / results[0].CPU.Seconds()})
		if bench.Has("rg") {
			beside := ", ripgrep -j1 beside it"
			if results[2].Stopped {
				beside += ", stopped before its end"
			}
			note(t, bench.Figure{Topic: "scan", What: what + beside, AtLeast: c.bar, Unit: "times as long",
				Value: results[2].CPU.Seconds() / results[0].CPU.Seconds()})
		}
	}
}

// patternFile holds the patterns, one in a line.
func patternFile(t *testing.T, b *Book) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "patterns")
	if err := os.WriteFile(path, []byte(strings.Join(patterns(b), "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// The commands on a gigabyte in one file and on four in a folder, beside what
// reads as much and understands less.
func TestBenchCommands(t *testing.T) {
	bench.Asked(t, "coroner signals beside ripgrep, coroner explain beside cat")
	bin, list := filepath.Join(t.TempDir(), "coroner"), patternFile(t, defaultBook(t))
	dir := filepath.Join(bench.Folder(), "four")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/coroner").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file := ""
	for i := range 4 {
		file = filepath.Join(dir, fmt.Sprintf("node-%d.log", i))
		if err := (bench.Mix{Size: 1e9, Hits: 0.001, Seed: uint64(i)}).WriteFile(file); err != nil {
			t.Fatal(err)
		}
	}
	folder := []bench.Contender{{Name: "coroner signals --count", Cmd: []string{bin, "signals", "--count", dir}}}
	if bench.Has("rg") {
		folder = append(folder, bench.Contender{Name: "ripgrep -c -f", Cmd: []string{"rg", "-c", "-f", list, dir}})
	}
	race5(t, "A folder of four logs of 1 GB, 0.1 % hits", 4000, folder)
	one := race5(t, "One log of 1 GB, 0.1 % hits", 1000, []bench.Contender{
		{Name: "coroner explain", Cmd: []string{bin, "explain", file}},
		{Name: "coroner signals --count", Cmd: []string{bin, "signals", "--count", file}},
		{Name: "cat", Cmd: []string{"cat", file}}, {Name: "wc -l", Cmd: []string{"wc", "-l", file}},
	})
	note(t, bench.Figure{Topic: "explain of 1 GB", What: "processor time beside cat", AtMost: 30, Unit: "times",
		Value: one[0].CPU.Seconds() / one[2].CPU.Seconds()},
		bench.Figure{Topic: "explain of 1 GB", What: "on the clock", Unit: "s", Value: one[0].Wall.Seconds()})
}

func note(t *testing.T, figures ...bench.Figure) {
	t.Helper()
	if err := bench.Note(figures...); err != nil {
		t.Error(err)
	}
}

func race5(t *testing.T, title string, mb float64, contenders []bench.Contender) []bench.Result {
	t.Helper()
	results, err := bench.Race(5, contenders...)
	if err != nil {
		t.Fatal(err)
	}
	bench.Table(os.Stdout, title, mb, "MB", results)
	return results
}

// race runs the contenders, and mtail on the first thousandth of the log.
func race(t *testing.T, title string, contenders []bench.Contender, path string) []bench.Result {
	t.Helper()
	results, err := bench.Race(5, contenders...)
	if err != nil {
		t.Fatal(err)
	}
	if bench.Has("mtail") {
		results = append(results, mtail(t, path))
	} else {
		t.Log(bench.Missing("mtail"))
	}
	bench.Table(os.Stdout, title, 1000, "MB", results)
	return results
}

// mtail is too slow for the whole log: its time for 1 MB, less that for an
// empty file, times a thousand.
func mtail(t *testing.T, path string) bench.Result {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	progs := filepath.Dir(write("rules.mtail", mtailProgram(patterns(defaultBook(t)))))
	run := func(name, log string) bench.Contender {
		return bench.Contender{Name: name, Cmd: []string{"mtail", "--one_shot", "--progs", progs, "--logs", log}}
	}
	results, err := bench.Race(
		1,
		run("mtail", write("some.log", string(data[:1_000_000]))),
		run("mtail", write("empty.log", "\n")),
	)
	if err != nil {
		t.Fatal(err)
	}
	return bench.Result{
		Name: "mtail",
		CPU:  1000 * (results[0].CPU - results[1].CPU),
		Wall: 1000 * (results[0].Wall - results[1].Wall),
	}
}

// allocsHit is what a line costs that is a hit, from the buffer to its signal, under
// the race detector, with which make test runs; without it, 3.94.
const allocsHit = 4.65

func TestHitAllocates(t *testing.T) {
	b, buf := defaultBook(t), bytes.Buffer{}
	if _, err := (bench.Mix{Size: 256 << 10, Hits: 1, Seed: 1}).WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	lines := float64(bytes.Count(buf.Bytes(), []byte("\n")))
	if n := scanBuffer(b, buf.Bytes()); float64(n) < 0.85*lines { // one kind of line only looks like one
		t.Fatalf("%d signals in %.0f lines", n, lines)
	}
	if got := testing.AllocsPerRun(10, func() { scanBuffer(b, buf.Bytes()) }) / lines; got > 1.1*allocsHit ||
		got < 0.8*allocsHit {
		t.Errorf(
			"%.2f allocations a hit, recorded are %.2f: find what costs more, or record the better figure",
			got,
			allocsHit,
		)
	}
}
