package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/apidoc"
	"coroner/ingest/push"
)

// asked is a request and the status that answers it, 0 for any that is described.
type asked struct {
	route, target string // the route as the document has it; "" = its own path is asked for
	token         string
	header        http.Header
	body          []byte
	code          int
}

// guardedServer serves with every credential that there is, and knows one death.
func guardedServer(t *testing.T) *liveServer {
	t.Helper()
	dir := t.TempDir()
	flags := []string{"--ledger=" + filepath.Join(dir, "l.db"), "--node-silent-after=1s"}
	for flag, token := range map[string]string{"--web.token-file": "reads", "--push.token-file": "pushes",
		"--web.operator-token-file": "operates", "--github.webhook-secret-file": "signs"} {
		file := filepath.Join(dir, token)
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		flags = append(flags, flag+"="+file)
	}
	s := serveFor(t, flags...)
	t.Cleanup(s.stop)
	now := time.Now().UTC().Truncate(time.Second)
	if err := s.push(t, "pushes", append(ran(now), panicked(now)...)...); err != nil {
		t.Fatal(err)
	}
	wait(t, "a verdict", func() bool { return s.verdict(t, "amber-runner-1") != "" })
	return s
}

// questions are requests of each route: one that is answered, and what else can be brought about.
func questions(t *testing.T, s *liveServer) []asked {
	t.Helper()
	all, err := s.ledger.Verdicts(t.Context(), ledger.Query{})
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	job := []byte(`{"workflow_job": {"id": 1, "run_id": 7, "status": "queued", "labels": ["self-hosted"]}}`)
	const get, hook, loki = "GET /api/v1/", "POST /api/v1/github/webhook", "POST " + push.Path
	as, plain := "application/json", []byte(`{"streams": []}`)
	return []asked{
		{get + "verdicts", "/api/v1/verdicts?limit=5", "reads", nil, nil, 200},
		{get + "verdicts", "/api/v1/verdicts?limit=none", "reads", nil, nil, 400},
		{get + "runners/{name}", "/api/v1/runners/ci/amber-runner-1", "reads", nil, nil, 200},
		{get + "runners/{name}", "/api/v1/runners/nobody", "operates", nil, nil, 404},
		{get + "search", "/api/v1/search?q=amber", "reads", nil, nil, 200},
		{get + "search", "", "reads", nil, nil, 400},
		{get + "labels", "", "reads", nil, nil, 200},
		{get + "labels/{label}", "/api/v1/labels/cgroup-oom", "reads", nil, nil, 200},
		{get + "labels/{label}", "/api/v1/labels/nothing", "reads", nil, nil, 404},
		{get + "incidents/{id}", "/api/v1/incidents/" + all[0].Case, "reads", nil, nil, 200},
		{get + "incidents/{id}", "/api/v1/incidents/none", "reads", nil, nil, 404},
		{get + "rulebook", "", "pushes", nil, nil, 200},
		{get + "rulebook", "", "reads", http.Header{"If-None-Match": {`"` + s.bookHash() + `"`}}, nil, 304},
		{"GET /api/openapi.yaml", "", "", nil, nil, 200},
		{"GET /api/schemas/{name}", "/api/schemas/verdict.json", "", nil, nil, 200},
		{"GET /api/schemas/{name}", "/api/schemas/none.json", "", nil, nil, 404},
		{hook, "", "", signedJob(job, "workflow_job"), job, 204},
		{hook, "", "", signedJob(job, "ping"), job, 204},
		{hook, "", "", signedJob([]byte("{"), "workflow_job"), []byte("{"), 400},
		{hook, "", "", nil, job, 401},
		{hook, "", "", nil, bytes.Repeat([]byte(" "), 2<<20), 413},
		{loki, "", "pushes", http.Header{"Content-Type": {as}}, plain, 204},
		{loki, "", "pushes", http.Header{"Content-Type": {as}}, []byte("{"), 400},
		{loki, "", "pushes", http.Header{"Content-Type": {as}, "Sec-Fetch-Site": {"cross-site"}}, plain, 403},
		{loki, "", "pushes", http.Header{"Content-Type": {as}}, bytes.Repeat([]byte(" "), 20<<20), 413},
		{"GET /metrics", "", "", nil, nil, 200}, {"GET /-/healthy", "", "", nil, nil, 200},
		{"GET /-/ready", "", "", nil, nil, 200}, {"POST /-/reload", "", "operates", nil, nil, 200},
		{"POST /-/reload", "", "operates", http.Header{"Sec-Fetch-Site": {"cross-site"}}, nil, 403},
	}
}

