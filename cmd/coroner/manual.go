package main

import (
	"fmt"
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

// Run writes a page for every label of the rulebook in force, and their index.
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
	for name, page := range manual.Files(pages, c.Incidents) {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(page), 0o644); err != nil {
			return unreadable("%w", err)
		}
	}
	fmt.Fprintf(p.out, "%d pages, listed in %s\n", len(pages), filepath.Join(c.Dir, manual.IndexName))
	return nil
}
