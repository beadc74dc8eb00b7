package guide

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/docs"
	"coroner/fixtures"

	"golang.org/x/net/html"
)

func released(home string) Sources {
	return Sources{Docs: docs.Files, Incidents: fixtures.Files(), Home: home}
}

// Each link of each page leads to a page, and to a heading that is there; nothing is loaded
// from elsewhere, and no script or style stands in a page, which the policy would refuse.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	all, err := Pages(released(""))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]map[string]bool{}
	trees := map[string]*html.Node{}
	for name, data := range all {
		if path.Ext(name) != ".html" {
			continue
		}
		tree, err := html.Parse(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		trees[name], ids[name] = tree, map[string]bool{}
		for n := range tree.Descendants() {
			ids[name][attribute(n, "id")] = true
		}
	}
	links, incidents := 0, 0
	for name, tree := range trees {
		for n := range tree.Descendants() {
			if attribute(n, "style") != "" || n.Data == "style" || n.Data == "script" && attribute(n, "src") == "" {
				t.Errorf("%s: a style or script stands in the page: %s", name, n.Data)
			}
			for _, key := range []string{"href", "src"} {
				to := attribute(n, key)
				if to == "" || to == "data:," || n.Data == "a" && strings.Contains(to, "://") {
					continue
				}
				links++
				to, anchor, _ := strings.Cut(to, "#")
				if to = path.Join(path.Dir(name), to); strings.HasPrefix(attribute(n, key), "#") {
					to = name
				}
				if all[to] == nil || anchor != "" && !ids[to][anchor] {
					t.Errorf("%s: %s leads nowhere", name, attribute(n, key))
				}
				if path.Dir(to) == "incidents" {
					incidents++
				}
			}
		}
	}
	if len(trees) < 50 || links < 1000 || incidents < 300 {
		t.Errorf("%d pages, %d links, %d of them to incidents", len(trees), links, incidents)
	}
	if all["page.png"] == nil || len(all["index.html"]) > 100_000 {
		t.Errorf("no picture, or a first page of %d bytes", len(all["index.html"]))
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// What is not among the pages is named without a link, and HTML of the documentation is text.
func TestPagesOfLittle(t *testing.T) {
	incidents := fstest.MapFS{"a~b.txtar": {Data: []byte("story\n")}}
	all, err := Pages(Sources{Home: "/", Incidents: incidents, Docs: fstest.MapFS{
		"README.md": {Data: []byte("# Start\n\n[the *one*](sub/one.md#its-way), [inside](../CODE.md), <b>bold</b>")},
		"sub/one.md": {Data: []byte("# One\n\n[story](../../fixtures/incidents/a~b.txtar) [up](../README.md)\n\n" +
			"## Its way\n\n| a | b |\n|---|--:|\n| grain | `mill` |\n\n[x](javascript:alert(1))\n")},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for name, parts := range map[string][]string{
		"index.html": {`<a href="sub/one.html#its-way">the <em>one</em></a>, inside, `, `<a href="/">Deaths</a>`,
			`href="sub/one.html">One</a>`, "<title>Start · coroner</title>"},
		"sub/one.html": {`href="../incidents/a~b.txt"`, `href="../index.html">up`, `id="its-way"`, `src="../search.js"`,
			`href="../sub/one.html" aria-current="page"`},
		"incidents/a~b.txt": {"story\n"},
	} {
		for _, part := range parts {
			if !strings.Contains(string(all[name]), part) {
				t.Errorf("%s lacks %s:\n%s", name, part, all[name])
			}
		}
	}
	for _, bad := range []string{"<b>", "javascript:", "CODE.md", "style="} {
		if strings.Contains(string(all["index.html"])+string(all["sub/one.html"]), bad) {
			t.Errorf("a page has %s", bad)
		}
	}
	var found index
	if err := json.Unmarshal(all["search.json"], &found); err != nil {
		t.Fatal(err)
	}
	want := section{Address: "sub/one.html#its-way", Title: "One: Its way", Begins: "a b grain mill x"}
	if len(found.Sections) != 3 || found.Sections[2] != want {
		t.Errorf("%+v", found.Sections)
	}
	if got := found.Words["grain"]; !slices.Equal(got, steps{2}) || found.Words["its"] != nil {
		t.Errorf("%+v", found.Words)
	}
	if _, err := Pages(Sources{Docs: fstest.MapFS{}, Incidents: fstest.MapFS{}}); err == nil {
		t.Error("pages of nothing")
	}
}

// The search finds each word of a text where it stands, in small letters and without the marks
// around it, and nowhere else; a long text is shown by its first words.
func TestIndex(t *testing.T) {
	x := index{Words: map[string]steps{}}
	texts := []string{"Exit code 137, (OOMKilled).", "the cgroup-OOM", "code: `memory_cgroup` Größe code",
		strings.Repeat("words of a long text ", 10)}
	for _, text := range texts {
		x.add(section{}, text)
	}
	for word, want := range map[string]steps{"137": {0}, "oomkilled": {0}, "code": {0, 2}, "cgroup": {1}, "oom": {1},
		"memory_cgroup": {2}, "größe": {2}, "words": {3}, "the": {1}, "code:": nil, "OOM": nil} {
		if got := x.Words[word]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", word, got, want)
		}
	}
	if got := x.Sections[3].Begins; got != strings.Repeat("words of a long text ", 3)+"words of a long …" {
		t.Errorf("%q", got)
	}
	if x.Sections[0].Begins != texts[0] {
		t.Errorf("%q", x.Sections[0].Begins)
	}
}

// What a page may weigh on its way, all that it loads included, and what the search's index.
const maxWeight = 100_000

// A server sends each page, with its style, script and pictures, and the search's index in no
// more bytes than the pages of the deaths may have.
func TestPagesAreLight(t *testing.T) {
	h := Handler(released("/"))
	weigh := func(name string) int {
		r := httptest.NewRequest(http.MethodGet, Prefix+name, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.Len()
	}
	all, err := Pages(released("/"))
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for name, data := range all {
		sum := weigh(name)
		if path.Ext(name) == ".html" {
			pages++
			for _, loaded := range loads(t, name, data) {
				sum += weigh(loaded)
			}
		}
		if sum > maxWeight {
			t.Errorf("%s weighs %d bytes, want at most %d", name, sum, maxWeight)
		}
	}
	if pages < 50 || all["search.json"] == nil {
		t.Errorf("%d pages", pages)
	}
}

// loads are the files that a browser loads with a page.
func loads(t *testing.T, name string, data []byte) (out []string) {
	t.Helper()
	tree, err := html.Parse(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		to := attribute(n, "src")
		if n.Data == "link" {
			to = attribute(n, "href")
		}
		if to != "" && to != "data:," {
			out = append(out, path.Join(path.Dir(name), to))
		}
	}
	return out
}

// A server shows the pages under /docs/, with their types, and says in their frame what is not
// there, wherever its address seems to be.
func TestHandler(t *testing.T) {
	h := Handler(released("/"))
	for name, want := range map[string]string{
		"":                                     "text/html; charset=utf-8",
		"verdicts/cgroup-OOM.html":             "text/html; charset=utf-8",
		"search.json":                          "application/json",
		"page.png":                             "image/png",
		"incidents/cgroup-OOM-kernel-kill.txt": "text/plain; charset=utf-8",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Prefix+name, nil))
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != want ||
			w.Header().Get("Content-Security-Policy") != policy {
			t.Errorf("%q: %d %v", name, w.Code, w.Header())
		}
	}
	for _, name := range []string{"nothing.html", "../go.mod", "verdicts/", "sub/nothing.png"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, Prefix+name, nil))
		body := w.Body.String()
		for _, part := range []string{`<link rel="stylesheet" href="/docs/guide.css">`, `data-root="/docs/"`,
			`<a href="/docs/install.html">`, "<title>Not Found · coroner</title>", "no page with this address"} {
			if !strings.Contains(body, part) {
				t.Errorf("%q lacks %s: %s", name, part, body)
			}
		}
		if w.Code != http.StatusNotFound || w.Header().Get("Content-Security-Policy") != policy ||
			w.Header().Get("Content-Type") != "text/html; charset=utf-8" || w.Header().Get("ETag") != "" {
			t.Errorf("%q: %d %v", name, w.Code, w.Header())
		}
	}
}
