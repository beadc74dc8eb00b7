//go:build linux && cgo && !nojournal

package journal

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coroner/fixtures/bench"
	"coroner/rules/book"
	"coroner/rules/signal"

	"github.com/rs/zerolog"
)

// BenchmarkRead is the cost of one record, from its file to its entry.
func BenchmarkRead(b *testing.B) {
	dir, start := b.TempDir(), time.Now().Add(-time.Hour).UTC()
	const n = 20000
	store(b, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, n, append(fromKubelet,
		"PRIORITY=6", "SYSLOG_FACILITY=3", "_PID=812", "_GID=0", "_EXE=/usr/bin/kubelet",
		"_CMDLINE=/usr/bin/kubelet --config=/etc/kubelet",
		"_CAP_EFFECTIVE=1ffffffffff", "_SELINUX_CONTEXT=unconfined", "_SYSTEMD_CGROUP=/system.slice/kubelet.service",
		"_SYSTEMD_SLICE=system.slice", "_SYSTEMD_INVOCATION_ID=0123456789abcdef0123456789abcdef", "_STREAM_ID=abc")...))
	b.ReportAllocs()
	read := 0
	for read < b.N {
		read += readAll(b, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA,
			Now: func() time.Time { return start.Add(time.Minute) }}, b.N-read, func(Batch) {})
	}
}

// readAll follows a journal to its end, or until most records were read.
func readAll(t testing.TB, c Config, most int, take func(Batch)) (read int) {
	f := newFollower(New(c), func(b Batch) error { read += b.Lines; take(b); return nil })
	defer f.src.close()
	for !f.src.atEnd && read < most {
		if err := f.readStep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if f.out.Lines > 0 {
		_ = f.deliverBatch(false, time.Time{})
	}
	return read
}

// signals is the built-in rulebook as an agent has it.
func signals(t testing.TB) *signal.Book {
	t.Helper()
	b, err := signal.Load(fs.FS(book.Files))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// side is one way to read a journal.
type side struct {
	name string
	read func() (cpu time.Duration, cgo int64)
	cpu  []time.Duration
	cgo  int64
}

// BenchmarkNode compares an agent's reading of a node's journal with journalctl's,
// by the CPU time of each, side by side in CORONER_BENCH_ROUNDS rounds (default
// 5). CORONER_BENCH_ENTRIES says how many records the journal has (default
// 20000), CORONER_BENCH_JOURNAL a folder that keeps it for the next time.
func BenchmarkNode(b *testing.B) {
	dir, n := nodeJournal(b)
	rulebook := signals(b)
	recognised := 0
	agent := func(c Config) func() (time.Duration, int64) {
		return func() (time.Duration, int64) {
			c.Dirs, c.Node, c.Boot, c.Now, c.Log = []string{
				dir,
			}, "node-1", bootA, func() time.Time { return nodeEnd }, zerolog.Nop()
			c.MaxAge = 1000 * time.Hour
			recognised = 0
			begin, calls := cpuTime(b, syscall.RUSAGE_SELF), runtime.NumCgoCall()
			read := readAll(b, c, n, func(x Batch) {
				for i := range x.Entries {
					if x.Entries[i].Mark != nil {
						b.Fatalf("a gap: %+v", x.Entries[i].Mark)
					}
					if len(rulebook.Scan(&x.Entries[i])) > 0 {
						recognised++
					}
				}
			})
			took := cpuTime(b, syscall.RUSAGE_SELF) - begin
			if read != n {
				b.Fatalf("%d records of %d", read, n)
			}
			return took, runtime.NumCgoCall() - calls
		}
	}
	sides := []*side{
		{name: "agent", read: agent(Config{Wanted: rulebook.Wanted})},
		{name: "journalctl -o export", read: journalctl(b, dir, "export")},
		{name: "journalctl -o json", read: journalctl(b, dir, "json")},
	}
	rounds := number(b, "CORONER_BENCH_ROUNDS", 5)
	for range b.N {
		for range rounds {
			for _, s := range sides {
				runtime.GC()
				took, calls := s.read()
				s.cpu, s.cgo = append(s.cpu, took), calls
			}
		}
	}
	b.Log(table(b, sides, n, recognised))
}

// table is what the rounds gave, the median of each, and the agent's lead.
func table(b *testing.B, sides []*side, n, recognised int) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d records, %d recognised, %d rounds, medians\n%-22s %12s %12s %10s %10s\n", n, recognised,
		len(sides[0].cpu), "", "ns/record", "records/CPU s", "agent is", "cgo/record")
	first := median(sides[0].cpu)
	for _, s := range sides {
		m := median(s.cpu)
		fmt.Fprintf(&out, "%-22s %12d %12.0f %9.1fx %10.3f\n", s.name, int(m)/n, float64(n)/m.Seconds(),
			float64(m)/float64(first), float64(s.cgo)/float64(n))
	}
	b.ReportMetric(float64(n)/first.Seconds(), "records/cpu-s")
	note(b, bench.Figure{Topic: "the agent's journal", What: "1 % hits", Unit: "records/s of a core",
		Value: float64(n) / first.Seconds()})
	b.ReportMetric(float64(sides[0].cgo)/float64(n), "cgo/record")
	bars := map[string]float64{"journalctl -o export": 2.5, "journalctl -o json": 9}
	for _, s := range sides[1:] {
		times := float64(median(s.cpu)) / float64(first)
		b.ReportMetric(times, "x-"+s.name[strings.LastIndexByte(s.name, ' ')+1:])
		note(b, bench.Figure{Topic: "the agent's journal", What: s.name + " beside it", Unit: "times as long",
			Value: times, AtLeast: bars[s.name]})
	}
	return out.String()
}

