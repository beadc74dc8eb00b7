package podlog

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// trouble counts what could not be opened or read, and logs it once a path.
func (r *Reader) trouble(path string, err error) {
	r.unread.Add(1)
	r.troubled = true
	r.complain(path, err, "log cannot be read")
}

// walk looks at the whole tree: it is the safety net under the notifications.
// It is false where the tree could not be listed; then nothing is concluded.
func (r *Reader) walk() bool {
	r.watch.add("")
	entries, err := os.ReadDir(r.c.Dir)
	if err != nil {
		r.trouble(r.c.Dir, err)
		return false
	}
	delete(r.strange, r.c.Dir)
	pods := make(map[string]bool, len(entries))
	for _, e := range entries {
		pods[e.Name()] = true
		r.scanPod(e.Name(), e.IsDir())
	}
	for pod := range r.tree {
		if !pods[pod] {
			r.scanPod(pod, true)
		}
	}
	r.watch.prune(pods)
	maps.DeleteFunc(r.strange, func(path string, _ bool) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	})
	return true
}

// scanPath looks at what a notification was about: a pod's directory or a
// container's.
func (r *Reader) scanPath(path string) {
	pod, container, ok := strings.Cut(path, "/")
	info, err := os.Lstat(filepath.Join(r.c.Dir, pod))
	if ok && err == nil && info.IsDir() && isPod(pod) {
		r.scanContainer(pod, container, isDir(filepath.Join(r.c.Dir, path)))
		return
	}
	r.scanPod(pod, err != nil || info.IsDir())
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err != nil || info.IsDir() // what is gone turns out to be gone when it is listed
}

// scanPod looks at the directory of one pod and those in it.
func (r *Reader) scanPod(pod string, dir bool) {
	path := filepath.Join(r.c.Dir, pod)
	if !dir || !isPod(pod) {
		r.complain(path, errName, "directory is ignored")
		for _, streams := range r.tree[pod] {
			r.vanish(streams)
		}
		return
	}
	r.watch.add(pod)
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.trouble(path, err)
		return
	}
	there := make(map[string]bool, len(entries))
	for _, e := range entries {
		there[e.Name()] = true
		r.scanContainer(pod, e.Name(), e.IsDir())
	}
	for container := range r.tree[pod] {
		if !there[container] {
			r.scanContainer(pod, container, true)
		}
	}
}

// scanContainer looks at the log files of one container.
func (r *Reader) scanContainer(pod, container string, dir bool) {
	path := pod + "/" + container
	id, err := identify(path)
	if !dir || err != nil {
		r.complain(filepath.Join(r.c.Dir, path), errName, "directory is ignored")
		r.vanish(r.tree[pod][container])
		return
	}
	if !r.wanted(id) {
		r.drop(func(s *stream) bool { return s.path == path })
		return
	}
	r.watch.add(path)
	sets, err := listLogs(filepath.Join(r.c.Dir, path), func(name string) {
		r.complain(filepath.Join(r.c.Dir, path, name), errKind, "log is ignored")
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		r.vanish(r.tree[pod][container])
	case err != nil:
		r.trouble(filepath.Join(r.c.Dir, path), err)
	default:
		r.compare(pod, container, sets)
	}
}

// vanish: the directory that held the streams is gone.
func (r *Reader) vanish(streams []*stream) {
	for _, s := range streams {
		s.gone, s.due, s.noFiles = true, true, true
	}
}

// compare brings what is known of a container in line with its files.
func (r *Reader) compare(pod, container string, sets map[int]logSet) {
	numbers := slices.Sorted(maps.Keys(sets))
	if n := len(numbers) - instances; n > 0 {
		r.complain(filepath.Join(r.c.Dir, pod, container), errMany, "of very many instances of a container the latest are followed")
		numbers = numbers[n:]
	}
	for _, n := range numbers {
		if k := (key{pod + "/" + container, n}); r.streams[k] == nil {
			r.found(k, n < numbers[len(numbers)-1])
		}
	}
	for _, s := range r.tree[pod][container] {
		s.superseded = s.superseded || len(numbers) > 0 && s.n < numbers[len(numbers)-1]
		r.reconcile(s, sets[s.n])
	}
}

// found makes a new stream known. Only what the first walk finds can be old.
func (r *Reader) found(k key, superseded bool) *stream {
	s, err := newStream(k, r.c.Controller)
	if err == nil {
		err = r.add(s)
	}
	if err != nil {
		if !r.crowded {
			r.crowded = true
			r.c.Log.Warn().Err(err).Str("stream", k.path).Msg("container is not followed")
		}
		return nil
	}
	s.emptyAt = r.known
	if !r.walked {
		s.cutoff, s.relic = r.now.Add(-r.c.MaxAge), superseded
	}
	return s
}

// reconcile compares a stream with the files that it has now.
func (r *Reader) reconcile(s *stream, set logSet) {
	s.noFiles = set.current == nil && len(set.rotated) == 0
	if s.ended {
		return
	}
	s.due = s.due || s.superseded
	switch {
	case s.noFiles && len(s.queue) > 0:
		// A rename can hide a file from one listing.
		if s.newest().unlinked() {
			s.gone, s.due = true, true
		}
	case s.noFiles:
		if s.absent++; s.absent > 1 {
			s.gone, s.due = true, true
		}
	case len(s.queue) > 0:
		r.follow(s, set)
	default:
		s.absent = 0
		s.due = s.due || s.stirred(set)
		if s.due && r.Open() < r.c.MaxOpen {
			r.ready(s)
		}
	}
}

// stirred says whether the file of a parked stream is not what it was.
func (s *stream) stirred(set logSet) bool {
	if s.parked == nil || set.current == nil {
		return true
	}
	info, err := set.current.Info()
	return err != nil || !os.SameFile(info, s.parked) || info.Size() != s.parked.Size() || !info.ModTime().Equal(s.parked.ModTime())
}

// follow finds the files that came after the newest one that is open.
func (r *Reader) follow(s *stream, set logSet) {
	f := s.newest()
	if set.current != nil {
		if info, err := set.current.Info(); err != nil || os.SameFile(info, f.info) {
			return
		}
	} else if !f.unlinked() {
		return // it was renamed, and its successor is yet to come
	}
	c, err := r.chain(s)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errStale) {
			r.trouble(filepath.Join(r.c.Dir, s.doc), err)
		}
		return
	}
	rest, sure := c.after(s)
	c.keep(rest)
	if len(rest) == 0 {
		s.gone = s.gone || !c.current
		s.due = true
		return
	}
	if !sure {
		rest[0].gap = whyRotated
	}
	r.succeed(s, rest)
}

