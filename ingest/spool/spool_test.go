package spool

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// lostItem is an item that had to go, and what it held.
type lostItem struct {
	Item
	held string
}

// account is of what went.
type account struct{ lost []lostItem }

func (a *account) Lost(i Item, body []byte) { a.lost = append(a.lost, lostItem{i, string(body)}) }
func (a *account) Untold() any              { return len(a.lost) }

func open(t *testing.T, dir string, max int64) (*Spool, *[]lostItem) {
	t.Helper()
	a := &account{}
	s, err := Open(dir, max, a)
	if err != nil {
		t.Fatal(err)
	}
	return s, &a.lost
}

func put(t *testing.T, s *Spool, class Class, body string) {
	t.Helper()
	s.Put(Item{Class: class, Entries: len(body), From: time.Unix(1, 2), To: time.Unix(3, 4)}, []byte(body))
}

func keep(t *testing.T, s *Spool) {
	t.Helper()
	if err := s.Keep(); err != nil {
		t.Fatal(err)
	}
}

// names are the files of a folder.
func names(t *testing.T, dir string) (out []string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		out = append(out, f.Name())
	}
	return out
}

// drain takes everything out, as a sender does.
func drain(s *Spool) (out []string) {
	for {
		i, body, err := s.Next()
		if err != nil {
			return out
		}
		out = append(out, string(i.Class)+" "+string(body))
		s.Done(i)
	}
}

func equal(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestOrderAndReopening(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, 1<<20)
	put(t, s, Context, "a")
	put(t, s, Evidence, "b")
	keep(t, s)
	i, _, _ := s.Next() // being sent when the process is killed
	if i.Entries != 1 || !i.From.Equal(time.Unix(1, 2)) {
		t.Errorf("%+v", i)
	}
	if err := os.WriteFile(filepath.Join(dir, "0000000000000009-evidence-1-0-0.push.tmp"), []byte("half"),
		0o600); err != nil {
		t.Fatal(err)
	}
	s, _ = open(t, dir, 1<<20)
	put(t, s, Evidence, "c")
	equal(t, drain(s), "context a", "evidence b", "evidence c")
	keep(t, s)
	s, _ = open(t, dir, 1<<20)
	equal(t, drain(s))
	if bytes, files := s.Size(); bytes != 0 || files != 0 {
		t.Errorf("%d bytes, %d files", bytes, files)
	}
}

// What the receiver takes at once is never written; a position is stored only
// with all that was put before it.
func TestOnlyWhatWaitsIsWritten(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, 1<<20)
	put(t, s, Evidence, "a")
	equal(t, drain(s), "evidence a")
	keep(t, s)
	equal(t, names(t, dir))
	put(t, s, Context, "b")
	i, _, _ := s.Next() // being sent when the positions are stored
	if err := s.SaveState("positions", 1); err != nil {
		t.Fatal(err)
	}
	put(t, s, Evidence, "c")
	equal(t, names(t, dir), i.fileName(), "positions.json")
	again, _ := open(t, dir, 1<<20)
	if got, body, err := again.Next(); err != nil || got.fileName() != i.fileName() || string(body) != "b" {
		t.Errorf("%+v %q", got, body)
	}
	s.Done(i)
	equal(t, drain(s), "evidence c")
	equal(t, names(t, dir), "positions.json")
}

// Context goes before evidence, the oldest first, and the newest file stays;
// wherever they are.
func TestFullSpoolDropsContextFirst(t *testing.T) {
	s, lost := open(t, t.TempDir(), 6)
	put(t, s, Evidence, "e1")
	put(t, s, Context, "c1")
	keep(t, s)
	put(t, s, Context, "c2")
	put(t, s, Evidence, "e2")
	put(t, s, Evidence, "e3")
	put(t, s, Evidence, "e4")
	equal(t, drain(s), "evidence e2", "evidence e3", "evidence e4")
	if len(*lost) != 3 || (*lost)[0].Class != Context || (*lost)[1].Class != Context || (*lost)[2].Class != Evidence {
		t.Errorf("%+v", *lost)
	}
	for i, held := range []string{"c1", "c2", "e1"} { // some were in files, some in memory only
		if (*lost)[i].held != held {
			t.Errorf("what went held %q, want %q", (*lost)[i].held, held)
		}
	}
	put(t, s, Evidence, string(bytes.Repeat([]byte("x"), 50)))
	if got := drain(s); len(got) != 1 {
		t.Errorf("a file larger than the spool: %q", got)
	}
}

