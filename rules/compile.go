package rules

import (
	"hash"
	"regexp/syntax"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/rules/regex"

	"github.com/expr-lang/expr/types"
	"golang.org/x/tools/txtar"
)

// builder collects specs and mistakes, then compiles.
type builder struct {
	specs   specs
	errs    errs
	hash    hash.Hash
	book    *Rulebook
	members map[string]string // signal as expressions spell it -> its name

	wordDefs []*SignalDef // the fixed texts of each word of symptoms

	signalsOnly bool
	files       txtar.Archive // what was read
	layers      int
}

func (b *builder) compile() *Rulebook {
	b.book = &Rulebook{byName: map[string]*SignalDef{}, Labels: map[Label]*LabelDef{}, Hash: b.sum()}
	for _, s := range b.specs.signals {
		b.signal(s)
	}
	b.book.exact = len(b.book.Signals)
	b.symptoms()
	for i, d := range b.book.Signals {
		d.number = i
	}
	b.book.spoken = newFinder(b.wordDefs, func(*SignalDef) bool { return true })
	b.book.find, b.book.raw = newFinder(
		b.book.Signals,
		func(*SignalDef) bool { return true },
	), newFinder(
		b.book.Signals,
		(*SignalDef).printed,
	)
	b.secrets()
	if b.signalsOnly {
		return b.book
	}
	b.harmless()
	b.environment()
	for _, s := range b.specs.facts {
		b.fact(s)
	}
	for _, s := range b.specs.labels {
		b.label(s)
	}
	b.book.mirrorConfusions()
	for _, s := range b.specs.verdicts {
		b.rule(s)
	}
	b.order()
	if len(b.errs) == 0 {
		b.book.findQuiet(b.members)
	}
	return b.book
}

func (b *builder) signal(s signalSpec) {
	if !namePattern.MatchString(s.name.value) {
		b.errs.add(s.name.pos, "signal name %q must be family.some-name", s.name.value)
		return
	}
	family, _, _ := strings.Cut(s.name.value, ".")
	d := &SignalDef{
		Name: s.name.value, Family: family, Doc: s.doc.value, Printed: s.printed.value,
		Ends: s.ends, Exit: s.exit, Alarm: s.alarm, Starts: s.starts, frame: s.frame, Tests: s.tests,
		pos: s.name.pos, Fills: map[string]string{},
	}
	d.Sources, d.writers = b.sources(s.source, s.name.pos), b.writers(s.writers)
	d.Reach = Reach(b.oneOf(s.reach, "reach", string(ReachPod), string(ReachPod), string(ReachNode)))
	for _, sh := range s.shapes {
		b.shape(d, sh)
	}
	b.captures(d, s)
	b.book.Signals = append(b.book.Signals, d)
	b.book.byName[d.Name] = d
}

func (b *builder) sources(list []scalar, at pos) (out []ingest.Source) {
	for _, s := range list {
		if !slices.Contains(ingest.Sources, ingest.Source(s.value)) {
			b.errs.add(s.pos, "unknown source %q%s", s.value, nearest(s.value, sourceNames()))
		}
		out = append(out, ingest.Source(s.value))
	}
	if len(out) == 0 {
		b.errs.add(at, "has no source: say who may prove it")
		out = append(out, ingest.Job)
	}
	return out
}

func sourceNames() (out []string) {
	for _, s := range ingest.Sources {
		out = append(out, string(s))
	}
	return out
}

// oneOf checks an enumerated value.
func (b *builder) oneOf(s scalar, what, fallback string, allowed ...string) string {
	if s.value == "" {
		return fallback
	}
	if !slices.Contains(allowed, s.value) {
		b.errs.add(s.pos, "%s %q must be %s", what, s.value, describe(allowed))
	}
	return s.value
}

// shape compiles one way to write the line and finds the literals that make
// it cheap to look for.
func (b *builder) shape(d *SignalDef, s shapeSpec) {
	sh, literals, at := shape{}, []string(nil), d.pos
	for _, m := range s.messages {
		sh.messages = append(sh.messages, m.value)
		literals, at = append(literals, plainPart(m.value)), m.pos
	}
	if s.match.value != "" {
		sh.match, at = b.pattern(s.match), s.match.pos
		if slices.Contains(d.Sources, ingest.Kernel) && !sh.match.anchored {
			b.errs.add(
				at,
				"signal %s: a kernel line can name a process or a file, whose name anybody chooses: begin every alternative with ^",
				d.Name,
			)
		}
		if inner, ok := strings.CutPrefix(s.match.value, anchor); ok {
			if re, err := regex.Compile(inner); err == nil {
				sh.loose = &pattern{Regexp: re}
			}
		}
		literals = append(literals, requiredLiterals(s.match.value)...)
	}
	for _, w := range s.where {
		sh.where = append(sh.where, where{w.key.value, b.pattern(w.value)})
		if s.match.value == "" && len(s.messages) == 0 {
			literals, at = append(literals, requiredLiterals(w.value.value)...), w.value.pos
		}
	}
	switch {
	case len(s.messages) == 0 && s.match.value == "" && len(s.where) == 0:
		b.errs.add(d.pos, "signal %s has neither message, match nor where", d.Name)
	case len(literals) == 0 || slices.ContainsFunc(literals, func(l string) bool { return len(l) < minLiteral }):
		b.errs.add(
			at,
			"signal %s needs at least %d fixed characters in every alternative, or it would be tried on every line",
			d.Name,
			minLiteral,
		)
	default:
		d.shapes, d.literals = append(d.shapes, sh), append(d.literals, literals...)
	}
}

