//go:build linux && cgo && !nojournal

package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// counted says that the numbers of all records that were read follow each other.
func counted(t *testing.T, entries []ingest.Entry) {
	t.Helper()
	for i := 1; i < len(entries); i++ {
		if entries[i].Line != entries[i-1].Line+1 {
			t.Fatalf("record %d comes after %d: %q after %q", entries[i].Line, entries[i-1].Line, entries[i].Text,
				entries[i-1].Text)
		}
	}
}

// Records that come while journald rotates its files are read once each, in
// order, without a gap, and the files that it deletes are let go.
func TestFollowOverRotationAndVacuum(t *testing.T) {
	d := startJournald(t, "Storage=volatile", "RuntimeMaxFiles=3")
	r := follow(t, Config{Dirs: []string{d.persistent(), d.volatile()}, Node: "node-1"})
	d.send(200, 0)
	r.text("test 199")
	most := openFiles(t)
	for range 20 {
		d.rotate()
		d.send(100, 0)
		r.text("test " + itoa(d.sent-1))
	}
	r.tail()
	if n := openFiles(t); n > most+3 {
		t.Errorf("%d journal files are open after 20 rotations, %d were before", n, most)
	}
	got := r.entries()
	counted(t, got)
	inOrder(t, got, "test", 0, d.sent)
	if gaps := r.gaps(); len(gaps) > 0 {
		t.Errorf("gaps: %+v", gaps[0])
	}
	if c := r.covered(ingest.Systemd); len(c) != 1 || !c[0].Mark.To.Equal(r.last().Reached) {
		t.Errorf("systemd covered: %+v", c)
	}
}

// The kernel's own records come through journald as the kernel's.
func TestKernelIsAttested(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile", "ReadKMsg=yes")
	r := follow(t, Config{Dirs: []string{d.volatile()}})
	d.send(1, 0)
	r.text("test 0")
	i := slices.IndexFunc(r.entries(), func(e ingest.Entry) bool { return e.Source == ingest.Kernel })
	if i < 0 {
		t.Skip("not shown without a record in /dev/kmsg: the kernel's records are attested")
	}
	if e := r.entries()[i]; e.Trust != ingest.Attested || e.Node == "" || e.Boot == "" {
		t.Errorf("%+v", e)
	}
	host, _ := os.Hostname()
	if c := r.covered(ingest.Kernel); len(c) != 1 || c[0].Node != host {
		t.Errorf("kernel covered: %+v, host %q", c, host)
	}
}

// The users' files have numberings of their own that share the system's
// counter. libsystemd can pass over a record of one file while it reads
// another; the reader then looks again.
func TestUsersShareTheCounter(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=persistent", "SystemMaxFileSize=2M")
	d.call("FlushToVar")
	r := follow(t, Config{Dirs: []string{d.persistent()}})
	pad := "PADDING=" + strings.Repeat("x", 300)
	const n = 20000
	sent := make(chan bool)
	go func() {
		defer close(sent)
		for i := range n {
			d.send(1, uint32([]int{0, 1000, 0, 1001, 0, 0}[i%6]), pad)
		}
	}()
	r.text("test " + itoa(n-1))
	<-sent
	r.tail()
	got := r.entries()
	counted(t, got)
	inOrder(t, got, "test", 0, d.sent)
	if gaps := r.gaps(); len(gaps) > 0 {
		t.Errorf("%d gaps: %+v", len(gaps), gaps[0].Mark)
	}
	if files, _ := filepath.Glob(d.persistent() + "/*/user-1000*.journal"); len(files) == 0 {
		t.Error("journald made no file for the user: nothing was shown")
	}
}

