// Package spool keeps what an agent has still to send in files of one folder,
// and the positions of its sources beside them.
//
// Invariant: what Put took stays until Done or until the spool is over its size.
// Then context goes first, the oldest first, and evidence only when no context is
// left; what goes is reported. Put waits for nobody: what the receiver takes at
// once is never written. All else is on disk when Keep or SaveState returns, so a
// stored position never stands for what is only in memory. What is to be told of what
// went is on disk before anything that was put after it.
//
// Crash behaviour: a file is there wholly or not at all. Opened again, the spool
// holds what was kept, and the positions of then or of before that: what was only
// in memory is read once more. A file that was being sent is sent again.
package spool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coroner/ingest"
)

// Class says what a file is worth.
type Class string

// The classes.
const (
	Evidence Class = "evidence" // recognised lines, marks
	Context  Class = "context"  // last words, heartbeats
)

// Item is one push: a file of the spool, or what would be one.
type Item struct {
	Seq      uint64
	Class    Class
	Entries  int
	From, To time.Time // of its entries, for the gap that its loss leaves
	size     int64
	body     []byte // nil once it is in its file
}

func (i Item) fileName() string {
	return fmt.Sprintf("%016d-%s-%d-%d-%d.push", i.Seq, i.Class, i.Entries, ingest.Nanos(i.From), ingest.Nanos(i.To))
}

// moment is the time that ingest.Nanos wrote into a file's name.
func moment(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// Losses is who keeps account of what went because the folder was full. It is called while the
// spool is locked.
type Losses interface {
	Lost(Item, []byte) // takes what went, and its body: nil where that cannot be read
	Untold() any       // is what the receiver is still to be told of it
}

// untold is the name of the state that holds what the receiver is still to be told.
const untold = "untold"

// Spool is one open folder. It is safe for concurrent use.
type Spool struct {
	dir    string
	max    int64
	losses Losses
	untold []byte // what is stored of what they have not told

	mu     sync.Mutex
	items  []Item // by Seq
	size   int64
	next   uint64
	gone   []string      // files that had to go, removed once that is stored
	unsure bool          // files were made whose names a crash of the machine may undo
	more   chan struct{} // holds a token while there may be items; owned by the spool, never closed
}

// Open opens a folder, and makes it when it is not there. max is its size in
// bytes.
func Open(dir string, max int64, losses Losses) (*Spool, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s := &Spool{dir: dir, max: max, losses: losses, next: 1, more: make(chan struct{}, 1)}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".tmp") {
			_ = os.Remove(filepath.Join(dir, f.Name())) // a write that a crash cut off
			continue
		}
		s.takeFound(f)
	}
	slices.SortFunc(s.items, func(a, b Item) int { return int(int64(a.Seq) - int64(b.Seq)) })
	if s.untold, err = json.Marshal(losses.Untold()); err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s.wakeUp()
	return s, nil
}

// takeFound takes in a file of an earlier run.
func (s *Spool) takeFound(f os.DirEntry) {
	var i Item
	var from, to int64
	name := strings.ReplaceAll(strings.TrimSuffix(f.Name(), ".push"), "-", " ")
	n, err := fmt.Sscanf(name, "%d %s %d %d %d", &i.Seq, &i.Class, &i.Entries, &from, &to)
	if n != 5 || err != nil || !strings.HasSuffix(f.Name(), ".push") {
		return
	}
	i.From, i.To = moment(from), moment(to)
	if info, err := f.Info(); err == nil && i.fileName() == f.Name() {
		i.size = info.Size()
		s.items = append(s.items, i)
		s.size += i.size
		s.next = max(s.next, i.Seq+1)
	}
}

func (s *Spool) wakeUp() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Put takes one encoded push.
func (s *Spool) Put(i Item, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i.Seq, i.size, i.body = s.next, int64(len(body)), body
	s.next++
	s.items = append(s.items, i)
	s.size += i.size
	s.shrinkToFit()
	s.wakeUp()
}

// LoadUntold reads back what the receiver was still to be told when it was kept last.
func (s *Spool) LoadUntold(into any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ok, err := s.LoadState(untold, into)
	if ok && err == nil {
		s.untold, err = json.Marshal(into)
	}
	return err
}

// keepUntold stores what the receiver is still to be told where that changed.
func (s *Spool) keepUntold() error {
	data, err := json.Marshal(s.losses.Untold())
	if err != nil || bytes.Equal(data, s.untold) {
		return err
	}
	if err = s.writeFile(untold+".json", data); err == nil {
		s.untold, s.unsure = data, true
		err = s.syncDir()
	}
	return err
}

