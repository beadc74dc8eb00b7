// Package web serves the pages that a responder looks at: the search box, the
// latest deaths with their charts, a post-mortem under a permanent address, and
// what each verdict means. Pages are made on the server and need no script; the
// script copies text, switches the colours, and renews what is shown.
//
// Invariant: everything that came from a log is escaped text, cleaned of
// control characters and cut; no page loads anything from elsewhere, and no
// script or style stands in a page (Content-Security-Policy). A page changes
// nothing.
//
// Crash behaviour: it keeps no state.
package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/served"
	"coroner/rules"
	"coroner/rules/manual"

	"github.com/rs/zerolog"
)

// Charts is where counts come from.
type Charts interface {
	CountsOverTime(ctx context.Context, q ledger.Query, s ledger.Spans) ([]ledger.Count, error)
	CountsByNode(ctx context.Context, q ledger.Query, to time.Time, top int) ([]ledger.Count, error)
	Clusters(ctx context.Context) ([]string, error)
	Ends(ctx context.Context, q ledger.Query, most int) ([]ledger.End, error)
	CountsByPool(ctx context.Context, pools []string, from, to time.Time) ([]ledger.PoolCount, error)
	Oldest(ctx context.Context) (time.Time, error)
	Verdicts(ctx context.Context, q ledger.Query) ([]ledger.Record, error)
	Nodes(ctx context.Context) ([]ledger.Node, error)
	Arrived(ctx context.Context) (time.Time, error)
}

// Pages are the pages. Its fields are set before Register.
type Pages struct {
	API    *lookup.API
	Charts Charts
	Manual func(rules.Label) (manual.Page, bool) // what the rulebook in force says of a label
	Log    zerolog.Logger
	Now    func() time.Time
	Links  Links
	Notes  func() []string // what keeps coroner from its sources; nil: nothing is known of that
	// LocalOnly says whether pushes are taken from this machine only; nil: not known.
	LocalOnly func() bool
}

// Register adds the pages' routes to mux. What the pages load says nothing of anybody: it goes to
// open, where nobody is asked for a token, so that who is refused one reads why in a page, too.
func (p *Pages) Register(mux, open *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.pageHandler(p.listView))
	mux.HandleFunc("GET /runners/{name...}", p.pageHandler(p.runnerView))
	mux.HandleFunc("GET /pools/{name...}", p.pageHandler(p.runnerView))
	mux.HandleFunc("GET /jobs/{name...}", p.pageHandler(p.runnerView))
	mux.HandleFunc("GET /verdicts/{$}", p.pageHandler(p.labelsView))
	mux.HandleFunc("GET /verdicts/{label}", p.pageHandler(p.labelView))
	open.Handle("GET /assets/", p.assets())
	mux.HandleFunc("GET /suggest", p.API.Places.Bounded(p.suggest))
	mux.HandleFunc("GET /api/", http.NotFound)
	mux.HandleFunc("GET /", p.pageHandler(nowhere))
}

//go:embed pages/*.html
var pageFiles embed.FS

//go:embed assets
var assetFiles embed.FS

// view is what a page is made of.
type view struct {
	template string // its name; "" = the handler has answered
	code     int
	Title    string
	Search   string // what the search box shows
	Refresh  int    // seconds after which the page asks again, 0 = never
	Data     any
	Now      time.Time
	AsOf     time.Time // when the ledger was asked for what the page shows
}

// clusters are those that are known, nil where it is one: then no page need name it.
func (p *Pages) clusters(ctx context.Context) ([]string, error) {
	all, err := p.Charts.Clusters(ctx)
	if err != nil || len(all) < 2 {
		return nil, err
	}
	return all, nil
}

// table is rows of runners or verdicts, and whether their cluster is told.
type table struct {
	Rows     any
	Clusters bool
	Now      time.Time
}

// problem is an error that the person who asks can mend.
type problem struct {
	code int
	text string
}

func (e problem) Error() string { return e.text }

// nowhere answers for an address that no page has.
func nowhere(_ http.ResponseWriter, r *http.Request) (view, error) {
	return view{}, problem{http.StatusNotFound, "No page has the address " + cutText(cleanText(r.URL.Path), 160) + "."}
}

const policy = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setPolicies(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
}

