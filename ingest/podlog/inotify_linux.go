package podlog

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// inotify is a queue of the kernel's of what happens in the directories of the
// tree. The kernel puts a write there before the writer goes on, so once the queue
// was seen empty, all that was written before that is known.
type inotify struct {
	w    *watcher
	fd   int
	f    *os.File // the same where somebody waits for news: else nothing wakes up for them
	root string
	mask uint32

	reading sync.Mutex // held until what was taken from the queue is noted
	buf     []byte
	grown   map[int32]bool // of writes: the directories that were told of since the queue was last empty

	mu    sync.Mutex // guards what follows
	paths map[int32]string
	ids   map[string]int32
}

const (
	ofNames  = syscall.IN_CREATE | syscall.IN_DELETE | syscall.IN_MOVED_FROM | syscall.IN_MOVED_TO | syscall.IN_DELETE_SELF | syscall.IN_MOVE_SELF
	ofWrites = syscall.IN_MODIFY
)

func newInotify(w *watcher, mask uint32) (*inotify, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	if err != nil {
		return nil, os.NewSyscallError("inotify_init1", err)
	}
	n := &inotify{
		w: w, fd: fd, root: w.r.c.Dir, mask: mask, buf: make([]byte, 16<<10), grown: make(map[int32]bool), paths: make(map[int32]string), ids: make(map[string]int32),
	}
	if mask == ofNames {
		n.f = os.NewFile(uintptr(fd), "inotify")
	}
	return n, nil
}

// close ends run; nothing depends on the queue any more.
func (n *inotify) close() {
	if n.f != nil {
		_ = n.f.Close()
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fd >= 0 {
		_ = syscall.Close(n.fd)
	}
	n.fd = -1
}

// run takes notifications as they come, until the queue is closed.
func (n *inotify) run() {
	if c, err := n.f.SyscallConn(); err == nil {
		_ = c.Read(func(fd uintptr) bool { n.empty(int(fd)); return false }) // it was closed
	}
}

// drain takes all that is in the queue now; where it was closed that is nothing.
func (n *inotify) drain() {
	if n.f != nil {
		_ = n.control(n.empty)
	} else if n.fd >= 0 { // only the reader closes it
		n.empty(n.fd)
	}
}

func (n *inotify) control(do func(fd int)) error {
	if n.f == nil {
		if n.fd < 0 {
			return os.ErrClosed
		}
		do(n.fd)
		return nil
	}
	c, err := n.f.SyscallConn()
	if err == nil {
		err = c.Control(func(fd uintptr) { do(int(fd)) })
	}
	if err != nil {
		return os.ErrClosed
	}
	return nil
}

func (n *inotify) empty(fd int) {
	n.reading.Lock()
	defer n.reading.Unlock()
	clear(n.grown)
	for {
		k, err := syscall.Read(fd, n.buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || k < syscall.SizeofInotifyEvent {
			return
		}
		n.events(n.buf[:k])
	}
}

// events reads what the kernel has written of events: four numbers of four bytes,
// the last being the size of the name that follows.
func (n *inotify) events(b []byte) {
	for len(b) >= syscall.SizeofInotifyEvent {
		id, mask, size := int32(binary.NativeEndian.Uint32(b)), binary.NativeEndian.Uint32(b[4:]), binary.NativeEndian.Uint32(b[12:])
		b = b[syscall.SizeofInotifyEvent:]
		if !n.again(id, mask) {
			name, _, _ := bytes.Cut(b[:size], []byte{0})
			n.event(id, mask, string(name))
		}
		b = b[size:]
	}
}

// again says whether an event only tells once more that something in a directory
// was written to: which file it was does not matter.
func (n *inotify) again(id int32, mask uint32) bool {
	if mask != syscall.IN_MODIFY {
		return false
	}
	before := n.grown[id]
	n.grown[id] = true
	return before
}

func (n *inotify) event(id int32, mask uint32, name string) {
	n.mu.Lock()
	path, known := n.paths[id]
	if mask&syscall.IN_IGNORED != 0 {
		delete(n.paths, id)
	}
	n.mu.Unlock()
	created := mask&(syscall.IN_CREATE|syscall.IN_MOVED_TO) != 0
	gone := mask&(syscall.IN_DELETE|syscall.IN_MOVED_FROM|syscall.IN_DELETE_SELF|syscall.IN_MOVE_SELF) != 0
	switch {
	case mask&syscall.IN_Q_OVERFLOW != 0:
		n.w.overflow(n.mask == ofWrites)
	case known && (name != "" || gone):
		n.w.event(filepath.Join(path, name), created, created || gone)
	}
}

// add watches a directory below the root.
func (n *inotify) add(rel string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	var id int
	var err error
	closed := n.control(func(fd int) {
		id, err = syscall.InotifyAddWatch(fd, filepath.Join(n.root, rel), n.mask|syscall.IN_ONLYDIR)
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

// remove ends a watch. The kernel has done so where the directory is gone.
func (n *inotify) remove(rel string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	id, ok := n.ids[rel]
	delete(n.ids, rel)
	if ok && n.paths[id] == rel {
		delete(n.paths, id)
		_ = n.control(func(fd int) { _, _ = syscall.InotifyRmWatch(fd, uint32(id)) })
	}
}
