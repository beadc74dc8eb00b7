package signal

import (
	"errors"
	"fmt"

	"coroner/rules/redact"
	"coroner/rules/yamlfile"

	"go.yaml.in/yaml/v4"
)

// SecretDef is one kind of secret that is taken out of every line.
type SecretDef struct {
	Name  string // what stands in its place: [redacted:NAME]
	Doc   string
	Tests []SecretTest
}

// SecretTest is an inline test: a line and what is shown of it.
type SecretTest struct {
	Line, Shown string
	pos         yamlfile.Pos
}

type secretSpec struct {
	name, doc                         yamlfile.Text
	begins, keys, except, words       []yamlfile.Text
	chars, match, needs, like, unlike yamlfile.Text
	where                             secretPlace
	fields                            map[string]yamlfile.Text // the others by name, for their places
	tests                             []SecretTest
}

// secretPlace is how much of a secret there is, and what stands before it.
type secretPlace struct {
	least, before int
	alone         bool
}

func (r reader) readSecret(n *yaml.Node) (s secretSpec) {
	s.name.Pos = r.Pos(n)
	s.fields = map[string]yamlfile.Text{}
	one := func(read func(*yamlfile.Text) func(*yaml.Node), key string, into *yamlfile.Text) func(*yaml.Node) {
		return func(n *yaml.Node) {
			read(into)(n)
			s.fields[key] = *into
		}
	}
	list := func(key string, into *[]yamlfile.Text) func(*yaml.Node) {
		return r.List(func(n *yaml.Node) {
			*into = append(*into, r.Scalar(n))
			s.fields[key] = (*into)[0]
		})
	}
	r.Object(n, "secret", map[string]func(*yaml.Node){
		"name": r.Text(&s.name), "doc": r.Text(&s.doc),
		"begins": list("begins", &s.begins), "chars": one(r.Text, "chars", &s.chars),
		"keys": list("keys", &s.keys), "except": list("except", &s.except),
		"words": list("words", &s.words), "match": one(r.Pattern, "match", &s.match),
		"needs": one(r.Text, "needs", &s.needs), "alone": r.Bool(&s.where.alone),
		"like": one(r.Pattern, "like", &s.like), "unlike": one(r.Pattern, "unlike", &s.unlike),
		"least": r.Int(&s.where.least), "before": r.Int(&s.where.before),
		"tests": r.List(func(n *yaml.Node) { s.tests = append(s.tests, r.secretTest(n)) }),
	})
	return s
}

func (r reader) secretTest(n *yaml.Node) SecretTest {
	t := SecretTest{pos: r.Pos(n)}
	var line, shown, stays yamlfile.Text
	r.Object(n, "secret test", map[string]func(*yaml.Node){
		"line": r.Text(&line), "shown": r.Text(&shown), "stays": r.Text(&stays),
	})
	if t.Line, t.Shown = line.Value, shown.Value; stays.Value != "" {
		t.Line, t.Shown = stays.Value, stays.Value
	}
	return t
}

// compileSecrets compiles what the files say of secrets.
func (c *compiler) compileSecrets() {
	c.book.redact = redact.New()
	for _, s := range c.specs.secrets {
		err := c.book.redact.Add(redact.Pattern{
			Kind:   s.name.Value,
			Begins: textValues(s.begins), Chars: s.chars.Value, Least: s.where.least, Before: s.where.before,
			Keys: textValues(s.keys), Except: textValues(s.except),
			Words: textValues(s.words), Match: s.match.Value, Needs: s.needs.Value,
			Alone: s.where.alone,
			Like:  s.like.Value, Unlike: s.unlike.Value,
		})
		if err != nil {
			c.badSecret(&s, err)
			continue
		}
		c.book.Secrets = append(c.book.Secrets, &SecretDef{Name: s.name.Value, Doc: s.doc.Value, Tests: s.tests})
	}
}

func (c *compiler) badSecret(s *secretSpec, err error) {
	at, why := s.name.Pos, err.Error()
	if e := (*redact.Error)(nil); errors.As(err, &e) {
		why = e.Why
		if f, ok := s.fields[e.Field]; ok {
			at = f.Pos
		}
	}
	c.errs.Add(at, "secret %s: %s", s.name.Value, why)
}

func textValues(list []yamlfile.Text) (out []string) {
	for _, s := range list {
		out = append(out, s.Value)
	}
	return out
}

// testSecrets runs the inline tests of the secrets.
func (b *Book) testSecrets() (failed []string, ran int) {
	for _, d := range b.Secrets {
		for _, t := range d.Tests {
			ran++
			if got, _ := b.redact.Text(t.Line, nil); got != t.Shown {
				failed = append(failed, fmt.Sprintf("%s: secret %s: shows %.200q, want %.200q", t.pos, d.Name, got,
					t.Shown))
			}
		}
	}
	return failed, ran
}
