//go:build linux && cgo && !nojournal

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/rs/zerolog"
)

// A folder of another machine's id is read: in a container the own one says
// nothing. The kernel's records are attested, and the reading covers it.
func TestForeignMachineIsRead(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, 5, fromKernel...)+exported(bootA,
		start, 5, 5, fromKubelet...))
	r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA})
	r.tail()
	got := r.entries()
	inOrder(t, got, "line", 0, 10)
	for i, e := range got {
		want := ingest.Kernel
		if i >= 5 {
			want = ingest.Kubelet
		}
		if e.Source != want || e.Trust != ingest.Attested || e.Node != "node-1" || e.Boot != bootA || e.Line != i+1 ||
			e.Cursor == "" || e.Doc != "journal" {
			t.Errorf("entry %d: %+v", i, e)
		}
	}
	if len(r.gaps()) > 0 || r.read() != 10 || r.reader.Unreadable() {
		t.Errorf("gaps %+v, %d records, unreadable %v", r.gaps(), r.read(), r.reader.Unreadable())
	}
	for _, s := range []ingest.Source{ingest.Kernel, ingest.Kubelet} {
		c := r.covered(s)
		if len(c) != 1 || !c[0].Mark.From.Equal(start) || !c[0].Mark.To.Equal(r.last().Reached) || c[0].Boot != bootA ||
			c[0].Node != "node-1" || c[0].Trust != ingest.Attested {
			t.Errorf("%s covered: %+v", s, c)
		}
	}
	if c := r.covered(ingest.Kata); len(c) != 0 {
		t.Errorf("kata never spoke, but is covered: %+v", c)
	}
	if err := r.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// What journald wrote while nobody read is found by the cursor; a source that
// has been quiet since then is covered, because it has spoken in this boot.
func TestResumeCoversTheQuiet(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	file := filepath.Join(dir, strange, "system.journal")
	store(t, file, exported(bootA, start, 0, 3, fromKernel...)+exported(bootA, start, 3, 3, fromKubelet...))
	c := Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA}
	r := follow(t, c)
	r.tail()
	r.stop()
	c.Cursor, c.Since = r.last().Cursor, r.last().At
	r = follow(t, c)
	r.tail()
	if b := r.last(); len(r.entries()) != 0 || b.Cursor != c.Cursor || !b.At.Equal(c.Since) {
		t.Errorf("%d entries, cursor %q at %v, want %q at %v", len(r.entries()), b.Cursor, b.At, c.Cursor, c.Since)
	}
	store(t, file, exported(bootA, start, 6, 3, fromKubelet...))
	r.lines(3)
	r.tail()
	inOrder(t, r.entries(), "line", 6, 3)
	for _, s := range []ingest.Source{ingest.Kernel, ingest.Kubelet} {
		if c := r.covered(s); len(c) != 1 || !c[0].Mark.From.Equal(start.Add(5*time.Millisecond)) ||
			!c[0].Mark.To.Equal(r.last().Reached) {
			t.Errorf("%s covered: %+v", s, c)
		}
	}
	if len(r.gaps()) > 0 {
		t.Errorf("gaps: %+v", r.gaps()[0].Mark)
	}
}

// Each boot is covered on its own: the one that is over up to its last record.
func TestCoverageIsPerBoot(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	store(t, filepath.Join(dir, strange, "system.journal"),
		exported(bootA, start, 0, 10, fromKernel...)+exported(bootB, start.Add(time.Minute), 0, 10, fromKernel...))
	r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootB})
	r.tail()
	c := r.covered(ingest.Kernel)
	if len(c) != 2 || c[0].Boot != bootA || c[1].Boot != bootB {
		t.Fatalf("kernel covered: %+v", c)
	}
	if m := c[0].Mark; !m.From.Equal(start) || !m.To.Equal(start.Add(9*time.Millisecond)) {
		t.Errorf("boot A: %+v", m)
	}
	if m := c[1].Mark; !m.From.Equal(start.Add(time.Minute)) || !m.To.Equal(r.last().Reached) {
		t.Errorf("boot B: %+v, reached %v", m, r.last().Reached)
	}
}

// journald's own word that it dropped records of a unit ends what is covered of
// that source, from its last record on, and of no other source.
func TestSuppressedEndsCoverage(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	driver := []string{"_TRANSPORT=driver", "SYSLOG_IDENTIFIER=systemd-journald",
		"MESSAGE_ID=a596d6fe7bfa4994828e72309e95d61e"}
	told := exported(bootA, start, 20, 1, driver...)
	told = told[:len(told)-len("MESSAGE=line 20\n\n")] + "MESSAGE=Suppressed 12 messages from kubelet.service\n\n"
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, 10, fromKubelet...)+
		exported(bootA, start, 10, 10, fromKernel...)+told+exported(bootA, start, 21, 5, fromKubelet...))
	r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA})
	r.tail()
	at := func(n int) time.Time { return start.Add(time.Duration(n) * time.Millisecond) }
	gaps := r.gaps()
	if len(gaps) != 1 || gaps[0].Source != ingest.Kubelet || gaps[0].Node != "node-1" ||
		!gaps[0].Mark.From.Equal(at(9)) || !gaps[0].Mark.To.Equal(at(20)) {
		t.Fatalf("gaps: %+v", gaps)
	}
	c := r.covered(ingest.Kubelet)
	if len(c) != 2 || !c[0].Mark.From.Equal(at(0)) || !c[0].Mark.To.Equal(at(9)) || !c[1].Mark.From.Equal(at(20)) {
		t.Errorf("kubelet covered: %+v", c)
	}
	if c := r.covered(ingest.Kernel); len(c) != 1 || !c[0].Mark.From.Equal(at(0)) {
		t.Errorf("kernel covered: %+v", c)
	}
}