// anchor is how a pattern says that nothing but punctuation stands before it: a
// kernel line can quote a path, and a job chooses paths.
const anchor = `^\W*`

func (b *builder) pattern(s scalar) *pattern {
	re, err := regex.Compile(s.value)
	if err != nil {
		p := s.pos
		if e, ok := err.(*syntax.Error); ok {
			p.col += max(0, strings.Index(s.value, e.Expr))
		}
		b.errs.add(p, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		re = regex.MustCompile(`$^`)
	}
	return &pattern{Regexp: re, anchored: anchored(s.value)}
}

// anchored says whether every match of an expression begins where the text does.
func anchored(expr string) bool {
	re, err := syntax.Parse(expr, syntax.Perl)
	return err == nil && beginsText(re)
}

func beginsText(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginText:
		return true
	case syntax.OpCapture, syntax.OpConcat:
		return len(re.Sub) > 0 && beginsText(re.Sub[0])
	case syntax.OpAlternate:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !beginsText(sub) })
	}
	return false
}

func (b *builder) captures(d *SignalDef, s signalSpec) {
	groups := groupNames(d)
	for _, c := range s.captures {
		k, field, _ := strings.Cut(c.value.value, " ")
		if _, ok := kindTypes[kind(k)]; !ok {
			b.errs.add(c.value.pos, "unknown capture type %q%s", k, nearest(k, kindNames()))
			continue
		}
		d.captures = append(d.captures, capture{c.key.value, kind(k), orElse(field, c.key.value), groups[c.key.value]})
	}
	for _, g := range keys(groups) {
		if !slices.ContainsFunc(d.captures, func(c capture) bool { return c.name == g }) {
			d.captures = append(d.captures, capture{g, kindString, "", true})
		}
	}
	for _, c := range d.captures {
		if _, taken := recordBase[c.name]; taken && c.name != "container" {
			b.errs.add(
				s.name.pos,
				"signal %s: %q is a field of every signal, capture it under another name",
				d.Name,
				c.name,
			)
		}
	}
	for _, p := range d.patterns() {
		p.settle(d.captures)
	}
	b.roles(d, s)
}

// settle notes which groups of p are which captures.
func (p *pattern) settle(all []capture) {
	for _, name := range p.SubexpNames() {
		name = groupName(name)
		p.slots = append(p.slots, slices.IndexFunc(all, func(c capture) bool { return name != "" && c.name == name }))
	}
}

// groupName is the capture that a group holds. name2, name3 … are other places
// where name can stand.
func groupName(name string) string { return strings.TrimRight(name, "23456789") }

// patterns are those of all shapes.
func (d *SignalDef) patterns() (out []*pattern) {
	for _, sh := range d.shapes {
		for _, p := range []*pattern{sh.match, sh.loose} {
			if p != nil {
				out = append(out, p)
			}
		}
		for _, w := range sh.where {
			out = append(out, w.pattern)
		}
	}
	return out
}

// roles checks that what the signal says it carries is captured.
func (b *builder) roles(d *SignalDef, s signalSpec) {
	has := func(name scalar) {
		if !slices.ContainsFunc(d.captures, func(c capture) bool { return c.name == name.value }) {
			b.errs.add(name.pos, "signal %s captures no %q", d.Name, name.value)
		}
	}
	for _, f := range s.fills {
		b.oneOf(f.key, "fills", "", fillTargets...)
		has(f.value)
		d.Fills[f.key.value] = f.value.value
	}
	for _, x := range s.subject {
		has(x)
		if d.subject == nil {
			d.subject = map[string]bool{}
		}
		d.subject[x.value] = true
	}
}

// groupNames lists the named groups of a definition.
func groupNames(d *SignalDef) map[string]bool {
	out := map[string]bool{}
	for _, p := range d.patterns() {
		for _, n := range p.SubexpNames() {
			if n = groupName(n); n != "" {
				out[n] = true
			}
		}
	}
	return out
}

func kindNames() (out []string) {
	for k := range kindTypes {
		out = append(out, string(k))
	}
	slices.Sort(out)
	return out
}

// record is the expr type of one piece of evidence of signal d.
func record(d *SignalDef) types.Map {
	m := types.Map{}
	for name, t := range recordBase {
		m[name] = t
	}
	for _, c := range d.captures {
		m[c.name] = kindTypes[c.kind]
	}
	return m
}
