package bundle

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files writes a tree and returns its root, a folder named root.
func files(t *testing.T, tree map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "root")
	for name, content := range tree {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// open opens paths with an empty stdin.
func open(t *testing.T, paths ...string) *Bundle {
	t.Helper()
	b, err := Open(paths, Options{Stdin: strings.NewReader("")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// lines lists `doc: text` of every entry, marks left out.
func lines(b *Bundle) (all []string) {
	for e := range b.Entries(nil) {
		if e.Mark == nil {
			all = append(all, e.Doc+": "+e.Text)
		}
	}
	return all
}

// problems lists them as lines.
func problems(b *Bundle) (all []string) {
	for _, p := range b.Problems() {
		all = append(all, p.String())
	}
	return all
}

func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s: %s", what, d)
	}
}

func gz(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.String()
}

// packTar packs name, content, name, content …
func packTar(members ...string) string {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		_ = w.WriteHeader(
			&tar.Header{
				Name:    members[i],
				Size:    int64(len(members[i+1])),
				Mode:    0o600,
				ModTime: time.Unix(1900000000, 0),
			},
		)
		_, _ = io.WriteString(w, members[i+1])
	}
	_ = w.Close()
	return b.String()
}

func packZip(members ...string) string {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		f, _ := w.Create(members[i])
		_, _ = io.WriteString(f, members[i+1])
	}
	_ = w.Close()
	return b.String()
}

func TestEntryAt(t *testing.T) {
	root := files(t, map[string]string{"a.log": "first\nsecond\nthird\n"})
	for line, want := range map[int]string{1: "first", 3: "third", 4: "", 0: ""} {
		if e, found := open(t, filepath.Join(root, "a.log")).EntryAt(line); e.Text != want || found != (want != "") {
			t.Errorf("line %d: %q, want %q", line, e.Text, want)
		}
	}
}

func TestNoPath(t *testing.T) {
	if _, err := Open(nil, Options{}); err == nil {
		t.Error("no error")
	}
}

