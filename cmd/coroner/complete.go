package main

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/cmd/completion"
	"coroner/cmd/listforms"
	"coroner/rules"

	"github.com/alecthomas/kong"
	"github.com/spf13/cobra"
)

// completer is the command line as package cobra knows one, so that cobra's
// scripts for the shells complete it. Nothing is ever run through it.
func (p *program) completer(app *kong.Node) *cobra.Command {
	root := completion.Tree(app, candidates)
	root.Use = strings.ReplaceAll(p.name(), " ", "-")
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	if p.plugin { // a name may stand where others have a command
		for _, c := range root.Commands() {
			if c.Name() != "lookup" {
				continue
			}
			values := c.ValidArgsFunction
			root.ValidArgsFunction = func(
				_ *cobra.Command, args []string, begun string,
			) ([]string, cobra.ShellCompDirective) {
				return values(c, args, begun)
			}
		}
	}
	return root
}

// complete prints what may stand in place of the last word, in cobra's form. It
// is silent about mistakes: the command line is not finished.
func (p *program) complete(app *kong.Node, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	if len(words) > 1 {
		words = p.arguments(app, words)
	}
	root := p.completer(app)
	root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, words...))
	root.SetOut(p.out)
	root.SetErr(io.Discard)
	_ = root.Execute() // what cannot be completed has no candidates
}

func childNamed(n *kong.Node, name string) *kong.Node {
	if i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == name }); i >= 0 {
		return n.Children[i]
	}
	return nil
}

// candidates are the labels, the names that a rulebook has, or those that the server knows.
func candidates(cmd *cobra.Command, kind, begun string) (out []string) {
	switch kind {
	case "labels":
	case "list-forms":
		return listforms.OfLists
	case "page-forms":
		return listforms.OfPages
	case "rules", "entries":
		book, err := loadBook(flagValue(cmd, "rules"))
		switch {
		case err != nil:
			return nil
		case kind == "rules":
			return completion.Rules(book)
		}
		return completion.Entries(book)
	default:
		return knownNames(cmd, kind, begun)
	}
	done := begun[:strings.LastIndexByte(begun, ',')+1] // what of the list is there
	for _, l := range labelCandidates(cmd) {
		out = append(out, done+l)
	}
	return out
}

// labelCandidates are the server's labels, or the built-in ones if it does not answer.
func labelCandidates(cmd *cobra.Command) []string {
	labels := rules.Labels
	if client, err := hastyClient(cmd); err == nil {
		if all, err := client.Labels(context.Background()); err == nil {
			labels = all
		}
	}
	book, err := loadBook("")
	if err != nil {
		return nil
	}
	return completion.Labels(labels, book)
}

// tabTimeout is how long a person who pressed Tab waits for a server.
const tabTimeout = time.Second

// knownNames are the names of that kind that the server knows; none if it does not
// answer at once.
func knownNames(cmd *cobra.Command, kind, begun string) []string {
	q := url.Values{"limit": {"100"}}
	if kind == "runners" {
		q.Set("runner", begun)
		space := strings.Index(begun, "/") + 1
		if len(begun)-space < ledger.ShortestPrefix { // the server looks for no less; the latest may have it
			q.Set("runner", begun[:space])
		}
	}
	client, err := hastyClient(cmd)
	if err != nil {
		return nil
	}
	found, err := client.Verdicts(context.Background(), q)
	if err != nil {
		return nil
	}
	return completion.Names(found.Verdicts, kind, begun)
}

// hastyClient asks the server of a command line that is not finished.
func hastyClient(cmd *cobra.Command) (*lookup.Client, error) {
	f := serverFlags{
		Server: flagValue(cmd, "server"), TokenFile: flagValue(cmd, "token-file"), CAFile: flagValue(cmd, "ca-file"),
		Timeout: tabTimeout,
	}
	return f.newClient()
}

// flagValue is a flag's value, of a command without that flag the variable's.
func flagValue(cmd *cobra.Command, name string) string {
	if f := cmd.Flag(name); f != nil {
		return f.Value.String()
	}
	return os.Getenv("CORONER_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")))
}

type completionCmd struct {
	Shell string `arg:"" help:"${complete_shell}" enum:"bash,zsh,fish,powershell,kubectl"`
}

// Help is shown by coroner completion --help.
func (completionCmd) Help() string {
	return `Prints a script that completes commands, flags, the labels, rules and signals of the
rulebook, and the names of runners and nodes that the server knows.
  bash      source <(coroner completion bash)              # in ~/.bashrc, after bash-completion
  zsh       source <(coroner completion zsh)               # in ~/.zshrc, after compinit
  fish      coroner completion fish | source               # in ~/.config/fish/config.fish
  powershell  coroner completion powershell | Out-String | Invoke-Expression
  kubectl   coroner completion kubectl > kubectl_complete-coroner; chmod +x it, and put it
            into the PATH beside kubectl-coroner`
}

// Run prints the script.
func (c *completionCmd) Run(p *program, app *kong.Kong) error {
	root := p.completer(app.Model.Node)
	switch c.Shell {
	case "bash":
		return root.GenBashCompletionV2(p.out, true)
	case "zsh":
		return root.GenZshCompletion(p.out)
	case "fish":
		return root.GenFishCompletion(p.out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(p.out)
	}
	_, err := fmt.Fprint(p.out, `#!/bin/sh
# kubectl asks this script what may come after kubectl coroner.
exec kubectl-coroner __complete "$@"
`)
	return err
}
