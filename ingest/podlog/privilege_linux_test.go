package podlog

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
)

// commoner has this goroutine read files as a user who is not root.
func commoner(t *testing.T) (back func()) {
	runtime.LockOSThread()
	if os.Geteuid() == 0 {
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
	}
	return func() {
		if os.Geteuid() == 0 {
			_ = syscall.Setfsuid(0)
		}
		runtime.UnlockOSThread()
	}
}

// readable lets a user who is not root into the node's directory.
func (n *node) readable() {
	for _, dir := range []string{n.dir, n.dir + "/..", n.dir + "/../.."} {
		n.must(os.Chmod(dir, 0o755))
	}
}

// A rotated log that may not be read is a gap before the next.
func TestUnreadableRotated(t *testing.T) {
	n := newNode(t)
	n.readable()
	c := n.runner("a")
	c.count(0, 5)
	name := c.rotate()
	c.count(5, 10)
	n.must(os.Chmod(c.file(name), 0))
	n.must(os.Chmod(c.file(""), 0o644))
	s := n.steps(Config{})
	back := commoner(t)
	s.polls(3)
	back()
	same(t, "texts", texts(s.entries, ""), numbered(5, 10))
	if len(s.gaps) != 1 || s.gaps[0].Mark.Why != whyClosed || s.r.Unreadable() != 1 {
		t.Errorf("gaps %+v, %d unreadable", s.gaps, s.r.Unreadable())
	}
}

// A log that may not be read is said once, stands in nobody's way, and is read
// from its begin when it may be.
func TestUnreadable(t *testing.T) {
	n := newNode(t)
	var log bytes.Buffer
	a, b := n.runner("a"), n.runner("b")
	a.say("a")
	b.say("b")
	n.must(os.Chmod(a.file(""), 0))
	n.readable()
	n.must(os.Chmod(b.file(""), 0o644))
	s := n.steps(Config{Log: zerolog.New(&log)})
	back := commoner(t)
	s.polls(5)
	back()
	same(t, "texts", texts(s.entries, ""), []string{"b"})
	if k := strings.Count(log.String(), "cannot be read"); k != 1 || s.r.Unreadable() < 5 || s.reached.IsZero() {
		t.Errorf("%d unreadable, reached %v:\n%s", s.r.Unreadable(), s.reached, log.String())
	}
	same(t, "marks", s.kinds(a.doc()), nil)
	s.polls(1)
	same(t, "texts", texts(s.entries, ""), []string{"b", "a"})
}