func TestDirectory(t *testing.T) {
	root := files(t, map[string]string{
		"b.log": "bee\n", "a/z.log": "zed\nzet\n", ".hidden": "hid\n", "a/empty.log": "",
		"system.journal": "LPKSHHRH" + strings.Repeat(
			"\x00",
			100,
		), "core": "\x7fELF\x02\x01\x01\x00\x00\x03\x00\x3e\x00\x01\x02\x03\x04\x05",
		"x.zst": "\x28\xb5\x2f\xfdabc", "._b.log": "\x00\x05\x16\x07junk",
	})
	b := open(t, root)
	same(
		t,
		"entries",
		lines(b),
		[]string{"root/.hidden: hid", "root/a/z.log: zed", "root/a/z.log: zet", "root/b.log: bee"},
	)
	got := strings.Join(problems(b), "\n")
	for _, want := range []string{
		"root/a/empty.log: is empty",
		"root/system.journal: is a binary journal: run `journalctl --file " + root +
			"/system.journal -o export` and give its output",
		"root/core: is binary, not text",
		"root/x.zst: is compressed with zstd, which coroner does not read: run `zstd -d " + root + "/x.zst`",
	} {
		if strings.Count(got, want) != 1 {
			t.Errorf("want %q once in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "._b.log") || !b.Readable() {
		t.Errorf("problems:\n%s", got)
	}
	same(t, "again", lines(b), lines(b))
}

// TestUnreadable: bad inputs are problems, and only all of them together make
// the bundle unreadable.
func TestUnreadable(t *testing.T) {
	root := files(t, map[string]string{"ok.log": "fine\n", "bin": "\x01\x02\x03\x04\x05\x06", "dir/sub/x": ""})
	_ = os.Remove(filepath.Join(root, "dir/sub/x"))
	b := open(t, filepath.Join(root, "missing"), filepath.Join(root, "bin"), filepath.Join(root, "dir"), "-")
	if _ = lines(b); b.Readable() != true || b.Documents() != 1 {
		t.Errorf("empty stdin is a document: %d", b.Documents())
	}
	b = open(t, filepath.Join(root, "missing"), filepath.Join(root, "bin"), filepath.Join(root, "dir"))
	if got := lines(b); b.Readable() || len(got) > 0 {
		t.Errorf("readable %v, entries %q", b.Readable(), got)
	}
	same(
		t,
		"problems",
		problems(b),
		[]string{filepath.Join(root, "missing") + ": no such file", "dir: holds no files", "bin: " + errBinary.Error()},
	)
	b = open(t, filepath.Join(root, "missing"), filepath.Join(root, "ok.log"))
	same(t, "the rest", lines(b), []string{"ok.log: fine"})
}

// TestSpecialFiles: pipes and sockets in a tree are not opened: a pipe without
// a writer would hang for ever.
func TestSpecialFiles(t *testing.T) {
	root := files(t, map[string]string{"a.log": "a\n"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Skipf("hard links are read once: not shown, the file system makes none: %v", err)
	}
	l, err := net.Listen("unix", filepath.Join(root, "sock"))
	if err != nil {
		t.Skipf("hard links are read once: not shown, the file system makes none: %v", err)
	}
	defer l.Close()
	b := open(t, root, filepath.Join(root, "pipe"), "/dev/null")
	same(t, "entries", lines(b), []string{"root/a.log: a"})
	same(t, "problems", problems(b), []string{
		"root/pipe: is a named pipe, not a file: skipped", "root/sock: is a socket, not a file: skipped",
		"pipe: is a named pipe, not a file: skipped", "null: is a device, not a file: skipped",
	})
}

// TestLinks: links are followed to files and within what was given, each file is read
// once and under its own name where it has one in the tree; loops end, and nothing
// leads to folders elsewhere.
func TestLinks(t *testing.T) {
	root := files(t, map[string]string{"pods/real.log": "r\n", "other/o.log": "o\n"})
	outside := files(t, map[string]string{"far.log": "f\n", "deep/d.log": "d\n"})
	for name, target := range map[string]string{
		"containers/link.log": filepath.Join(root, "pods/real.log"),
		"containers/far.log":  filepath.Join(outside, "far.log"),
		"containers/gone.log": "nowhere", "deep": filepath.Join(outside, "deep"),
		"usr": "/usr", "proc": "/proc/self", "pods/loop": root, "self": "self",
	} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755)
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			t.Skipf("hard links are read once: not shown, the file system makes none: %v", err)
		}
	}
	if err := os.Link(filepath.Join(root, "other/o.log"), filepath.Join(root, "other/twin.log")); err != nil {
		t.Skipf("hard links are read once: not shown, the file system makes none: %v", err)
	}
	b := open(t, root, filepath.Join(root, "pods"))
	same(
		t,
		"entries",
		lines(b),
		[]string{"root/containers/far.log: f", "root/other/o.log: o", "root/pods/real.log: r"},
	)
	got := problems(b)
	outsiders := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.Contains(s, "outside of") })
	got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "outside of") })
	if len(outsiders) != 3 || len(got) != 2 || got[0] != filepath.Join(root, "containers/gone.log")+": no such file" ||
		!strings.HasPrefix(got[1], filepath.Join(root, "self")+": cannot be read: ") {
		t.Errorf("problems %q", got)
	}
}

