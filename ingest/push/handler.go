package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/loki/pkg/push"
	"github.com/klauspost/compress/snappy"
	"golang.org/x/sync/semaphore"

	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/logtext"
)

// Limits bound what one request may be, and all that are in hand. The zero value
// of each means its default.
type Limits struct {
	Body     int64 // bytes of the request's body as sent; 8 MiB
	Content  int64 // bytes of it uncompressed; 16 MiB
	Entries  int   // lines of it; 100 000
	Streams  int   // streams of it; 10 000
	Labels   int   // bytes of a stream's labels; 4096
	Pairs    int   // structured metadata of a line; 128
	Metadata int   // bytes of that; 64 KiB
	Request  int64 // bytes that one decoded request may take, as an estimate; Memory
	Memory   int64 // bytes that all requests in hand may take, decoded, as an estimate; 96 MiB
	Bodies   int64 // bytes that all bodies that are read or in hand may take; 48 MiB
	Busy     int   // requests that are handled at one time; 32
	Client   int   // of them, of one client's address; half of Busy

	Patience time.Duration // in which the next 64 KiB of a body have to come, or its end; 5 s
}

// Defaults are the limits that stand where nothing else is said.
func Defaults() (l Limits) {
	l.defaults()
	return l
}

func (l *Limits) defaults() {
	setDefault(&l.Body, 8<<20)
	setDefault(&l.Content, 16<<20)
	setDefault(&l.Entries, 100_000)
	setDefault(&l.Streams, 10_000)
	setDefault(&l.Labels, 4096)
	setDefault(&l.Pairs, 128)
	setDefault(&l.Metadata, 64<<10)
	setDefault(&l.Request, 96<<20)
	setDefault(&l.Memory, 96<<20)
	setDefault(&l.Bodies, 48<<20)
	setDefault(&l.Busy, 32)
	setDefault(&l.Client, (l.Busy+1)/2)
	setDefault(&l.Patience, 5*time.Second)
	l.Request = min(l.Request, l.Memory)
	l.Bodies = max(l.Bodies, l.Body+1)
}

func setDefault[N int | int64 | time.Duration](n *N, value N) {
	if *n == 0 {
		*n = value
	}
}

// Handler is the server's end of the push protocol. It takes
// application/x-protobuf (snappy) and application/json (plain or gzip).
//
// It answers 204; 400 for a request that can never be taken; 403 for one that speaks
// for a node or a cluster which its credential, see WithIdentity, is not of, or for
// more than a node; 408 for a body that comes too slowly; 413 for one that is too
// large; 429 with Retry-After for a client that has too many under way; 503 with
// Retry-After when it is busy or the receiver failed.
type Handler struct {
	limits  Limits
	receive func(context.Context, []ingest.Entry) error
	refused func(reason string) // counts what was not taken
	places  places              // for the requests that are handled
	bodies  intake
	memory  *semaphore.Weighted // what the requests in hand take, decoded
	plainly document.Document   // what plain streams are lines of
	feeds   *feeds
}

// NewHandler returns a handler that hands every request's entries to receive
// and calls refused, with the reason, for each that it does not take. The context
// that receive gets says whose entries they are, see IdentityFrom. Which pods of
// plain streams are controllers says controller, as in ingest.Document.
func NewHandler(
	l Limits,
	controller func(namespace, pod string) bool,
	receive func(context.Context, []ingest.Entry) error,
	refused func(string),
) *Handler {
	l.defaults()
	return &Handler{
		limits:  l,
		receive: receive,
		refused: refused,
		places:  places{most: l.Busy, each: l.Client, of: map[string]int{}},
		bodies:  intake{limit: l.Body, most: l.Bodies, patience: l.Patience},
		memory:  semaphore.NewWeighted(l.Memory),
		feeds:   newFeeds(),
		plainly: document.Document{Name: "loki", Controller: controller},
	}
}

// Unfinished is how many lines of plain streams were given without their end,
// since it did not come.
func (h *Handler) Unfinished() int64 { return h.feeds.unfinished.Load() }

// tooLarge is a request beyond a limit.
type tooLarge struct{ what string }

func (e tooLarge) Error() string { return e.what + " is larger than this server takes" }

