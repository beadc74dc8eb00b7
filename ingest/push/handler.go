package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"coroner/ingest"

	"github.com/grafana/loki/pkg/push"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/klauspost/compress/snappy"
	"golang.org/x/sync/semaphore"
)

// Limits bound what one request may be. The zero value of each means its
// default.
type Limits struct {
	Body    int64 // bytes of the request's body as sent; 8 MiB
	Content int64 // bytes of it uncompressed; 16 MiB
	Entries int   // lines of it; 100 000
	Memory  int64 // bytes that all requests in hand may take, as an estimate; 512 MiB
	Labels  int   // bytes of a stream's labels; 4096
	Busy    int   // requests that are handled at one time; 32
}

func (l *Limits) defaults() {
	if l.Body == 0 {
		l.Body = 8 << 20
	}
	if l.Content == 0 {
		l.Content = 16 << 20
	}
	if l.Entries == 0 {
		l.Entries = 100_000
	}
	if l.Memory == 0 {
		l.Memory = 512 << 20
	}
	if l.Labels == 0 {
		l.Labels = 4096
	}
	if l.Busy == 0 {
		l.Busy = 32
	}
}

// Handler is the server's end of the push protocol. It takes
// application/x-protobuf (snappy) and application/json (plain or gzip).
//
// It answers 204; 400 for a request that can never be taken; 413 for one that
// is too large; 503 with Retry-After when it is busy or the receiver failed.
type Handler struct {
	limits  Limits
	receive func(context.Context, []ingest.Entry) error
	refused func(reason string) // counts what was not taken
	busy    chan struct{}       // a place for each request that is handled
	memory  *semaphore.Weighted // what the requests in hand take
	plainly ingest.Document     // what plain streams are lines of

	mu    sync.Mutex // guards feeds
	feeds *lru.Cache[string, *ingest.Feed]
}

// maxFeeds is how many plain streams' unfinished lines are remembered.
const maxFeeds = 8192

// NewHandler returns a handler that hands every request's entries to receive
// and calls refused, with the reason, for each that it does not take. Which
// pods of plain streams are controllers says controller, as in ingest.Document.
func NewHandler(l Limits, controller func(namespace, pod string) bool, receive func(context.Context, []ingest.Entry) error, refused func(string)) *Handler {
	l.defaults()
	feeds, _ := lru.New[string, *ingest.Feed](maxFeeds) // an error only for a size below 1
	return &Handler{limits: l, receive: receive, refused: refused, busy: make(chan struct{}, l.Busy), memory: semaphore.NewWeighted(l.Memory), feeds: feeds,
		plainly: ingest.Document{Name: "loki", Controller: controller}}
}

// tooLarge is a request beyond a limit.
type tooLarge struct{ what string }

func (e tooLarge) Error() string { return e.what + " is larger than this server takes" }

// ServeHTTP takes one push.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case h.busy <- struct{}{}:
		defer func() { <-h.busy }()
	default:
		h.later(w, "busy", 1, "too many pushes at one time")
		return
	}
	took := int64(0)
	defer func() { h.memory.Release(took) }()
	req, err := h.read(r, &took)
	if errors.Is(err, errFull) {
		h.later(w, "busy", 1, "the pushes in hand take all the memory that they may")
		return
	}
	if err != nil {
		h.bad(w, err)
		return
	}
	entries, err := h.entries(r, req)
	if err != nil {
		h.bad(w, err)
		return
	}
	if err := h.receive(r.Context(), entries); err != nil {
		h.later(w, "not-stored", 5, "could not be stored: "+err.Error())
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (h *Handler) later(w http.ResponseWriter, reason string, seconds int, text string) {
	h.refused(reason)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	http.Error(w, text, http.StatusServiceUnavailable)
}

func (h *Handler) bad(w http.ResponseWriter, err error) {
	code, reason := http.StatusBadRequest, "malformed"
	var large tooLarge
	if errors.As(err, &large) {
		code, reason = http.StatusRequestEntityTooLarge, "too-large"
	}
	h.refused(reason)
	http.Error(w, err.Error(), code)
}

// errFull is a request that there is no memory for now.
var errFull = errors.New("no memory for it now")

// footprint is how much more than its bytes a request takes once it is decoded.
const footprint = 4

// take reserves memory for n bytes of a request.
func (h *Handler) take(n int64, took *int64) error {
	n = min(n*footprint, h.limits.Memory) // a single request always fits
	if !h.memory.TryAcquire(n) {
		return errFull
	}
	*took += n
	return nil
}

// read decodes the request's body and notes in took what it reserved for that.
func (h *Handler) read(r *http.Request, took *int64) (*push.PushRequest, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/x-protobuf" // what promtail calls it, and old clients leave out
	}
	body, err := limited(r.Body, h.limits.Body, "the body")
	if err != nil {
		return nil, err
	}
	if kind == "application/json" {
		return h.readJSON(body, r.Header.Get("Content-Encoding"), took)
	}
	size, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, fmt.Errorf("the body is not snappy-compressed: %w", err)
	}
	if int64(size) > h.limits.Content {
		return nil, tooLarge{"the uncompressed body"}
	}
	if err := h.take(int64(size), took); err != nil {
		return nil, err
	}
	data, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, fmt.Errorf("the body is not snappy-compressed: %w", err)
	}
	req := &push.PushRequest{}
	if err := req.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("the body is no push request: %w", err)
	}
	return req, nil
}

