package guide

import (
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
)

// index is what the search knows. It has each word once, with the sections in which it stands, so
// that it is much smaller than the text.
type index struct {
	Sections []section        `json:"sections"`
	Words    map[string]steps `json:"words"` // in small letters
}

// section is a heading and what stands under it.
type section struct {
	Address string `json:"a"` // with the heading's anchor
	Title   string `json:"t"` // the page's and the heading's
	Begins  string `json:"b"` // its first words
}

// steps are numbers of sections that grow: the first one, then how many further on the next is.
type steps []int

// beginning is of how many bytes a section's first words are, about.
const beginning = 80

// add notes a section with its text.
func (x *index) add(s section, text string) {
	if s.Begins = text; len(text) > beginning {
		end := strings.LastIndexByte(text[:beginning], ' ')
		s.Begins = strings.ToValidUTF8(text[:max(end, 0)], "") + " …"
	}
	at := len(x.Sections)
	x.Sections = append(x.Sections, s)
	all := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '_' && !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	slices.Sort(all)
	for _, word := range slices.Compact(all) {
		last := 0
		for _, step := range x.Words[word] {
			last += step
		}
		x.Words[word] = append(x.Words[word], at-last)
	}
}

// find adds a page's sections to what the search knows.
func (m *maker) find(name string, tree ast.Node, source []byte) {
	page := m.title(name)
	s := section{Address: address(name), Title: page}
	var body strings.Builder
	end := func() {
		if text := strings.TrimSpace(body.String()); text != "" {
			m.found.add(s, text)
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
