package podlog

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

const (
	maxChanged = 4096 // paths that are told apart before the whole tree is walked instead
	maxCaught  = 256  // files that are held for the reader
)

var errDeaf = errors.New("the file system does not tell of writes")

// watcher is told by the kernel what happens in the tree. It does not wait for
// the reader: it watches new directories and opens new logs at once, so that a
// pod which is gone before the reader comes round is still read.
type watcher struct {
	r    *Reader
	fs   *inotify      // of names; nil where the kernel refused it; the walks do without
	grow *inotify      // of writes, which nobody waits for: they are asked for at each turn
	wake chan struct{} // holds one value while something changed; never closed
	done sync.WaitGroup

	mu    sync.Mutex
	added map[string]bool // directories that are watched, below Dir
	news  map[string]bool // what happened where; true if names changed, false if files grew
	held  []caught
	lost  bool // news were lost
	flood bool // of them, only that files grew
	said  bool // logged that not everything can be watched
}

// caught is a log file that was opened the moment it appeared.
type caught struct {
	key
	file *file
}

// sight is what was noticed since the last look.
type sight struct {
	changed, written []string // paths below Dir
	caught           []caught
	lost             bool
	flood            bool // any file may have grown
}

func newWatcher(r *Reader) *watcher {
	return &watcher{r: r, wake: make(chan struct{}, 1), added: make(map[string]bool), news: make(map[string]bool)}
}

// start begins to listen. Without notifications the reader goes on with walks.
func (w *watcher) start() {
	names, err := newInotify(w, ofNames)
	if err != nil {
		w.complain(err)
		return
	}
	if w.grow, err = newInotify(w, ofWrites); err != nil {
		names.close()
		w.complain(err)
		return
	}
	w.fs = names
	w.done.Go(names.run)
}

// close ends the goroutine and closes what was not taken.
func (w *watcher) close() {
	if w.fs != nil {
		w.fs.close()
		w.done.Wait()
		w.grow.close()
	}
	for _, c := range w.take().caught {
		c.file.close()
	}
}

// hears says whether every change in the tree is noticed.
func (w *watcher) hears() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fs != nil && !w.said
}

func (w *watcher) complain(err error) {
	w.mu.Lock()
	said := w.said
	w.said = true
	w.mu.Unlock()
	if !said {
		w.r.c.Log.Warn().Err(err).Msg("not everything can be watched: logs are looked for once a second")
	}
}

// overflow: the kernel's queue was full. That of writes wakes nobody, and what it
// lost is found without a walk.
func (w *watcher) overflow(writes bool) {
	w.mu.Lock()
	w.lost, w.flood = w.lost || !writes, w.flood || writes
	w.mu.Unlock()
	if !writes {
		w.poke()
	}
}

func (w *watcher) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// add watches a directory below Dir from now on.
func (w *watcher) add(rel string) {
	if w.fs == nil {
		return
	}
	w.mu.Lock()
	known := w.added[rel]
	w.mu.Unlock()
	if known {
		return
	}
	err := w.grow.add(rel)
	if err == nil {
		err = w.fs.add(rel)
	}
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrClosed) {
			w.complain(err)
		}
		return
	}
	w.mu.Lock()
	w.added[rel] = true
	w.mu.Unlock()
}

// forget stops watching a directory and those in it.
func (w *watcher) forget(rel string) {
	var gone []string
	w.mu.Lock()
	for path := range w.added {
		if path == rel || strings.HasPrefix(path, rel+"/") {
			gone = append(gone, path)
			delete(w.added, path)
		}
	}
	w.mu.Unlock()
	for _, path := range gone {
		w.fs.remove(path)
		w.grow.remove(path)
	}
}

// prune forgets the pods that are not in the tree any more.
func (w *watcher) prune(pods map[string]bool) {
	gone := make(map[string]bool)
	w.mu.Lock()
	for path := range w.added {
		if pod, _ := splitPath(path); pod != "" && !pods[pod] {
			gone[pod] = true
		}
	}
	w.mu.Unlock()
	for pod := range gone {
		w.forget(pod)
	}
}

