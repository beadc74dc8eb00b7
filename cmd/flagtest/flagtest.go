// Package flagtest holds a daemon's flags to what is promised of them, for tests: a value that no
// run could use is refused at the start, and told by where it came from, which is the flag, the
// variable, or the line of the configuration file.
//
// Invariant: every flag is tried, or named as one that takes any text. Numbers, sizes and times
// below zero, and what cannot be read, are tried by themselves, so a new flag is too.
//
// Crash behaviour: a variable of the environment that was set for a trial stays.
package flagtest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// Program is a daemon whose flags are tried.
type Program struct {
	Flags   []*kong.Flag
	Command []string                   // what stands before its flags, such as serve
	Base    func() []string            // flags that a start needs, as --name=value
	Start   func(args []string) string // what it says to a command line; "" = it starts
	Dir     string                     // for configuration files

	Rows []Row    // values of texts that no run could use, and of others beside the usual ones
	Free []string // flags that take any text
}

// Row has values of a flag that no run could use.
type Row struct {
	Flag   string
	Values []string
	With   []string // other flags without which the flag says nothing
}

// line is where a value stands in the file that it is tried in.
const line = 3

// Problems are the flags that break the promise, and those of which nothing is known.
func (p *Program) Problems() (all []string) {
	rows := slices.Clone(p.Rows)
	for _, f := range p.Flags {
		values := unusable(f)
		named := slices.ContainsFunc(rows, func(r Row) bool { return r.Flag == f.Name })
		free := slices.Contains(p.Free, f.Name)
		switch {
		case slices.Contains([]string{"help", "version", "config.file"}, f.Name):
			continue // they are of the command line
		case len(values) == 0 && named == free:
			all = append(all, f.Name+": name a value that no run could use, or say that it takes any text")
		case len(values) > 0 && free:
			all = append(all, f.Name+": it does not take any text")
		}
		rows = append(rows, Row{Flag: f.Name, Values: values})
	}
	for _, r := range rows {
		i := slices.IndexFunc(p.Flags, func(f *kong.Flag) bool { return f.Name == r.Flag })
		if i < 0 {
			all = append(all, r.Flag+": there is no such flag")
			continue
		}
		for _, value := range r.Values {
			all = append(all, p.try(p.Flags[i], value, r.With)...)
		}
	}
	return all
}

// unusable are the values that no flag of that kind takes; a text has none.
func unusable(f *kong.Flag) []string {
	kind := f.Target.Kind()
	switch {
	case f.Enum != "" || kind == reflect.Bool:
		return []string{"no-such-value"}
	case f.Target.CanInt() && f.Target.Type().Name() == "Duration":
		return []string{"no-such-value", "-5s"}
	case f.Target.CanInt():
		return []string{"no-such-value", "-5"}
	}
	return nil
}

// try gives a flag its value in each of the three ways.
func (p *Program) try(f *kong.Flag, value string, with []string) (problems []string) {
	flag := "--" + f.Name
	start := func(more ...string) string {
		args := slices.Concat(p.Base(), with, more)
		other := func(arg string) bool { return strings.HasPrefix(arg, flag+"=") && !slices.Contains(more, arg) }
		return p.Start(append(slices.Clone(p.Command), slices.DeleteFunc(args, other)...))
	}
	file, variable := filepath.Join(p.Dir, "coroner.yaml"), f.Envs[len(f.Envs)-1]
	text := fmt.Sprintf("# A comment,\n# and another.\n%s: %s\n", f.Name, strconv.Quote(value))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return []string{err.Error()}
	}
	check := func(said string, begins ...string) {
		tells := func(line string) bool {
			return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(line, b) })
		}
		if lines := strings.Split(said, "\n"); !slices.ContainsFunc(lines, tells) {
			const why = "%s %q: no line of %q begins with %s"
			problems = append(problems, fmt.Sprintf(why, f.Name, value, said, begins[0]))
		}
		if strings.Contains(said, "one of ,") || strings.Contains(said, `one of "",`) {
			problems = append(problems, fmt.Sprintf("%s %q: %q begins a list with nothing", f.Name, value, said))
		}
	}
	check(start(flag+"="+value), flag+": ", flag+" ")
	check(start("--config.file="+file), fmt.Sprintf("%s:%d: %s: ", file, line, f.Name))
	before, had := os.LookupEnv(variable)
	_ = os.Setenv(variable, value)
	check(start(), variable+": ", variable+"=")
	_ = os.Unsetenv(variable)
	if had {
		_ = os.Setenv(variable, before)
	}
	return problems
}