// ServeHTTP takes one push. Its body is read before it has a place: who sends
// slowly must not keep others from theirs.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	who, err := speakerOf(r)
	if err != nil {
		h.answerBad(w, err)
		return
	}
	data, b, err := h.bodies.readRequest(w, r)
	defer h.bodies.bodyDone(b)
	if err != nil {
		h.answerBad(w, err)
		return
	}
	client := remoteAddress(r)
	if err := h.places.takePlace(client); err != nil {
		h.answerBad(w, err)
		return
	}
	defer h.places.leavePlace(client)
	if err := h.pushBody(r, who, data); err != nil {
		h.answerBad(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// pushBody hands on what the body of a request holds.
func (h *Handler) pushBody(r *http.Request, who speaker, data []byte) error {
	took := int64(0)
	defer func() { h.memory.Release(took) }()
	req, err := h.decodeBody(r, data, func(n int64) error {
		if !h.memory.TryAcquire(n) {
			return errFull
		}
		took += n
		return nil
	})
	if err != nil {
		return err
	}
	all, err := h.entriesOf(who, req)
	if err != nil {
		return err
	}
	for _, some := range append(all.others, all.said) {
		if err := h.receive(WithIdentity(r.Context(), some.by), some.entries); err != nil {
			return notStored{err}
		}
	}
	return nil
}

// notStored is what the receiver failed with.
type notStored struct{ error }

func (h *Handler) askLater(w http.ResponseWriter, reason string, code, seconds int, text string) {
	h.refused(reason)
	w.Header().Set("Retry-After", strconv.Itoa(seconds))
	http.Error(w, text, code)
}

// answerBad answers with what was wrong.
func (h *Handler) answerBad(w http.ResponseWriter, err error) {
	code, reason := http.StatusBadRequest, "malformed"
	var other otherCluster
	var not forbidden
	switch {
	case errors.Is(err, errFull), errors.Is(err, errBusy):
		h.askLater(w, "busy", http.StatusServiceUnavailable, 1, err.Error())
		return
	case errors.Is(err, errClient):
		h.askLater(w, "client-busy", http.StatusTooManyRequests, 1, err.Error())
		return
	case errors.As(err, &notStored{}):
		w.Header().Set(ElsewhereHeader, "true")
		h.askLater(w, "not-stored", http.StatusServiceUnavailable, 5, "could not be stored: "+err.Error())
		return
	case errors.Is(err, errSlow):
		code, reason = http.StatusRequestTimeout, "slow"
	case errors.As(err, &tooLarge{}):
		code, reason = http.StatusRequestEntityTooLarge, "too-large"
	case errors.As(err, &other):
		code, reason = http.StatusForbidden, "cluster"
	case errors.As(err, &not):
		code, reason = http.StatusForbidden, not.reason
	}
	h.refused(reason)
	http.Error(w, err.Error(), code)
}

// decodeBody makes a request of a body. What it will take in memory is reserved with
// take before it is made.
func (h *Handler) decodeBody(r *http.Request, body []byte, take func(int64) error) (*push.PushRequest, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		kind = "application/x-protobuf" // what promtail calls it, and old clients leave out
	}
	count := &census{l: &h.limits, take: take}
	if kind == "application/json" {
		in, err := h.inflated(body, r.Header.Get("Content-Encoding"))
		if err != nil {
			return nil, err
		}
		return readJSON(in, count)
	}
	size, err := snappy.DecodedLen(body)
	if err != nil {
		return nil, fmt.Errorf("the body is not snappy-compressed: %w", err)
	}
	if int64(size) > h.limits.Content {
		return nil, tooLarge{"the uncompressed body"}
	}
	count.text = size // beside what is made of it
	if err := count.reserveAhead(); err != nil {
		return nil, err
	}
	data, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, fmt.Errorf("the body is not snappy-compressed: %w", err)
	}
	if err := count.countRequest(data); err != nil {
		return nil, err
	}
	req := &push.PushRequest{}
	if err := req.Unmarshal(data); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoRequest, err)
	}
	return req, nil
}

// inflated is the text of a JSON body, unpacked as it is read.
func (h *Handler) inflated(body []byte, encoding string) (io.Reader, error) {
	if encoding != "gzip" {
		return bytes.NewReader(body), nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the body is not gzip: %w", err)
	}
	return &limited{z, h.limits.Content}, nil
}

// limited fails beyond so many bytes.
type limited struct {
	io.Reader
	left int64
}

// Read reads, and fails when there is more than may be.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n, tooLarge{"the uncompressed body"}
	}
	return n, err
}

