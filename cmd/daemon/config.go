package daemon

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v4"
)

// readFile reads a YAML file of flags: `web.listen-address: :9095`, or nested,
// `web: {listen-address: ":9095"}`. A list is a flag that is given several
// times. An unknown key is an error that names its line.
func (o *Origins) readFile(r io.Reader) (kong.Resolver, error) {
	c := &config{name: "config file", values: map[string]setting{}, origins: o}
	if f, ok := r.(*os.File); ok {
		c.name = f.Name()
	}
	var root, more yaml.Node
	d := yaml.NewDecoder(r)
	err := d.Decode(&root)
	if err == nil {
		err = d.Decode(&more)
	}
	switch {
	case err == nil:
		return nil, fmt.Errorf("%s:%d: a second document; want one", c.name, more.Line)
	case err != io.EOF:
		return nil, fmt.Errorf("%s: %w", c.name, err)
	case len(root.Content) == 0 || isNull(root.Content[0]): // nothing but comments
		return c, nil
	}
	return c, c.readNode("", root.Content[0])
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

type config struct {
	name    string
	values  map[string]setting
	origins *Origins
}

type setting struct {
	line  int
	value any
}

func (c *config) readNode(prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("%s:%d: want `flag: value` lines", c.name, n.Line)
	}
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		name := prefix + key.Value
		if _, twice := c.values[name]; twice {
			return fmt.Errorf("%s:%d: %s is given twice", c.name, key.Line, name)
		}
		if value.Kind == yaml.MappingNode {
			if err := c.readNode(name+".", value); err != nil {
				return err
			}
			continue
		}
		text, err := c.textOf(name, value)
		if err != nil {
			return err
		}
		c.values[name] = setting{key.Line, text}
	}
	return nil
}

// textOf is a value as it would stand on the command line.
func (c *config) textOf(name string, n *yaml.Node) (any, error) {
	if isNull(n) {
		return nil, fmt.Errorf("%s:%d: %s has no value", c.name, n.Line, name)
	}
	if n.Kind == yaml.ScalarNode {
		return n.Value, nil
	}
	if n.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("%s:%d: want a value or a list of values", c.name, n.Line)
	}
	list := []any{}
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || isNull(item) {
			return nil, fmt.Errorf("%s:%d: want a plain value", c.name, item.Line)
		}
		list = append(list, item.Value)
	}
	return list, nil
}

// Validate refuses keys that are no flag of a daemon.
func (c *config) Validate(app *kong.Application) error {
	known := map[string]bool{}
	nodes := []*kong.Node{app.Node}
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = append(nodes[1:], n.Children...)
		if ofDaemon(app.Node, n) {
			for _, f := range n.Flags {
				known[f.Name] = true
			}
		}
	}
	for name, s := range c.values {
		if !known[name] || name == "config.file" || name == "help" || name == "version" {
			return fmt.Errorf("%s:%d: unknown key %q", c.name, s.line, name)
		}
	}
	return nil
}

// Resolve gives a daemon's flag its value from the file, unless the environment
// has one.
func (c *config) Resolve(ctx *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	s, ok := c.values[flag.Name]
	if _, _, inEnvironment := variableOf(flag); !ok || inEnvironment || !ofDaemon(ctx.Model.Node, parent.Node()) {
		return nil, nil
	}
	c.origins.places[flag.Name] = place{text: fmt.Sprintf("%s:%d: %s", c.name, s.line, flag.Name), before: ": "}
	if _, list := s.value.([]any); list && !flag.IsSlice() {
		return nil, Wrong(flag.Name, "takes one value, not a list")
	}
	if err := readable(flag, s.value); err != nil {
		return nil, Wrong(flag.Name, "%w", err)
	}
	return s.value, nil
}

// readable says why a value is none that the flag takes.
func readable(flag *kong.Flag, value any) error {
	if text, ok := value.(string); ok && flag.Enum != "" && !slices.Contains(flag.EnumSlice(), text) {
		choices := slices.DeleteFunc(flag.EnumSlice(), func(s string) bool { return s == "" })
		return fmt.Errorf("must be one of %s, not %q", strings.Join(choices, ", "), text)
	}
	if !flag.Target.IsValid() || flag.Mapper == nil {
		return nil
	}
	scan := kong.Scan().PushTyped(value, kong.FlagValueToken)
	return flag.Mapper.Decode(
		&kong.DecodeContext{Value: flag.Value, Scan: scan},
		reflect.New(flag.Target.Type()).Elem(),
	)
}

// ofDaemon says whether a node's flags are a daemon's: those of the commands serve and
// relay, or of a program without commands.
func ofDaemon(app, n *kong.Node) bool {
	return n.Name == "serve" || n.Name == "relay" || n == app && len(app.Children) == 0
}
