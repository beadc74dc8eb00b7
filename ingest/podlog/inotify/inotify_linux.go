package inotify

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Tree is a queue of the kernel's of names that appear and disappear in directories.
type Tree struct {
	h    Handler
	f    *os.File
	root string

	reading sync.Mutex // held until what was taken from the queue is noted
	buf     []byte

	mu    sync.Mutex // guards what follows
	paths map[int32]string
	ids   map[string]int32
}

const (
	appeared    = syscall.IN_CREATE | syscall.IN_MOVED_TO
	disappeared = syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF
)

// New returns a tree that watches nothing yet. Names of directories are relative to root.
func New(root string, h Handler) (*Tree, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	return &Tree{
		h: h, f: os.NewFile(uintptr(fd), "inotify"), root: root, buf: make([]byte, 16<<10),
		paths: make(map[int32]string), ids: make(map[string]int32),
	}, nil
}

// Close ends Run.
func (n *Tree) Close() { _ = n.f.Close() }

// Run takes notifications as they come, until the queue is closed.
func (n *Tree) Run() {
	if c, err := n.f.SyscallConn(); err == nil {
		_ = c.Read(func(fd uintptr) bool { n.emptyOut(int(fd)); return false }) // it was closed
	}
}

// Drain takes all that is in the queue now; if it was closed that is nothing.
func (n *Tree) Drain() { _ = n.withFD(n.emptyOut) }

func (n *Tree) withFD(do func(fd int)) error {
	c, err := n.f.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) { do(int(fd)) })
	}
	if err != nil {
		return os.ErrClosed
	}
	return nil
}

func (n *Tree) emptyOut(fd int) {
	n.reading.Lock()
	defer n.reading.Unlock()
	for {
		k, err := syscall.Read(fd, n.buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || k < syscall.SizeofInotifyEvent {
			return
		}
		n.readEvents(n.buf[:k])
	}
}

// readEvents reads what the kernel has written of events: four numbers of four bytes,
// the last being the size of the name that follows.
func (n *Tree) readEvents(b []byte) {
	for len(b) >= syscall.SizeofInotifyEvent {
		id, mask := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:])
		size := binary.NativeEndian.Uint32(b[12:])
		b = b[syscall.SizeofInotifyEvent:]
		name, _, _ := bytes.Cut(b[:size], []byte{0})
		n.takeEvent(id, mask, string(name))
		b = b[size:]
	}
}

func (n *Tree) takeEvent(id int32, mask uint32, name string) {
	n.mu.Lock()
	path, known := n.paths[id]
	if mask&syscall.IN_IGNORED != 0 {
		delete(n.paths, id)
	}
	n.mu.Unlock()
	switch {
	case mask&syscall.IN_Q_OVERFLOW != 0:
		n.h.Overflow()
	case known && mask&(appeared|disappeared) != 0:
		n.h.Event(filepath.Join(path, name), mask&appeared != 0)
	}
}

// Add watches a directory below the root.
func (n *Tree) Add(rel string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var id int
	var err error
	closed := n.withFD(func(fd int) {
		id, err = syscall.InotifyAddWatch(fd, filepath.Join(n.root, rel), appeared|disappeared|syscall.IN_ONLYDIR)
	})
	if closed != nil {
		return closed
	}
	if err != nil {
		return os.NewSyscallError("inotify_add_watch", err)
	}
	n.paths[int32(id)], n.ids[rel] = rel, int32(id)
	return nil
}

// Remove ends a watch. The kernel has done so where the directory is gone.
func (n *Tree) Remove(rel string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.ids[rel]
	delete(n.ids, rel)
	if ok && n.paths[id] == rel {
		delete(n.paths, id)
		_ = n.withFD(func(fd int) { _, _ = syscall.InotifyRmWatch(fd, uint32(id)) })
	}
}
