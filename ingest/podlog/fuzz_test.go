package podlog

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/podlog/header"
)

const stamped = "2026-05-04T10:00:00.123456789Z std"

var lineSeeds = []string{
	stamped + "out F hello", stamped + "out P half", stamped + "err P:x y", stamped + "out P", stamped + "out",
	"2026-05-04T10:00:00+02:00 stdout F x",
	"2026-05-04T10:00:00Z  stdout F x", "2026-05-04 10:00:00Z stdout P x", "", " ", "{",
	`{"log":"x\n","stream":"stdout","time":"2026-05-04T10:00:00.5Z"}`,
	stamped + "out F 2026-05-04T10:00:00Z stdout P x", "\xff\x00\r", "9999-99-99T99:99:99Z stdout P x",
}

// FuzzSplit: a line that is called split is held back by the feed, so that a
// place between two records is one for both.
func FuzzSplit(f *testing.F) {
	for _, s := range lineSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		h := header.Read(line)
		if (h.Split || h.Whole) && h.At.IsZero() || h.Split && h.Whole {
			t.Errorf("%q: %+v", line, h)
		}
		feed := document.Document{Name: "ci_a_" + uid + "/runner/0.log"}.Feed()
		held := len(feed.Line(line, 0)) == 0 && len(feed.Flush()) > 0
		if held && !h.Split && len(bytes.TrimSpace(line)) > 0 && bytes.HasPrefix(line,
			[]byte("2026-05-04T10:00:00.123456789Z stdout P ")) {
			t.Errorf("%q: held back, but not called split", line)
		}
		header.FirstTime(line)
	})
}

// FuzzNames: a name that is read can be written, and only the kubelet's own are
// read.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"0.log", "12.log.20260504-120000", "0.log.20260504-120000.gz",
		"0.log.20260504-120000.tmp", "00.log", "ci_a_" + uid, "a/b", "..", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if l, ok := parseLogName(name); ok && l.String() != name {
			t.Errorf("%q is read as %q", name, l)
		}
		if isPod(name) && strings.ContainsAny(name, "/\n\x00") {
			t.Errorf("%q is a pod", name)
		}
		if id, err := identify(name); err == nil && (id.PodUID == "" || id.Namespace == "" ||
			!strings.HasSuffix(name, "/"+id.Container)) {
			t.Errorf("%q is %+v", name, id)
		}
	})
}

// FuzzPosition: no stored position makes the reader panic or read amiss.
func FuzzPosition(f *testing.F) {
	path := "ci_a_" + uid + "/runner"
	for _, p := range []Position{{Stream: path}, {Stream: path, Print: fingerprint([]byte("2026")), Hashed: 4,
		Offset: 45, Lines: 1, PendingLastLines: &PendingLastLines{Offset: 3}}} {
		data, err := json.Marshal(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		var p Position
		if json.Unmarshal(data, &p) != nil {
			return
		}
		n := &node{t: t, dir: dir, now: dawn}
		c := n.runner("a")
		c.count(0, 3)
		name := c.rotate()
		c.count(3, 5)
		s := n.steps(Config{Resume: []Position{p}})
		s.polls(3)
		if got := texts(s.entries, ""); p.checkValid() == nil && p.Hashed == 0 && !p.Ended && !p.Skips &&
			p.Stream == c.path && p.Restart == 0 {
			same(t, "texts", got, numbered(0, 5))
		}
		s.r.closeAll()
		n.must(os.Remove(c.file(name)))
		c.delete()
	})
}

// FuzzRead: whatever a file holds and however it is split over reads, rotations
// and restarts, each of its lines counts once. Without a restart its records are
// those of the saved file.
func FuzzRead(f *testing.F) {
	f.Add([]byte(strings.Join(lineSeeds, "\n")), uint16(7), uint16(300), true)
	f.Add([]byte(strings.Repeat(stamped+"out P x\n", 50)), uint16(100), uint16(900), false)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, first, second uint16, restart bool) {
		if len(data) > 1<<16 {
			return
		}
		a := min(int(first), len(data))
		b := min(a+int(second), len(data))
		n := &node{t: t, dir: dir, now: dawn}
		c := n.runner("a")
		s := n.steps(Config{})
		s.polls(1) // what comes later is not too old
		c.raw(string(data[:a]))
		s.polls(1)
		if restart {
			s = s.again(n, Config{})
		}
		c.raw(string(data[a:b]))
		s.polls(1)
		c.raw(string(data[b:]))
		s.polls(1)
		c.delete()
		s.polls(3)
		checkRead(t, s, data, restart)
	})
}

func checkRead(t *testing.T, s *steps, data []byte, restart bool) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	if s.lines != len(lines) || len(s.gaps) != 0 || s.r.Open() != 0 {
		t.Errorf("%d lines, want %d; gaps %v, %d open", s.lines, len(lines), s.gaps, s.r.Open())
	}
	for _, e := range s.entries {
		if len(e.Text) > ingest.MaxText || e.Line < 1 || e.Line > len(lines) {
			t.Errorf("%+v", e)
		}
	}
	for _, line := range lines {
		if h := header.Read(line); !h.Whole && !h.Split {
			return // no runtime wrote it; what a saved file makes of it is not the point
		}
	}
	if !restart {
		var want []string
		for _, e := range readDocument(t, "ci_a_"+uid+"/runner/0.log", bytes.NewReader(data)) {
			if e.Mark == nil {
				want = append(want, e.Text)
			}
		}
		same(t, "texts", texts(s.entries, ""), want)
	}
}

// FuzzLines: the pieces that a file is read in make no difference.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, piece uint8) {
		var one partialLine
		var got []byte
		take := func(line []byte, cut int, size int64) {
			if size != int64(len(line)+cut+1) {
				t.Errorf("%q takes %d", line, size)
			}
			got = append(append(got, line...), '\n')
		}
		for rest := data; len(rest) > 0; {
			k := min(int(piece)+1, len(rest))
			one.splitLines(rest[:k], partialBytes, take)
			rest = rest[k:]
		}
		one.giveRest(func(line []byte, cut int, size int64) {
			if size != int64(len(line)+cut) {
				t.Errorf("%q takes %d", line, size)
			}
			got = append(got, line...)
		})
		if !bytes.Equal(got, data) {
			t.Errorf("%q became %q", data, got)
		}
	})
}
