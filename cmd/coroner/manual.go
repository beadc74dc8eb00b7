package main

import (
	"fmt"
	"maps"
	"path/filepath"

	"coroner/cmd/site"
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
	pages := manual.Pages(book, incidents)
	files := manual.Files(pages, c.Incidents)
	maps.Copy(files, manual.Lists(book))
	if err := site.Write(c.Dir, files); err != nil {
		return unreadable("%w", err)
	}
	fmt.Fprintf(p.out, "%d pages, listed in %s; facts and signals in %s and %s, what each label takes in %s\n",
		len(pages), filepath.Join(c.Dir, manual.IndexName), manual.FactsName, manual.SignalsName, manual.ReadingName)
	return nil
}

type docsCmd struct {
	Dir string `arg:"" help:"Folder to write to; it is made if it is not there."`
}

// Run writes the documentation as web pages.
func (c *docsCmd) Run(p *program) error {
	count, err := site.WriteDocs(c.Dir)
	if err != nil {
		return unreadable("%w", err)
	}
	fmt.Fprintf(p.out, "%d files; begin with %s\n", count, filepath.Join(c.Dir, "index.html"))
	return nil
}
