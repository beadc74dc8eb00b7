package postmortem

import (
	"fmt"
	"io"

	"coroner/rules"
)

// Table writes one line for each verdict, for a reader of many.
func Table(w io.Writer, verdicts []rules.Verdict) error {
	if _, err := fmt.Fprintf(w, "%-24s %-10s %-20s %s\n", "VERDICT", "CONFIDENCE", "DIED AT", "RUNNER"); err != nil {
		return err
	}
	for i := range verdicts {
		v := &verdicts[i]
		died := "-"
		if v.DiedAt != nil {
			died = v.DiedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		p := page{v: v}
		if _, err := fmt.Fprintf(w, "%-24s %-10s %-20s %s\n", v.Label, v.Confidence, died, p.whose()); err != nil {
			return err
		}
	}
	return nil
}
