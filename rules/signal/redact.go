package signal

import (
	"maps"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/rules/redact"
)

// Redact takes the secrets out of an entry: out of its text, its fields and its
// mark. Scan does that with an entry in which it finds a signal; this is for what
// is kept without one. Nothing changes for others that share the fields or the mark.
func (b *Book) Redact(e *ingest.Entry) { b.redactEntry(e, nil) }

// RedactTail is Redact for the last lines of one stream, in their order. It also
// takes out a private key of several lines, of which none is a secret by itself.
func (b *Book) RedactTail(tail []ingest.Entry) {
	lines := make([]string, len(tail))
	for i := range tail {
		if b.Scan(&tail[i]) == nil {
			b.Redact(&tail[i])
		}
		lines[i] = tail[i].Text
	}
	for i, secret := range redact.KeyLines(lines) {
		if secret {
			tail[i].Text = redact.Mark(redact.PrivateKey)
		}
	}
}

// WithSecretsOf is a copy of the rulebook that takes out what another one does.
func (b *Book) WithSecretsOf(other *Book) *Book {
	c := *b
	c.Secrets, c.redact = other.Secrets, other.redact
	return &c
}

// withoutSecrets takes the secrets out of an entry in which found was found, and
// returns what is found then. Of a line that a job cannot write it must be the same:
// a word of which a signal, a number or an identity is made is no secret, though
// `token=` stands before it, for a job chooses names that others' lines quote. Only
// what its own form tells goes in any case.
// As in ScanWithin, short is whether not all of it was matched.
func (b *Book) withoutSecrets(e *ingest.Entry, found []Signal, short bool) ([]Signal, bool) {
	if !b.hasSecrets(e) {
		return found, short
	}
	var clean ingest.Entry
	again, less := found, short
	for _, wanted := range []func(redact.Span) bool{nil, b.harmless(e, found), isSure} {
		if clean = *e; !b.redactEntry(&clean, wanted) {
			return found, short
		}
		if again, less = b.findSignals(&clean); e.Source.Forgeable() || sameFacts(found, again) {
			break
		}
	}
	*e = clean
	return again, short || less
}

// hasSecrets says whether there are any. Nearly no entry has: this costs no allocation.
func (b *Book) hasSecrets(e *ingest.Entry) bool {
	clean := *e
	return b.redactEntry(&clean, nil)
}

func isSure(s redact.Span) bool { return s.Sure }

// harmless wants the secrets that are sure, and those of a kind without which the
// same is found.
func (b *Book) harmless(e *ingest.Entry, found []Signal) func(redact.Span) bool {
	tried := map[string]bool{}
	return func(s redact.Span) bool {
		ok, known := tried[s.Kind]
		if !known && !s.Sure {
			clean := *e
			b.redactEntry(&clean, func(t redact.Span) bool { return t.Kind == s.Kind && !t.Sure })
			again, _ := b.findSignals(&clean)
			ok = sameFacts(found, again)
			tried[s.Kind] = ok
		}
		return s.Sure || ok
	}
}

// sameFacts says whether the same signals were found with the same captures, but
// for what was taken out of their words.
func sameFacts(a, b []Signal) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Def != b[i].Def {
			return false
		}
		for j, c := range a[i].Def.captures {
			was, is := a[i].words[j], b[i].words[j]
			if was != is && !(c.kind == KindString && strings.Contains(is, redact.MarkBegins)) {
				return false
			}
		}
	}
	return true
}

// redactEntry takes out the wanted secrets, and says whether there were any.
func (b *Book) redactEntry(e *ingest.Entry, wanted func(redact.Span) bool) (changed bool) {
	if text, found := b.redact.Text(e.Text, wanted); found {
		var cut int
		e.Text, cut = logtext.Shorten(text)
		e.Cut, changed = e.Cut+cut, true
	}
	if fields, found := b.redactFields(e.Fields, wanted); found {
		e.Fields, changed = fields, true
	}
	if e.Mark != nil {
		if why, found := b.redact.Text(e.Mark.Why, wanted); found {
			m := *e.Mark
			m.Why, e.Mark, changed = why, &m, true
		}
	}
	return changed
}

// redactFields returns a copy of the fields where one of them has a secret.
func (b *Book) redactFields(fields map[string]string, wanted func(redact.Span) bool) (map[string]string, bool) {
	var clean map[string]string
	for name, value := range fields {
		v, found := b.redact.Text(value, wanted)
		whole, named := b.redact.Text(name+"="+v, wanted) // its name can tell, too
		if rest, ok := strings.CutPrefix(whole, name+"="); ok && named {
			v, found = rest, true
		}
		if !found {
			continue
		}
		if clean == nil {
			clean = maps.Clone(fields)
		}
		clean[name], _ = logtext.Shorten(v)
	}
	return clean, clean != nil
}
