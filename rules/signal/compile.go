package signal

import (
	"cmp"
	"io/fs"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/rules/literal"
	"coroner/rules/redact"
	"coroner/rules/regex"
	"coroner/rules/yamlfile"
)

// Book is what a rulebook has of signals and secrets, compiled. It is safe for
// concurrent use, and does not change once it is loaded.
type Book struct {
	Signals []*Def
	Secrets []*SecretDef
	Hash    string // first 12 hexadecimal digits of the SHA-256 of everything read

	source []byte

	byName map[string]*Def
	exact  int             // how many signals are no symptoms; those come after them
	find   *literal.Finder // of what any entry can hold
	raw    *literal.Finder // of what a line in a log can hold
	words  []*vocabulary   // of symptoms
	spoken *literal.Finder // of their fixed texts
	redact *redact.Redactor
}

// Signal returns the definition called name, or nil.
func (b *Book) Signal(name string) *Def { return b.byName[name] }

// Source is everything that the rulebook was read from, as one txtar archive.
func (b *Book) Source() []byte { return b.source }

// Load is for a program that only scans: it reads what the *.yaml files of each file
// system say of signals and secrets, and passes over the rest. Entries of a later
// file system replace those of the same name in an earlier one.
func Load(systems ...fs.FS) (*Book, error) {
	layers, err := yamlfile.ReadLayers(systems)
	if err != nil {
		return nil, err
	}
	var all Specs
	var mistakes yamlfile.Errors
	for _, layer := range layers {
		var specs Specs
		for _, f := range layer {
			r := yamlfile.NewReader(f, &mistakes)
			if sections := specs.Sections(r); r.Mentions(slices.Collect(maps.Keys(sections))) {
				r.Some(r.Root(), sections)
			}
		}
		all.LayOver(specs, &mistakes)
	}
	book := Compile(&all, layers, nil, &mistakes)
	return book, mistakes.Join()
}

// compiler makes definitions of specs.
type compiler struct {
	specs *Specs
	errs  *yamlfile.Errors
	book  *Book
	taken func(capture string) bool // whether every signal has a field of that name

	wordTexts [][]string // the fixed texts of each word of symptoms
}

// Compile makes a book of what was read. No capture may be called by a name that is
// taken.
func Compile(specs *Specs, from yamlfile.Layers, taken func(capture string) bool, mistakes *yamlfile.Errors) *Book {
	c := &compiler{specs: specs, errs: mistakes, taken: taken}
	c.book = &Book{byName: map[string]*Def{}, Hash: from.Hash(), source: from.Source()}
	for _, s := range specs.signals {
		c.compileSignal(s)
	}
	c.book.exact = len(c.book.Signals)
	for _, s := range specs.Symptoms {
		c.compileSymptom(s)
	}
	var all, printed [][]string
	for i, d := range c.book.Signals {
		d.number = i
		all, printed = append(all, d.literals), append(printed, nil)
		if d.isPrinted() {
			printed[i] = d.literals
		}
	}
	c.book.find, c.book.raw = literal.NewFinder(all), literal.NewFinder(printed)
	c.book.spoken = literal.NewFinder(c.wordTexts)
	c.compileSecrets()
	return c.book
}

func (c *compiler) compileSignal(s signalSpec) {
	if !namePattern.MatchString(s.name.Value) {
		c.errs.Add(s.name.Pos, "signal name %q must be family.some-name", s.name.Value)
		return
	}
	family, _, _ := strings.Cut(s.name.Value, ".")
	d := &Def{
		Name: s.name.Value, Family: family, Doc: s.doc.Value, Printed: s.printed.Value,
		Effect: s.effect, Down: s.down, form: form{frame: s.frame}, Tests: s.tests,
		at: s.name.Pos, Fills: map[string]string{},
	}
	d.Sources, d.writers = Sources(s.source, s.name.Pos, c.errs), c.compileWriters(s.writers)
	d.machine = strings.HasPrefix(d.Printed, "Linux") || strings.HasPrefix(d.Printed, "systemd")
	c.compileReach(d, s)
	for _, sh := range s.shapes {
		c.compileShape(d, sh)
	}
	c.captures(d, s)
	c.book.Signals = append(c.book.Signals, d)
	c.book.byName[d.Name] = d
}

