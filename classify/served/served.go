// Package served shows files that are kept in memory. What gets much smaller by it is sent
// packed to who can unpack it, and is packed once, when it is first asked for.
//
// Invariant: an answer says what it is: its type, its length, how it is packed, and a tag that
// no other bytes have. Whoever has them already is told that nothing changed.
//
// Crash behaviour: it keeps no state.
package served

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// File is shown under one address. It is safe for concurrent use.
type File struct {
	name, kind string // its name and media type
	plain      []byte
	packed     func() []byte // nil where that saves little
}

// New makes a file of its contents; the name's end says its type.
func New(name string, data []byte) *File {
	kind := mime.TypeByExtension(path.Ext(name))
	if path.Ext(name) == ".txt" { // not every machine has it in its table
		kind = "text/plain; charset=utf-8"
	}
	return &File{name: name, kind: cmp.Or(kind, http.DetectContentType(data)), plain: data,
		packed: sync.OnceValue(func() []byte {
			if small := Pack(data, gzip.BestCompression); len(small) < len(data)*9/10 {
				return small
			}
			return nil
		})}
}

// Files makes files of their contents by name.
func Files(all map[string][]byte) map[string]*File {
	out := make(map[string]*File, len(all))
	for name, data := range all {
		out[name] = New(name, data)
	}
	return out
}

// ServeHTTP answers with the file. A header that is set before stays.
func (f *File) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data := f.choose(w.Header(), r)
	w.Header().Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256(data)))
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(data))
}

// ServeError answers with the file in the place of what was asked for.
func (f *File) ServeError(w http.ResponseWriter, r *http.Request, code int) {
	data := f.choose(w.Header(), r)
	w.WriteHeader(code)
	_, _ = w.Write(data) // the reader has gone
}

// choose is the form of the file that the request asks for; the header says which it is.
func (f *File) choose(h http.Header, r *http.Request) []byte {
	data := f.plain
	h.Set("Content-Type", f.kind)
	h.Set("X-Content-Type-Options", "nosniff")
	if small := f.packed(); small != nil {
		h.Add("Vary", "Accept-Encoding")
		if TakesGzip(r) {
			h.Set("Content-Encoding", "gzip")
			data = small
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(data)))
	return data
}

// TakesGzip says whether who asks can unpack the answer.
func TakesGzip(r *http.Request) bool {
	all := false
	for _, one := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, how, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(one, " ", "")), ";")
		weight, err := strconv.ParseFloat(strings.TrimPrefix(how, "q="), 64)
		wanted := err != nil || weight > 0
		switch name {
		case "gzip":
			return wanted
		case "*":
			all = wanted
		}
	}
	return all
}

// Pack packs data at a level of package gzip.
func Pack(data []byte, level int) []byte {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, level)
	if err == nil {
		_, err = z.Write(data)
		err = errors.Join(err, z.Close())
	}
	if err != nil { // a buffer takes everything, and the level is the program's
		panic(err)
	}
	return b.Bytes()
}
