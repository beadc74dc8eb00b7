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
		p := page{v: v}
		if _, err := fmt.Fprintf(w, "%-24s %-10s %-20s %s\n", v.Label, v.Confidence, diedAt(v), p.whose()); err != nil {
			return err
		}
	}
	return nil
}