func TestNames(t *testing.T) {
	const pod = "ns-1_p-1_aaaaaaaa-0000-4000-8000-000000000001"
	for path, want := range map[string]string{
		"/x/y/a.log": "a.log", "/": "", "/var/log/pods/" + pod + "/runner/0.log": pod + "/runner/0.log",
		"/x/" + pod: pod, "/x/not_a_pod/0.log": "0.log", "/x/" + pod + "/runner": pod + "/runner",
	} {
		if got := docName(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	root := files(t, map[string]string{"a/0.log": "x\n", "b/0.log": "y\n", "c/1.log": "z\n"})
	b := open(t, filepath.Join(root, "b/0.log"), filepath.Join(root, "a/0.log"), filepath.Join(root, "c/1.log"))
	same(t, "equal names", lines(b), []string{root + "/b/0.log: y", root + "/a/0.log: x", "1.log: z"})
}

// TestLabels: names of files are text that somebody else chose.
func TestLabels(t *testing.T) {
	root := files(t, map[string]string{"a\x1b[31m\n.log": "a\n", "x.tar": packTar("b\xff\x07", "b\n")})
	same(t, "names", lines(open(t, root)), []string{"root/a?[31m?.log: a", "root/x.tar!b??: b"})
}

func TestStdin(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"text":   {"one\ntwo\n", []string{"stdin: one", "stdin: two"}},
		"gzip":   {gz("one\n"), []string{"stdin: one"}},
		"tar.gz": {gz(packTar("d/x.log", "one\n")), []string{"stdin!d/x.log: one"}},
		"zip":    {packZip("x.log", "one\n"), []string{"stdin!x.log: one"}},
		"marker": {"-- a.log --\nhello\n", []string{"stdin: hello"}},
		"long":   {strings.Repeat("0123456789abcde\n", 2*headSize/16), nil},
	} {
		b, err := Open([]string{"-", "-"}, Options{Stdin: strings.NewReader(c.in)})
		if err != nil {
			t.Fatal(err)
		}
		got := lines(b)
		if c.want == nil {
			if want := strings.Count(c.in, "\n"); len(got) != want {
				t.Errorf("%s: %d entries, want %d", name, len(got), want)
			}
			continue
		}
		same(t, name, got, c.want)
		if err := b.Close(); err != nil || len(b.Problems()) > 0 {
			t.Errorf("%s: %v %v", name, err, b.Problems())
		}
	}
}

// TestPipePath: what a shell passes for <(command) is read.
func TestPipePath(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(w, "from a pipe\n"); _ = w.Close() }()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skipf("hard links are read once: not shown, the file system makes none: %v", err)
	}
	b := open(t, path)
	same(t, "entries", lines(b), []string{filepath.Base(path) + ": from a pipe"})
	_ = r.Close()
}

func TestProgress(t *testing.T) {
	big := strings.Repeat(strings.Repeat("x", 99)+"\n", 30_000)
	root := files(t, map[string]string{"a.log": big, "b.log": "b\n"})
	var calls []Progress
	for range open(t, root).Entries(func(p Progress) { calls = append(calls, p) }) {
	}
	last := calls[len(calls)-1]
	want := Progress{Read: int64(len(big) + 2), Total: int64(len(big) + 2), Done: 2, Doc: "root/b.log"}
	if d := cmp.Diff(want, last); d != "" || len(calls) < 5 || calls[0].Doc != "root/a.log" {
		t.Errorf("%d calls, last %s", len(calls), d)
	}
}

func TestStop(t *testing.T) {
	root := files(
		t,
		map[string]string{
			"a.log":  "1\n2\n",
			"b.tar":  packTar("x", "3\n4\n", "y", "5\n"),
			"p.json": `{"kind":"Pod","metadata":{"name":"p"},"status":{"phase":"Failed"}}`,
		},
	)
	n := len(lines(open(t, root)))
	for stop := 1; stop <= n; stop++ {
		seen := 0
		for range open(t, root).Entries(nil) {
			if seen++; seen == stop {
				break
			}
		}
		if seen != stop {
			t.Errorf("saw %d, want %d", seen, stop)
		}
	}
}

// The year of times that have none is that of the column which a log store's page has beside them.
func TestYearOfAColumn(t *testing.T) {
	line := "2021-11-30 20:42:02.782\t{\"message\":\"I1130 15:12:02.781961    2227 a.go:1] \\\"x\\\"\"}\n"
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for e := range Bytes("a.log", []byte(strings.Repeat(line, 4)), Options{Now: now}).Entries(nil) {
		if e.Mark == nil && e.At.Year() != 2021 {
			t.Errorf("%v: %s", e.At, e.Text)
		}
	}
}
