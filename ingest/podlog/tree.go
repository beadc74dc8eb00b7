package podlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// tree finds the directories of pods and containers and their log files, and tells the
// tracker what it found.
type tree struct {
	env     *env
	tails   *tails
	watch   *watcher
	tracker *tracker

	rescanned  time.Time // when the last full rescan began
	dirChanged bool      // a directory changed since then
}

// mustRescan reports whether notifications are not enough: not all of them come, a
// directory changed lately, a tail is not as it should be, or it was long ago.
func (t *tree) mustRescan(now time.Time) bool {
	return !t.tracker.listed || t.dirChanged || t.env.problems.recent || !t.watch.complete() ||
		hasElapsed(t.rescanned, now, t.env.every.fullRescan) || t.tails.anyTail((*tail).needsRescan)
}

// needsRescan reports whether only a listing of its directory tells how it goes on.
func (t *tail) needsRescan() bool {
	switch t.state {
	case resting, retrying, missing, failed:
		return true
	}
	return t.absent > 0 || t.fate == deleted || t.history == resumed
}

// fullRescan lists the whole tree: it is the safety net under the notifications. It is
// false where the tree could not be listed; then nothing is concluded.
func (t *tree) fullRescan(now time.Time) bool {
	t.rescanned, t.dirChanged, t.env.problems.recent = now, false, false
	t.watch.watchDir("")
	entries, err := os.ReadDir(t.env.c.Dir)
	if err != nil {
		t.env.problems.addUnread(t.env.c.Dir, err)
		return false
	}
	delete(t.env.problems.logged, t.env.c.Dir)
	pods := make(map[string]bool, len(entries))
	for _, e := range entries {
		pods[e.Name()] = true
		t.scanPod(e.Name(), e.IsDir())
	}
	for pod := range t.tails.byPod {
		if !pods[pod] {
			t.scanPod(pod, true)
		}
	}
	t.watch.unwatchGone(pods)
	t.env.problems.forgetGone()
	t.tracker.listed = true
	return true
}

// rescanDir lists what a notification was about: a pod's directory or a container's.
func (t *tree) rescanDir(path string) {
	pod, container, ok := strings.Cut(path, "/")
	info, err := os.Lstat(filepath.Join(t.env.c.Dir, pod))
	if ok && err == nil && info.IsDir() && isPod(pod) {
		info, err := os.Lstat(filepath.Join(t.env.c.Dir, path))
		t.scanContainer(
			pod,
			container,
			err != nil || info.IsDir(),
		) // what is gone turns out to be gone when it is listed
		return
	}
	t.scanPod(pod, err != nil || info.IsDir())
}

// scanPod lists the directory of one pod and those in it.
func (t *tree) scanPod(pod string, dir bool) {
	path := filepath.Join(t.env.c.Dir, pod)
	if !dir || !isPod(pod) {
		t.env.problems.warnOnce(path, errName, "directory is ignored")
		for container := range t.tails.byPod[pod] {
			t.tracker.containerGone(pod, container)
		}
		return
	}
	t.watch.watchDir(pod)
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.env.problems.addUnread(path, err)
		return
	}
	found := make(map[string]bool, len(entries))
	for _, e := range entries {
		found[e.Name()] = true
		t.scanContainer(pod, e.Name(), e.IsDir())
	}
	for container := range t.tails.byPod[pod] {
		if !found[container] {
			t.scanContainer(pod, container, true)
		}
	}
}

// scanContainer lists the log files of one container.
func (t *tree) scanContainer(pod, container string, dir bool) {
	path := pod + "/" + container
	id, err := identify(path)
	if !dir || err != nil {
		t.env.problems.warnOnce(filepath.Join(t.env.c.Dir, path), errName, "directory is ignored")
		t.tracker.containerGone(pod, container)
		return
	}
	if !t.env.filter.wantsContainer(id) {
		t.tails.dropWhere(func(x *tail) bool { return x.path == path })
		return
	}
	t.watch.watchDir(path)
	all, err := listLogs(filepath.Join(t.env.c.Dir, path), func(name string) {
		t.env.problems.warnOnce(filepath.Join(t.env.c.Dir, path, name), errKind, "log is ignored")
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.tracker.containerGone(pod, container)
	case err != nil:
		t.env.problems.addUnread(filepath.Join(t.env.c.Dir, path), err)
	default:
		t.tracker.containerListed(pod, container, all)
	}
}