// When journald moves its records from memory to disk they get new numbers;
// none is lost or read twice.
func TestFlushToDisk(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=persistent")
	r := follow(t, Config{Dirs: []string{d.persistent(), d.volatile()}})
	d.send(500, 0)
	r.text("test 499")
	cursor, at := r.last().Cursor, r.last().At
	d.send(300, 0) // unread, or only just read, when the files move
	d.call("FlushToVar")
	d.send(300, 0)
	r.text("test " + itoa(d.sent-1))
	r.tail()
	inOrder(t, r.entries(), "test", 0, d.sent)
	if gaps := r.gaps(); len(gaps) > 0 {
		t.Errorf("%d gaps: %+v", len(gaps), gaps[0].Mark)
	}
	// A cursor that was saved before the move is still good.
	again := follow(t, Config{Dirs: []string{d.persistent(), d.volatile()}, Cursor: cursor, Since: at})
	again.text("test " + itoa(d.sent-1))
	inOrder(t, again.entries(), "test", 500, d.sent-500)
	if gaps := again.gaps(); len(gaps) > 0 {
		t.Errorf("%d gaps after the restart: %+v", len(gaps), gaps[0].Mark)
	}
}

// Before a file system goes away journald writes to memory again, and later
// back to disk; the reader goes along.
func TestBackToMemory(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=persistent")
	dirs := []string{d.persistent(), d.volatile()}
	d.call("FlushToVar")
	d.send(100, 0)
	r := follow(t, Config{Dirs: dirs})
	r.text("test 99")
	for range 2 {
		d.call("RelinquishVar")
		d.send(100, 0)
		r.text("test " + itoa(d.sent-1))
		d.call("FlushToVar")
		d.send(100, 0)
		r.text("test " + itoa(d.sent-1))
	}
	r.tail()
	inOrder(t, r.entries(), "test", 0, d.sent)
	if gaps := r.gaps(); len(gaps) > 0 {
		t.Errorf("%d gaps: %+v", len(gaps), gaps[0].Mark)
	}
}

var errStop = errors.New("stopped in the middle")

// A reader that ends anywhere, even in emit, is followed by one that goes on at
// the last cursor that was safe: every number is read once, also over rotation.
func TestStopAnywhere(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile")
	c := Config{Dirs: []string{d.volatile()}}
	var got []ingest.Entry
	lines, lives := 0, 0
	for len(got) == 0 || got[len(got)-1].Text != "test 14999" {
		if lives++; lives > 100 {
			t.Fatalf("100 readers read %d records", len(got))
		}
		if d.sent < 15000 {
			d.send(700, 0)
			d.rotate()
			d.send(800, 0)
		}
		n := 0
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		err := New(c).Run(ctx, func(b Batch) error {
			if n++; n > 1+lives%3 {
				return errStop // this batch is lost
			}
			for _, e := range b.Entries {
				if e.Mark != nil {
					t.Errorf("a gap: %+v", e.Mark)
					continue
				}
				got = append(got, e)
			}
			lines += b.Lines
			c.Cursor, c.Since = b.Cursor, b.At
			return nil
		})
		cancel()
		if !errors.Is(err, errStop) {
			t.Fatalf("Run: %v", err)
		}
	}
	counted(t, got)
	inOrder(t, got, "test", 0, 15000)
	if lines != len(got) || lives < 10 {
		t.Errorf("%d lines, %d entries, %d lives", lines, len(got), lives)
	}
}

// What was deleted while nobody read is a gap of every host source, from the
// saved position to the first record that is left; coverage begins behind it.
func TestVacuumedPastTheCursor(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile")
	c := Config{Dirs: []string{d.volatile()}, Node: "node-1"}
	d.send(100, 0)
	r := follow(t, c)
	r.text("test 99")
	r.stop()
	c.Cursor, c.Since = r.last().Cursor, r.last().At
	d.send(100, 0)
	d.rotate()
	vacuum(t, d.volatile())
	d.send(100, 0)
	r = follow(t, c)
	r.text("test 299")
	r.tail()
	checkGap(t, r, c.Since, "journal vacuumed past the saved position")
	got := r.entries()
	counted(t, got)
	if got[0].Line <= 100 {
		t.Errorf("the first record is %d", got[0].Line)
	}
}

