package main

import (
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"coroner/classify"
	"coroner/classify/postmortem"
	"coroner/classify/subject"
	"coroner/classify/unexplained"
	"coroner/cmd/daemon"
	"coroner/cmd/listforms"
	"coroner/cmd/lokiflags"
	"coroner/ingest"
	"coroner/rules"
)

type explainCmd struct {
	Runner string          `help:"${explain_runner}" placeholder:"NAME"`
	All    bool            `help:"${explain_all}"`
	Strict bool            `help:"Exit with 3 where no line of the input was understood: that is no all-clear."`
	Loki   lokiflags.Flags `embed:""`
	listforms.Pages
	inputFlags
}

// Help is shown by coroner explain --help.
func (explainCmd) Help() string {
	return `Examples:
  coroner explain incident/                          # a folder of whatever could be saved
  coroner explain --runner amber-4kx2p incident.tgz  # one runner
  kubectl logs amber-4kx2p | coroner explain -       # a pasted or piped excerpt
  coroner explain --json incident/ | jq .verdict     # for programs
  coroner explain -o markdown incident/ | pbcopy     # for a ticket or an incident's channel
  coroner explain --loki http://loki:3100 --runner amber-4kx2p  # what a Loki has`
}

// Run explains the input.
func (c *explainCmd) Run(p *program) error {
	defer daemon.RaiseMemoryLimit()()
	form, err := c.Form()
	if err != nil {
		return usage("%w", err)
	}
	if c.Loki.URL != "" {
		if len(c.Paths) > 0 {
			return usage("--loki and files at one time; give one of them")
		}
		return c.fromLoki(p, form)
	}
	if c.Loki.HasTime() {
		fmt.Fprintln(p.err, "coroner: --since and --until are for --loki; of files everything is read")
	}
	in, err := c.start(p)
	if err != nil {
		return err
	}
	defer in.bundle.Close()
	record := in.record()
	verdicts := record.Verdicts(in.book, classify.Options{Runner: c.Runner})
	in.clear()
	if err := in.report(p); err != nil {
		return err
	}
	own := 0
	if form.ForPeople() { // programs get the order that is promised to them
		verdicts, own = c.subjectFirst(record, in.book, verdicts)
	}
	understood := in.lookAgain(p, &c.inputFlags, verdicts)
	c.note(p, verdicts, func() []rules.Verdict { return record.Verdicts(in.book, classify.Options{}) })
	if err := p.verdicts(form, verdicts, own, c.All); err != nil || understood || !c.Strict {
		return err
	}
	return exitError{exitNotUnderstood, errors.New("no line of the input was understood: that is no all-clear")}
}

// subjectFirst puts the verdicts of the runner that the input is about before the others,
// and says how many those are. One that lives has a verdict then, too.
func (c *explainCmd) subjectFirst(
	r *classify.Record, book *rules.Rulebook, all []rules.Verdict,
) ([]rules.Verdict, int) {
	if c.Runner != "" {
		return all, 0
	}
	paths := slices.Clone(c.Paths)
	for i := range paths {
		if whole, err := filepath.Abs(paths[i]); err == nil && paths[i] != "-" {
			paths[i] = filepath.ToSlash(whole)
		}
	}
	s := subject.Find(paths, r.Marks, all)
	own, others := s.Divide(all)
	if s.Name != "" && len(own) == 0 {
		own = r.Verdicts(book, classify.Options{Runner: s.String()})
		own = own[:min(1, len(own))] // that nothing is known of it needs no saying twice
		others = slices.DeleteFunc(others, func(v rules.Verdict) bool { return v.Label == rules.None })
		if len(own) > 0 && len(others) > 0 { // others did, and are told of below
			own[0].Summary = strings.Replace(own[0].Summary, "Nothing died in", "Nothing of it died in", 1)
		}
	}
	return append(own, others...), len(own)
}

// lookAgain reads the input once more, in full, where a verdict explains nothing, and
// gives such verdicts the lines that nothing is known of. It reports whether any line
// of the input was understood.
func (r *reading) lookAgain(p *program, f *inputFlags, verdicts []rules.Verdict) bool {
	understood := slices.ContainsFunc(verdicts, func(v rules.Verdict) bool { return len(v.Evidence) > 0 })
	if u := unexplained.New(r.book, verdicts); u.Wanted() {
		if again, err := f.reopenInput(p); err == nil { // else what was readable a moment ago is gone: nothing is added
			again.Parts(1, r.show, func(_ int, entries iter.Seq[ingest.Entry]) { u.Take(entries) })
			_ = again.Close()
			r.clear()
			u.Tell()
			understood = understood || u.Understood()
		}
	}
	for i := range verdicts {
		verdicts[i].Understood = &understood
	}
	return understood
}

// note says on standard error what the answer alone would hide. all gives the
// verdicts of everybody.
func (c *explainCmd) note(p *program, verdicts []rules.Verdict, all func() []rules.Verdict) {
	speaks := func(v rules.Verdict) bool {
		return len(v.Evidence) > 0 || v.Rule == "none-nothing" || v.Understood != nil && *v.Understood
	}
	names := func(v rules.Verdict) bool {
		return slices.ContainsFunc(v.Evidence, func(e rules.EvidenceLine) bool { return e.Mine })
	}
	switch {
	case c.Runner != "" && !slices.ContainsFunc(verdicts, names):
		who := postmortem.Clean(c.Runner)
		fmt.Fprintf(p.err, "coroner: no line of the input speaks of %s; %s\n", who, others(all()))
	case !slices.ContainsFunc(verdicts, speaks):
		fmt.Fprintln(p.err, "coroner: no line of the input was recognised")
	}
}

// others names those who end in the input instead.
func others(all []rules.Verdict) string {
	var names []string
	for i := range all {
		if name := postmortem.FullName(all[i].Namespace, all[i].Runner); all[i].Runner != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "leave --runner out to see what it says"
	}
	more := ""
	if len(names) > 5 {
		names, more = names[:5], " and others"
	}
	return "it tells the end of " + strings.Join(names, ", ") + more
}
