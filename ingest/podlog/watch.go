package podlog

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"coroner/ingest/podlog/inotify"
)

const (
	maxChanged = 4096 // directories that are told apart before the whole tree is listed instead
	maxCaught  = 256  // files that are held for the reader
)

// watcher is told by the kernel when names appear or disappear in the tree. It does not
// wait for the reader: it watches new directories and opens new logs at once, so that a
// pod which is gone before the next poll is still read.
type watcher struct {
	env     *env
	inotify *inotify.Tree // nil where the kernel refused it
	wake    chan struct{} // holds one value while something changed; never closed
	done    sync.WaitGroup

	mu         sync.Mutex
	watched    map[string]bool // directories below Dir
	changed    map[string]bool // directories in which names changed
	caught     []caughtFile
	lost       bool // notifications were lost
	incomplete bool // not everything can be watched; that was logged
}

// caughtFile is a log file that was opened the moment it appeared.
type caughtFile struct {
	key
	file *file
}

// changes is what was noticed since it was asked for last.
type changes struct {
	dirs   []string // below Dir
	caught []caughtFile
	lost   bool
}

func newWatcher(env *env) *watcher {
	return &watcher{
		env:     env,
		wake:    make(chan struct{}, 1),
		watched: make(map[string]bool),
		changed: make(map[string]bool),
	}
}

// startWatching begins to listen. Without notifications the reader lists the tree again and
// again.
func (w *watcher) startWatching() {
	n, err := inotify.New(w.env.c.Dir, w)
	if err != nil {
		w.cannotWatch(err)
		return
	}
	w.inotify = n
	w.done.Go(n.Run)
}

// closeWatch ends the goroutine and closes what was not taken.
func (w *watcher) closeWatch() {
	if w.inotify != nil {
		w.inotify.Close()
		w.done.Wait()
	}
	for _, c := range w.takeNoted().caught {
		c.file.closeFile()
	}
}

// complete reports whether every change of a name in the tree is noticed.
func (w *watcher) complete() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.inotify != nil && !w.incomplete
}

func (w *watcher) cannotWatch(err error) {
	w.mu.Lock()
	logged := w.incomplete
	w.incomplete = true
	w.mu.Unlock()
	if !logged {
		w.env.c.Log.Warn().Err(err).Msg("not everything can be watched: logs are looked for once a second")
	}
}

// Overflow: the kernel's queue was full.
func (w *watcher) Overflow() {
	w.mu.Lock()
	w.lost = true
	w.mu.Unlock()
	w.wakeReader()
}

// wakeReader wakes the reader.
func (w *watcher) wakeReader() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// watchDir watches a directory below Dir from now on.
func (w *watcher) watchDir(rel string) {
	if w.inotify == nil {
		return
	}
	w.mu.Lock()
	known := w.watched[rel]
	w.mu.Unlock()
	if known {
		return
	}
	if err := w.inotify.Add(rel); err != nil {
		if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, os.ErrClosed) {
			w.cannotWatch(err)
		}
		return
	}
	w.mu.Lock()
	w.watched[rel] = true
	w.mu.Unlock()
}

// unwatchDir stops watching a directory and those in it.
func (w *watcher) unwatchDir(rel string) {
	var gone []string
	w.mu.Lock()
	for path := range w.watched {
		if path == rel || strings.HasPrefix(path, rel+"/") {
			gone = append(gone, path)
			delete(w.watched, path)
		}
	}
	w.mu.Unlock()
	if w.inotify == nil {
		return
	}
	for _, path := range gone {
		w.inotify.Remove(path)
	}
}

// unwatchGone forgets the pods that are not in the tree any more.
func (w *watcher) unwatchGone(pods map[string]bool) {
	gone := make(map[string]bool)
	w.mu.Lock()
	for path := range w.watched {
		if pod, _ := splitPath(path); pod != "" && !pods[pod] {
			gone[pod] = true
		}
	}
	w.mu.Unlock()
	for pod := range gone {
		w.unwatchDir(pod)
	}
}

// splitPath splits a path below Dir into the pod's directory and the rest.
func splitPath(path string) (pod, rest string) {
	pod, rest, _ = strings.Cut(path, "/")
	return pod, rest
}

// Event takes note of one notification: the name rel appeared or disappeared.
func (w *watcher) Event(rel string, created bool) {
	if rel == "" {
		w.unwatchDir("") // of Dir itself
		return
	}
	pod, rest := splitPath(rel)
	container, name := splitPath(rest)
	switch {
	case name != "":
		if l, ok := parseLogName(name); created && ok && l.stamp == "" {
			w.catchFile(pod+"/"+container, l)
		}
		rel = pod + "/" + container
	case !created:
		w.unwatchDir(rel)
	case container != "":
		w.enterContainer(rel)
	default:
		w.enterPod(pod)
	}
	w.noteChange(rel)
}

// enterPod watches a new pod's directory and what came into it before that.
func (w *watcher) enterPod(pod string) {
	if !isPod(pod) || !w.isDir(pod) {
		return
	}
	w.watchDir(pod)
	entries, _ := os.ReadDir(filepath.Join(w.env.c.Dir, pod)) // gone again, or the reader will say so
	for _, e := range entries {
		if e.IsDir() {
			w.enterContainer(pod + "/" + e.Name())
		}
	}
}

// enterContainer watches a new container's directory and opens the logs that
// came into it before that.
func (w *watcher) enterContainer(path string) {
	if !w.env.filter.acceptsPath(path) || !w.isDir(path) {
		return
	}
	w.watchDir(path)
	entries, _ := os.ReadDir(filepath.Join(w.env.c.Dir, path)) // gone again, or the reader will say so
	for _, e := range entries {
		if l, ok := parseLogName(e.Name()); ok && l.stamp == "" && e.Type().IsRegular() {
			w.catchFile(path, l)
		}
	}
}

func (w *watcher) isDir(rel string) bool {
	info, err := os.Lstat(filepath.Join(w.env.c.Dir, rel))
	return err == nil && info.IsDir()
}

// catchFile opens a log for the reader.
func (w *watcher) catchFile(path string, l logName) {
	if !w.env.filter.acceptsPath(path) || int(w.env.opened.Load()) >= w.env.c.MaxOpen {
		return
	}
	f, err := openLog(filepath.Join(w.env.c.Dir, path, l.String()), false, &w.env.opened)
	if err != nil {
		return // the reader finds out, and says so, if it is still there
	}
	w.mu.Lock()
	k := key{path, l.n}
	twice := func(c caughtFile) bool { return c.key == k && os.SameFile(c.file.info, f.info) }
	spare := len(w.caught) >= maxCaught || slices.ContainsFunc(w.caught, twice)
	if !spare {
		w.caught = append(w.caught, caughtFile{k, f})
	}
	w.mu.Unlock()
	if spare {
		f.closeFile()
	}
}

// noteChange keeps where something happened, and wakes the reader.
func (w *watcher) noteChange(dir string) {
	w.mu.Lock()
	if len(w.changed) >= maxChanged {
		w.lost = true
	} else {
		w.changed[dir] = true
	}
	w.mu.Unlock()
	w.wakeReader()
}

// takeChanges is what happened since it was called last, up to now.
func (w *watcher) takeChanges() changes {
	if w.inotify != nil {
		w.inotify.Drain()
	}
	return w.takeNoted()
}

func (w *watcher) takeNoted() changes {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := changes{slices.Collect(maps.Keys(w.changed)), w.caught, w.lost}
	clear(w.changed)
	w.caught, w.lost = nil, false
	return c
}
