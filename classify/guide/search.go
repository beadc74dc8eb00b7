package guide

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// section is what the search knows of a heading and what stands under it.
type section struct {
	Address string `json:"a"` // with the heading's anchor
	Title   string `json:"t"` // the page's and the heading's
	Text    string `json:"x"`
}

// index adds a page's sections.
func (m *maker) index(name string, tree ast.Node, source []byte) {
	page := m.title(name)
	s := section{Address: address(name), Title: page}
	var body strings.Builder
	end := func() {
		if s.Text = strings.TrimSpace(body.String()); s.Text != "" {
			m.found = append(m.found, s)
		}
		body.Reset()
	}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			body.WriteString(words(n, source) + " ")
			continue
		}
		end()
		s = section{Address: address(name), Title: page}
		if id, ok := h.AttributeString("id"); ok && h.Level > 1 {
			s.Address += "#" + string(id.([]byte))
			s.Title += ": " + words(h, source)
		}
	}
	end()
}

// words are the text of a part of a page, without its marks.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			if n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.Write(n.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(source))
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			b.Write(n.Lines().Value(source))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}
