// Package reference writes the generated parts of docs/reference.md: the flags
// of a program, and its metrics. Tests of both programs hold the page to them.
//
// Invariant: what it writes is a function of the command line's model and of what
// is registered; a part that differs from the page is an error, unless it is to be
// rewritten.
//
// Crash behaviour: it keeps no state.
package reference

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
)

// Hold compares a part of the page with what it should be, or rewrites it.
func Hold(path, part, want string, update bool) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+part+" -->\n", "<!-- end of "+part+" -->"
	head, rest, ok := strings.Cut(string(page), begin)
	have, tail, ok2 := strings.Cut(rest, end)
	switch {
	case !ok || !ok2:
		return fmt.Errorf("%s has no part %s", path, part)
	case have == want:
		return nil
	case !update:
		return fmt.Errorf("%s: %s is not up to date: make reference", path, part)
	}
	return os.WriteFile(path, []byte(head+begin+want+end+tail), 0o644)
}

// Flags is a table of the flags of each command.
func Flags(n *kong.Node) string {
	var out strings.Builder
	commands(&out, n, n.Name)
	return out.String()
}

func commands(out *strings.Builder, n *kong.Node, name string) {
	if n.Hidden {
		return
	}
	usage := name
	for _, p := range n.Positional {
		usage += " " + p.Summary()
	}
	fmt.Fprintf(out, "### %s\n\n", name)
	if n.Help != "" {
		fmt.Fprintf(out, "%s\n\n", escaped(n.Help))
	}
	if len(n.Positional) > 0 {
		fmt.Fprintf(out, "    %s\n\n", usage)
	}
	if len(n.Flags) > 0 {
		out.WriteString("| flag | default | variable | what it does |\n|---|---|---|---|\n")
		for _, f := range n.Flags {
			if !f.Hidden {
				fmt.Fprintf(
					out,
					"| %s | %s | %s | %s |\n",
					flag(f),
					code(f.Default),
					code(strings.Join(f.Envs, " ")),
					escaped(f.Help),
				)
			}
		}
		out.WriteString("\n")
	}
	for _, c := range n.Children {
		commands(out, c, name+" "+c.Name)
	}
}

func flag(f *kong.Flag) string {
	s := "--" + f.Name
	if f.Short != 0 {
		s = "-" + string(f.Short) + ", " + s
	}
	if !f.IsBool() && f.PlaceHolder != "" {
		s += " " + f.PlaceHolder
	}
	return code(s)
}

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.ReplaceAll(s, "|", `\|`) + "`"
}

func escaped(s string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "\n", " ").Replace(s)
}

// description is how package prometheus writes one.
var description = regexp.MustCompile(
	`^Desc\{fqName: "(coroner_[a-z_]+)", help: "(.*?)", (?:unit: "[^"]*", )?constLabels: \{[^}]*\}, ` +
		`variableLabels: \{([^}]*)\}\}$`,
)

// Metrics is a table of coroner's own metrics in a registry.
func Metrics(reg *prometheus.Registry) string {
	found := make(chan *prometheus.Desc)
	go func() { reg.Describe(found); close(found) }()
	var rows []string
	for d := range found {
		if m := description.FindStringSubmatch(d.String()); m != nil {
			labels := strings.Join(strings.FieldsFunc(m[3], func(r rune) bool { return r == ',' || r == ' ' }), ", ")
			rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |\n", m[1], labels, escaped(m[2])))
		}
	}
	slices.Sort(rows)
	return "| metric | labels | what it says |\n|---|---|---|\n" + strings.Join(slices.Compact(rows), "")
}
