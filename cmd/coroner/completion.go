package main

import "fmt"

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh, fish, or kubectl: the script by which kubectl completes kubectl coroner." enum:"bash,zsh,fish,kubectl"`
}

// Help is shown by coroner completion --help.
func (completionCmd) Help() string {
	return `Prints a script that completes commands, flags, labels, and the names of runners and nodes that the server knows.
  bash      source <(coroner completion bash)              # in ~/.bashrc
  zsh       source <(coroner completion zsh)               # in ~/.zshrc, after compinit
  fish      coroner completion fish | source               # in ~/.config/fish/config.fish
  kubectl   coroner completion kubectl > kubectl_complete-coroner; chmod +x it, and put it into the PATH beside kubectl-coroner`
}

// Run prints the script.
func (c *completionCmd) Run(p *program) error {
	_, err := fmt.Fprint(p.out, completionScripts[c.Shell])
	return err
}

// completionScripts hand the words up to the cursor to coroner __complete and
// show what it answers: candidates, each with a tab and what it is, then :0
// where files are wanted, too, else :4. That is how kubectl's plugins answer.
var completionScripts = map[string]string{
	"bash": `# bash completion for coroner and kubectl-coroner
_coroner() {
    local line=${COMP_LINE:0:COMP_POINT} words word found=() one
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    word=${words[${#words[@]}-1]}
    COMPREPLY=()
    while IFS= read -r one; do found+=("${one%%$'\t'*}"); done < <("${words[0]/#\~/$HOME}" __complete "${words[@]:1}" </dev/null 2>/dev/null)
    (( ${#found[@]} )) || return
    [[ ${found[${#found[@]}-1]} == :0 ]] && compopt -o default 2>/dev/null
    unset "found[${#found[@]}-1]"
    # bash replaces only what comes after the last = or : of the word
    [[ $word == *[=:]* ]] && found=("${found[@]#"${word%"${word##*[=:]}"}"}")
    COMPREPLY=("${found[@]}")
}
complete -F _coroner coroner kubectl-coroner
`,
	"zsh": `#compdef coroner kubectl-coroner
# zsh completion for coroner and kubectl-coroner
_coroner() {
    local -a lines found
    lines=("${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" </dev/null 2>/dev/null)}")
    local one last=${lines[-1]}
    for one in "${(@)lines[1,-2]}"; do
        found+=("${${one%%$'\t'*}//:/\\:}:${one#*$'\t'}")
    done
    (( ${#found} )) && _describe -V coroner found
    [[ $last == :0 ]] && _files
}
if [[ $funcstack[1] == _coroner ]]; then _coroner "$@"; else compdef _coroner coroner kubectl-coroner; fi
`,
	"fish": `# fish completion for coroner and kubectl-coroner
function __coroner_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l found ($words[1] __complete $words[2..-1] "$word" </dev/null 2>/dev/null)
    test (count $found) -gt 1; and printf '%s\n' $found[1..-2]
    test "$found[-1]" = :0; and __fish_complete_path "$word"
end
complete -c coroner -f -a '(__coroner_complete)'
complete -c kubectl-coroner -f -a '(__coroner_complete)'
`,
	"kubectl": `#!/bin/sh
# kubectl asks this script what may come after kubectl coroner.
exec kubectl-coroner __complete "$@"
`,
}
