package rules

import (
	"errors"
	"fmt"

	"coroner/rules/redact"

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
	pos         pos
}

type secretSpec struct {
	name, doc                         scalar
	begins, keys, except, words       []scalar
	chars, match, needs, like, unlike scalar
	least, before                     int
	fields                            map[string]scalar // the others by name, for their places
	tests                             []SecretTest
}

func (r *reader) secret(n *yaml.Node) (s secretSpec) {
	s.name.pos = r.pos(n)
	s.fields = map[string]scalar{}
	text := func(key string, into *scalar) func(*yaml.Node) {
		return func(n *yaml.Node) {
			*into = r.scalar(n)
			s.fields[key] = *into
		}
	}
	list := func(key string, into *[]scalar) func(*yaml.Node) {
		return r.list(func(n *yaml.Node) {
			*into = append(*into, r.scalar(n))
			s.fields[key] = (*into)[0]
		})
	}
	r.object(n, "secret", map[string]func(*yaml.Node){
		"name": r.text(&s.name), "doc": r.text(&s.doc),
		"begins": list("begins", &s.begins), "chars": text("chars", &s.chars),
		"keys": list("keys", &s.keys), "except": list("except", &s.except),
		"words": list("words", &s.words), "match": text("match", &s.match), "needs": text("needs", &s.needs),
		"like": text("like", &s.like), "unlike": text("unlike", &s.unlike),
		"least": r.int(&s.least), "before": r.int(&s.before),
		"tests": r.list(func(n *yaml.Node) { s.tests = append(s.tests, r.secretTest(n)) }),
	})
	return s
}

func (r *reader) secretTest(n *yaml.Node) SecretTest {
	t := SecretTest{pos: r.pos(n)}
	var line, shown, stays scalar
	r.object(n, "secret test", map[string]func(*yaml.Node){
		"line": r.text(&line), "shown": r.text(&shown), "stays": r.text(&stays),
	})
	if t.Line, t.Shown = line.value, shown.value; stays.value != "" {
		t.Line, t.Shown = stays.value, stays.value
	}
	return t
}

// secrets compiles what the files say of secrets.
func (b *builder) secrets() {
	b.book.redact = redact.New()
	for _, s := range b.specs.secrets {
		err := b.book.redact.Add(redact.Pattern{
			Kind:   s.name.value,
			Begins: values(s.begins), Chars: s.chars.value, Least: s.least, Before: s.before,
			Keys: values(s.keys), Except: values(s.except),
			Words: values(s.words), Match: s.match.value, Needs: s.needs.value,
			Like: s.like.value, Unlike: s.unlike.value,
		})
		if err != nil {
			b.badSecret(&s, err)
			continue
		}
		b.book.Secrets = append(b.book.Secrets, &SecretDef{Name: s.name.value, Doc: s.doc.value, Tests: s.tests})
	}
}

func (b *builder) badSecret(s *secretSpec, err error) {
	at, why := s.name.pos, err.Error()
	if e := (*redact.Error)(nil); errors.As(err, &e) {
		why = e.Why
		if f, ok := s.fields[e.Field]; ok {
			at = f.pos
		}
	}
	b.errs.add(at, "secret %s: %s", s.name.value, why)
}

func values(list []scalar) (out []string) {
	for _, s := range list {
		out = append(out, s.value)
	}
	return out
}

// testSecrets runs the inline tests of the secrets.
func (b *Rulebook) testSecrets() (failed []string, ran int) {
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
