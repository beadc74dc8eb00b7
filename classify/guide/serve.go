package guide

import (
	"html/template"
	"net/http"
	"strings"
	"sync"

	"coroner/classify/served"
)

// Prefix is where a server shows the pages.
const Prefix = "/docs/"

// policy keeps a page from loading anything from elsewhere.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; form-action 'none'"

// site is the pages as a server has them.
type site struct {
	files   map[string]*served.File
	missing *served.File // in the place of a page that there is none of
}

// Handler shows the pages below Prefix. They are made when the first one is asked for.
func Handler(s Sources) http.Handler {
	pages := sync.OnceValues(func() (site, error) { return siteOf(s) })
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
		w.Header().Set("Content-Security-Policy", policy)
		w.Header().Set("Cache-Control", "no-cache")
		if file := all.files[name]; file != nil {
			file.ServeHTTP(w, r)
			return
		}
		all.missing.ServeError(w, r, http.StatusNotFound)
	})
}

func siteOf(s Sources) (site, error) {
	m, err := made(s)
	if err != nil {
		return site{}, err
	}
	missing, err := framed(page{Title: "Not Found", Body: nowhere, Root: Prefix, Home: m.Home, Nav: m.pages})
	return site{served.Files(m.out), served.New("missing.html", missing)}, err
}

const nowhere = template.HTML("<h1>Not Found</h1>\n<p>The documentation has no page with this address. " +
	`It begins <a href="` + Prefix + `">here</a>, and the search box finds words of all pages.</p>`)