// pageHandler answers with what f makes, or with what went wrong.
func (p *Pages) pageHandler(f func(w http.ResponseWriter, r *http.Request) (view, error)) http.HandlerFunc {
	return p.API.Places.Bounded(func(w http.ResponseWriter, r *http.Request) {
		h, asked := w.Header(), p.Now()
		setPolicies(h)
		v, err := f(w, r)
		if err != nil {
			v = p.failedView(r, err)
		} else if v.AsOf = asked; v.template == "list" || v.template == "runner" {
			h.Set(lookup.AsOfHeader, lookup.AsOf(asked))
		}
		if v.Now = p.Now(); v.template != "" {
			p.writePage(w, r, v)
		}
	})
}

// Refuse shows why somebody may not read the pages.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request, why string, code int) {
	setPolicies(w.Header())
	p.writePage(w, r, view{template: "problem", code: code, Title: http.StatusText(code), Data: why, Now: p.Now()})
}

func (p *Pages) failedView(r *http.Request, err error) view {
	if bad, ok := err.(problem); ok {
		return view{template: "problem", code: bad.code, Title: http.StatusText(bad.code), Data: bad.text,
			Search: r.URL.Query().Get("q")}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return view{
			template: "problem",
			code:     http.StatusServiceUnavailable,
			Title:    "This took too long",
			Data:     "Ask for less: a shorter time, a longer name, a node or a pool.",
		}
	}
	p.Log.Error().Err(err).Str("path", r.URL.Path).Msg("a page could not be made")
	return view{
		template: "problem",
		code:     http.StatusInternalServerError,
		Title:    "The server failed",
		Data:     "The ledger could not be read; the server's log says why.",
	}
}

// writePage renders into memory first: half a page with a good status would be a lie.
func (p *Pages) writePage(w http.ResponseWriter, r *http.Request, v view) {
	var b bytes.Buffer
	if err := templates[v.template].ExecuteTemplate(&b, "page", v); err != nil {
		p.Log.Error().Err(err).Str("page", v.template).Msg("a page could not be made")
		http.Error(w, "this page could not be made; the server's log says why", http.StatusInternalServerError)
		return
	}
	h, page := w.Header(), b.Bytes()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Add("Vary", "Accept-Encoding")
	if served.TakesGzip(r) { // a list is a tenth as large
		page = served.Pack(page, gzip.BestSpeed)
		h.Set("Content-Encoding", "gzip")
	}
	if v.code != 0 {
		w.WriteHeader(v.code)
	}
	_, _ = w.Write(page) // the reader has gone
}

var templates = parsePages()

// parsePages reads each page together with the frame. A mistake in one is the
// program's, and found by any test.
func parsePages() map[string]*template.Template {
	out := map[string]*template.Template{}
	frame := template.Must(template.New("").Funcs(functions).ParseFS(pageFiles, "pages/frame.html"))
	names, _ := fs.Glob(pageFiles, "pages/*.html")
	for _, name := range names {
		base := path.Base(name)
		out[base[:len(base)-len(".html")]] = template.Must(template.Must(frame.Clone()).ParseFS(pageFiles, name))
	}
	return out
}

var assetHash = hashAssets()

// hashAssets names this version of the assets, so that a browser may keep them.
func hashAssets() string {
	h := sha256.New()
	_ = fs.WalkDir(assetFiles, ".", func(name string, d fs.DirEntry, err error) error {
		if data, err := assetFiles.ReadFile(name); err == nil {
			fmt.Fprintf(h, "%s %d ", name, len(data))
			h.Write(data)
		}
		return err
	})
	return hex.EncodeToString(h.Sum(nil)[:6])
}

// assets are what the pages load.
func (p *Pages) assets() http.Handler {
	all := map[string]*served.File{}
	names, _ := fs.Glob(assetFiles, "assets/*")
	for _, name := range names {
		data, _ := assetFiles.ReadFile(name) // it is embedded
		all["/"+name] = served.New(name, data)
	}
	missing := p.pageHandler(nowhere)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		file := all[r.URL.Path]
		if file == nil {
			missing(w, r)
			return
		}
		w.Header().Set("Content-Security-Policy", policy)
		if r.URL.Query().Get("v") == assetHash {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		file.ServeHTTP(w, r)
	})
}
