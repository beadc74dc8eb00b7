package guide

import (
	"bytes"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

// Prefix is where a server shows the pages.
const Prefix = "/docs/"

// policy keeps a page from loading anything from elsewhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; form-action 'none'"

// Handler shows the pages below Prefix. They are made when the first one is asked for.
func Handler(s Sources) http.Handler {
	pages := sync.OnceValues(func() (map[string][]byte, error) { return Pages(s) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all, err := pages()
		if err != nil {
			http.Error(w, "the documentation could not be made: "+err.Error(), http.StatusInternalServerError)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, Prefix)
		if name == "" {
			name = "index.html"
		}
		data, ok := all[name]
		if !ok {
			http.Error(w, "the documentation has no such page; it begins at "+Prefix, http.StatusNotFound)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		if path.Ext(name) == ".txt" {
			h.Set("Content-Type", "text/plain; charset=utf-8")
		}
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
	})
}
