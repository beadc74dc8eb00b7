package podlog

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/document"
)

const uid = "00000000-1111-2222-3333-444444444444"

var dawn = time.Date(2026, 5, 4, 10, 0, 0, 123456789, time.UTC)

// node is a directory of pod logs, written the way the kubelet and containerd
// write it. Its clock stamps the lines.
type node struct {
	t   testing.TB
	dir string
	now time.Time
}

func newNode(t testing.TB) *node { return &node{t: t, dir: t.TempDir(), now: dawn} }

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// container is one container instance that writes.
type container struct {
	*node
	path    string // "NAMESPACE_POD_UID/CONTAINER"
	restart int
	out     *os.File
	lines   int
	rotated int
}

// runner starts a container in a pod of this name.
func (n *node) runner(pod string) *container { return n.container("ci_"+pod+"_"+uid+"/runner", 0) }

func (n *node) container(path string, restart int) *container {
	c := &container{node: n, path: path, restart: restart}
	n.must(os.MkdirAll(filepath.Join(n.dir, path), 0o755))
	c.reopen()
	return c
}

func (c *container) doc() string { return fmt.Sprintf("%s/%d.log", c.path, c.restart) }

func (c *container) file(suffix string) string { return filepath.Join(c.dir, c.doc()+suffix) }

func (c *container) reopen() {
	f, err := os.OpenFile(c.file(""), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	c.must(err)
	c.out = f
}

func (c *container) raw(s string) {
	_, err := c.out.WriteString(s)
	c.must(err)
}

func (c *container) line(tag, text string) {
	c.now = c.now.Add(time.Millisecond)
	c.lines++
	c.raw(c.now.Format(time.RFC3339Nano) + " stdout " + tag + " " + text + "\n")
}

// say writes whole lines.
func (c *container) say(texts ...string) {
	for _, s := range texts {
		c.line("F", s)
	}
}

// count writes lines that say from, from+1 … to-1.
func (c *container) count(from, to int) {
	for i := from; i < to; i++ {
		c.say(fmt.Sprint("line ", i))
	}
}

// rename is the first half of a rotation.
func (c *container) rename() string {
	c.rotated++
	at := time.Date(2026, 5, 4, 12, 0, c.rotated, 0, time.UTC) // the kubelet's local time is another
	name := "." + at.Format("20060102-150405")
	c.must(os.Rename(c.file(""), c.file(name)))
	return name
}

// rotate renames the log and has the runtime open a new one.
func (c *container) rotate() string {
	name := c.rename()
	c.must(c.out.Close())
	c.reopen()
	return name
}

// zip compresses a rotated file the way the kubelet does.
func (c *container) zip(name string) {
	data, err := os.ReadFile(c.file(name))
	c.must(err)
	f, err := os.Create(c.file(name + ".tmp"))
	c.must(err)
	z := gzip.NewWriter(f)
	_, err = z.Write(data)
	c.must(err)
	c.must(z.Close())
	c.must(f.Close())
	c.must(os.Rename(c.file(name+".tmp"), c.file(name+".gz")))
	c.must(os.Remove(c.file(name)))
}

// clean removes all files of the instance, as the kubelet does with a dead one.
func (c *container) clean() {
	names, err := filepath.Glob(c.file("*"))
	c.must(err)
	slices.Sort(names)
	for _, name := range names {
		c.must(os.Remove(name))
	}
	_ = c.out.Close()
}

// delete removes the pod.
func (c *container) delete() {
	c.clean()
	c.must(os.RemoveAll(filepath.Join(c.dir, filepath.Dir(c.path))))
}

// harvest is what accepted batches held.
type harvest struct {
	entries, gaps, context, marks []ingest.Entry
	lines, passed, batches        int
	positions                     []Position
	reached                       time.Time
}

func (h *harvest) add(b Batch) {
	for _, e := range b.Entries {
		if e.Mark != nil {
			h.gaps = append(h.gaps, e)
		} else {
			h.entries = append(h.entries, e)
		}
	}
	h.context, h.marks = append(h.context, b.LastLines...), append(h.marks, b.Marks...)
	h.lines, h.passed, h.reached = h.lines+b.Lines, h.passed+b.Passed, b.Reached
	h.positions = slices.Clone(b.Positions)
	h.batches++
}

// texts are the texts of entries, of one document or of all.
func texts(entries []ingest.Entry, doc string) (out []string) {
	for _, e := range entries {
		if doc == "" || e.Doc == doc {
			out = append(out, e.Text)
		}
	}
	return out
}

func numbered(from, to int) (out []string) {
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprint("line ", i))
	}
	return out
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("%s: %d records, want %d; at %d: %.200q, want %.200q", what, len(got), len(want), i,
				got[i:min(i+3, len(got))], want[min(i, len(want)):min(i+3, len(want))])
		}
	}
}

// kinds are the marks about a document, without heartbeats that say the same.
func (h *harvest) kinds(doc string) (out []string) {
	names := map[ingest.MarkKind]string{ingest.Covered: "covered", ingest.Gap: "gap", ingest.Ended: "ended"}
	for _, e := range h.marks {
		s := fmt.Sprintf("%s %d", names[e.Mark.Kind], e.Mark.Lines)
		if e.Doc == doc && (len(out) == 0 || out[len(out)-1] != s) {
			out = append(out, s)
		}
	}
	return out
}

func (h *harvest) ended(doc string) bool {
	return slices.ContainsFunc(
		h.marks,
		func(e ingest.Entry) bool { return e.Doc == doc && e.Mark.Kind == ingest.Ended },
	)
}

// steps is a reader that is driven by hand: without notifications, and with a
// clock that moves a second a turn.
type steps struct {
	*harvest
	r     *Reader
	t     testing.TB
	clock time.Time
	fail  error // what emit returns
}

func (n *node) steps(c Config) *steps {
	s := &steps{t: n.t, harvest: &harvest{}, clock: n.now.Add(time.Hour)}
	c.Dir, c.Node = n.dir, "node-a"
	c.Now = func() time.Time { return s.clock }
	s.r = New(c)
	s.r.restorePositions(func(b Batch) error {
		if s.fail == nil {
			s.add(b)
		}
		return s.fail
	})
	n.t.Cleanup(s.r.closeAll)
	return s
}

// polls makes so many polls, a second apart.
func (s *steps) polls(n int) {
	s.t.Helper()
	for range n {
		s.clock = s.clock.Add(time.Second)
		for more := true; more; {
			var err error
			if more, err = s.r.pollOnce(); err != nil {
				s.t.Fatal(err)
			}
		}
		if err := s.r.out.sendBatch(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// stop ends the run as a done context does.
func (s *steps) stop() {
	s.t.Helper()
	if err := s.r.readToEnd(); err != nil {
		s.t.Fatal(err)
	}
	s.r.closeAll()
}

// again is a later run that goes on after the last accepted batch.
func (s *steps) again(n *node, c Config) *steps {
	data, err := json.Marshal(s.positions)
	n.must(err)
	n.must(json.Unmarshal(data, &c.Resume))
	s.r.closeAll()
	next := n.steps(c)
	next.harvest = s.harvest
	if s.clock.After(next.clock) {
		next.clock = s.clock
	}
	return next
}

// readDocument reads a log the way a saved one is read.
func readDocument(t testing.TB, doc string, r io.Reader) (out []ingest.Entry) {
	t.Helper()
	err := document.Document{Name: doc}.Read(r, func(e ingest.Entry) bool {
		out = append(out, e)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func long(n int) string { return strings.Repeat("x", n) }
