package main

import (
	"io/fs"
	"os"

	"coroner/cmd/catalogue"
	"coroner/rules/book"
)

type rulesCatalogueCmd struct {
	rulesFlag
	Unknown bool     `help:"Print the rows of which nothing was decided."`
	Alert   bool     `help:"Count warnings, errors and reasons only."`
	Stale   bool     `help:"Print what is said to be plumbing and took no row; then the command fails."`
	Files   []string `arg:"" name:"file" help:"${catalogue_file}"`
}

// Run prints a line for each list.
func (c *rulesCatalogueCmd) Run(p *program) error {
	rulebook, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	plumbing, err := loadPlumbing(c.Rules)
	if err != nil {
		return err
	}
	return catalogue.Report{
		Rulebook: rulebook, Plumbing: plumbing, Alert: c.Alert, Unknown: c.Unknown, Stale: c.Stale,
	}.Print(p.out, c.Files)
}

// loadPlumbing reads the plumbing of the built-in rulebook and of the folder that lies over it.
func loadPlumbing(dir string) (catalogue.Plumbing, error) {
	systems := []fs.FS{book.Plumbing}
	if dir != "" {
		systems = append(systems, os.DirFS(dir))
	}
	all, err := catalogue.ReadPlumbing(systems...)
	if err != nil {
		return nil, badBook(err)
	}
	return all, nil
}
