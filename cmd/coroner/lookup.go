package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/cmd/collect"
	"coroner/cmd/listforms"
	"coroner/rules"
)

type lookupCmd struct {
	What []string `arg:"" help:"${lookup_what}" complete:"runners"`
	collect.Where
	Cluster  string          `help:"Only in this cluster. Default: all." placeholder:"NAME" complete:"clusters"`
	All      bool            `help:"${lookup_all}"`
	Incident bool            `help:"${lookup_incident}"`
	Kube     collect.Cluster `embed:""`
	listforms.Pages
	serverFlags
}

// Help is shown by coroner lookup --help.
func (lookupCmd) Help() string {
	return `Examples:
  coroner lookup amber-4kx2p                 # a runner, or all whose names begin so
  coroner lookup https://github.com/acme/shop/actions/runs/42/job/77
  coroner lookup build-7 10:04               # who died on a node around that time (UTC)
  coroner lookup amber-4kx2p -o markdown     # for a ticket or an incident's channel
  coroner lookup amber-4kx2p --incident > amber-4kx2p.txtar
When several runners fit, a person at a terminal is asked which one; else all are shown.`
}

// Run asks a server for a runner.
func (c *lookupCmd) Run(p *program) error {
	form, err := c.Form()
	if err != nil {
		return usage("%w", err)
	}
	what, err := c.questionText()
	if err != nil {
		return err
	}
	client, err := c.newClient()
	if err != nil {
		return err
	}
	inCluster := c.asksCluster(p)
	if inCluster {
		there, ok, err := c.inCluster(p, client.Header)
		if err != nil {
			return err
		}
		if !ok {
			return c.collect(p)
		}
		client = there
	}
	found, err := client.Search(context.Background(), c.Cluster, what)
	if inCluster && (err != nil || len(found.Runners) == 0) {
		return c.collectAfter(p, err)
	}
	if err != nil {
		return c.requestError(err)
	}
	if len(found.Runners) == 0 {
		return c.nobodyFound(what, found.Meaning)
	}
	if !found.Exact {
		fmt.Fprintf(p.err, "coroner: %s is not known; these are %s\n",
			postmortem.Clean(what), postmortem.Clean(found.Meaning))
	}
	runners, err := p.chooseRunners(form, found)
	if err != nil || len(runners) == 0 {
		return err
	}
	if c.Incident {
		return c.incident(p, client, runners)
	}
	return c.showVerdicts(p, form, runners)
}

// questionText is the question as one text: a time may have come as words of its own.
func (c *lookupCmd) questionText() (string, error) {
	what := strings.TrimSpace(strings.Join(c.What, " "))
	if what == "" {
		return "", usage("the name is empty; " +
			"give a runner's name, the start of it, a pod UID, a job's address, or NODE TIME")
	}
	if err := c.Where.Check(); err != nil {
		return "", usage("%w", err)
	}
	if c.Namespace != "" && !strings.ContainsAny(what, "/ ") {
		what = c.Namespace + "/" + what
	}
	return what, nil
}

// found is a verdict as lookup gives it to programs.
type found struct {
	lookup.Recorded
	Siblings *lookup.Siblings `json:"siblings,omitempty"`
	Page     string           `json:"page"` // address of the post-mortem
}

// showVerdicts writes the verdicts, and on standard error who has none yet.
func (c *lookupCmd) showVerdicts(p *program, form listforms.Form, runners []lookup.Runner) error {
	var verdicts []rules.Verdict
	var all []found
	for i := range runners {
		if v := runners[i].Verdict; v != nil {
			verdicts = append(verdicts, v.Verdict)
			all = append(all, found{*v, runners[i].Siblings, c.pageAddress(&runners[i])})
		} else {
			fmt.Fprintf(p.err, "coroner: %s\n", unjudged(&runners[i]))
		}
	}
	switch {
	case !form.ForPeople():
		return form.Write(p.out, listforms.Items(all, func(f *found) *rules.Verdict { return &f.Verdict }))
	case form.Name == listforms.Markdown:
		return c.tickets(p, all)
	}
	err := p.verdicts(form, verdicts, 0, c.All)
	if err != nil || len(verdicts) != 1 || len(runners) != 1 {
		return err
	}
	return c.around(p, &runners[0])
}

// around says who else died on the node, and where the page is.
func (c *lookupCmd) around(p *program, r *lookup.Runner) error {
	if r.Siblings != nil {
		fmt.Fprintf(p.out, "\n  %s.\n", r.Siblings.Sentence(r.ID))
	}
	_, err := fmt.Fprintf(p.out, "  %s\n", c.pageAddress(r))
	return err
}

func (c *lookupCmd) pageAddress(r *lookup.Runner) string {
	return strings.TrimRight(c.shownAddress(), "/") + r.Page()
}

// tickets writes Markdown, with who else died and the page below each.
func (c *lookupCmd) tickets(p *program, all []found) error {
	for i := range all {
		if err := postmortem.Markdown(p.out, &all[i].Verdict); err != nil {
			return err
		}
		if s := all[i].Siblings; s != nil {
			fmt.Fprintf(p.out, "\n%s.\n", s.Sentence(all[i].ID))
		}
		fmt.Fprintf(p.out, "\n<%s>\n", all[i].Page)
		if i < len(all)-1 {
			fmt.Fprint(p.out, "\n---\n\n")
		}
	}
	return nil
}

func unjudged(r *lookup.Runner) string {
	who := postmortem.FullName(r.Namespace, r.Runner)
	switch {
	case r.State != string(ledger.StateEnding):
		heard := r.Heard.UTC().Format(time.RFC3339)
		return fmt.Sprintf("%s has not ended as far as is known; last heard of %s", who, heard)
	case r.Opinion != nil:
		return fmt.Sprintf("%s ended; so far it looks like %s (%s), the verdict takes some seconds more",
			who, r.Opinion.Label, r.Opinion.Confidence)
	}
	return who + " ended; its evidence is still coming in, the verdict takes some seconds more"
}

// incident writes the one runner's incident file.
func (c *lookupCmd) incident(p *program, client *lookup.Client, runners []lookup.Runner) error {
	if len(runners) > 1 {
		return usage("--incident takes one runner, and %d fit; give a whole name or a pod UID", len(runners))
	}
	data, err := client.Incident(context.Background(), runners[0].ID)
	if err != nil {
		return c.requestError(err)
	}
	_, err = p.out.Write(data)
	return err
}

// nobodyFound says so, and nothing that could be taken for an answer.
func (c *lookupCmd) nobodyFound(what, meaning string) error {
	if meaning != "" && strings.ContainsAny(what, ": @") {
		return unreadable("not found: nothing is known of %s; coroner list shows the latest verdicts",
			postmortem.Clean(meaning))
	}
	return unreadable("%s not found: no runner has that in its name; coroner list shows the latest verdicts",
		postmortem.Clean(what))
}
