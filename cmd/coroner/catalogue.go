package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"coroner/rules"
)

type rulesCatalogueCmd struct {
	rulesFlag
	Unknown bool     `help:"Print the templates that the rulebook does not know."`
	Alert   bool     `help:"Count warnings, errors and reasons only."`
	Files   []string `arg:"" name:"file" help:"Lists of templates: version, file, kind, level and template, divided by tabs."`
}

// Run prints a line for each list.
func (c *rulesCatalogueCmd) Run(p *program) error {
	book, err := loadBook(c.Rules)
	if err != nil {
		return err
	}
	for _, path := range c.Files {
		known, all, err := c.share(p, book, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%-40s %5d of %5d known, %3.0f %%\n", filepath.Base(path), known, all, 100*float64(known)/float64(max(all, 1)))
	}
	return nil
}

func (c *rulesCatalogueCmd) share(p *program, book *rules.Rulebook, path string) (known, all int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		t, ok := newTemplate(lines.Text())
		if !ok || c.Alert && t.idle() {
			continue
		}
		all++
		if what := t.known(book); what != "" {
			known++
		} else if c.Unknown {
			fmt.Fprintf(p.out, "%s\t%s\t%s\n", t.kind, t.level, t.text)
		}
	}
	return known, all, lines.Err()
}

// template is one row of a list: a line, an event or a reason of a program.
type template struct{ kind, level, text string }

func newTemplate(row string) (template, bool) {
	f := strings.Split(row, "\t")
	if len(f) < 5 || f[0] == "version" {
		return template{}, false
	}
	return template{f[2], f[3], f[4]}, true
}

// idle says whether nobody is warned by it.
func (t template) idle() bool {
	switch t.kind {
	case "reason", "event":
		return false
	}
	return !(strings.HasPrefix(t.level, "warn") || t.level == "error" || t.level == "fatal")
}

// known is what the rulebook makes of it.
func (t template) known(book *rules.Rulebook) string {
	switch t.kind {
	case "reason", "event":
		reason, message, _ := strings.Cut(t.text, " | ")
		if what := book.KnowsReason(strings.TrimSpace(reason)); what != "" {
			return what
		}
		return book.Knows(filled(message))
	}
	return book.Knows(filled(t.text))
}

var (
	verbs        = regexp.MustCompile(`%[-+#]?\d*(?:\.\d+)?[svdqwxTtcfgpo]`)
	placeholders = regexp.MustCompile(`\$?\{[^{}]*\}`)
)

// filled is a template with values in it that say nothing.
func filled(text string) string {
	text = verbs.ReplaceAllStringFunc(text, func(v string) string {
		switch v[len(v)-1] {
		case 'd', 'x':
			return "1"
		case 'q':
			return `"name"`
		case 'f', 'g':
			return "1.0"
		}
		return "name"
	})
	return placeholders.ReplaceAllString(text, "name")
}