// splitPath splits a path below Dir into the pod's directory and the rest.
func splitPath(path string) (pod, rest string) {
	pod, rest, _ = strings.Cut(path, "/")
	return pod, rest
}

// event takes note of one notification: what rel names was created, another name
// came or went, or a file grew.
func (w *watcher) event(rel string, created, named bool) {
	if rel == "" {
		w.forget("") // of Dir itself
		return
	}
	pod, rest := splitPath(rel)
	container, name := splitPath(rest)
	switch {
	case name != "":
		if l, ok := parseLogName(name); created && ok && l.stamp == "" {
			w.catch(pod+"/"+container, l)
		}
		w.note(pod+"/"+container, named)
	case named && !created:
		w.forget(rel)
		w.note(rel, true)
	case created && container != "":
		w.enterContainer(rel)
		w.note(rel, true)
	case created:
		w.enterPod(pod)
		w.note(rel, true)
	}
}

// enterPod watches a new pod's directory and what came into it before that.
func (w *watcher) enterPod(pod string) {
	if !isPod(pod) || !w.isDir(pod) {
		return
	}
	w.add(pod)
	entries, _ := os.ReadDir(filepath.Join(w.r.c.Dir, pod)) // gone again, or the reader will say so
	for _, e := range entries {
		if e.IsDir() {
			w.enterContainer(pod + "/" + e.Name())
		}
	}
}

// enterContainer watches a new container's directory and opens the logs that
// came into it before that.
func (w *watcher) enterContainer(path string) {
	if !w.r.accept(path) || !w.isDir(path) {
		return
	}
	w.add(path)
	entries, _ := os.ReadDir(filepath.Join(w.r.c.Dir, path)) // gone again, or the reader will say so
	for _, e := range entries {
		if l, ok := parseLogName(e.Name()); ok && l.stamp == "" && e.Type().IsRegular() {
			w.catch(path, l)
		}
	}
}

func (w *watcher) isDir(rel string) bool {
	info, err := os.Lstat(filepath.Join(w.r.c.Dir, rel))
	return err == nil && info.IsDir()
}

// catch opens a log for the reader.
func (w *watcher) catch(path string, l logName) {
	if !w.r.accept(path) || int(w.r.opened.Load()) >= w.r.c.MaxOpen {
		return
	}
	f, err := openLog(filepath.Join(w.r.c.Dir, path, l.String()), false, &w.r.opened)
	if err != nil {
		return // the reader finds out, and says so, if it is still there
	}
	w.mu.Lock()
	k := key{path, l.n}
	spare := len(w.held) >= maxCaught || slices.ContainsFunc(w.held, func(c caught) bool { return c.key == k && os.SameFile(c.file.info, f.info) })
	if !spare {
		w.held = append(w.held, caught{k, f})
	}
	w.mu.Unlock()
	if spare {
		f.close()
	}
}

// note keeps where something happened. Only changed names wake the reader at
// once; what grew is read at its next turn.
func (w *watcher) note(path string, named bool) {
	w.mu.Lock()
	if len(w.news) >= maxChanged {
		w.lost = true
	} else {
		w.news[path] = w.news[path] || named
	}
	w.mu.Unlock()
	if named {
		w.poke()
	}
}

// drain takes note of all that happened until now.
func (w *watcher) drain() {
	if w.fs != nil {
		w.grow.drain()
		w.fs.drain()
	}
}

// take is what happened since it was called last.
func (w *watcher) take() (s sight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for path, named := range w.news {
		if named {
			s.changed = append(s.changed, path)
		}
		s.written = append(s.written, path)
	}
	clear(w.news)
	s.caught, s.lost, s.flood = w.held, w.lost, w.flood
	w.held, w.lost, w.flood = nil, false, false
	return s
}