// A file that goes while it is sent is no trouble.
func TestDoneAfterDrop(t *testing.T) {
	s, _ := open(t, t.TempDir(), 4)
	put(t, s, Evidence, "e1")
	i, _, _ := s.Next()
	put(t, s, Evidence, "e2")
	put(t, s, Evidence, "e3")
	s.Done(i)
	equal(t, drain(s), "evidence e2", "evidence e3")
}

func TestState(t *testing.T) {
	s, _ := open(t, t.TempDir(), 10)
	var got map[string]int
	if ok, err := s.LoadState("positions", &got); ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := s.SaveState("positions", map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	if ok, err := s.LoadState("positions", &got); !ok || err != nil || got["a"] != 1 {
		t.Fatal(ok, err, got)
	}
}

// A folder that cannot be written is an error, not a loss.
func TestUnwritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	s, lost := open(t, dir, 1<<20)
	put(t, s, Evidence, "a")
	keep(t, s)
	put(t, s, Evidence, "b")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.SaveState("positions", 1); err == nil {
		t.Error("stored in a folder that is gone")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	keep(t, s)
	equal(t, drain(s), "evidence b")
	if len(*lost) != 1 {
		t.Errorf("the file that somebody removed: %+v", *lost)
	}
	equal(t, names(t, dir))
}

// A file that cannot be read now is no file that is gone: it is tried again.
func TestUnreadableIsTriedAgain(t *testing.T) {
	dir := t.TempDir()
	s, lost := open(t, dir, 1<<20)
	put(t, s, Evidence, "a")
	keep(t, s)
	path := filepath.Join(dir, names(t, dir)[0])
	if err := errors.Join(os.Rename(path, path+".away"), os.Mkdir(path, 0o700)); err != nil {
		t.Fatal(err)
	}
	if i, _, err := s.Next(); err == nil || errors.Is(err, ErrEmpty) {
		t.Fatalf("%+v of a folder: %v", i, err)
	}
	if err := errors.Join(os.Remove(path), os.Rename(path+".away", path)); err != nil {
		t.Fatal(err)
	}
	equal(t, drain(s), "evidence a")
	if len(*lost) > 0 {
		t.Errorf("lost: %+v", *lost)
	}
}

// Entries without a time are found again.
func TestTimelessItemsAreFoundAgain(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, 1<<20)
	s.Put(Item{Class: Evidence, Entries: 1}, []byte("a"))
	keep(t, s)
	again, _ := open(t, dir, 1<<20)
	i, _, err := again.Next()
	if err != nil || !i.From.IsZero() || !i.To.IsZero() {
		t.Errorf("%v %+v", err, i)
	}
}

// What the receiver is still to be told of what went is on disk with what was put after it, whoever
// has that written.
func TestLossIsStoredBeforeWhatCameAfterIt(t *testing.T) {
	for what, write := range map[string]func(s *Spool) error{
		"kept":             (*Spool).Keep,
		"with a value":     func(s *Spool) error { return s.SaveValue("rulebook", 1) },
		"with a new state": func(s *Spool) error { return s.SaveState("positions", 1) },
	} {
		dir := t.TempDir()
		s, _ := open(t, dir, 3)
		untold := 0
		if err := s.LoadUntold(&untold); err != nil {
			t.Fatal(err)
		}
		keep(t, s)
		equal(t, names(t, dir))
		put(t, s, Evidence, "aa")
		put(t, s, Evidence, "bb")
		if err := write(s); err != nil {
			t.Fatal(err)
		}
		again, _ := open(t, dir, 3)
		if err := again.LoadUntold(&untold); err != nil || untold != 1 {
			t.Errorf("%s: %d losses are to be told: %v", what, untold, err)
		}
		equal(t, drain(again), "evidence bb")
	}
}

// What had to go is removed once the positions are stored: a crash before brings it back.
func TestWhatHadToGoIsThereUntilThatIsStored(t *testing.T) {
	dir := t.TempDir()
	s, lost := open(t, dir, 3)
	put(t, s, Evidence, "aa")
	keep(t, s)
	put(t, s, Evidence, "bb")
	keep(t, s)
	if again, _ := open(t, dir, 1<<20); len(*lost) != 1 || len(again.items) != 2 {
		t.Errorf("lost %+v, found %+v", *lost, again.items)
	}
	if err := s.SaveValue("rulebook", 1); err != nil {
		t.Fatal(err)
	}
	if again, _ := open(t, dir, 1<<20); len(again.items) != 2 {
		t.Errorf("with a value that does not say that it went: %+v", again.items)
	}
	if err := s.SaveState("positions", 1); err != nil {
		t.Fatal(err)
	}
	again, _ := open(t, dir, 1<<20)
	equal(t, drain(again), "evidence bb")
}