// Keep writes what is only in memory.
func (s *Spool) Keep() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.keepUntold(); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	for at := range s.items {
		i := &s.items[at]
		if i.body == nil {
			continue
		}
		if err := s.writeFile(i.fileName(), i.body); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
		i.body, s.unsure = nil, true
	}
	return s.syncDir()
}

// writeFile replaces a file in one step. Its name is durable after sync.
func (s *Spool) writeFile(name string, body []byte) (err error) {
	path := filepath.Join(s.dir, name)
	f, err := os.Create(path + ".tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		_ = os.Remove(path + ".tmp")
	}
	return err
}

// syncDir makes the names of new files durable.
func (s *Spool) syncDir() error {
	if !s.unsure {
		return nil
	}
	d, err := os.Open(s.dir)
	if err == nil {
		err = errors.Join(d.Sync(), d.Close())
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	s.unsure = false
	return nil
}

// shrinkToFit drops items until the spool is within its size: context first.
func (s *Spool) shrinkToFit() {
	for _, class := range []Class{Context, Evidence} {
		for s.size > s.max && len(s.items) > 1 {
			at := slices.IndexFunc(s.items[:len(s.items)-1], func(i Item) bool { return i.Class == class })
			if at < 0 {
				break
			}
			i := s.items[at]
			body := i.body
			if body == nil {
				s.gone = append(s.gone, i.fileName())
				body, _ = os.ReadFile(filepath.Join(s.dir, i.fileName()))
			}
			s.forgetAt(at)
			s.losses.Lost(i, body)
		}
	}
}

// dropItem forgets an item and removes its file; the caller holds the lock.
func (s *Spool) dropItem(i Item) {
	at := slices.IndexFunc(s.items, func(x Item) bool { return x.Seq == i.Seq })
	if at < 0 {
		return // it went while it was being sent
	}
	if s.items[at].body == nil {
		_ = os.Remove(filepath.Join(s.dir, i.fileName())) // one that stays is sent once more
	}
	s.forgetAt(at)
}

func (s *Spool) forgetAt(at int) {
	s.size -= s.items[at].size
	s.items = slices.Delete(s.items, at, at+1)
}

// More is readable when there may be something to send.
func (s *Spool) More() <-chan struct{} { return s.more }

// ErrEmpty is that there is nothing to send.
var ErrEmpty = errors.New("the spool is empty")

// Next returns the oldest item, ErrEmpty when there is none. Any other error is that
// its file cannot be read now: it stays, and those after it wait.
func (s *Spool) Next() (i Item, body []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.items) > 0 {
		if i = s.items[0]; i.body != nil {
			return i, i.body, nil
		}
		body, err := os.ReadFile(filepath.Join(s.dir, i.fileName()))
		if err == nil {
			return i, body, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return i, nil, fmt.Errorf("spool: %w", err)
		}
		s.dropItem(i) // somebody else removed it
		s.losses.Lost(i, nil)
	}
	return i, nil, ErrEmpty
}

// Done removes an item that the receiver has.
func (s *Spool) Done(i Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropItem(i)
}

// Size is how many bytes wait, and in how many items.
func (s *Spool) Size() (bytes int64, files int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.size, len(s.items)
}

// SaveState keeps all that was put, then stores a value beside the files, in one
// step, and removes what had to go: until then a crash brings it back. A crash of the
// machine may bring back the value before.
func (s *Spool) SaveState(name string, value any) error {
	err := s.SaveValue(name, value)
	if err == nil {
		s.clearFiles()
	}
	return err
}

// SaveValue is SaveState for a value of something else: nothing is removed.
func (s *Spool) SaveValue(name string, value any) error {
	data, err := json.Marshal(value)
	if err == nil {
		err = s.Keep()
	}
	if err == nil {
		err = s.writeFile(name+".json", data)
	}
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// clearFiles removes the files that had to go.
func (s *Spool) clearFiles() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.gone {
		_ = os.Remove(filepath.Join(s.dir, name)) // one that stays is found again at the next start
	}
	s.gone = nil
}

// LoadState reads a value back; ok is false when there is none yet.
func (s *Spool) LoadState(name string, into any) (ok bool, err error) {
	data, err := os.ReadFile(filepath.Join(s.dir, name+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		return false, fmt.Errorf("spool: %s: %w", name, err)
	}
	return true, nil
}
