package main

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"coroner/classify/postmortem"
	"coroner/ingest/bundle"
	"coroner/rules/draft"
)

type rulesNewCmd struct {
	rulesFlag
	Place string `arg:"" name:"file:line" help:"A line that coroner does not know yet, as explain names it: FILE:LINE."`
}

// Help is shown by coroner rules new --help.
func (rulesNewCmd) Help() string {
	return `Examples:
  coroner explain incident.log                                # names the lines that no signal knows
  coroner rules new incident.log:17 > mine/rackd.yaml         # drafts a signal of one
  coroner rules check --rules mine                            # does it load, and know its line?`
}

// Run drafts a signal from a line.
func (c *rulesNewCmd) Run(p *program) error {
	colon := strings.LastIndex(c.Place, ":")
	line, err := strconv.Atoi(c.Place[colon+1:])
	if colon < 0 || err != nil || line < 1 {
		return usage("%q: want FILE:LINE, such as incident.log:17", c.Place)
	}
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	file := c.Place[:colon]
	in, err := bundle.Open([]string{file}, bundle.Options{Now: p.now()})
	if err != nil {
		return usage("%w", err)
	}
	defer in.Close()
	e, ok := in.EntryAt(line)
	if problems := in.Problems(); !ok && len(problems) > 0 {
		return unreadable("%s", postmortem.Clean(problems[0].String()))
	}
	if !ok {
		return unreadable("%s has no record that begins in line %d", filepath.Base(file), line)
	}
	if found := book.Scan(&e); len(found) > 0 {
		return usage(
			"%s is known: it is the signal %s; coroner rules describe %s says more",
			c.Place,
			found[0].Def.Name,
			found[0].Def.Name,
		)
	}
	book.Redact(&e)
	_, err = fmt.Fprint(p.out, draft.Signal(&e))
	return err
}
