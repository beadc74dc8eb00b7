package yamlfile

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Text is a YAML value with the place of its first character.
type Text struct {
	Value string
	Pos
	block  bool // | or >: value starts on the following line
	lines  []string
	pieces []string // of a Pattern that is written over several lines
}

// At returns the place of the character at 1-based line and column of the
// value, as the expression compiler counts them.
func (s Text) At(line, col int) Pos {
	p := s.Pos
	if !s.block {
		p.Col += col - 1
		return p
	}
	p.Line += line
	p.Source = s.Source
	if i := p.Line - 1; i >= 0 && i < len(s.lines) {
		p.Source = s.lines[i]
	}
	p.Col = col + len(p.Source) - len(strings.TrimLeft(p.Source, " "))
	if first := s.lines[min(s.Line, len(s.lines)-1)]; s.block {
		p.Col = col + len(first) - len(strings.TrimLeft(first, " "))
	}
	return p
}

// AtOffset returns the place of the i-th byte of the value.
func (s Text) AtOffset(i int) Pos {
	for line, piece := range s.pieces {
		if i < len(piece) {
			return s.At(line+1, i+1)
		}
		i -= len(piece)
	}
	return s.At(1, i+1)
}

// Reader turns one YAML file into specs and remembers where everything stood.
type Reader struct {
	file  string
	data  []byte
	lines []string
	errs  *Errors
}

// NewReader returns a reader of a file, which adds what is wrong with it to the mistakes.
func NewReader(f File, mistakes *Errors) *Reader {
	return &Reader{file: f.Name, data: f.Data, lines: strings.Split(string(f.Data), "\n"), errs: mistakes}
}

// Pos is the place of a node.
func (r *Reader) Pos(n *yaml.Node) Pos {
	p := Pos{File: r.file, Line: n.Line, Col: n.Column}
	if n.Line > 0 && n.Line <= len(r.lines) {
		p.Source = r.lines[n.Line-1]
	}
	return p
}

// Mistake notes what is wrong with a node.
func (r *Reader) Mistake(n *yaml.Node, format string, args ...any) {
	r.errs.Add(r.Pos(n), format, args...)
}

// Mentions says whether the file has one of some words in it.
func (r *Reader) Mentions(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return bytes.Contains(r.data, []byte(w)) })
}

// Root parses the file; a syntax error becomes an Error with its line.
func (r *Reader) Root() *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal(r.data, &doc); err != nil {
		r.errs.Add(r.syntaxPos(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

func (r *Reader) syntaxPos(err error) Pos {
	p := Pos{File: r.file, Line: 1, Col: 1}
	for _, word := range strings.FieldsFunc(err.Error(), func(c rune) bool { return c < '0' || c > '9' }) {
		if n, e := strconv.Atoi(word); e == nil && n > 0 && n <= len(r.lines) {
			p.Line, p.Source = n, r.lines[n-1]
			return p
		}
	}
	return p
}

// Object reads a mapping strictly: a key that is not in fields is an error.
func (r *Reader) Object(n *yaml.Node, what string, fields map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.errs.Add(r.Pos(n), "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		set, ok := fields[key.Value]
		switch {
		case !ok:
			near := Nearest(key.Value, slices.Sorted(maps.Keys(fields)))
			r.errs.Add(r.Pos(key), "unknown key %q in %s%s", key.Value, what, near)
		case seen[key.Value]:
			r.errs.Add(r.Pos(key), "key %q is given twice in %s", key.Value, what)
		default:
			set(value)
		}
		seen[key.Value] = true
	}
}

// Some reads the fields of a mapping, and passes over its other keys.
func (r *Reader) Some(n *yaml.Node, fields map[string]func(*yaml.Node)) {
	if n == nil || n.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if set, ok := fields[n.Content[i].Value]; ok {
			set(n.Content[i+1])
		}
	}
}

// List calls f for each element; a single value counts as a list of one.
func (r *Reader) List(f func(*yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.SequenceNode {
			f(n)
			return
		}
		for _, c := range n.Content {
			f(c)
		}
	}
}

// Each calls f for every pair of a mapping.
func (r *Reader) Each(f func(key, value Text)) func(*yaml.Node) {
	return r.each(func(k, v *yaml.Node) { f(r.Scalar(k), r.Scalar(v)) })
}

func (r *Reader) each(f func(key, value *yaml.Node)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.errs.Add(r.Pos(n), "must be a mapping")
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			f(n.Content[i], n.Content[i+1])
		}
	}
}

