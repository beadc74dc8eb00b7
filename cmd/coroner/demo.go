package main

import (
	"fmt"
	"io"
	"strings"

	"coroner/classify"
	"coroner/classify/postmortem"
	"coroner/fixtures"
	"coroner/ingest/bundle"
	"coroner/rules"
)

type demoCmd struct {
	Full bool `help:"Show every post-mortem, not only the first of each of the five main causes."`
}

// mainCauses are the labels whose post-mortems the demo always shows.
var mainCauses = []rules.Label{rules.HostTeardown, rules.CgroupOOM, rules.GuestOOM, rules.SIGTERMDrain, rules.CleanHandshakeFailure}

// Run explains every shipped incident and ends with a summary table.
func (c *demoCmd) Run(p *program) error {
	book, err := loadBook("")
	if err != nil {
		return err
	}
	incidents, err := fixtures.All()
	if err != nil {
		return err
	}
	shown := map[rules.Label]bool{}
	var table []string
	for _, in := range incidents {
		v := explainIncident(book, in)
		if c.Full || (isMain(v.Label) && !shown[v.Label]) {
			shown[v.Label] = true
			if err := p.demoPage(in, v); err != nil {
				return err
			}
		}
		table = append(table, fmt.Sprintf("%-24s %-10s %-18s %s", v.Label, v.Confidence, postmortem.Clean(v.Initiator), in.Name))
	}
	fmt.Fprintf(p.out, "%-24s %-10s %-18s %s\n", "VERDICT", "CONFIDENCE", "INITIATOR", "INCIDENT")
	fmt.Fprintln(p.out, strings.Join(table, "\n"))
	fmt.Fprintf(p.out, "\n%d incidents explained. Yours: coroner explain PATH…\n", len(incidents))
	return nil
}

func isMain(l rules.Label) bool {
	for _, m := range mainCauses {
		if l == m {
			return true
		}
	}
	return false
}

func (p *program) demoPage(in fixtures.Incident, v rules.Verdict) error {
	fmt.Fprintf(p.out, "── %s\n%s\n\n", in.Name, in.Story)
	if err := postmortem.Write(p.out, &v, postmortem.Style{Color: p.color, Width: width(p.out)}); err != nil {
		return err
	}
	_, err := io.WriteString(p.out, "\n")
	return err
}

// explainIncident takes an incident the way that a user's files take.
func explainIncident(book *rules.Rulebook, in fixtures.Incident) rules.Verdict {
	b := bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{})
	return classify.Replay(b.Entries(nil), book, classify.Options{Runner: in.Want.Runner})[0]
}
