package podlog

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Why lines are missing, in words for the reader of a Gap.
const (
	whyRotated = "log files were rotated away or replaced before they were read"
	whyShrunk  = "the log file was truncated"
	whyDeleted = "the log was deleted before it was read to its end"
	whyClosed  = "a rotated log file could not be opened"
	whyBroken  = "a compressed log file is damaged"
)

var errStale = errors.New("log files change while they are listed")

// chain is the files of one container instance, open and in the order in which
// they were written.
type chain struct {
	files   []*file
	current bool // the last of them is the one that is being written
}

// chain opens all files of a stream. A rotation in the middle of that would
// hide a file, so the names must be the same before and after.
func (r *Reader) chain(s *stream) (c chain, err error) {
	for range 5 {
		if c, err = r.openAll(s); !errors.Is(err, errStale) {
			break
		}
	}
	return c, err
}

func (r *Reader) openAll(s *stream) (c chain, err error) {
	before, err := r.list(s)
	if err != nil {
		return c, err
	}
	names := before.names(s.n)
	r.makeRoom(s, len(names))
	if err = r.openEach(&c, s, names); err == nil {
		var after logSet
		if after, err = r.list(s); err == nil && !slices.Equal(names, after.names(s.n)) {
			err = errStale
		}
	}
	if err != nil {
		c.keep(nil)
		return chain{}, err
	}
	c.current = before.current != nil
	c.order()
	return c, nil
}

// list is what files the stream has; fs.ErrNotExist if it has none.
func (r *Reader) list(s *stream) (logSet, error) {
	sets, err := listLogs(filepath.Join(r.c.Dir, s.path), func(string) {})
	if err != nil {
		return logSet{}, err
	}
	set := sets[s.n]
	if set.current == nil && len(set.rotated) == 0 {
		return set, fs.ErrNotExist
	}
	return set, nil
}

// openEach opens the files. A rotated one that cannot be opened is a gap before
// the next; the one that is being written must be readable.
func (r *Reader) openEach(c *chain, s *stream, names []logName) error {
	gap := ""
	for _, name := range names {
		path := filepath.Join(r.c.Dir, s.path, name.String())
		f, err := openLog(path, name.gz, &r.opened)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return errStale
		case err != nil && name.stamp == "":
			return err
		case err != nil:
			r.trouble(path, err)
			gap = whyClosed
			continue
		}
		f.gap, gap = gap, ""
		c.files = append(c.files, f)
	}
	return nil
}

// order sorts the rotated files by the times of their first lines: the times in
// their names are local and repeat an hour in autumn.
func (c *chain) order() {
	rotated := c.files
	if c.current {
		rotated = c.files[:len(c.files)-1]
	}
	if slices.ContainsFunc(rotated, func(f *file) bool { return firstTime(f.head).IsZero() }) {
		return
	}
	slices.SortStableFunc(rotated, func(a, b *file) int { return firstTime(a.head).Compare(firstTime(b.head)) })
}

// find is the index of the file that a spot is in, -1 if it is in none.
func (c chain) find(p spot) int {
	return slices.IndexFunc(c.files, func(f *file) bool { return f.matches(p) })
}

// keep closes all files but the last ones, those of rest.
func (c chain) keep(rest []*file) {
	for _, f := range c.files[:len(c.files)-len(rest)] {
		f.close()
	}
}

// after is the files that follow the newest one that a stream has open. sure is
// false if that one is not among them, and so perhaps not all of its followers
// either.
func (c chain) after(s *stream) (rest []*file, sure bool) {
	f := s.newest()
	i := slices.IndexFunc(c.files, func(g *file) bool { return os.SameFile(f.info, g.info) })
	if i < 0 {
		_ = f.peek(false) // it may have been empty when it was opened; what cannot be read tells nothing
		i = c.find(f.spot(0))
	}
	if i >= 0 {
		return c.files[i+1:], true
	}
	last := s.at.last
	for _, f := range s.queue {
		if first := firstTime(f.head); first.After(last) {
			last = first
		}
	}
	return c.newer(last), len(f.head) == 0
}

// newer is the files that begin later than a time. The one that is being
// written is always among them: better twice than never.
func (c chain) newer(last time.Time) []*file {
	i := slices.IndexFunc(c.files, func(f *file) bool { return firstTime(f.head).After(last) })
	if i < 0 {
		if i = len(c.files); c.current {
			i--
		}
	}
	return c.files[i:]
}

// since is the files that can hold lines from a time on.
func (c chain) since(t time.Time) []*file {
	for i := len(c.files) - 1; i > 0; i-- {
		if first := firstTime(c.files[i].head); !first.IsZero() && !first.After(t) {
			return c.files[i:]
		}
	}
	return c.files
}

// attach opens what of the stream is still to be read.
func (r *Reader) attach(s *stream) error {
	c, err := r.chain(s)
	if err != nil {
		return err
	}
	rest := c.files
	switch {
	case s.at.hashed > 0:
		rest = r.resume(s, c)
	case !s.cutoff.IsZero():
		rest = c.since(s.cutoff)
	}
	c.keep(rest)
	for _, f := range rest {
		f.goal = f.size()
	}
	s.enqueue(rest)
	s.parked, s.resumed, s.owed = nil, false, nil
	s.gone = s.gone || len(rest) == 0
	return nil
}

// resume finds the file of the stream's place, whatever its name is now.
func (r *Reader) resume(s *stream, c chain) (rest []*file) {
	i := c.find(s.at.spot)
	why := whyRotated
	switch {
	case i < 0:
		rest = c.newer(s.at.last)
	case c.files[i].size() < s.at.offset:
		rest, why = c.files[i:], whyShrunk
	default:
		c.files[i].gap = ""
		err := r.seek(s, c, i)
		if err == nil {
			return c.files[i:]
		}
		r.trouble(filepath.Join(r.c.Dir, s.doc), err)
		rest, why = c.files[i+1:], whyBroken
	}
	if len(rest) > 0 {
		rest[0].gap = why
	}
	return rest
}
