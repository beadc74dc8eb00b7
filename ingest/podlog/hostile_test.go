package podlog

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"coroner/ingest"
)

// Names that the kubelet does not give are left alone, with one log line each.
func TestStrangeNames(t *testing.T) {
	n := newNode(t)
	var log bytes.Buffer
	good := n.runner("a")
	good.say("good")
	for _, dir := range []string{
		"lost+found", "ci_a/runner", "..ci_a_" + uid + "/runner", "ci_a_" + uid + "x/runner", "ci_A_" + uid + "/runner",
		"ci_a\nb_" + uid + "/runner", "ci_a_b_" + uid + "/runner", "x/ci_a_" + uid + "/runner",
		"ci_b_" + uid + "/run\x1b[31mner",
	} {
		c := n.container(dir, 0)
		c.say("bad")
	}
	n.must(os.WriteFile(filepath.Join(n.dir, "file"), nil, 0o600))
	n.must(os.WriteFile(filepath.Join(n.dir, filepath.Dir(good.path), "file"), nil, 0o600))
	for _, name := range []string{"00.log", "-1.log", "x.log", "0.log.bak", "0.log.20260504",
		"1.log.20260504-120000.tmp", "1.logs", "1", "99999999999999999999.log"} {
		n.must(
			os.WriteFile(filepath.Join(n.dir, good.path, name), []byte("2026-05-04T10:00:00Z stdout F bad\n"), 0o600),
		)
	}
	s := n.steps(Config{Log: zerolog.New(&log)})
	s.polls(5)
	same(t, "texts", texts(s.entries, ""), []string{"good"})
	if k := strings.Count(log.String(), "directory is ignored"); k != 11 {
		t.Errorf("%d log lines:\n%s", k, log.String())
	}
	n.must(os.RemoveAll(filepath.Join(n.dir, "lost+found")))
	s.polls(1)
	if len(s.r.env.problems.logged) != 10 {
		t.Errorf("%d names are kept", len(s.r.env.problems.logged))
	}
}

// Links and pipes are not followed, at any depth.
func TestLinks(t *testing.T) {
	n, away := newNode(t), newNode(t)
	secret := away.runner("b")
	secret.say("secret")
	c := n.runner("a")
	c.say("good")
	n.must(
		os.Symlink(filepath.Join(away.dir, filepath.Dir(secret.path)), filepath.Join(n.dir, filepath.Dir(secret.path))),
	)
	n.must(os.Symlink(filepath.Join(away.dir, secret.path), filepath.Join(n.dir, filepath.Dir(c.path), "linked")))
	n.must(os.Symlink(secret.file(""), filepath.Join(n.dir, c.path, "1.log")))
	n.must(syscall.Mkfifo(filepath.Join(n.dir, c.path, "2.log"), 0o600))
	n.must(os.Mkdir(filepath.Join(n.dir, c.path, "3.log"), 0o700))
	s := n.steps(Config{})
	s.polls(3)
	same(t, "texts", texts(s.entries, ""), []string{"good"})
	for _, name := range []string{"1.log", "2.log", "3.log"} {
		if _, err := openLog(filepath.Join(n.dir, c.path, name), false, &s.r.env.opened); !errors.Is(err, errKind) &&
			!errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.ended(c.doc()) || s.r.Open() != 1 {
		t.Errorf("marks %v, %d open", s.kinds(c.doc()), s.r.Open())
	}
}

// A pod's directory that becomes a link has gone.
func TestDirBecomesLink(t *testing.T) {
	n := newNode(t)
	c := n.runner("a")
	c.say("one")
	s := n.steps(Config{})
	s.polls(1)
	pod := filepath.Join(n.dir, filepath.Dir(c.path))
	n.must(os.Rename(pod, n.t.TempDir()+"/x"))
	n.must(os.Symlink(os.TempDir(), pod))
	c.say("two")
	s.polls(2)
	same(t, "texts", texts(s.entries, ""), []string{"one", "two"})
	if !s.ended(c.doc()) || s.r.Open() != 0 {
		t.Error("still followed")
	}
}

// Only wanted containers are followed, and that may change.
func TestWant(t *testing.T) {
	n := newNode(t)
	a, b := n.runner("a"), n.container("ci_a_"+uid+"/dind", 0)
	a.say("a")
	b.say("b")
	wanted := "runner"
	c := Config{Want: func(namespace, pod, container string) bool {
		if namespace != "ci" || pod != "a" {
			t.Errorf("asked for %s %s", namespace, pod)
		}
		return container == wanted
	}}
	s := n.steps(c)
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), []string{"a"})
	if s.r.Open() != 1 || len(s.positions) != 1 {
		t.Errorf("%d open, positions %+v", s.r.Open(), s.positions)
	}
	wanted = "dind"
	s = s.again(n, c)
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), []string{"a", "b"})
	if s.r.Open() != 1 || len(s.positions) != 1 || s.ended(a.doc()) {
		t.Errorf("%d open, positions %+v", s.r.Open(), s.positions)
	}
}