func limited(r io.Reader, limit int64, what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = tooLarge{what}
	}
	return data, err
}

// readJSON decodes Loki's JSON form: streams of [nanoseconds, line, metadata].
func (h *Handler) readJSON(body []byte, encoding string, took *int64) (*push.PushRequest, error) {
	if encoding == "gzip" {
		if err := h.take(h.limits.Content/footprint, took); err != nil { // how large it is only its end tells
			return nil, err
		}
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("the body is not gzip: %w", err)
		}
		if body, err = limited(z, h.limits.Content, "the uncompressed body"); err != nil {
			return nil, err
		}
	}
	if err := h.take(int64(len(body)), took); err != nil {
		return nil, err
	}
	if bytes.Count(body, []byte(`["`)) > 4*h.limits.Entries { // an entry begins so, and some lines hold it
		return nil, tooLarge{"the number of lines"}
	}
	var in struct {
		Streams []struct {
			Stream map[string]string   `json:"stream"`
			Values [][]json.RawMessage `json:"values"`
		} `json:"streams"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body is no push request in JSON: %w", err)
	}
	req := &push.PushRequest{}
	for _, s := range in.Streams {
		out := push.Stream{Labels: labelText(s.Stream)}
		for _, v := range s.Values {
			e, err := jsonEntry(v)
			if err != nil {
				return nil, err
			}
			out.Entries = append(out.Entries, e)
		}
		req.Streams = append(req.Streams, out)
	}
	return req, nil
}

func jsonEntry(v []json.RawMessage) (e push.Entry, err error) {
	var stamp string
	if len(v) < 2 {
		return e, errors.New("a value is not [time, line]")
	}
	if err := errors.Join(json.Unmarshal(v[0], &stamp), json.Unmarshal(v[1], &e.Line)); err != nil {
		return e, fmt.Errorf("a value is not [time, line]: %w", err)
	}
	n, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return e, fmt.Errorf("a time is not in nanoseconds: %w", err)
	}
	e.Timestamp = time.Unix(0, n).UTC()
	if len(v) > 2 {
		var md map[string]string
		if err := json.Unmarshal(v[2], &md); err != nil {
			return e, fmt.Errorf("structured metadata is not an object of texts: %w", err)
		}
		for k, val := range md {
			e.StructuredMetadata = append(e.StructuredMetadata, push.LabelAdapter{Name: k, Value: val})
		}
	}
	return e, nil
}

func labelText(set map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, k+"="+strconv.Quote(set[k]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// entries turns a request into entries: an agent's as they were, a shipper's
// by what their labels say.
func (h *Handler) entries(r *http.Request, req *push.PushRequest) ([]ingest.Entry, error) {
	agent, count := r.Header.Get(AgentHeader) != "", 0
	for i := range req.Streams {
		count += len(req.Streams[i].Entries)
	}
	if count > h.limits.Entries {
		return nil, tooLarge{"the number of lines"}
	}
	var out []ingest.Entry
	for i := range req.Streams {
		s := &req.Streams[i]
		if len(s.Labels) > h.limits.Labels {
			return nil, tooLarge{"a stream's label set"}
		}
		labels, ok := ingest.ParseLabels(s.Labels)
		if !ok {
			return nil, fmt.Errorf("labels %.100q cannot be read", s.Labels)
		}
		if !agent {
			out = h.plain(out, s, labels)
			continue
		}
		for j := range s.Entries {
			e, err := entryOf(labels, &s.Entries[j])
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// plain reads a shipper's stream.
func (h *Handler) plain(out []ingest.Entry, s *push.Stream, labels map[string]string) []ingest.Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := labelText(labels)
	feed, ok := h.feeds.Get(key)
	if !ok {
		feed = h.plainly.Feed()
		h.feeds.Add(key, feed)
	}
	for i := range s.Entries {
		e := &s.Entries[i]
		set := labels
		if len(e.StructuredMetadata) > 0 {
			set = make(map[string]string, len(labels)+len(e.StructuredMetadata))
			for _, md := range e.StructuredMetadata {
				set[md.Name] = md.Value
			}
			for k, v := range labels {
				set[k] = v
			}
		}
		out = append(out, feed.Shipped(e.Timestamp, set, e.Line)...)
	}
	return append(out, feed.Held()...)
}