func labelText(set map[string]string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(set)) {
		parts = append(parts, k+"="+strconv.Quote(set[k]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// said are entries and whose they are.
type said struct {
	by      Identity
	entries []ingest.Entry
}

// parts is what a request gives: what it says, and of others' lines those whose end
// is not waited for any more.
type parts struct {
	said
	others []said
}

// addCut takes in lines without their end.
func (p *parts) addCut(by Identity, entries []ingest.Entry) {
	if by == p.by {
		p.entries = append(p.entries, entries...)
		return
	}
	by.placeEntries(entries)
	p.others = append(p.others, said{by, entries})
}

// entriesOf turns a request into entries: an agent's and a relay's as they were, a
// shipper's by what their labels say.
func (h *Handler) entriesOf(who speaker, req *push.PushRequest) (out parts, err error) {
	streams, count, err := h.streamsOf(req)
	for i := 0; i < len(streams) && err == nil; i++ {
		err = streams[i].allowedFor(who)
	}
	out.by, out.entries = who.Identity, make([]ingest.Entry, 0, count)
	for i := range streams {
		switch {
		case err != nil:
			return out, err
		case !who.Agent && !who.Relay:
			h.readPlain(&out, &streams[i])
		default:
			out.entries, err = streams[i].addSent(out.entries, who.Identity)
		}
	}
	who.placeEntries(out.entries)
	return out, err
}

// stream is a stream of a push with its labels.
type stream struct {
	*push.Stream
	labels map[string]string
}

// streamsOf are the streams of a push with their labels, and how many lines they have.
func (h *Handler) streamsOf(req *push.PushRequest) (out []stream, count int, _ error) {
	for i := range req.Streams {
		count += len(req.Streams[i].Entries)
	}
	for i := range req.Streams {
		s := stream{Stream: &req.Streams[i]}
		var ok bool
		if s.labels, ok = logtext.ParseLabels(s.Labels); !ok {
			return nil, 0, fmt.Errorf("labels %.100q cannot be read", s.Labels)
		}
		out = append(out, s)
	}
	return out, count, nil
}

// allowedFor is an error where the stream, or a shipper's line of it, names another
// cluster than the credential's.
func (s *stream) allowedFor(who speaker) error {
	if err := who.allowsNode(s.labels); err != nil || who.Cluster == "" || who.Agent || who.Relay {
		return err
	}
	for i := range s.Entries {
		if err := who.allowsNode(s.labelsOf(&s.Entries[i])); err != nil {
			return err
		}
	}
	return nil
}

// labelsOf are the labels of the stream with a line's structured metadata.
func (s *stream) labelsOf(e *push.Entry) map[string]string {
	if len(e.StructuredMetadata) == 0 {
		return s.labels
	}
	return logtext.Labels(s.labels).WithMetadata(func(yield func(string, string) bool) {
		for _, md := range e.StructuredMetadata {
			if !yield(md.Name, md.Value) {
				return
			}
		}
	})
}

// mayControl says whether the stream's lines can be a controller's. Where its labels do not name
// the namespace and the container, or a pod that the operator named, lines with structured
// metadata could name them themselves.
func (s *stream) mayControl(named func(namespace, pod string) bool) bool {
	l := logtext.Labels(s.labels)
	if l.Namespace() != "" && (l.Container() != "" || l.Pod() != "" && named != nil && named(l.Namespace(), l.Pod())) {
		return true
	}
	return !slices.ContainsFunc(s.Entries, func(e push.Entry) bool { return len(e.StructuredMetadata) > 0 })
}

// addSent adds an agent's or a relay's entries as they were.
func (s *stream) addSent(out []ingest.Entry, by Identity) ([]ingest.Entry, error) {
	if err := mayRead(s.labels["source"]); err != nil && !by.Relay {
		return nil, err
	}
	for i := range s.Entries {
		e, err := entryOf(s.labels, &s.Entries[i])
		if err == nil {
			err = by.May(&e)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// readPlain reads a shipper's stream. A line that is split over pushes is whole only
// where all of them have the same labels and the same credential.
func (h *Handler) readPlain(out *parts, s *stream) {
	f := h.feeds.feedFor(out.by, labelText(s.labels), h.plainly)
	out.entries = f.readLines(out.entries, s, s.mayControl(h.plainly.Controller))
	h.feeds.doneWith(f, time.Now(), out.addCut)
}

// readLines adds the entries of a stream's lines, which may be a controller's or not.
func (f *feed) readLines(out []ingest.Entry, s *stream, control bool) []ingest.Entry {
	f.mu.Lock()
	defer f.mu.Unlock()
	begin := len(out)
	for i := range s.Entries {
		e := &s.Entries[i]
		out = append(out, f.Shipped(e.Timestamp, s.labelsOf(e), e.Line)...)
	}
	if out = append(out, f.Held()...); control {
		return out
	}
	for i := range out[begin:] {
		if e := &out[begin+i]; e.Source.TellsOfOthers() {
			e.Source, e.Trust = ingest.Job, ingest.Claimed
		}
	}
	return out
}
