//go:build linux && cgo && !nojournal

package journal

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-systemd/v22/sdjournal"
	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
	"coroner/ingest/journald"
	"coroner/rules/book"
	"coroner/rules/signal"
)

// writers are fields by which journald tells all kinds of writers apart.
var writers = [][]string{
	fromKernel, fromKubelet,
	{"_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=systemd", "SYSLOG_FACILITY=3", "_PID=1"},
	{"_TRANSPORT=stdout", "SYSLOG_IDENTIFIER=containerd", "_SYSTEMD_UNIT=containerd.service", "_COMM=containerd",
		"_UID=0"},
	{"_TRANSPORT=journal", "SYSLOG_IDENTIFIER=kata", "_SYSTEMD_UNIT=containerd.service", "_COMM=containerd-shim",
		"_UID=0"},
	{"_TRANSPORT=journal", "SYSLOG_IDENTIFIER=systemd", "_SYSTEMD_UNIT=init.scope", "_COMM=systemd", "_PID=1", "_UID=0",
		"UNIT=kubelet.service"},
	{"_TRANSPORT=driver", "SYSLOG_IDENTIFIER=systemd-journald", "MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e"},
	{
		"_TRANSPORT=syslog",
		"SYSLOG_IDENTIFIER=sshd",
		"_SYSTEMD_UNIT=ssh.service",
		"_COMM=sshd",
		"_UID=0",
		"SYSLOG_PID=7",
	},
	{"_TRANSPORT=journal", "SYSLOG_IDENTIFIER=kubelet", "_COMM=python3", "_UID=1000", "_PID=99"},
	{"_TRANSPORT=journal", "SYSLOG_IDENTIFIER=x", "_SYSTEMD_UNIT=docker.service",
		"CONTAINER_ID_FULL=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"},
	{"_TRANSPORT=stdout", "SYSLOG_IDENTIFIER=Runner.Listener", "_SYSTEMD_UNIT=actions.runner.a.service",
		"_COMM=Runner.Listener", "_UID=1000"},
	{"_TRANSPORT=stdout", "SYSLOG_IDENTIFIER=kubelet", "SYSLOG_IDENTIFIER=tool", "_SYSTEMD_UNIT=kubelet.service",
		"_COMM=kubelet"},
	{"SYSLOG_IDENTIFIER=kernel"}, {},
}

// remarks are messages that change more than their own record.
var remarks = []string{
	"nothing of note", "a=b c=d", "Suppressed 12 messages from kubelet.service",
	"Suppressed 3 messages from containerd.service", "Missed 7 kernel messages", "** 7 printk messages dropped **",
	"\tsaid by a job", " >", "\x1b[31mKilled\x1b[0m process", "two\nlines", "x source=virtcontainers y",
	"[   12.345678] stamped", "Running with gitlab-runner 17", "",
}

// logged writes a record as an export has it.
func logged(b *bytes.Buffer, boot string, at time.Time, mono int, fields []string, message string) {
	fmt.Fprintf(
		b,
		"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\n_HOSTNAME=worker-7\n",
		at.UnixMicro(),
		mono,
		boot,
		strange,
	)
	for _, f := range fields {
		fmt.Fprintln(b, f)
	}
	fmt.Fprintf(b, "MESSAGE\n%s%s\n\n", binary.LittleEndian.AppendUint64(nil, uint64(len(message))), message)
}

// incidentLines are the messages of the incidents' log lines that a rulebook may
// know, and as many that it does not.
func incidentLines(t *testing.T, rulebook *signal.Book) (known, other []string) {
	t.Helper()
	files, _ := filepath.Glob("../../fixtures/incidents/*.txtar")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			message := strings.TrimSuffix(line, "\n")
			if _, rest, ok := strings.Cut(message, "]: "); ok { // of a syslog line
				message = rest
			}
			if rulebook.Wanted(ingest.Unknown, []byte(message)) {
				known = append(known, message)
			} else {
				other = append(other, message)
			}
		}
	}
	return known, other
}