// compileReach reads how far a signal speaks; about a pod, where it does not say.
func (c *compiler) compileReach(d *Def, s signalSpec) {
	for _, word := range s.reach {
		d.Reach |= reaches[c.errs.OneOf(word, "reach", "pod", "pod", "node", "pool", "job")]
	}
	d.Reach = cmp.Or(d.Reach, ReachPod)
}

// Sources reads a list of sources.
func Sources(list []yamlfile.Text, at yamlfile.Pos, mistakes *yamlfile.Errors) (out []ingest.Source) {
	for _, s := range list {
		if !slices.Contains(ingest.Sources, ingest.Source(s.Value)) {
			mistakes.Add(s.Pos, "unknown source %q%s", s.Value, yamlfile.Nearest(s.Value, sourceNames()))
		}
		out = append(out, ingest.Source(s.Value))
	}
	if len(out) == 0 {
		mistakes.Add(at, "has no source: say who may prove it")
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

// compileShape compiles one way to write the line and finds the literals that make
// it cheap to look for.
func (c *compiler) compileShape(d *Def, s shapeSpec) {
	sh, literals, at := shape{}, []string(nil), d.at
	for _, m := range s.messages {
		sh.messages = append(sh.messages, m.Value)
		literals, at = append(literals, literal.Plain(m.Value)), m.Pos
	}
	if s.match.Value != "" {
		var tree *syntax.Regexp
		sh.match, tree = c.compilePattern(s.match)
		at = s.match.Pos
		if slices.Contains(d.Sources, ingest.Kernel) && !sh.match.anchored {
			c.errs.Add(
				at,
				"signal %s: a kernel line can name a process or a file, "+
					"whose name anybody chooses: begin every alternative with ^",
				d.Name,
			)
		}
		if inner, ok := strings.CutPrefix(s.match.Value, anchor); ok {
			if re, err := regex.Compile(inner); err == nil {
				sh.loose = &pattern{Regexp: re}
			}
		}
		literals = append(literals, literal.Required(tree)...)
	}
	for _, w := range s.where {
		p, tree := c.compilePattern(w.Value)
		sh.where = append(sh.where, where{w.Key.Value, p})
		if s.match.Value == "" && len(s.messages) == 0 {
			literals, at = append(literals, literal.Required(tree)...), w.Value.Pos
		}
	}
	switch {
	case len(s.messages) == 0 && s.match.Value == "" && len(s.where) == 0:
		c.errs.Add(d.at, "signal %s has neither message, match nor where", d.Name)
	case len(literals) == 0 || slices.ContainsFunc(literals, func(l string) bool { return len(l) < literal.MinLength }):
		c.errs.Add(
			at,
			"signal %s needs at least %d fixed characters in every alternative, or it would be tried on every line",
			d.Name,
			literal.MinLength,
		)
	default:
		d.shapes, d.literals = append(d.shapes, sh), append(d.literals, literals...)
	}
}

// anchor is how a pattern says that nothing but punctuation stands before it: a
// kernel line can quote a path, and a job chooses paths.
const anchor = `^\W*`

// compilePattern compiles an expression, and returns how it was read, too.
func (c *compiler) compilePattern(s yamlfile.Text) (*pattern, *syntax.Regexp) {
	tree := parsePattern(s, c.errs)
	return &pattern{Regexp: regex.New(s.Value, tree), anchored: beginsText(tree)}, tree
}

// CompilePattern compiles a regular expression; a mistake has the place in it.
func CompilePattern(s yamlfile.Text, mistakes *yamlfile.Errors) *regex.Regexp {
	return regex.New(s.Value, parsePattern(s, mistakes))
}

// parsePattern reads a regular expression. One with a mistake matches nothing.
func parsePattern(s yamlfile.Text, mistakes *yamlfile.Errors) *syntax.Regexp {
	tree, err := syntax.Parse(s.Value, syntax.Perl)
	if err == nil {
		return tree
	}
	p := s.Pos
	if e, ok := err.(*syntax.Error); ok {
		p = s.AtOffset(max(0, strings.Index(s.Value, e.Expr)))
	}
	mistakes.Add(p, "%s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	return &syntax.Regexp{Op: syntax.OpNoMatch}
}

// beginsText says whether every match of an expression begins where the text does.
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

func (c *compiler) captures(d *Def, s signalSpec) {
	groups := groupNames(d)
	for _, p := range s.captures {
		k, named, _ := strings.Cut(p.Value.Value, " ")
		if _, ok := kindTypes[Kind(k)]; !ok {
			c.errs.Add(p.Value.Pos, "unknown capture type %q%s", k, yamlfile.Nearest(k, kindNames()))
			continue
		}
		fields := strings.Split(cmp.Or(named, p.Key.Value), " | ")
		d.captures = append(d.captures, capture{p.Key.Value, Kind(k), fields, groups[p.Key.Value]})
	}
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		if !slices.ContainsFunc(d.captures, func(x capture) bool { return x.name == g }) {
			d.captures = append(d.captures, capture{g, KindString, nil, true})
		}
	}
	for _, x := range d.captures {
		if x.name != "container" && c.taken != nil && c.taken(x.name) {
			c.errs.Add(
				s.name.Pos,
				"signal %s: %q is a field of every signal, capture it under another name",
				d.Name,
				x.name,
			)
		}
	}
	for _, p := range d.patterns() {
		p.assignSlots(d.captures)
	}
	c.compileRoles(d, s)
}

// assignSlots notes which groups of p are which captures.
func (p *pattern) assignSlots(all []capture) {
	for _, name := range p.SubexpNames() {
		name = groupName(name)
		p.slots = append(p.slots, slices.IndexFunc(all, func(c capture) bool { return name != "" && c.name == name }))
	}
}

// groupName is the capture that a group holds. name2, name3 … are other places
// where name can stand.
func groupName(name string) string { return strings.TrimRight(name, "23456789") }

// patterns are those of all shapes.
func (d *Def) patterns() (out []*pattern) {
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

// compileRoles checks that what the signal says it carries is captured.
func (c *compiler) compileRoles(d *Def, s signalSpec) {
	place := func(name yamlfile.Text) int {
		at := slices.IndexFunc(d.captures, func(c capture) bool { return c.name == name.Value })
		if at < 0 {
			c.errs.Add(name.Pos, "signal %s captures no %q", d.Name, name.Value)
		}
		return at
	}
	for _, f := range s.fills {
		c.errs.OneOf(f.Key, "fills", "", fillTargets...)
		place(f.Value)
		d.Fills[f.Key.Value] = f.Value.Value
	}
	d.once = s.once.Value
	for _, p := range s.within {
		if inner, outer := place(p.Key), place(p.Value); inner >= 0 && outer >= 0 {
			d.within = append(d.within, [2]int{inner, outer})
		}
	}
	for _, x := range s.subject {
		place(x)
		if d.subject == nil {
			d.subject = map[string]bool{}
		}
		d.subject[x.Value] = true
	}
}

// groupNames lists the named groups of a definition.
func groupNames(d *Def) map[string]bool {
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

// fillTargets are the fields of a verdict that a signal can fill.
var fillTargets = []string{
	"runner",
	"pool",
	"node",
	"job.name",
	"job.id",
	"job.run_id",
	"job.owner",
	"job.repository",
	"job.step",
	"runner.name", // of a job: the runner that was to take it, and the verdict on that
	"runner.namespace",
	"runner.pod_uid",
	"runner.verdict",
	"runner.confidence",
}
