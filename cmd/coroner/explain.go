package main

import (
	"encoding/json"
	"fmt"

	"coroner/classify"
	"coroner/classify/postmortem"
	"coroner/rules"
)

type explainCmd struct {
	Runner string `help:"Explain this runner only: its name, the start of it, or a pod UID." placeholder:"NAME"`
	JSON   bool   `name:"json" help:"One JSON object per runner, one a line."`
	All    bool   `help:"Show the whole timeline."`
	inputFlags
}

// Run explains the input.
func (c *explainCmd) Run(p *program) error {
	in, err := c.start(p)
	if err != nil {
		return err
	}
	defer in.bundle.Close()
	verdicts := classify.Replay(in.entries, in.book, classify.Options{Runner: c.Runner})
	in.clear()
	if err := report(p, in.bundle); err != nil {
		return err
	}
	if c.JSON {
		return writeJSON(p, verdicts)
	}
	return p.pages(verdicts, c.All)
}

func writeJSON(p *program, verdicts []rules.Verdict) error {
	enc := json.NewEncoder(p.out)
	enc.SetEscapeHTML(false)
	for i := range verdicts {
		if err := enc.Encode(&verdicts[i]); err != nil {
			return err
		}
	}
	return nil
}

// pages writes the post-mortems of deaths in full and the others as a line.
func (p *program) pages(verdicts []rules.Verdict, all bool) error {
	style := postmortem.Style{Color: p.color, Width: width(p.out), All: all}
	for i := range verdicts {
		if i > 0 {
			fmt.Fprintln(p.out)
		}
		if err := postmortem.Write(p.out, &verdicts[i], style); err != nil {
			return err
		}
	}
	return nil
}
