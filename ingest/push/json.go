package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/loki/pkg/push"
)

// jsonRequest reads Loki's JSON form, streams of [nanoseconds, line, metadata],
// as it comes: nothing is made of what is not counted yet, and of what nobody
// asked for only so much as is skipped.
type jsonRequest struct {
	in    *json.Decoder
	count *census
	out   push.PushRequest
}

// readJSON decodes a request.
func readJSON(r io.Reader, count *census) (*push.PushRequest, error) {
	j := &jsonRequest{in: json.NewDecoder(&fewBlanks{r: r}), count: count}
	err := j.readObject(func(key string) error {
		if !strings.EqualFold(key, "streams") {
			return j.skipValue()
		}
		return j.readArray(j.readStream)
	})
	if err == nil {
		if _, end := j.in.Token(); end != io.EOF {
			err = errors.New("something follows the request")
		}
	}
	var large tooLarge
	if err != nil && !errors.As(err, &large) && !errors.Is(err, errFull) {
		err = fmt.Errorf("the body is no push request in JSON: %w", err)
	}
	return &j.out, err
}

// mostBlanks is how many blanks may stand between two parts of a request: the decoder
// looks at all of them again with each piece that it reads.
const mostBlanks = 64 << 10

// fewBlanks is a reader of JSON that refuses longer runs of blanks outside of texts.
type fewBlanks struct {
	r               io.Reader
	run             int
	inText, escaped bool
}

// Read reads, and fails where a run of blanks is too long.
func (b *fewBlanks) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for _, c := range p[:n] {
		switch {
		case b.escaped:
			b.escaped = false
		case b.inText && c == '\\':
			b.escaped = true
		case c == '"':
			b.inText, b.run = !b.inText, 0
		case b.inText || c != ' ' && c != '\n' && c != '\t' && c != '\r':
			b.run = 0
		default:
			if b.run++; b.run > mostBlanks {
				return 0, tooLarge{"the space between two parts of a request"}
			}
		}
	}
	return n, err
}

// readStream reads {"stream": {labels}, "values": [entries]}, in any order.
func (j *jsonRequest) readStream() error {
	s := push.Stream{Labels: "{}"}
	err := j.readObject(func(key string) error {
		switch {
		case strings.EqualFold(key, "stream"):
			return j.readLabels(&s)
		case strings.EqualFold(key, "values"):
			return j.readArray(func() error { return j.readEntry(&s) })
		}
		return j.skipValue()
	})
	if err == nil {
		err = j.count.countStream(len(s.Labels))
	}
	j.out.Streams = append(j.out.Streams, s)
	return err
}

func (j *jsonRequest) readLabels(s *push.Stream) error {
	set, size := map[string]string{}, 0
	err := j.readObject(func(key string) (err error) {
		set[key], err = j.readText()
		if size += len(key) + len(set[key]); size > j.count.l.Labels {
			return tooLarge{"a stream's label set"}
		}
		return err
	})
	s.Labels = labelText(set)
	return err
}

// readEntry reads [nanoseconds, line, metadata]. What stands behind that is skipped.
func (j *jsonRequest) readEntry(s *push.Stream) (err error) {
	var e push.Entry
	n, metadata := 0, 0
	err = j.readArray(func() (err error) {
		n++
		switch n {
		case 1:
			e.Timestamp, err = j.readTime()
		case 2:
			e.Line, err = j.readText()
		case 3:
			metadata, err = j.metadata(&e)
		default:
			err = j.skipValue()
		}
		return err
	})
	if err == nil && n < 2 {
		err = errors.New("a value is not [time, line]")
	}
	if err == nil {
		err = j.count.countEntry(len(e.Line), len(e.StructuredMetadata), metadata)
	}
	s.Entries = append(s.Entries, e)
	return err
}

func (j *jsonRequest) readTime() (time.Time, error) {
	text, err := j.readText()
	if err != nil {
		return time.Time{}, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("a time is not in nanoseconds: %w", err)
	}
	return time.Unix(0, n).UTC(), nil
}

// metadata reads an object of texts, and how many bytes they are.
func (j *jsonRequest) metadata(e *push.Entry) (size int, err error) {
	err = j.readObject(func(key string) error {
		value, err := j.readText()
		e.StructuredMetadata = append(e.StructuredMetadata, push.LabelAdapter{Name: key, Value: value})
		size += len(key) + len(value)
		if l := j.count.l; len(e.StructuredMetadata) > l.Pairs || size > l.Metadata {
			return tooLarge{"a line's structured metadata"}
		}
		return err
	})
	return size, err
}

// readObject reads one whose members take reads; null is one without.
func (j *jsonRequest) readObject(take func(key string) error) error {
	return j.readNested('{', func() error {
		key, err := j.readText()
		if err != nil {
			return err
		}
		return take(key)
	})
}

// readArray reads one whose elements take reads; null is one without.
func (j *jsonRequest) readArray(take func() error) error { return j.readNested('[', take) }

func (j *jsonRequest) readNested(open json.Delim, take func() error) error {
	t, err := j.in.Token()
	if err != nil || t == nil {
		return err
	}
	if t != open {
		return fmt.Errorf("want %v at byte %d", open, j.in.InputOffset())
	}
	for j.in.More() {
		if err := take(); err != nil {
			return err
		}
	}
	_, err = j.in.Token()
	return err
}

func (j *jsonRequest) readText() (string, error) {
	t, err := j.in.Token()
	if err != nil {
		return "", err
	}
	text, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("want a text at byte %d", j.in.InputOffset())
	}
	return text, nil
}

// skipValue passes over one value, however deep it is.
func (j *jsonRequest) skipValue() error {
	var v json.RawMessage
	return j.in.Decode(&v)
}
