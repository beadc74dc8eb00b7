package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/google/go-cmp/cmp"
)

// record is the position of record number in the numbering id, stored ms
// milliseconds after the boot began.
func record(id string, number uint64, boot string, ms uint64) position {
	c := fmt.Sprintf("s=%s;i=%x;b=%s;m=%x;t=%x;x=%x", id, number, boot, ms*1000, 1777888800000000+ms*1000, ms)
	p, ok := parsePosition(c)
	if !ok {
		panic(c)
	}
	return p
}

func TestParsePosition(t *testing.T) {
	p, ok := parsePosition("s=aa;i=1f;b=bb;m=a;t=650fae1f2c9a0;x=cc")
	want := position{cursor: p.cursor, id: "aa", number: 31, boot: "bb", mono: 10, real: 0x650fae1f2c9a0, sum: "cc",
		before: "s=aa;i=", behind: ";b=bb;m="}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(position{})); !ok || diff != "" {
		t.Error(ok, diff)
	}
	for _, bad := range []string{"", "nonsense", "s=aa;i=1f;b=bb;m=a;t=1", "s=aa;i=xyz;b=bb;m=a;t=1;x=c",
		"s=;i=1;b=b;m=a;t=1;x=c", "s=a;i=1;b=b;m=a;t=ffffffffffffffff;x=c"} {
		if p, ok := parsePosition(bad); ok {
			t.Errorf("%q: %+v", bad, p)
		}
	}
	if !(position{}).storedAt().IsZero() {
		t.Error("no position has a time")
	}
}

// What plainly comes next is seen without taking the cursor apart, and nothing
// else is taken for it.
func TestPlainlyNext(t *testing.T) {
	at := record("a", 0x1f, "x", 1)
	for _, c := range []struct {
		cursor string
		want   bool
	}{
		{record("a", 0x20, "x", 2).cursor, true},
		{record("a", 0x20, "x", 1).cursor, false}, // may be a copy
		{record("a", 0x1f, "x", 2).cursor, false},
		{record("a", 0x21, "x", 2).cursor, false},
		{record("b", 0x20, "x", 2).cursor, false},
		{record("ab", 0x20, "x", 2).cursor, false},
		{record("a", 0x20, "y", 2).cursor, false},
		{"s=a;i=20;b=x;m=7d0;t=650fae1f2c9a0;x=0", true},
		{"s=a;i=20;b=x;m=7d0;t=650fae1f2c9a0;x=", false},
		{"s=a;i=20;b=x;m=7d0;t=ffffffffffffffff;x=1", false},
		{"s=a;i=20;b=x;m=;t=650fae1f2c9a0;x=1", false},
		{"i=20;s=a;b=x;m=7d0;t=650fae1f2c9a0;x=1", false},
		{"", false},
		{"s=a", false},
	} {
		m, ok := at.plainlyNext([]byte(c.cursor))
		if ok != c.want {
			t.Errorf("%s: %v", c.cursor, ok)
		}
		if p, parsed := parsePosition(c.cursor); ok && (!parsed || m != moment{p.number, p.mono, p.real}) {
			t.Errorf("%s: %+v, want %+v", c.cursor, m, p)
		}
	}
}

