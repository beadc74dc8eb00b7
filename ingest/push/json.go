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
	j := &jsonRequest{in: json.NewDecoder(r), count: count}
	err := j.object(func(key string) error {
		if !strings.EqualFold(key, "streams") {
			return j.skip()
		}
		return j.array(j.stream)
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

// stream reads {"stream": {labels}, "values": [entries]}, in any order.
func (j *jsonRequest) stream() error {
	s := push.Stream{Labels: "{}"}
	err := j.object(func(key string) error {
		switch {
		case strings.EqualFold(key, "stream"):
			return j.labels(&s)
		case strings.EqualFold(key, "values"):
			return j.array(func() error { return j.entry(&s) })
		}
		return j.skip()
	})
	if err == nil {
		err = j.count.stream(len(s.Labels))
	}
	j.out.Streams = append(j.out.Streams, s)
	return err
}

func (j *jsonRequest) labels(s *push.Stream) error {
	set, size := map[string]string{}, 0
	err := j.object(func(key string) (err error) {
		set[key], err = j.text()
		if size += len(key) + len(set[key]); size > j.count.l.Labels {
			return tooLarge{"a stream's label set"}
		}
		return err
	})
	s.Labels = labelText(set)
	return err
}

// entry reads [nanoseconds, line, metadata]. What stands behind that is skipped.
func (j *jsonRequest) entry(s *push.Stream) (err error) {
	var e push.Entry
	n, metadata := 0, 0
	err = j.array(func() (err error) {
		n++
		switch n {
		case 1:
			e.Timestamp, err = j.time()
		case 2:
			e.Line, err = j.text()
		case 3:
			metadata, err = j.metadata(&e)
		default:
			err = j.skip()
		}
		return err
	})
	if err == nil && n < 2 {
		err = errors.New("a value is not [time, line]")
	}
	if err == nil {
		err = j.count.entry(len(e.Line), len(e.StructuredMetadata), metadata)
	}
	s.Entries = append(s.Entries, e)
	return err
}

func (j *jsonRequest) time() (time.Time, error) {
	text, err := j.text()
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
	err = j.object(func(key string) error {
		value, err := j.text()
		e.StructuredMetadata = append(e.StructuredMetadata, push.LabelAdapter{Name: key, Value: value})
		size += len(key) + len(value)
		if l := j.count.l; len(e.StructuredMetadata) > l.Pairs || size > l.Metadata {
			return tooLarge{"a line's structured metadata"}
		}
		return err
	})
	return size, err
}

// object reads one whose members take reads; null is one without.
func (j *jsonRequest) object(take func(key string) error) error {
	return j.nested('{', func() error {
		key, err := j.text()
		if err != nil {
			return err
		}
		return take(key)
	})
}

// array reads one whose elements take reads; null is one without.
func (j *jsonRequest) array(take func() error) error { return j.nested('[', take) }

func (j *jsonRequest) nested(open json.Delim, take func() error) error {
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

func (j *jsonRequest) text() (string, error) {
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

// skip passes over one value, however deep it is.
func (j *jsonRequest) skip() error {
	var v json.RawMessage
	return j.in.Decode(&v)
}