// everyKind is a journal in which every kind of writer says what any signal of
// the rulebook is recognised by, and much else, over two boots.
func everyKind(t *testing.T, dir string, rulebook *signal.Book, start time.Time) (n int) {
	var b bytes.Buffer
	dice := rand.New(rand.NewPCG(5, 6))
	lines, other := incidentLines(t, rulebook)
	for _, d := range rulebook.Signals {
		for _, test := range d.Tests {
			lines = append(lines, test.Line, strings.Replace(test.Line, " ", "\x1b[1m ", 1))
		}
	}
	if len(lines) < 500 || len(other) < 500 {
		t.Fatalf("%d lines to be recognised, %d others", len(lines), len(other))
	}
	for i, boot := range []string{bootA, bootB} {
		at, mono := start.Add(time.Duration(i)*time.Minute), 1000
		for range 6000 {
			if dice.IntN(3) > 0 {
				step := 1 + dice.IntN(3000)
				at, mono = at.Add(time.Duration(step)*time.Microsecond), mono+step
			}
			fields := slices.Clone(writers[dice.IntN(len(writers))])
			if dice.IntN(2) == 0 {
				fields = append(
					fields,
					fmt.Sprintf("_SOURCE_REALTIME_TIMESTAMP=%d", at.UnixMicro()-int64(dice.IntN(5000))),
				)
			}
			message := other[dice.IntN(len(other))]
			switch dice.IntN(4) {
			case 0, 1:
				message = lines[dice.IntN(len(lines))]
			case 2:
				message = remarks[dice.IntN(len(remarks))]
			}
			logged(&b, boot, at, mono, fields, message)
			n++
		}
	}
	store(t, filepath.Join(dir, strange, "system.journal"), b.String())
	return n
}

// account is all that a reading says.
type account struct {
	Signals []string
	Marks   []ingest.Entry
	Covered map[string]ingest.Entry
	Lines   int
	Cursor  string
	At      time.Time
	Reached time.Time
}

// reading reads a journal to its end and scans it.
func reading(t *testing.T, rulebook *signal.Book, c Config) (a account, passed int) {
	a.Covered = map[string]ingest.Entry{}
	readAll(t, c, 1<<30, func(b Batch) {
		for _, e := range b.Entries {
			if e.Mark != nil {
				a.Marks = append(a.Marks, e)
			}
			for _, s := range rulebook.Scan(&e) {
				a.Signals = append(
					a.Signals,
					fmt.Sprintf("%d %s %v %s %d %s %q %v %s %+v", s.Line, s.Def.Name, s.At, s.Source,
						s.Trust, s.Boot, s.Text, s.Captures(), s.Node, e),
				)
			}
		}
		for _, e := range b.Covered {
			a.Covered[fmt.Sprint(e.Source, e.Boot, e.Mark.From)] = e
		}
		a.Lines, a.Cursor, a.At, a.Reached = a.Lines+b.Lines, b.Cursor, b.At, b.Reached
		passed += b.Passed
	})
	return a, passed
}

// A reader that is told what is wanted says the same of everything else: what
// the rulebook recognises, the gaps, what was covered, and how far it came.
func TestWantedLosesNothing(t *testing.T) {
	t.Parallel()
	rulebook, err := signal.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	n := everyKind(t, dir, rulebook, start)
	now := start.Add(10 * time.Minute)
	for _, node := range []string{"node-1", ""} {
		c := Config{Dirs: []string{dir}, Node: node, Boot: bootB, Now: func() time.Time { return now }}
		want, _ := reading(t, rulebook, c)
		c.Wanted = rulebook.Wanted
		got, passed := reading(t, rulebook, c)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if want.Lines != n || len(want.Signals) < 800 || len(want.Marks) < 100 || len(want.Covered) < 100 {
			t.Errorf("%d records of %d, %d signals, %d marks, %d spans: too little to show anything", want.Lines, n,
				len(want.Signals), len(want.Marks), len(want.Covered))
		}
		if passed < n/4 {
			t.Errorf("only %d of %d records were skipped", passed, n)
		}
	}
}

