package bundle

import (
	"archive/tar"
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

func TestArchives(t *testing.T) {
	inner := packTar("deep/i.log", "in\n")
	for name, c := range map[string]struct {
		file, content string
		want          []string
	}{
		"tar": {"x.tar", packTar("d/b.log", "b\n", "a.log", "a\n"),
			[]string{"x.tar!d/b.log: b", "x.tar!a.log: a"}},
		"tgz": {"x.tgz", gz(packTar("a.log", "a\n")), []string{"x.tgz!a.log: a"}},
		"zip": {"x.zip", packZip("d/b.log", "b\n", "a.log", "a\n"),
			[]string{"x.zip!d/b.log: b", "x.zip!a.log: a"}},
		"gz":             {"k.log.gz", gz("a\n"), []string{"k.log: a"}},
		"text under .gz": {"k.gz", "a\n", []string{"k.gz: a"}},
		"gz twice":       {"k.log.gz", gz("a\n") + gz("b\n"), []string{"k.log: a", "k.log: b"}},
		"gz in tar":      {"x.tar", packTar("0.log.gz", gz("a\n")), []string{"x.tar!0.log: a"}},
		"zip in tgz": {"x.tgz", gz(packTar("y.zip", packZip("i.log", "in\n"))),
			[]string{"x.tgz!y.zip!i.log: in"}},
		"tgz in zip": {"x.zip", packZip("y.tgz", gz(inner)), []string{"x.zip!y.tgz!deep/i.log: in"}},
		"txtar": {"x.txtar", "story\n-- a/b.log --\nb\n-- want.json --\nno\n-- wanted/x --\nyes\n",
			[]string{"x.txtar!a/b.log: b", "x.txtar!wanted/x: yes"}},
		"tgz under .tar":     {"x.tar", gz(packTar("a.log", "a\n")), []string{"x.tar!a.log: a"}},
		"txtar.gz":           {"x.txtar.gz", gz("-- b.log --\nb\n"), []string{"x.txtar.gz!b.log: b"}},
		"txtar by name only": {"x.txt", "-- a.log --\nhello\n", []string{"x.txt: hello"}},
		"paths are labels": {"x.tar", packTar("../../etc/p", "p\n", "/abs", "q\n"),
			[]string{"x.tar!etc/p: p", "x.tar!abs: q"}},
	} {
		b := open(t, filepath.Join(files(t, map[string]string{c.file: c.content}), c.file))
		same(t, name, lines(b), c.want)
		same(t, name+" again", lines(b), c.want)
		same(t, name+" problems", problems(b), nil)
	}
}

// TestBrokenArchives: what can be had is had, and one line says what is wrong.
func TestBrokenArchives(t *testing.T) {
	tarball := packTar("a.log", "a\n", "b.log", strings.Repeat("b\n", 2000))
	packed := gz(tarball)
	var noise strings.Builder
	for i := range 4000 {
		noise.WriteString(strconv.Itoa(i*i) + "\n")
	}
	for name, c := range map[string]struct {
		file, content string
		want          []string // entries
		problem       string
	}{
		"cut tar":       {"x.tar", tarball[:3000], []string{"x.tar!a.log: a"}, "cut off"},
		"cut gz of tar": {"x.tgz", packed[:len(packed)-40], []string{"x.tgz!a.log: a"}, "cut off"},
		"cut gz": {"x.log.gz", gz("a\n" + noise.String())[:5000], []string{"x.log: a", "x.log: 0", "x.log: 1"},
			"cut off"},
		"bad checksum":   {"x.log.gz", gz("a\n")[:20] + "\x00\x00\x00\x00\x00\x00\x00\x00", nil, "x.log"},
		"gz header only": {"x.gz", "\x1f\x8b\x08", nil, "cut off"},
		"cut zip":        {"x.zip", packZip("a.log", "a\n")[:40], nil, "nothing of a zip"},
		"empty zip":      {"x.zip", packZip(), nil, "holds no files"},
		"empty txtar":    {"x.txtar", "just a story\n-- want --\nx\n", nil, "holds no files"},
		"too deep": {"x.tar", packTar("y.tar", packTar("z.tar", packTar("a", "a\n")), "ok", "ok\n"),
			[]string{"x.tar!ok: ok"}, "x.tar!y.tar!z.tar: is an archive inside"},
		"gz four times": {"x.gz", gz(gz(gz(gz("a\n")))), nil, "compressed too often"},
		"xz in zip": {"x.zip", packZip("y.xz", "\xfd7zXZ\x00more", "a.log", "a\n"), []string{"x.zip!a.log: a"},
			"x.zip!y.xz: is compressed with xz"},
	} {
		b := open(t, filepath.Join(files(t, map[string]string{c.file: c.content}), c.file))
		got := lines(b)
		for i, w := range c.want {
			if i >= len(got) || got[i] != w {
				t.Errorf("%s: entries %.80q, want %q", name, got, c.want)
			}
		}
		if ps := strings.Join(problems(b), "\n"); !strings.Contains(ps, c.problem) || ps == "" {
			t.Errorf("%s: problems %q, want %q", name, ps, c.problem)
		}
	}
}

func TestTarSpecials(t *testing.T) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	_ = w.WriteHeader(&tar.Header{Name: "l", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"})
	_ = w.WriteHeader(&tar.Header{Name: "p", Typeflag: tar.TypeFifo})
	_ = w.Close()
	b := open(t, filepath.Join(files(t, map[string]string{"x.tar": buf.String()}), "x.tar"))
	same(t, "entries", lines(b), nil)
	same(t, "problems", problems(b), []string{
		"x.tar!p: is a named pipe, not a file: skipped",
		"x.tar: holds no files; if it holds links, pack it again with `tar -h`",
	})
}

func TestEncryptedZip(t *testing.T) {
	z := []byte(packZip("s.log", "s\n"))
	dir := bytes.Index(z, []byte("PK\x01\x02"))
	z[dir+8] |= 1 // the flag in the directory
	b := open(t, filepath.Join(files(t, map[string]string{"x.zip": string(z)}), "x.zip"))
	same(t, "entries", lines(b), nil)
	same(
		t,
		"problems",
		problems(b),
		[]string{"x.zip!s.log: is encrypted: unpack it with its password and give the file"},
	)
}

// TestBomb: an archive that grows without end is left, and the next input is
// read.
func TestBomb(t *testing.T) {
	zeros := strings.Repeat(strings.Repeat("0", 1023)+"\n", 4096)
	for name, bomb := range map[string]string{
		"a.gz": gz(zeros), "a.tgz": gz(packTar("x.log", zeros)), "a.zip": packZip("x.log", zeros),
		"a.tar": packTar("x.zip", packZip("y.log", zeros)),
	} {
		root := files(t, map[string]string{name: bomb, "b.log": "b\n"})
		b, err := Open([]string{root}, Options{free: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		got := lines(b)
		if n := len(got); n == 0 || n > 4096 || got[n-1] != "root/b.log: b" {
			t.Errorf("%s: %d entries, last %.60q", name, n, got[max(0, n-1)])
		}
		same(
			t,
			name,
			problems(b),
			[]string{
				"root/" + name +
					": unpacks to more than 300 times its size: stopped there; " +
					"unpack it yourself and give the files that matter",
			},
		)
	}
}

func TestLimits(t *testing.T) {
	root := files(
		t,
		map[string]string{
			"a.gz":  gz(strings.Repeat("0123456\n", 20_000)),
			"b.log": strings.Repeat("0123456\n", 1000),
			"c.log": "0123456\n",
		},
	)
	b, err := Open([]string{root}, Options{MaxFile: 1000, MaxUnpacked: 100_000})
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for e := range b.Entries(nil) {
		n[e.Doc]++
	}
	if n["root/b.log"] != 125 || n["root/c.log"] != 1 {
		t.Errorf("entries %v", n)
	}
	same(t, "problems", problems(b), []string{
		"root/a.gz: is longer than one document may be: the rest was not read; give the part that matters",
		"root/b.log: is longer than one document may be: the rest was not read; give the part that matters",
	})
	b, _ = Open([]string{filepath.Join(root, "a.gz")}, Options{MaxUnpacked: 100_000})
	_ = lines(b)
	if ps := problems(b); len(ps) != 1 || !strings.Contains(ps[0], "unpacks to more than 100000 bytes") {
		t.Errorf("problems %q", ps)
	}
	if sizeText(3<<30) != "3 GB" || sizeText(5<<20) != "5 MB" {
		t.Error(sizeText(3<<30), sizeText(5<<20))
	}
}

// FuzzOpen: no bytes make opening an archive panic, hang or read without end.
func FuzzOpen(f *testing.F) {
	f.Add("x.tar", []byte(packTar("a.log", "a\n", "b.zip", packZip("c", "d\n"))))
	f.Add("x.zip", []byte(packZip("a.log", "a\n", "b.tgz", gz(packTar("c", "d\n")))))
	f.Add("x.txtar", []byte("-- a.json --\n{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}\n-- b.gz --\n"))
	f.Add("", []byte(gz("kind: Pod\nmetadata: {name: x}\nstatus: {}\n")))
	f.Add("", []byte("\xff\xfek\x00i\x00n\x00d\x00:\x00"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		b := &Bundle{opts: Options{MaxFile: 1 << 20, MaxUnpacked: 4 << 20}.defaults(), known: map[Problem]bool{}}
		x := expander{
			bundle:  b,
			members: new(atomic.Int64),
			visit:   (&reading{bundle: b, tally: b.newTally(nil), yield: checkEntry(t)}).document,
		}
		s := source{name: name, size: int64(len(data)), meter: b.opts.newMeter(int64(len(data)))}
		s.openAs(bytes.NewReader(data), nil)
		_ = x.settleError(name, x.expandSource(s))

	})
}

// What is packed under another name can be the output of a job, which chose what is in it and
// what that is called.
func TestPackedUnderAnotherName(t *testing.T) {
	for name, content := range map[string]string{
		"k.log":   gz("a\n"),
		"x":       gz(packTar("node.log", "a\n")),
		"runner":  packTar("node.log", "a\n"),
		"out.txt": packZip("node.log", "a\n"),
		"x.gzi":   gz("a\n"),
	} {
		b := Bytes(name, []byte(content), Options{})
		for e := range b.Entries(nil) {
			t.Errorf("%s: read %q", name, e.Text)
		}
		if p := b.Problems(); len(p) != 1 || !strings.Contains(p[0].Text, "not called one") {
			t.Errorf("%s: %v", name, p)
		}
		b.Close()
	}
}
