package catalogue

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"coroner/rules/yamlfile"
)

// Plumbing is, by the name of a program's list, what of it is unknown on purpose: what
// cannot tell why a runner, its pod or its node ended, or never began.
type Plumbing map[string]*Program

// Program is the plumbing of one program. The zero value has none.
type Program struct{ entries []entry }

// entry is one decision. A template is plumbing where a file and a pattern fit; of what
// the entry does not name any does.
type entry struct{ files, templates []*pattern }

type pattern struct {
	*regexp.Regexp
	place yamlfile.Text
	used  bool
}

// ReadPlumbing reads plumbing/NAME.yaml of each file system, for the list NAME.tsv. Those of
// several count together. The error joins every mistake, each with its place.
func ReadPlumbing(systems ...fs.FS) (Plumbing, error) {
	all := Plumbing{}
	var mistakes yamlfile.Errors
	for _, system := range systems {
		names, err := fs.Glob(system, "plumbing/*.yaml")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := fs.ReadFile(system, name)
			if err != nil {
				return nil, err
			}
			r := reader{yamlfile.NewReader(yamlfile.File{Name: name, Data: data}, &mistakes), &mistakes}
			all.add(strings.TrimSuffix(path.Base(name), ".yaml"), r.entries())
		}
	}
	if err := mistakes.Join(); err != nil {
		return nil, err
	}
	return all, nil
}

func (p Plumbing) add(program string, entries []entry) {
	if p[program] == nil {
		p[program] = &Program{}
	}
	p[program].entries = append(p[program].entries, entries...)
}

// Of is the plumbing of the program whose list it is, NAME.tsv or NAME.txt.
func (p Plumbing) Of(list string) *Program {
	name := path.Base(list)
	return p[strings.TrimSuffix(name, path.Ext(name))]
}

// Idle are the places of patterns that took no template, in any list that was taken: what
// they were written for is not there any more, or the rulebook knows it.
func (p *Program) Idle() (places []string) {
	if p == nil {
		return nil
	}
	for _, e := range p.entries {
		for _, x := range slices.Concat(e.files, e.templates) {
			if !x.used {
				places = append(places, x.place.Pos.String()+": "+x.place.Value)
			}
		}
	}
	return places
}

// takes says whether a template is plumbing, and notes by what.
func (p *Program) takes(t template) (taken bool) {
	if p == nil {
		return false
	}
	for _, e := range p.entries {
		files, templates := fitting(e.files, t.file), fitting(e.templates, t.text)
		if len(files) == 0 && len(e.files) > 0 || len(templates) == 0 && len(e.templates) > 0 {
			continue
		}
		for _, x := range slices.Concat(files, templates) {
			x.used = true
		}
		taken = true
	}
	return taken
}

func fitting(patterns []*pattern, text string) (out []*pattern) {
	for _, p := range patterns {
		if p.MatchString(text) {
			out = append(out, p)
		}
	}
	return out
}

type reader struct {
	*yamlfile.Reader
	mistakes *yamlfile.Errors
}

func (r reader) entries() (all []entry) {
	root := r.Root()
	if root == nil {
		return nil
	}
	r.Object(root, "file of plumbing", map[string]func(*yaml.Node){
		"plumbing": r.List(func(n *yaml.Node) { all = append(all, r.entry(n)) }),
	})
	return all
}

func (r reader) entry(n *yaml.Node) (e entry) {
	var why yamlfile.Text
	var files, templates []yamlfile.Text
	r.Object(n, "plumbing", map[string]func(*yaml.Node){
		"why": r.Text(&why), "files": r.Texts(&files), "templates": r.Patterns(&templates),
	})
	if why.Value == "" {
		r.Mistake(n, "say why it is unknown on purpose")
	}
	if len(files)+len(templates) == 0 {
		r.Mistake(n, "name files or templates")
	}
	for _, f := range files {
		e.files = append(e.files, r.pattern(f, "^"+strings.ReplaceAll(regexp.QuoteMeta(f.Value), `\*`, ".*")+"$"))
	}
	for _, t := range templates {
		e.templates = append(e.templates, r.pattern(t, t.Value))
	}
	return e
}

// pattern compiles an expression. One that fits whatever it is held against is a mistake.
func (r reader) pattern(place yamlfile.Text, expression string) *pattern {
	x, err := regexp.Compile(expression)
	switch {
	case err != nil:
		r.mistakes.Add(place.Pos, "%v", err)
	case x.MatchString("") || x.MatchString("\x00"):
		r.mistakes.Add(place.Pos, "fits everything: name what is plumbing")
	}
	return &pattern{Regexp: x, place: place}
}