// Text reads a value.
func (r *Reader) Text(into *Text) func(*yaml.Node) {
	return func(n *yaml.Node) { *into = r.Scalar(n) }
}

// Texts reads a list of values, or one.
func (r *Reader) Texts(into *[]Text) func(*yaml.Node) {
	return r.List(func(n *yaml.Node) { *into = append(*into, r.Scalar(n)) })
}

// Pattern reads a regular expression. One that is written over several lines of a block
// is joined, with nothing between: no line that it is held against has a line's end.
func (r *Reader) Pattern(into *Text) func(*yaml.Node) {
	return func(n *yaml.Node) { *into = r.pattern(n) }
}

// Patterns reads a list of regular expressions, or one.
func (r *Reader) Patterns(into *[]Text) func(*yaml.Node) {
	return r.List(func(n *yaml.Node) { *into = append(*into, r.pattern(n)) })
}

func (r *Reader) pattern(n *yaml.Node) Text {
	s := r.Scalar(n)
	if n.Style&yaml.LiteralStyle != 0 {
		s.pieces = strings.Split(strings.TrimRight(s.Value, "\n"), "\n")
		s.Value = strings.Join(s.pieces, "")
	}
	return s
}

// Bool reads true or false.
func (r *Reader) Bool(into *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		v, err := strconv.ParseBool(n.Value)
		if err != nil {
			r.errs.Add(r.Pos(n), "must be true or false")
		}
		*into = v
	}
}

// Int reads a whole number.
func (r *Reader) Int(into *int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		v, err := strconv.Atoi(n.Value)
		if err != nil {
			r.errs.Add(r.Pos(n), "must be a whole number")
		}
		*into = v
	}
}

// Scalar is a value that is no mapping and no list.
func (r *Reader) Scalar(n *yaml.Node) Text {
	if n.Kind != yaml.ScalarNode {
		r.errs.Add(r.Pos(n), "must be text")
		return Text{Pos: r.Pos(n)}
	}
	s := Text{Value: n.Value, Pos: r.Pos(n), lines: r.lines}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		s.block = true
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		s.Col++
	}
	return s
}

// anyOf joins words for an error: a, b or c.
func anyOf(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}

// Pair is a key of a mapping and its value.
type Pair struct{ Key, Value Text }

// PatternPairs reads a mapping of any keys to regular expressions.
func (r *Reader) PatternPairs(into *[]Pair) func(*yaml.Node) {
	return r.each(func(k, v *yaml.Node) { *into = append(*into, Pair{r.Scalar(k), r.pattern(v)}) })
}

// Pairs reads a mapping of any keys.
func (r *Reader) Pairs(into *[]Pair) func(*yaml.Node) {
	return r.Each(func(k, v Text) { *into = append(*into, Pair{k, v}) })
}

// Overlay replaces entries of below that above names again and appends the
// others. A name that above gives twice is an error.
func Overlay[T any](mistakes *Errors, below *[]T, above []T, name func(T) Text) {
	at := map[string]int{}
	for i, x := range *below {
		at[name(x).Value] = i
	}
	seen := map[string]bool{}
	for _, x := range above {
		n := name(x)
		if n.Value == "" {
			mistakes.Add(n.Pos, "has no name")
			continue
		}
		if seen[n.Value] {
			mistakes.Add(n.Pos, "%q is defined twice", n.Value)
		}
		seen[n.Value] = true
		if i, ok := at[n.Value]; ok {
			(*below)[i] = x
			continue
		}
		*below = append(*below, x)
	}
}