// Many containers that print as much as they can in one line, in parts of a line and
// in lines without an end, take little memory: that of all together has a bound.
func TestHostileLogsTakeLittleMemory(t *testing.T) {
	n := newNode(t)
	const pods = 500
	for i := range pods {
		c := n.runner(fmt.Sprint("p", i))
		for range 12 {
			c.say(long(16 << 10))
		}
		for range 20 {
			c.line("P", long(16<<10))
			c.raw(c.now.Format(time.RFC3339Nano) + " stderr P " + long(16<<10) + "\n")
		}
		c.raw(long(500_000))
		n.must(c.out.Close())
	}
	most := uint64(0)
	s := n.steps(Config{})
	s.r.out.emit = func(b Batch) error {
		var mem runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&mem)
		most = max(most, mem.HeapAlloc)
		return nil
	}
	for more := true; more; {
		var err error
		if more, err = s.r.pollOnce(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.r.out.sendBatch(); err != nil {
		t.Fatal(err)
	}
	if most > 100<<20 {
		t.Errorf("%d MiB are in use", most>>20)
	}
}

// Of a directory full of maxInstances of a container the latest are followed.
func TestManyInstances(t *testing.T) {
	n := newNode(t)
	for i := range 3 * maxInstances {
		c := n.container("ci_a_"+uid+"/runner", i)
		c.say(fmt.Sprint("instance ", i))
		n.must(c.out.Close())
	}
	s := n.steps(Config{})
	s.polls(2)
	got := texts(s.entries, "")
	if len(got) != maxInstances || got[len(got)-1] != fmt.Sprint("instance ", 3*maxInstances-1) {
		t.Errorf("%d maxInstances: %q", len(got), got)
	}
}

// Every mark and record names its node and its pod, and no text stands in a mark.
func TestIdentity(t *testing.T) {
	n := newNode(t)
	c := n.container("kube-system_etcd-node-a_0123456789abcdef0123456789abcdef/etcd", 3)
	c.say("x")
	s := n.steps(Config{})
	s.polls(5)
	c.delete()
	s.polls(2)
	all := append(append(s.entries, s.context...), s.marks...)
	if len(all) < 4 {
		t.Fatalf("%+v", all)
	}
	for _, e := range all {
		want := ingest.Entry{
			Source: ingest.Job, Node: "node-a", Namespace: "kube-system", Pod: "etcd-node-a",
			PodUID:    "0123456789abcdef0123456789abcdef",
			Container: "etcd", Doc: c.doc(), At: e.At, Clock: ingest.WallClock, Mark: e.Mark, Text: e.Text,
			Line: e.Line,
		}
		if e.At.IsZero() || (e.Mark == nil) == (e.Text == "") || e.Mark == nil && e.Line != 1 {
			t.Errorf("%+v", e)
		}
		if e.Fields = nil; e.Source != want.Source || e.Node != want.Node || e.PodUID != want.PodUID ||
			e.Container != want.Container || e.Doc != want.Doc || e.Clock != want.Clock {
			t.Errorf("%+v, want %+v", e, want)
		}
	}
}
