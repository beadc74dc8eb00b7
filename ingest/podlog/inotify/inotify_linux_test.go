package inotify

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// told collects what a tree tells of.
type told struct {
	events    []string
	overflows int
}

func (o *told) Event(name string, appeared bool) {
	o.events = append(o.events, map[bool]string{true: "+", false: "-"}[appeared]+name)
}
func (o *told) Overflow() { o.overflows++ }

func newTree(t *testing.T) (*Tree, *told, string) {
	t.Helper()
	var o told
	root := t.TempDir()
	n, err := New(root, &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n, &o, root
}

func must(t *testing.T, all ...error) {
	t.Helper()
	for _, err := range all {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Drain tells all that happened before it in the directories that are watched, in its
// order, by names below the root; of others, and of writes, it tells nothing.
func TestDrain(t *testing.T) {
	n, o, root := newTree(t)
	at := func(rel string) string { return filepath.Join(root, rel) }
	must(t, os.Mkdir(at("pod"), 0o755), os.Mkdir(at("other"), 0o755), n.Add(""), n.Add("pod"))
	must(t, os.WriteFile(at("pod/0.log"), []byte("x"), 0o600), os.WriteFile(at("pod/0.log"), []byte("xy"), 0o600),
		os.WriteFile(at("other/unseen"), nil, 0o600), os.Mkdir(at("new"), 0o755),
		os.Rename(at("pod/0.log"), at("pod/0.log.1")), os.Remove(at("pod/0.log.1")))
	n.Drain()
	want := []string{"+pod/0.log", "+new", "-pod/0.log", "+pod/0.log.1", "-pod/0.log.1"}
	if !slices.Equal(o.events, want) {
		t.Errorf("%q, want %q", o.events, want)
	}
	o.events = nil
	if n.Drain(); len(o.events) != 0 {
		t.Errorf("told twice: %q", o.events)
	}
}

// A directory that goes is told of, and one that comes again under its name is another:
// it is watched once it is added.
func TestADirectoryThatGoes(t *testing.T) {
	n, o, root := newTree(t)
	pod := filepath.Join(root, "pod")
	must(t, os.Mkdir(pod, 0o755), n.Add("pod"), os.Remove(pod))
	n.Drain()
	if !slices.Contains(o.events, "-pod") {
		t.Errorf("its end is not told: %q", o.events)
	}
	n.Remove("pod")
	must(t, os.Mkdir(pod, 0o755), n.Add("pod"), os.WriteFile(filepath.Join(pod, "a"), nil, 0o600))
	o.events = nil
	n.Drain()
	if !slices.Equal(o.events, []string{"+pod/a"}) {
		t.Errorf("the new one: %q", o.events)
	}
	n.Remove("pod")
	must(t, os.WriteFile(filepath.Join(pod, "b"), nil, 0o600))
	o.events = nil
	if n.Drain(); len(o.events) != 0 {
		t.Errorf("after the watch's end: %q", o.events)
	}
}

// What cannot be watched is an error, as is a tree that was closed; Drain is then nothing.
func TestErrors(t *testing.T) {
	n, o, root := newTree(t)
	must(t, os.WriteFile(filepath.Join(root, "file"), nil, 0o600))
	for _, rel := range []string{"nowhere", "file"} {
		if err := n.Add(rel); err == nil || !strings.Contains(err.Error(), "inotify_add_watch") {
			t.Errorf("%s: %v", rel, err)
		}
	}
	n.Close()
	n.Drain()
	if err := n.Add(""); err == nil {
		t.Error("a closed tree watches")
	}
	if len(o.events) != 0 {
		t.Errorf("%q", o.events)
	}
}

// Where more happens than the kernel's queue holds, that is told: the reader then looks
// at everything again.
func TestOverflow(t *testing.T) {
	limit := 0
	data, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if _, scanned := fmt.Sscan(string(data), &limit); err != nil || scanned != nil || limit > 1<<17 {
		t.Skip("not shown: a full queue, whose size here is", strings.TrimSpace(string(data)))
	}
	n, o, root := newTree(t)
	must(t, n.Add(""))
	a, b := filepath.Join(root, "a"), filepath.Join(root, "b")
	must(t, os.WriteFile(a, nil, 0o600))
	for range limit/4 + 2 { // four events each time, none like the one before it
		must(t, os.Rename(a, b), os.Rename(b, a))
	}
	n.Drain()
	if o.overflows == 0 {
		t.Errorf("%d events of a queue of %d, and no overflow told", len(o.events), limit)
	}
}

// Run takes what comes without being asked, and ends when the tree is closed.
func TestRun(t *testing.T) {
	root := t.TempDir()
	came := make(chan string, 1)
	n, err := New(root, tell(came))
	must(t, err, n.Add(""))
	done := make(chan struct{})
	go func() { n.Run(); close(done) }()
	must(t, os.WriteFile(filepath.Join(root, "0.log"), nil, 0o600))
	if name := <-came; name != "0.log" {
		t.Errorf("told of %s", name)
	}
	n.Close()
	<-done
}

type tell chan string

func (c tell) Event(name string, _ bool) { c <- name }
func (c tell) Overflow()                 {}
