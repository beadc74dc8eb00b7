// Package guide makes web pages of the documentation: one for each page of Markdown, one for
// each incident that the rulebook is held to, and a search over all of them. A server shows
// them under /docs/, and a folder of them can be put on any web server.
//
// Invariant: the pages need nothing from elsewhere and no script but that of the search; each
// link within them leads to a page, and what is not among them is named without a link. HTML
// that stands in the documentation is shown as text.
//
// Crash behaviour: it keeps no state.
package guide

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Sources are what the pages are made of.
type Sources struct {
	Docs      fs.FS  // Markdown and pictures; README.md is the first page and says the order
	Incidents fs.FS  // NAME.txtar
	Home      string // the address of the server's own pages; "" where there is no server
}

// first is the page of Markdown that becomes index.html.
const first = "README.md"

//go:embed files
var files embed.FS

var frame = template.Must(template.ParseFS(files, "files/frame.html"))

// page is a page of Markdown on its way.
type page struct {
	Title string
	Body  template.HTML
	Root  string // from the page to the folder of index.html: "", "../" or Prefix
	Home  string
	Nav   []entry
}

// entry is a page in the list that each page shows.
type entry struct {
	Address string // from index.html's folder
	Title   string
	Here    bool
}

// Pages makes them all: contents by their path below index.html's folder.
func Pages(s Sources) (map[string][]byte, error) {
	m, err := made(s)
	if err != nil {
		return nil, err
	}
	return m.out, nil
}

// made is a maker that has made all pages.
func made(s Sources) (*maker, error) {
	// A style in a cell would stand against the policy of the pages.
	tables := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))
	m := &maker{Sources: s, out: map[string][]byte{}, found: index{Words: map[string]steps{}}, markdown: goldmark.New(
		goldmark.WithExtensions(tables, extension.Strikethrough, extension.Linkify),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))}
	if err := m.read(); err != nil {
		return nil, err
	}
	m.pages = m.nav()
	for _, name := range slices.Sorted(maps.Keys(m.trees)) {
		if err := m.write(name); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	found, err := json.Marshal(m.found)
	if err != nil {
		return nil, err
	}
	m.out["search.json"] = found
	for _, name := range []string{"guide.css", "search.js"} {
		m.out[name], _ = files.ReadFile("files/" + name) // it is embedded
	}
	return m, nil
}

// maker makes pages.
type maker struct {
	Sources
	markdown goldmark.Markdown
	source   map[string][]byte   // Markdown by its path
	trees    map[string]ast.Node // the same, parsed
	pages    []entry             // as each page lists them
	out      map[string][]byte
	found    index
}

// read reads and parses everything, so that each link's end is known.
func (m *maker) read() error {
	m.source, m.trees = map[string][]byte{}, map[string]ast.Node{}
	err := fs.WalkDir(m.Docs, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(m.Docs, name)
		switch path.Ext(name) {
		case ".md":
			m.source[name] = data
			m.trees[name] = m.markdown.Parser().Parse(text.NewReader(data))
		case ".png":
			m.out[name] = data
		}
		return err
	})
	if err != nil {
		return err
	}
	if m.trees[first] == nil {
		return fmt.Errorf("%s: %w", first, fs.ErrNotExist)
	}
	all, err := fs.Glob(m.Incidents, "*.txtar")
	for _, name := range all {
		data, err := fs.ReadFile(m.Incidents, name)
		if err != nil {
			return err
		}
		m.out[incident(name)] = data
	}
	return err
}

// incident is the path of an incident's page: text, as it is.
func incident(name string) string {
	return "incidents/" + strings.TrimSuffix(path.Base(name), ".txtar") + ".txt"
}

// address is the path of the page that is made of a file of Markdown.
func address(name string) string {
	if name == first {
		return "index.html"
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// nav lists the pages in the order in which the first one names them.
func (m *maker) nav() []entry {
	out := []entry{{Address: address(first), Title: "Documentation"}}
	_ = ast.Walk(m.trees[first], func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		link, ok := n.(*ast.Link)
		if !ok || !entering {
			return ast.WalkContinue, nil
		}
		to, _, _ := strings.Cut(string(link.Destination), "#")
		if m.trees[to] != nil && !slices.ContainsFunc(out, func(e entry) bool { return e.Address == address(to) }) {
			out = append(out, entry{Address: address(to), Title: m.title(to)})
		}
		return ast.WalkContinue, nil
	})
	return out
}

// title is a page's first heading, else its name.
func (m *maker) title(name string) string {
	for n := m.trees[name].FirstChild(); n != nil; n = n.NextSibling() {
		if h, ok := n.(*ast.Heading); ok {
			return words(h, m.source[name])
		}
	}
	return name
}

// write makes the page of a file and what the search knows of it.
func (m *maker) write(name string) error {
	tree, source := m.trees[name], m.source[name]
	m.turnLinks(name, tree)
	m.find(name, tree, source)
	var body bytes.Buffer
	if err := m.markdown.Renderer().Render(&body, source, tree); err != nil {
		return err
	}
	p := page{Title: m.title(name), Body: template.HTML(body.String()), Home: m.Home,
		Root: strings.Repeat("../", strings.Count(name, "/")), Nav: slices.Clone(m.pages)}
	for i := range p.Nav {
		p.Nav[i].Here = p.Nav[i].Address == address(name)
	}
	out, err := framed(p)
	m.out[address(name)] = out
	return err
}

func framed(p page) ([]byte, error) {
	var out bytes.Buffer
	err := frame.Execute(&out, p)
	return out.Bytes(), err
}

// turnLinks has each link lead to a page. One whose end is not among them becomes its words.
func (m *maker) turnLinks(name string, tree ast.Node) {
	var links []*ast.Link
	_ = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if link, ok := n.(*ast.Link); ok && entering {
			links = append(links, link)
		}
		return ast.WalkContinue, nil
	})
	for _, link := range links {
		to, ok := m.end(name, string(link.Destination))
		if link.Destination = []byte(to); ok {
			continue
		}
		parent := link.Parent()
		for child := link.FirstChild(); child != nil; child = link.FirstChild() {
			parent.InsertBefore(parent, link, child)
		}
		parent.RemoveChild(parent, link)
	}
}

// end is where a link leads, seen from the page that it stands in.
func (m *maker) end(name, link string) (string, bool) {
	to, anchor, marked := strings.Cut(link, "#")
	if strings.Contains(to, "://") || to == "" {
		return link, true
	}
	to = path.Join(path.Dir(name), to)
	switch {
	case m.trees[to] != nil:
		to = address(to)
	case m.out[incident(to)] != nil && path.Ext(to) == ".txtar":
		to = incident(to)
	case m.out[to] == nil:
		return "", false
	}
	if to = strings.Repeat("../", strings.Count(name, "/")) + to; marked {
		to += "#" + anchor
	}
	return to, true
}