// succeed puts newer files behind those that are open. The runtime may still
// write a few lines to a file after it has made the next.
func (r *Reader) succeed(s *stream, rest []*file) {
	for _, f := range append([]*file{s.newest()}, rest[:len(rest)-1]...) {
		f.left = r.now
	}
	s.enqueue(rest)
}

// adopt takes over a file that was opened the moment it appeared. Where its
// directory is still there the walk has found it too.
func (r *Reader) adopt(c caught) {
	s := r.streams[c.key]
	if s == nil {
		if s = r.found(c.key, false); s == nil {
			c.file.close()
			return
		}
		s.cutoff, s.relic = time.Time{}, false
	}
	switch {
	case s.ended || s.resumed || slices.ContainsFunc(s.queue, func(f *file) bool { return os.SameFile(f.info, c.file.info) }):
		c.file.close()
	case !s.ever:
		s.enqueue([]*file{c.file})
	case len(s.queue) > 0 && r.missed(s, c.file):
		r.succeed(s, []*file{c.file})
	default:
		c.file.close()
	}
	if _, err := os.Lstat(filepath.Join(r.c.Dir, s.path)); errors.Is(err, fs.ErrNotExist) {
		r.vanish([]*stream{s})
	}
}

// missed says whether f came and went while nobody looked: it is newer than
// all that was read, and its name is gone.
func (r *Reader) missed(s *stream, f *file) bool {
	if err := f.peek(false); err != nil {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.c.Dir, s.doc))
	return errors.Is(err, fs.ErrNotExist) && firstTime(f.head).After(s.at.last)
}

// drop forgets streams.
func (r *Reader) drop(which func(*stream) bool) {
	if !slices.ContainsFunc(r.order, which) {
		return
	}
	r.order = slices.DeleteFunc(r.order, func(s *stream) bool {
		if !which(s) {
			return false
		}
		s.shut()
		delete(r.streams, s.key)
		pod, container, _ := strings.Cut(s.path, "/")
		dir := r.tree[pod]
		if dir[container] = slices.DeleteFunc(dir[container], func(t *stream) bool { return s == t }); len(dir[container]) == 0 {
			delete(dir, container)
		}
		if len(dir) == 0 {
			delete(r.tree, pod)
		}
		return true
	})
}

// accept lets the watcher ask whether it is to open the logs of a container.
func (r *Reader) accept(path string) bool {
	id, err := identify(path)
	return err == nil && r.wanted(id)
}
