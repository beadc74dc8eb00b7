package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"coroner/fixtures"
	"coroner/rules/manual"
)

type rulesDocsCmd struct {
	rulesFlag
	Incidents string `help:"Address of the folder of incidents, for links to them." placeholder:"URL"`
	Dir       string `arg:"" optional:"" default:"verdicts" help:"Folder to write to; it is made if it is not there."`
}

// Run writes a page for every label of the rulebook in force, their index, and the
// lists of facts and signals.
func (c *rulesDocsCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	incidents, err := fixtures.All()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return unreadable("%w", err)
	}
	pages := manual.Pages(book, incidents)
	files := manual.Files(pages, c.Incidents)
	maps.Copy(files, manual.Lists(book))
	for name, page := range files {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(page), 0o644); err != nil {
			return unreadable("%w", err)
		}
	}
	fmt.Fprintf(p.out, "%d pages, listed in %s; facts and signals in %s and %s\n",
		len(pages), filepath.Join(c.Dir, manual.IndexName), manual.FactsName, manual.SignalsName)
	return nil
}