func note(b *testing.B, f bench.Figure) {
	b.Helper()
	if err := bench.Note(f); err != nil {
		b.Error(err)
	}
}

func median(d []time.Duration) time.Duration {
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

// nodeEnd is when the node's journal ends.
var nodeEnd = time.Date(2026, 11, 21, 20, 0, 0, 0, time.UTC)

// nodeJournal is a folder with the journal of a busy node, and how many records it has.
func nodeJournal(b *testing.B) (dir string, n int) {
	n = number(b, "CORONER_BENCH_ENTRIES", 20000)
	if dir = os.Getenv("CORONER_BENCH_JOURNAL"); dir == "" {
		dir = b.TempDir()
	}
	done := filepath.Join(dir, "records")
	if kept, err := os.ReadFile(done); err == nil && string(kept) == strconv.Itoa(n) {
		return dir, n
	}
	sub := filepath.Join(dir, strange)
	if err := os.RemoveAll(sub); err != nil {
		b.Fatal(err)
	}
	if err := os.MkdirAll(sub, 0o755); err != nil {
		b.Fatal(err)
	}
	storeNode(b, dir, n, nodeEnd)
	if err := os.WriteFile(done, []byte(strconv.Itoa(n)), 0o644); err != nil {
		b.Fatal(err)
	}
	return dir, n
}

// number is what the environment says, or usual.
func number(b *testing.B, name string, usual int) int {
	s := os.Getenv(name)
	if s == "" {
		return usual
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		b.Fatalf("%s: %q", name, s)
	}
	return n
}

// journalctl reads dir in one of its formats.
func journalctl(b *testing.B, dir, format string) func() (time.Duration, int64) {
	return func() (time.Duration, int64) {
		begin := cpuTime(b, syscall.RUSAGE_CHILDREN)
		cmd := exec.Command("journalctl", "-D", dir, "-q", "-o", format)
		if err := cmd.Run(); err != nil { // without a Stdout: to /dev/null
			b.Fatal(err)
		}
		return cpuTime(b, syscall.RUSAGE_CHILDREN) - begin, 0
	}
}

// cpuTime is what this process, or its children that ended, took so far.
func cpuTime(t testing.TB, who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
