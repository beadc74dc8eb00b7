// Package completion is a command line of package kong as one of package cobra, so that
// cobra's scripts for the shells complete it. Nothing is ever run through it.
//
// Invariant: every command, flag and argument of the one is in the other, with the same
// name and help.
//
// Crash behaviour: it keeps no state.
package completion

import (
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"
)

// Candidates are what can stand for a flag or an argument whose tag says
// complete:"KIND", of which the beginning is there. The kind commands needs none: it is
// known here.
type Candidates func(cmd *cobra.Command, kind, begun string) []string

// Tree is a command and all below it.
func Tree(app *kong.Node, candidates Candidates) *cobra.Command { return candidates.command(app) }

// command is one command with its flags, and those below it.
func (c Candidates) command(n *kong.Node) *cobra.Command {
	cmd := &cobra.Command{Use: n.Name, Short: FirstSentence(n.Help), Run: func(*cobra.Command, []string) {}}
	flags := cmd.Flags()
	if n.Type == kong.ApplicationNode {
		flags = cmd.PersistentFlags()
	}
	for _, f := range n.Flags {
		short, help := "", FirstSentence(f.Help)
		if f.Short != 0 {
			short = string(f.Short)
		}
		switch {
		case f.IsBool():
			flags.BoolP(f.Name, short, false, help)
		case f.IsCumulative():
			flags.StringArrayP(f.Name, short, nil, help)
		default:
			flags.StringP(f.Name, short, valueOf(f), help)
		}
		if !f.IsBool() {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, c.values(f.Value, f.PlaceHolder)) // the flag is there
		}
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(n.Positional) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		arg := n.Positional[min(len(args), len(n.Positional)-1)]
		if len(args) >= len(n.Positional) && !arg.IsCumulative() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.values(arg, "")(cmd, args, begun)
	}
	for _, child := range n.Children {
		cmd.AddCommand(c.command(child))
	}
	return cmd
}

// valueOf is what a flag has when it is not given: from the environment, or by default.
func valueOf(f *kong.Flag) string {
	for _, env := range f.Envs {
		if v, ok := os.LookupEnv(env); ok {
			return v
		}
	}
	return f.Default
}

// FirstSentence is what of a help text stands beside a candidate.
func FirstSentence(s string) string {
	s, _, _ = strings.Cut(s, ". ")
	return strings.TrimSuffix(s, ".")
}

// values are those that a flag or an argument takes.
func (c Candidates) values(v *kong.Value, placeholder string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) (out []string, _ cobra.ShellCompDirective) {
		switch kind := v.Tag.Get("complete"); {
		case kind == "commands":
			out = commandsBelow(cmd.Root(), args)
		case kind != "":
			out = c(cmd, kind, begun)
		case v.Enum != "":
			out = v.EnumSlice()
		case v.Name == "path" || placeholder == "FILE" || placeholder == "DIR":
			return nil, cobra.ShellCompDirectiveDefault
		}
		var fit []string
		for _, candidate := range out {
			if candidate != "" && strings.HasPrefix(candidate, begun) {
				fit = append(fit, candidate)
			}
		}
		return fit, cobra.ShellCompDirectiveNoFileComp
	}
}

// commandsBelow are the names of the commands below the one that the words name.
func commandsBelow(cmd *cobra.Command, words []string) (out []string) {
	for _, word := range words {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
		if i < 0 {
			return nil
		}
		cmd = cmd.Commands()[i]
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
		}
	}
	return out
}
