package push

import (
	"errors"
	"unsafe"

	"coroner/ingest"

	"github.com/grafana/loki/pkg/push"
	"google.golang.org/protobuf/encoding/protowire"
)

// census counts what a request is made of while it is read. A byte or two of a
// request can become some hundred of memory, so it is counted before anything is
// made of it.
type census struct {
	l       *Limits
	streams int
	entries int
	pairs   int // of structured metadata
	text    int // bytes of labels, lines and metadata, and of the body that they are read from

	take  func(n int64) error // reserves memory
	taken int64
}

// What one of each takes, about: the lists that they are in grow by doubling.
const (
	streamSize = 2*unsafe.Sizeof(push.Stream{}) + 600 // its labels become a map
	entrySize  = 2*unsafe.Sizeof(push.Entry{}) + unsafe.Sizeof(ingest.Entry{})
	pairSize   = 2*unsafe.Sizeof(push.LabelAdapter{}) + 120 // it may become an entry of a map
)

// memoryNeeded is about how many bytes the decoded request takes.
func (c *census) memoryNeeded() int64 {
	return int64(c.streams)*int64(streamSize) + int64(c.entries)*int64(entrySize) +
		int64(c.pairs)*int64(pairSize) + int64(c.text)
}

// countStream counts one, by the bytes of its labels.
func (c *census) countStream(labels int) error {
	c.streams++
	c.text += labels
	switch {
	case labels > c.l.Labels:
		return tooLarge{"a stream's label set"}
	case c.streams > c.l.Streams:
		return tooLarge{"the number of streams"}
	}
	return c.reserveAhead()
}

// countEntry counts one, by the bytes of its line, and by the pairs of its structured
// metadata and their bytes.
func (c *census) countEntry(line, pairs, metadata int) error {
	c.entries++
	c.pairs += pairs
	c.text += line + metadata
	switch {
	case c.entries > c.l.Entries:
		return tooLarge{"the number of lines"}
	case pairs > c.l.Pairs:
		return tooLarge{"the number of a line's structured metadata"}
	case metadata > c.l.Metadata:
		return tooLarge{"a line's structured metadata"}
	}
	return c.reserveAhead()
}

// reserveAhead takes memory for what is counted so far, a little ahead.
func (c *census) reserveAhead() error {
	const ahead = 1 << 20
	if c.memoryNeeded() > c.l.Request {
		return tooLarge{"what the push is made of"}
	}
	more := c.memoryNeeded() - c.taken
	if more <= 0 {
		return nil
	}
	more = min(more+ahead, c.l.Request-c.taken)
	c.taken += more
	return c.take(more)
}

var errNoRequest = errors.New("the body is no push request")

// countRequest counts an encoded push request.
func (c *census) countRequest(b []byte) error {
	return byteFields(b, func(number protowire.Number, stream []byte) error {
		if number != 1 {
			return nil
		}
		labels := 0
		err := byteFields(stream, func(number protowire.Number, field []byte) error {
			switch number {
			case 1:
				labels += len(field)
			case 2:
				return c.encodedEntry(field)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return c.countStream(labels)
	})
}

func (c *census) encodedEntry(b []byte) error {
	line, pairs, metadata := 0, 0, 0
	err := byteFields(b, func(number protowire.Number, field []byte) error {
		switch number {
		case 2:
			line += len(field)
		case 3, 4:
			pairs++
			metadata += len(field)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.countEntry(line, pairs, metadata)
}

// byteFields gives the fields of a message that are bytes themselves.
func byteFields(b []byte, take func(protowire.Number, []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errNoRequest
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(number, kind, b)
		if size < 0 {
			return errNoRequest
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b) // it is there
			if err := take(number, value); err != nil {
				return err
			}
		}
		b = b[size:]
	}
	return nil
}
