package lookup

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Places bound what questions take. So many are answered at one time, others wait
// for as long as a question may take. An answer is made in memory and written when
// its place is free again: who reads slowly holds nothing but the answer.
//
// The zero value has the default bounds.
type Places struct {
	once   sync.Once
	making *semaphore.Weighted
	out    outgoing
}

// atOnce is how many questions are answered at one time.
const atOnce = 4

func (p *Places) init() { p.making = semaphore.NewWeighted(atOnce) }

var errBusy = errors.New("too many questions at one time")

// Bounded ends a question that takes too long, and tells browsers to take the
// answer for nothing but what it says it is.
func (p *Places) Bounded(f http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), longest)
		defer cancel()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		leave, err := p.enter(ctx)
		if err != nil {
			fail(w, http.StatusInternalServerError, err)
			return
		}
		out := &drawn{header: w.Header(), code: http.StatusOK}
		func() {
			defer leave()
			f(out, r.WithContext(ctx))
		}()
		w.WriteHeader(out.code)
		_ = p.out.write(w, out.Bytes()) // the client has gone
	}
}

// enter waits for a place.
func (p *Places) enter(ctx context.Context) (leave func(), err error) {
	p.once.Do(p.init)
	if p.making.Acquire(ctx, 1) != nil {
		return nil, errBusy
	}
	return func() { p.making.Release(1) }, nil
}

// drawn is an answer in memory. Its header is the answer's own.
type drawn struct {
	bytes.Buffer
	header http.Header
	code   int
	coded  bool
}

// Header is that of the answer.
func (d *drawn) Header() http.Header { return d.header }

// WriteHeader notes the status, the first one.
func (d *drawn) WriteHeader(code int) {
	if !d.coded {
		d.code, d.coded = code, true
	}
}

// Write adds to the answer.
func (d *drawn) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	return d.Buffer.Write(b)
}