// The fields of a record are those that sdjournal gives, in whatever form: many
// of one name, none, huge, or binary.
func TestFetchedLikeSdjournal(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC()
	var b bytes.Buffer
	const n = 300
	for i := range n {
		fields := append([]string{"A=1", "A=2", "EMPTY=", fmt.Sprint("N=", i), "_SOURCE_REALTIME_TIMESTAMP=7",
			"_EXE=/not/read", "_COMMAND=not read either"}, writers[i%len(writers)]...)
		message := strings.Repeat("x\x00", []int{0, 1, 100, 40 << 10, 600 << 10}[i%100%5])
		if i%7 == 0 {
			fields = append(fields, "SYSLOG_IDENTIFIER="+strings.Repeat("z", 1+i*5))
		}
		if i%3 == 0 {
			fields = append(fields, "BIG="+strings.Repeat("y", 70<<10))
		}
		logged(&b, bootA, start.Add(time.Duration(i)*time.Millisecond), 1000+i, fields, message)
	}
	store(t, filepath.Join(dir, strange, "system.journal"), b.String())
	fetched, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fetched.close)
	plain, err := sdjournal.NewJournalFromDir(dir)
	if err == nil {
		err = plain.SetDataThreshold(maxValue)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = plain.Close() })
	for i := range n {
		if ok, err := plain.Next(); err != nil || ok == 0 {
			t.Fatal(i, ok, err)
		}
		want, err := plain.GetEntry()
		if err != nil {
			t.Fatal(err)
		}
		r, err := fetched.nextRecord()
		if err != nil || r == nil || r.err != nil {
			t.Fatal(i, err, r)
		}
		sameFields(t, want, r)
		last, err := newest(t, dir, fmt.Sprint("N=", i))
		if err != nil {
			t.Fatal(i, err)
		}
		sameFields(t, want, last)
	}
	if r, err := fetched.nextRecord(); r != nil || err != nil {
		t.Errorf("behind the last: %v, %v", r, err)
	}
}

// newest is the last record with a field, by a handle of its own.
func newest(t *testing.T, dir, field string) (*raw, error) {
	t.Helper()
	h, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	t.Cleanup(h.close)
	return h.lastRecord([]string{field})
}

// shown is what a record's head shows: the message, the source's times, the writer.
type shown struct {
	message, real, mono, who string
	rare                     bool
}

// shownBy is what a record's head must show of a record.
func shownBy(r *raw) (s shown) {
	for name, val := range r.eachField {
		place := slices.IndexFunc(journald.Fields[:], func(f journald.Field) bool { return f.Name == string(name) })
		if place < 0 {
			continue
		}
		switch v := string(val); journald.Fields[place].Use {
		case journald.AsMessage:
			s.message = v
		case journald.AsSourceReal:
			s.real = v
		case journald.AsSourceMono:
			s.mono = v
		case journald.Writer:
			s.who += string([]byte{byte(place), byte(len(v)), byte(len(v) >> 8)}) + v
		case journald.WriterHas:
			s.who += string([]byte{byte(place), 0, 0})
		case journald.Rare:
			s.rare = true
		}
	}
	s.rare = s.rare || len(s.who) > 1<<10
	return s
}

// sameFields compares a record with what sdjournal gives.
func sameFields(t *testing.T, want *sdjournal.JournalEntry, r *raw) {
	t.Helper()
	g := r.head
	show, must := shown{
		string(g.Message),
		string(g.SourceReal),
		string(g.SourceMono),
		string(g.Who),
		g.Rare,
	}, shownBy(
		r,
	)
	if must.rare {
		show.who, must.who = "", "" // nobody looks at it
	}
	if show != must {
		t.Fatalf("the head shows %.2000v, not %.2000v", show, must)
	}
	got := map[string]string{}
	for name, val := range r.eachField {
		got[string(name)] = string(val)
	}
	for name, val := range want.Fields {
		if strings.HasPrefix(name, "_") && !slices.ContainsFunc(journald.Fields[:],
			func(f journald.Field) bool { return f.Name == name }) {
			delete(want.Fields, name)
			continue
		}
		if name == "MESSAGE" {
			want.Fields[name] = val[:min(len(val), maxValue)]
		}
		if limit := maxOther - len(name) - 1; name != "MESSAGE" && len(val) > limit {
			want.Fields[name] = val[:limit]
		}
	}
	if diff := cmp.Diff(want.Fields, got); diff != "" || want.Cursor != string(r.cursor) {
		t.Fatalf("cursor %s, want %s: %.2000s", r.cursor, want.Cursor, diff)
	}
}