// vacuum deletes all archived files.
func vacuum(t *testing.T, dir string) {
	t.Helper()
	files, _ := filepath.Glob(dir + "/*/*@*.journal")
	if len(files) == 0 {
		t.Fatal("no archived files")
	}
	for _, f := range files {
		if err := os.Remove(f); err != nil {
			t.Fatal(err)
		}
	}
}

// checkGap wants one gap of each host source, and no coverage over it.
func checkGap(t *testing.T, r *run, from time.Time, why string) {
	t.Helper()
	gaps := r.gaps()
	if len(gaps) != len(hosts) {
		t.Fatalf("%d gaps, want %d: %+v", len(gaps), len(hosts), gaps)
	}
	for i, g := range gaps {
		if g.Source != hosts[i] || g.Trust != ingest.Attested || g.Node != "node-1" || g.Mark.Kind != ingest.Gap ||
			!strings.HasPrefix(g.Mark.Why, why) {
			t.Errorf("gap %+v %+v", g, g.Mark)
		}
		if !g.Mark.From.Equal(from) || !g.Mark.To.After(from) {
			t.Errorf("gap of %s from %v to %v, want from %v", g.Source, g.Mark.From, g.Mark.To, from)
		}
	}
	to := gaps[0].Mark.To
	covered := r.covered(ingest.Systemd)
	if len(covered) == 0 || covered[len(covered)-1].Mark.From.Before(to) {
		t.Errorf("systemd covered %+v, the gap ends at %v", covered, to)
	}
	for _, c := range covered[:len(covered)-1] {
		if c.Mark.To.After(from) {
			t.Errorf("covered up to %v, over a gap from %v", c.Mark.To, from)
		}
	}
}

// Records that were deleted before a slow reader came to them leave a hole in
// the numbers.
func TestVacuumedWhileBehind(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile")
	d.send(1500, 0)
	r := follow(t, Config{Dirs: []string{d.volatile()}, Node: "node-1"})
	r.lines(1) // of the second batch some is read now; the reader waits in emit
	d.send(3000, 0)
	d.rotate()
	vacuum(t, d.volatile())
	d.send(100, 0)
	r.text("test 4599")
	r.tail()
	var before ingest.Entry // the last record that was read before the hole
	for _, e := range r.entries() {
		if before.Line > 0 && e.Line != before.Line+1 {
			break
		}
		before = e
	}
	p, _ := parsePosition(before.Cursor)
	checkGap(t, r, p.storedAt(), "journal ")
}

// journald that is killed and started again begins a new numbering that goes on
// with the same counter.
func TestKilledJournald(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile")
	r := follow(t, Config{Dirs: []string{d.volatile()}})
	d.send(100, 0)
	r.text("test 99")
	d.kill()
	d.start()
	d.send(100, 0)
	r.text("test 199")
	r.tail()
	inOrder(t, r.entries(), "test", 0, 200)
	if gaps := r.gaps(); len(gaps) > 0 {
		t.Errorf("gaps: %+v", gaps[0].Mark)
	}
}

// While nothing happens batches come at least once a second, and Reached goes on.
func TestIdle(t *testing.T) {
	t.Parallel()
	d := startJournald(t, "Storage=volatile")
	r := follow(t, Config{Dirs: []string{d.volatile()}})
	d.send(1, 0)
	r.text("test 0")
	r.tail()
	before, begun, n := r.last().Reached, time.Now(), 0
	r.until("three idle batches", func(b Batch) bool {
		if b.Lines == 0 {
			n++
		}
		return n == 3
	})
	if took := time.Since(begun); took > 8*time.Second {
		t.Errorf("three idle batches took %v", took)
	}
	if b := r.last(); b.Reached.Sub(before) < 2*time.Second || b.Behind != 0 {
		t.Errorf("reached %v, %v before", b.Reached, before)
	}
}
