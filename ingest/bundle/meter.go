package bundle

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// maxRatio is how much larger than the file an archive may become, once it is
// larger than freeSize. Logs shrink ten- to fiftyfold; a bomb is beyond 1000.
const (
	maxRatio = 300
	freeSize = 256 << 20
)

// errBomb ends an archive that unpacks to more than it should.
var errBomb = errors.New("unpacks to too much")

// meter measures what one input unpacks to, through all layers together.
type meter struct {
	packed   int64 // size of the input
	unpacked int64
	limit    int64
	free     int64 // what it may unpack to at any ratio
}

func (o Options) newMeter(packed int64) *meter {
	return &meter{packed: packed, limit: o.MaxUnpacked, free: o.free}
}

func (m *meter) wrapReader(r io.Reader) io.Reader { return &metered{r, m} }

// addBytes counts n unpacked bytes.
func (m *meter) addBytes(n int) error {
	m.unpacked += int64(n)
	switch {
	case m.unpacked > m.limit:
		return tooMuch(fmt.Sprintf("unpacks to more than %s", sizeText(m.limit)))
	case m.unpacked > m.free && m.unpacked/maxRatio > m.packed:
		return tooMuch(fmt.Sprintf("unpacks to more than %d times its size", maxRatio))
	}
	return nil
}

// tooMuch is errBomb in words.
func tooMuch(what string) error {
	return errors.Join(unread(what+": stopped there; unpack it yourself and give the files that matter"), errBomb)
}

// sizeText is n bytes for a person.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%d GB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

type metered struct {
	r io.Reader
	m *meter
}

func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if over := m.m.addBytes(n); over != nil {
		return 0, over
	}
	return n, err
}

// counted tells count about every byte read.
type counted struct {
	io.Reader
	io.ReaderAt
	count func(int)
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.tellCount(n)
	return n, err
}

func (c counted) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.tellCount(n)
	return n, err
}

func (c counted) tellCount(n int) {
	if c.count != nil {
		c.count(n)
	}
}

// spoolCopy copies r to a temporary file and takes the file's name away, so that
// it vanishes however this process ends.
func spoolCopy(r io.Reader, limit int64) (*os.File, int64, error) {
	f, err := os.CreateTemp("", "coroner-*")
	if err != nil {
		return nil, 0, err
	}
	_ = os.Remove(f.Name()) // left over at worst
	n, err := io.Copy(f, io.LimitReader(r, limit+1))
	if err == nil && n > limit {
		err = unread("is longer than " + sizeText(limit) + ": give the part that matters")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, n, nil
}