// A record that nobody wants leaves nothing behind.
func TestSkippedWithoutMemory(t *testing.T) {
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC()
	const n = 3000
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, n, fromKubelet...))
	c := Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA,
		Wanted: func(ingest.Source, []byte) bool { return false }}
	f := newFollower(New(c), func(Batch) error { return nil })
	defer f.src.close()
	if err := f.readStep(t.Context()); err != nil {
		t.Fatal(err)
	}
	passed := f.out.Passed
	allocs := testing.AllocsPerRun(1000, func() {
		if err := f.readNext(); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 || f.out.Passed < passed+1000 {
		t.Errorf("%v allocations for a record, %d skipped", allocs, f.out.Passed-passed)
	}
}

// What is skipped is counted once each, over rotation and from one reader to
// the next, and what is wanted stands at its place.
func TestSkippedOverRotation(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile")
	c := Config{Dirs: []string{d.volatile()}, Wanted: func(_ ingest.Source,
		m []byte) bool {
		return bytes.HasSuffix(m, []byte("99"))
	}}
	lines, passed, lives := 0, 0, 0
	var got []string
	for len(got) < 120 {
		if lives++; lives > 200 {
			t.Fatalf("200 readers read %d records", lines)
		}
		if d.sent < 12000 {
			d.send(700, 0)
			d.rotate()
			d.send(800, 0, "PADDING="+strings.Repeat("x", 2000))
		}
		n := 0
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := New(c).Run(ctx, func(b Batch) error {
			if n++; n > 1+lives%3 {
				return errStop
			}
			for _, e := range b.Entries {
				if e.Mark != nil {
					t.Errorf("a gap: %+v", e.Mark)
				}
				if strings.HasPrefix(e.Text, "test ") && strings.HasSuffix(e.Text, "99") { // others may come along
					got = append(got, e.Text)
				}
			}
			lines, passed, c.Cursor, c.Since = lines+b.Lines, passed+b.Passed, b.Cursor, b.At
			if p, ok := parsePosition(b.Cursor); !ok || !p.storedAt().Equal(b.At) {
				t.Errorf("cursor %s, at %v", b.Cursor, b.At)
			}
			return nil
		})
		cancel()
		if !errors.Is(err, errStop) {
			t.Fatalf("Run: %v", err)
		}
	}
	for i, text := range got {
		if text != fmt.Sprintf("test %d", i*100+99) {
			t.Fatalf("%q at %d", text, i)
		}
	}
	if passed < 11000 || lines < 12000 || lives < 5 {
		t.Errorf("%d records, %d skipped, %d lives", lines, passed, lives)
	}
}

// Damaged files say the same of themselves whoever is asked what is wanted.
func TestDamagedFilesSkipped(t *testing.T) {
	t.Parallel()
	rulebook, err := signal.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC()
	file := filepath.Join(dir, strange, "system.journal")
	store(t, file, exported(bootA, start, 0, 3000, append(fromKernel, "PADDING="+strings.Repeat("x", 300))...))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dice, now, fewer := rand.New(rand.NewPCG(8, 9)), start.Add(time.Minute), 0
	for range 30 {
		data := slices.Clone(whole)
		for range 1 + dice.IntN(100) {
			data[240+dice.IntN(len(data)-240)] = byte(dice.Uint32())
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		c := Config{Dirs: []string{dir}, Boot: bootA, Now: func() time.Time { return now }}
		want, _ := reading(t, rulebook, c)
		c.Wanted = rulebook.Wanted
		got, _ := reading(t, rulebook, c)
		got.Reached = want.Reached // of a damaged end it depends on where time cut the batches; the others compare it
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if want.Lines < 3000 {
			fewer++
		}
	}
	if fewer < 5 {
		t.Errorf("only %d of 30 files were damaged so that it shows", fewer)
	}
}