// A first start looks back as far as it is told.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, 100, fromKernel...))
	now := start.Add(time.Minute)
	r := follow(t, Config{Dirs: []string{dir}, Boot: bootA, MaxAge: time.Minute - 40*time.Millisecond,
		Now: func() time.Time { return now }})
	r.lines(60)
	r.tail()
	inOrder(t, r.entries(), "line", 40, 60)
	if len(r.gaps()) > 0 || r.entries()[0].Node != "worker-7" || r.covered(ingest.Kernel)[0].Node != "worker-7" {
		t.Errorf("gaps %v, first %+v", r.gaps(), r.entries()[0])
	}
}

// A saved position that is no cursor, or of a journal that is gone, costs a gap
// and not the records.
func TestCursorOfAnotherJournal(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootB, start, 0, 10, fromKernel...))
	since := start.Add(-time.Minute)
	for cursor, why := range map[string]string{
		"nonsense": "the saved position is not a journal cursor",
		"s=00000000000000000000000000000001;i=5;b=" + bootA + ";m=5;t=" + strconv.FormatInt(since.UnixMicro(),
			16) + ";x=1": "journal vacuumed past the saved position",
	} {
		r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootB, Cursor: cursor, Since: since})
		r.tail()
		inOrder(t, r.entries(), "line", 0, 10)
		gaps := r.gaps()
		if len(gaps) != len(hosts) || !strings.HasPrefix(gaps[0].Mark.Why, why) || !gaps[0].Mark.From.Equal(since) ||
			!gaps[0].Mark.To.Equal(start) {
			t.Errorf("%s: gaps %+v", cursor, gaps)
		}
	}
}

// After a clock was set back nothing comes after the saved position; the
// records of now are read all the same.
func TestClockWasSetBack(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootB, start, 0, 10, fromKernel...))
	ahead := start.Add(48 * time.Hour)
	cursor := "s=00000000000000000000000000000001;i=5;b=" + bootA + ";m=5;t=" + strconv.FormatInt(ahead.UnixMicro(),
		16) + ";x=1"
	r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootB, Cursor: cursor,
		SelfCheck: 50 * time.Millisecond})
	r.lines(10)
	inOrder(t, r.entries(), "line", 0, 10)
	if gaps := r.gaps(); len(gaps) != len(hosts) || !strings.Contains(gaps[0].Mark.Why,
		"saved position is not in the journal") {
		t.Errorf("gaps %+v", gaps)
	}
	if r.reader.Unreadable() {
		t.Error("unreadable")
	}
}

// A folder that does not exist yet is waited for.
func TestWaitsForFiles(t *testing.T) {
	t.Parallel()
	top, start := t.TempDir(), time.Now().Add(-time.Hour)
	var log syncBuffer
	r := follow(t, Config{Dirs: []string{filepath.Join(top, "var"), filepath.Join(top, "run")}, Boot: bootA,
		Log: zerolog.New(&log)})
	eventually(t, "the note that it waits", func() bool {
		return strings.Contains(log.String(),
			"waiting for some to appear")
	})
	store(t, filepath.Join(top, "run", strange, "system.journal"), exported(bootA, start, 0, 3, fromKernel...))
	r.lines(3)
	if n := strings.Count(log.String(), "waiting"); n != 1 {
		t.Errorf("it says %d times that it waits", n)
	}
}

// Files of which nothing can be read are an alarm and a gap, until something
// can be read.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	file := filepath.Join(dir, strange, "system.journal")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Repeat("garbage", 5000)), 0o644); err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	since := start.Add(-time.Minute)
	cursor := "s=00000000000000000000000000000001;i=5;b=" + bootA + ";m=5;t=" + strconv.FormatInt(since.UnixMicro(),
		16) + ";x=1"
	r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA, Cursor: cursor, Since: since,
		SelfCheck: 100 * time.Millisecond, Log: zerolog.New(&log)})
	r.until("gaps", func(Batch) bool { return len(r.gaps()) >= len(hosts) })
	for i, g := range r.gaps() {
		if g.Source != hosts[i] || g.Mark.Kind != ingest.Gap || !g.Mark.From.Equal(since) || g.Node != "node-1" ||
			!strings.Contains(g.Mark.Why, "can be read") {
			t.Errorf("gap %+v %+v", g, g.Mark)
		}
	}
	if out := log.String(); !r.reader.Unreadable() || strings.Count(out, `"level":"error"`) != 1 ||
		!strings.Contains(out, "libsystemd here may be older") {
		t.Errorf("unreadable %v, log %s", r.reader.Unreadable(), out)
	}
	if b := r.last(); b.Reached.After(since) || len(b.Covered) > 0 || b.Cursor != cursor {
		t.Errorf("it claims to have read: %+v", b)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	store(t, file, exported(bootA, start, 0, 10, fromKernel...))
	r.lines(10)
	r.tail()
	if r.reader.Unreadable() || r.covered(ingest.Kernel) == nil {
		t.Errorf("unreadable %v, covered %v", r.reader.Unreadable(), r.covered(ingest.Kernel))
	}
}