func TestNumbering(t *testing.T) {
	for _, c := range []struct {
		what string
		read []position
		next position
		want step
	}{
		{"the first", nil, record("a", 7, "x", 1), follows},
		{"the next", []position{record("a", 7, "x", 1)}, record("a", 8, "x", 2), follows},
		{"one is missing", []position{record("a", 7, "x", 1)}, record("a", 9, "x", 2), jumps},
		{"read before", []position{record("a", 7, "x", 1), record("a", 8, "x", 2)}, record("a", 8, "x", 2), repeated},
		{"read long before", []position{record("a", 7, "x", 1), record("a", 8, "x", 2)}, record("a", 7, "x", 1),
			repeated},
		{"stored twice at a rotation", []position{record("a", 7, "x", 1)}, record("a", 8, "x", 1), copied},
		{"a user's file takes the next number", []position{record("a", 7, "x", 1)}, record("u", 8, "x", 2), follows},
		{"the system's after a user's", []position{record("a", 7, "x", 1), record("u", 8, "x", 2)},
			record("a", 9, "x", 3),
			follows},
		{"a user's is missing", []position{record("a", 7, "x", 1), record("u", 8, "x", 2)}, record("a", 10, "x", 4),
			jumps},
		{"an unknown file's before it is missing", []position{record("a", 7, "x", 1)}, record("u", 9, "x", 3), jumps},
		{"another boot's own numbering", []position{record("a", 7, "x", 1)}, record("b", 1, "y", 9), follows},
		{"one numbering over two boots", []position{record("a", 7, "x", 1)}, record("a", 8, "y", 9), follows},
		{"missing between two boots", []position{record("a", 7, "x", 1)}, record("a", 20, "y", 9), jumps},
		{"the numbering began anew", []position{record("a", 700, "x", 1)}, record("a", 1, "x", 9), follows},
		{"a new numbering of the same boot", []position{record("a", 700, "x", 1)}, record("b", 1, "x", 9), follows},
	} {
		var n numbering
		for _, p := range c.read {
			n.noteRead(p)
		}
		if got := n.judgeNext(c.next); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}

// However many numberings there are, few are kept.
func TestNumberingIsBounded(t *testing.T) {
	var n numbering
	for i := range uint64(1000) {
		n.noteRead(record(fmt.Sprint("id", i), i+1, "x", i+1))
	}
	if len(n.ids) != maxIDs || n.judgeNext(record("id999", 1001, "x", 2000)) != follows {
		t.Errorf("%d numberings", len(n.ids))
	}
}

func TestCoverage(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(1777888800+int64(s), 0).UTC() }
	say := func(c *coverage, src ingest.Source, trust ingest.Trust, s int) {
		c.noteRecord("x", at(s))
		c.noteSpeaker(src, trust, at(s))
	}
	spans := func(c *coverage, to int) (out []string) {
		for _, e := range c.takeMarks(nil, at(to)) {
			out = append(out, fmt.Sprintf("%s %s %d-%d", e.Boot, e.Source, e.Mark.From.Unix()-1777888800,
				e.Mark.To.Unix()-1777888800))
		}
		return out
	}
	c := coverage{node: "n"}
	say(&c, ingest.Kernel, ingest.Attested, 0)
	say(&c, ingest.Kubelet, ingest.Attested, 1)
	say(&c, ingest.Containerd, ingest.Claimed, 2) // a claim says nothing about the source
	say(&c, ingest.Job, ingest.Attested, 2)
	check := func(what string, got []string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	check("so far", spans(&c, 5), "x kernel 0-5", "x kubelet 0-5")
	c.noteGap(ingest.Kubelet, c.gapStart(ingest.Kubelet, at(6)), at(8))
	c.noteGap(ingest.Job, at(6), at(8))
	check("after a gap", spans(&c, 9), "x kubelet 0-1", "x kernel 0-9", "x kubelet 8-9")
	check("told once", spans(&c, 10), "x kernel 0-10", "x kubelet 8-10")
	check("looking back", spans(&c, 7), "x kernel 0-7")
	say(&c, ingest.Kernel, ingest.Attested, 12)
	c.noteRecord("y", at(20))
	c.noteSpeaker(ingest.Systemd, ingest.Attested, at(20))
	check("the next boot", spans(&c, 21), "x kernel 0-12", "x kubelet 8-12", "y systemd 20-21")
}

// touch makes a journal file that was written age ago.
func touch(t *testing.T, age time.Duration, parts ...string) {
	t.Helper()
	path := filepath.Join(parts...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	at := time.Now().Add(-age)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestPickAndLook(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 2)
	disk, memory := filepath.Join(t.TempDir(), "var"), filepath.Join(t.TempDir(), "run")
	dirs := []string{disk, memory}
	check := func(what, current, want string) {
		t.Helper()
		got, err := firstDir(dirs)
		if current != "" {
			var f folder
			f, err = findWritten(dirs, current)
			got = f.dir
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	check("nothing at all", "", "")
	touch(t, 0, disk, id+".other", "system.journal") // a namespace of its own
	touch(t, 0, disk, "remote", "x.journal")
	touch(t, 0, disk, id, "notes.txt")
	check("nothing that libsystemd reads", "", "")
	touch(t, time.Minute, memory, id, "system.journal")
	check("only in memory", "", memory)
	check("stays in memory", memory, memory)
	touch(t, 55*time.Second, disk, id, "system@1.journal~")
	check("on disk too", "", disk)
	check("may be copied just now", memory, memory)
	touch(t, 40*time.Second, disk, "system.journal")
	check("memory was left behind", memory, disk)
	touch(t, 30*time.Second, memory, id, "system.journal")
	check("back to memory", disk, memory)
	if err := os.RemoveAll(filepath.Join(memory, id)); err != nil {
		t.Fatal(err)
	}
	check("memory is gone", memory, disk)
}
