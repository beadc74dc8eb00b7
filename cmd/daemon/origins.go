package daemon

import (
	"errors"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// Origins knows where the values of a daemon's flags came from: the command line, a variable
// of the environment or a line of the configuration file. It is an option of package kong,
// by which the latter two are read.
type Origins struct{ places map[string]place }

// place is where a value came from, and what stands between that and the value.
type place struct{ text, before string }

// Apply is called by package kong.
func (o *Origins) Apply(k *kong.Kong) error {
	o.places = map[string]place{}
	return errors.Join(
		kong.Configuration(o.readFile).Apply(k),
		kong.PostBuild(nameVariables).Apply(k),
		kong.Resolvers(kong.ResolverFunc(o.noteVariable)).Apply(k),
	)
}

// Explain is the text of an error, in which every mistake in a flag's value begins with where
// that value came from.
func (o *Origins) Explain(err error) string {
	var parsing *kong.ParseError
	if errors.As(err, &parsing) {
		return o.explainParsing(err)
	}
	text := err.Error()
	for _, m := range mistakesIn(err) {
		text = strings.Replace(text, m.Error(), m.tell(o.placeOf(m.flag)), 1)
	}
	return text
}

// explainParsing is the text of what package kong could not read: that names the flag of a
// mistake once more.
func (o *Origins) explainParsing(err error) string {
	var m *mistake
	if errors.As(err, &m) {
		return m.tell(o.placeOf(m.flag))
	}
	return plainWords(err.Error())
}

func (o *Origins) placeOf(flag string) place {
	if p, ok := o.places[flag]; ok {
		return p
	}
	return place{"--" + flag, " "}
}

// nameVariables gives every flag of a daemon a variable: CORONER_ and the flag's name in
// capitals with _ for . and -.
func nameVariables(k *kong.Kong) error {
	nodes := []*kong.Node{k.Model.Node}
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = append(nodes[1:], n.Children...)
		for _, f := range n.Flags {
			if ofDaemon(k.Model.Node, n) && f.Name != "help" && f.Name != "version" {
				name := "CORONER_" + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(f.Name))
				f.Envs, f.Tag.Envs = append(f.Envs, name), append(f.Tag.Envs, name)
			}
		}
	}
	return nil
}

// variableOf is the variable that has a flag's value, if one does.
func variableOf(flag *kong.Flag) (name, value string, ok bool) {
	for _, name := range flag.Envs {
		if value, ok := os.LookupEnv(name); ok {
			return name, value, true
		}
	}
	return "", "", false
}

// noteVariable notes which flags of a daemon have their value from the environment, and
// refuses what cannot be read there. Package kong takes the value itself.
func (o *Origins) noteVariable(ctx *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	name, value, ok := variableOf(flag)
	if !ok || !ofDaemon(ctx.Model.Node, parent.Node()) {
		return nil, nil
	}
	o.places[flag.Name] = place{name, "="}
	if err := readable(flag, value); err != nil {
		return nil, Wrong(flag.Name, "%w", err)
	}
	return nil, nil
}
