package main

import (
	"fmt"
	"os"
	"path/filepath"

	"coroner/cmd/catalogue"
	"coroner/rules"
)

type rulesCatalogueCmd struct {
	rulesFlag
	Unknown bool     `help:"Print the templates that the rulebook does not know."`
	Alert   bool     `help:"Count warnings, errors and reasons only."`
	Files   []string `arg:"" name:"file" help:"${catalogue_file}"`
}

// Run prints a line for each list.
func (c *rulesCatalogueCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	for _, path := range c.Files {
		known, all, err := c.printShare(p, book, path)
		if err != nil {
			return err
		}
		percent := 100 * float64(known) / float64(max(all, 1))
		fmt.Fprintf(p.out, "%-40s %5d of %5d known, %3.0f %%\n", filepath.Base(path), known, all, percent)
	}
	return nil
}

func (c *rulesCatalogueCmd) printShare(p *program, book *rules.Rulebook, path string) (known, all int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return catalogue.Share(f, book, c.Alert, func(kind, level, text string) {
		if c.Unknown {
			fmt.Fprintf(p.out, "%s\t%s\t%s\n", kind, level, text)
		}
	})
}