// signedJob is the header of a delivery that GitHub signed.
func signedJob(body []byte, event string) http.Header {
	mac := hmac.New(sha256.New, []byte("signs"))
	mac.Write(body)
	return http.Header{"X-Github-Event": {event}, "X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))}}
}

// The server's own routes, its door before them, answer what the document of the API says: each
// to somebody who may ask, and to somebody who has no token or a wrong one.
func TestServerAnswersAsDescribed(t *testing.T) {
	s, doc := guardedServer(t), apidoc.Read(t)
	seen := map[string][]int{}
	for _, q := range questions(t, s) {
		seen[q.route] = append(seen[q.route], s.answer(t, doc, q))
		for _, q.token = range []string{"", "wrong"} {
			q.code, q.header = 0, nil
			seen[q.route] = append(seen[q.route], s.answer(t, doc, q))
		}
	}
	for _, route := range doc.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if !slices.ContainsFunc(seen[route], func(code int) bool { return code < 300 }) {
			t.Errorf("%s was not answered", route)
		}
		_, described := doc.Paths[path][strings.ToLower(method)].Responses["401"]
		if described != slices.Contains(seen[route], 401) {
			t.Errorf("%s: 401 is described: %v, seen are %v", route, described, seen[route])
		}
	}
}

// answer asks and holds the answer to the document.
func (s *liveServer) answer(t *testing.T, doc *apidoc.Doc, q asked) int {
	t.Helper()
	method, target, _ := strings.Cut(q.route, " ")
	if q.target != "" {
		target = q.target
	}
	r, w := httptest.NewRequest(method, target, bytes.NewReader(q.body)), httptest.NewRecorder()
	for name, values := range q.header {
		r.Header[name] = values
	}
	if q.token != "" {
		r.Header.Set("Authorization", "Bearer "+q.token)
	}
	s.daemon.Mux.ServeHTTP(w, r)
	if q.code != 0 && w.Code != q.code {
		t.Errorf("%s %s with %q: %d, want %d: %.200s", method, target, q.token, w.Code, q.code, w.Body)
	}
	if err := doc.Hold(r, w.Code, w.Header(), w.Body.Bytes()); err != nil {
		t.Errorf("%s %s with %q: %v", method, target, q.token, err)
	}
	return w.Code
}

// pages are the routes that the document leaves out, as it says: pages and what they load, the
// Model Context Protocol, profiles and what relays ask.
var pages = []string{"GET /", "GET /api/", "GET /assets/", "GET /coroner/v1/living", "GET /docs/", "GET /jobs/{name}",
	"GET /pools/{name}", "GET /runners/{name}", "GET /suggest", "GET /verdicts/", "GET /verdicts/{label}",
	"/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/trace", "/mcp"}

// Each route that a program registers is described or a page, and each that is described is
// registered.
func TestEveryRouteIsDescribed(t *testing.T) {
	registered := routes(t)
	described := apidoc.Read(t).Routes()
	for _, route := range registered {
		if slices.Contains(described, route) == slices.Contains(pages, route) {
			t.Errorf("%s: described and a page, or neither", route)
		}
	}
	for _, route := range append(slices.Clone(described), pages...) {
		if !slices.Contains(registered, route) {
			t.Errorf("%s is registered nowhere", route)
		}
	}
}

// routes are the patterns that the sources register, as the document writes them.
func routes(t *testing.T) (out []string) {
	t.Helper()
	texts, calls := map[string]string{}, map[*ast.CallExpr]string{} // constants; calls by their package
	for _, root := range []string{"../../classify", "../../cmd", "../../deploy", "../../ingest"} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.ValueSpec:
					if len(n.Names) == 1 && len(n.Values) == 1 {
						texts[f.Name.Name+"."+n.Names[0].Name] = textOf(n.Values[0], f.Name.Name, nil)
					}
				case *ast.CallExpr:
					if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 2 &&
						slices.Contains([]string{"Handle", "HandleFunc", "addOperatorEndpoint"}, s.Sel.Name) {
						calls[n] = f.Name.Name
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for call, of := range calls {
		pattern := strings.NewReplacer("...}", "}", "{$}", "").Replace(textOf(call.Args[0], of, texts))
		if strings.Contains(pattern, "/") { // else it hands on a pattern that it was given
			out = append(out, pattern)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// textOf is what an expression of texts says in a package, as far as it is constant.
func textOf(e ast.Expr, of string, texts map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X, of, texts) + textOf(e.Y, of, texts)
	case *ast.Ident:
		return texts[of+"."+e.Name]
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return texts[x.Name+"."+e.Sel.Name]
		}
	}
	return ""
}
