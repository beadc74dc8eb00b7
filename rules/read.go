package rules

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// scalar is a YAML value with the place of its first character.
type scalar struct {
	value string
	pos
	block bool // | or >: value starts on the following line
	lines []string
}

// at returns the place of the character at 1-based line and column of the
// value, as the expression compiler counts them.
func (s scalar) at(line, col int) pos {
	p := s.pos
	if !s.block {
		p.col += col - 1
		return p
	}
	p.line += line
	p.source = s.source
	if i := p.line - 1; i >= 0 && i < len(s.lines) {
		p.source = s.lines[i]
	}
	p.col = col + len(p.source) - len(strings.TrimLeft(p.source, " "))
	if first := s.lines[min(s.line, len(s.lines)-1)]; s.block {
		p.col = col + len(first) - len(strings.TrimLeft(first, " "))
	}
	return p
}

// reader turns one YAML file into specs and remembers where everything stood.
type reader struct {
	file  string
	lines []string
	errs  *errs
}

func (r *reader) pos(n *yaml.Node) pos {
	p := pos{file: r.file, line: n.Line, col: n.Column}
	if n.Line > 0 && n.Line <= len(r.lines) {
		p.source = r.lines[n.Line-1]
	}
	return p
}

// root parses the file; a syntax error becomes an Error with its line.
func (r *reader) root(data []byte) *yaml.Node {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		r.errs.add(r.syntaxPos(err), "%s", strings.TrimPrefix(err.Error(), "yaml: "))
		return nil
	}
	if len(doc.Content) == 0 {
		return nil
	}
	return doc.Content[0]
}

func (r *reader) syntaxPos(err error) pos {
	p := pos{file: r.file, line: 1, col: 1}
	for _, word := range strings.FieldsFunc(err.Error(), func(c rune) bool { return c < '0' || c > '9' }) {
		if n, e := strconv.Atoi(word); e == nil && n > 0 && n <= len(r.lines) {
			p.line, p.source = n, r.lines[n-1]
			return p
		}
	}
	return p
}

// object reads a mapping strictly: a key that is not in fields is an error.
func (r *reader) object(n *yaml.Node, what string, fields map[string]func(*yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.errs.add(r.pos(n), "%s must be a mapping", what)
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		set, ok := fields[key.Value]
		switch {
		case !ok:
			r.errs.add(r.pos(key), "unknown key %q in %s%s", key.Value, what, nearest(key.Value, keys(fields)))
		case seen[key.Value]:
			r.errs.add(r.pos(key), "key %q is given twice in %s", key.Value, what)
		default:
			set(value)
		}
		seen[key.Value] = true
	}
}

// list calls f for each element; a single value counts as a list of one.
func (r *reader) list(f func(*yaml.Node)) func(*yaml.Node) {
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

// each calls f for every pair of a mapping.
func (r *reader) each(f func(key, value scalar)) func(*yaml.Node) {
	return func(n *yaml.Node) {
		if n.Kind != yaml.MappingNode {
			r.errs.add(r.pos(n), "must be a mapping")
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			f(r.scalar(n.Content[i]), r.scalar(n.Content[i+1]))
		}
	}
}

func (r *reader) text(into *scalar) func(*yaml.Node) {
	return func(n *yaml.Node) { *into = r.scalar(n) }
}

func (r *reader) texts(into *[]scalar) func(*yaml.Node) {
	return r.list(func(n *yaml.Node) { *into = append(*into, r.scalar(n)) })
}

func (r *reader) bool(into *bool) func(*yaml.Node) {
	return func(n *yaml.Node) {
		v, err := strconv.ParseBool(n.Value)
		if err != nil {
			r.errs.add(r.pos(n), "must be true or false")
		}
		*into = v
	}
}

func (r *reader) int(into *int) func(*yaml.Node) {
	return func(n *yaml.Node) {
		v, err := strconv.Atoi(n.Value)
		if err != nil {
			r.errs.add(r.pos(n), "must be a whole number")
		}
		*into = v
	}
}

func (r *reader) scalar(n *yaml.Node) scalar {
	if n.Kind != yaml.ScalarNode {
		r.errs.add(r.pos(n), "must be text")
		return scalar{pos: r.pos(n)}
	}
	s := scalar{value: n.Value, pos: r.pos(n), lines: r.lines}
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		s.block = true
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		s.col++
	}
	return s
}

func keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

var errNoRules = errors.New("no rulebook files (*.yaml) found")

// describe joins words for an error: a, b or c.
func describe(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return fmt.Sprintf("%s or %s", strings.Join(words[:len(words)-1], ", "), words[len(words)-1])
}
