package mcp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
)

// local carries requests to a handler of the same process.
type local struct{ api http.Handler }

// RoundTrip answers a request.
func (l local) RoundTrip(r *http.Request) (res *http.Response, err error) {
	a := &answer{header: http.Header{}, code: http.StatusOK}
	defer func() {
		if broken := recover(); broken != nil { // a handler that stops in the middle of its answer
			res, err = nil, fmt.Errorf("the answer broke off: %v", broken)
		}
	}()
	l.api.ServeHTTP(a, r)
	return &http.Response{
		StatusCode: a.code, Header: a.header, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()),
	}, nil
}

// answer is an answer in memory.
type answer struct {
	header http.Header
	code   int
	coded  bool
	body   bytes.Buffer
}

// Header is that of the answer.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader notes the status, the first one.
func (a *answer) WriteHeader(code int) {
	if !a.coded {
		a.code, a.coded = code, true
	}
}

// Write adds to the answer.
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}
