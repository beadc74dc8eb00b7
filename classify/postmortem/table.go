package postmortem

import (
	"fmt"
	"io"

	"coroner/rules"
)

// Table writes one line for each verdict, for a reader of many. The cluster is told
// where there are several.
func Table(w io.Writer, verdicts []rules.Verdict) error {
	several := severalClusters(verdicts)
	row := func(verdict, confidence, died, runner, cluster string) error {
		if several {
			runner = fmt.Sprintf("%-*s %s", maxName, runner, orDash(cluster))
		}
		_, err := fmt.Fprintf(w, "%-24s %-10s %-20s %s\n", verdict, confidence, died, runner)
		return err
	}
	if err := row("VERDICT", "CONFIDENCE", "DIED AT", "RUNNER", "CLUSTER"); err != nil {
		return err
	}
	for i := range verdicts {
		v := &verdicts[i]
		p := page{v: v}
		err := row(string(v.Label), string(v.Confidence), diedAt(v), p.runnerNamed(), shortValue(v.Cluster))
		if err != nil {
			return err
		}
	}
	return nil
}