// Records of earlier boots do not make up for those of the running one: the
// host may write a format by now that is passed over.
func TestOldBootsProveNothing(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, 10, fromKernel...))
	r := follow(t, Config{Dirs: []string{dir}, Node: "node-1", Boot: bootB, SelfCheck: 100 * time.Millisecond})
	r.until("gaps", func(Batch) bool { return len(r.gaps()) >= len(hosts) })
	inOrder(t, r.entries(), "line", 0, 10)
	if !r.reader.Unreadable() {
		t.Error("it is readable")
	}
	end := start.Add(9 * time.Millisecond)
	if c := r.covered(ingest.Kernel); len(c) != 1 || !c[0].Mark.To.Equal(end) || !r.last().Reached.Equal(end) {
		t.Errorf("kernel covered: %+v, reached %v, want the last record's %v", c, r.last().Reached, end)
	}
}

// A folder that cannot be listed ends Run with words on what to do.
func TestNoFolder(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	err := New(Config{Dirs: []string{file}}).Run(t.Context(), func(Batch) error { return nil })
	if err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "systemd-journal") {
		t.Errorf("Run: %v", err)
	}
}

// So does one that may not be listed: silence would look like a quiet node.
func TestNoAccess(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip(
			"not shown without root, which takes its own rights away for a moment: a folder without access is an error",
		)
	}
	top := t.TempDir()
	dir := filepath.Join(top, strange)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := errors.Join(os.Chmod(top, 0o755), os.Chmod(filepath.Dir(top), 0o755),
		syscall.Setfsuid(65534)); err != nil {
		t.Fatal(err)
	}
	_, _, err := newestFile(dir)
	if back := syscall.Setfsuid(0); back != nil {
		t.Fatal(back)
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "systemd-journal") {
		t.Errorf("written: %v", err)
	}
}

// Damaged files are read as far as they go, and end nothing.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC()
	file := filepath.Join(dir, strange, "system.journal")
	store(t, file, exported(bootA, start, 0, 2000, append(fromKernel, "PADDING="+strings.Repeat("x", 900))...))
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dice := rand.New(rand.NewPCG(1, 2))
	fewer := 0
	for range 60 {
		data := slices.Clone(whole)
		switch dice.IntN(4) {
		case 0:
			data = data[:dice.IntN(len(data))]
		case 1:
			for range 1 + dice.IntN(3) {
				data[dice.IntN(240)] = byte(dice.Uint32()) // in the header
			}
		case 2:
			for range 1 + dice.IntN(200) {
				data[dice.IntN(len(data))] = byte(dice.Uint32())
			}
		case 3:
			i := dice.IntN(len(data))
			clear(data[i:min(len(data), i+1<<dice.IntN(18))])
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
		lines := 0
		f := newFollower(
			New(Config{Dirs: []string{dir}, Boot: bootA}),
			func(b Batch) error { lines += b.Lines; return nil },
		)
		for steps := 0; !f.src.atEnd && steps < 10; steps++ {
			if err := f.readStep(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		f.src.close()
		if lines+f.out.Lines > 2000 {
			t.Fatalf("%d records of 2000", lines)
		}
		if lines+f.out.Lines < 2000 {
			fewer++
		}
	}
	if fewer < 10 {
		t.Errorf("only %d of 60 files were damaged so that it shows", fewer)
	}
}

// syncBuffer is a log that a test reads while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// Records that are as large as anybody on the node may write them make batches of a
// bounded size.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	dir, start := t.TempDir(), time.Now().Add(-time.Hour).UTC().Truncate(time.Millisecond)
	fields := slices.Clone(fromKubelet)
	for i := range 40 {
		fields = append(fields, fmt.Sprintf("F%d=%s", i, strings.Repeat("x", 2000)))
	}
	const n = 400
	store(t, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, n, fields...))
	r := follow(t, Config{Dirs: []string{dir}, Boot: bootA})
	r.tail()
	for _, b := range r.all {
		size := 0
		for _, e := range b.Entries {
			size += len(e.Text)
			for _, v := range e.Fields {
				size += len(v)
			}
		}
		if size > maxBytes+100_000 {
			t.Errorf("%d records of %d bytes", len(b.Entries), size)
		}
	}
	if inOrder(t, r.entries(), "line", 0, n); len(r.all) < 4 {
		t.Errorf("%d batches", len(r.all))
	}
}
