package postmortem

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"coroner/rules"
)

// Table writes one line for each verdict, whose it is first, for a reader of many. The
// cluster is told where there are several.
func Table(w io.Writer, verdicts []rules.Verdict) error {
	several, wide := severalClusters(verdicts), len("RUNNER")
	for i := range verdicts {
		p := page{v: &verdicts[i]}
		wide = max(wide, min(maxName, utf8.RuneCountInString(p.runnerNamed())))
	}
	out := bufio.NewWriter(w)
	row := func(runner, verdict, confidence, died, cluster string) {
		if !several {
			cluster = ""
		}
		line := fmt.Sprintf("%-*s  %-24s %-10s %-20s %s", wide, runner, verdict, confidence, died, cluster)
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	row("RUNNER", "VERDICT", "CONFIDENCE", "DIED AT", "CLUSTER")
	for i := range verdicts {
		v := &verdicts[i]
		p := page{v: v}
		row(p.runnerNamed(), string(v.Label), string(v.Confidence), diedAt(v), orDash(shortValue(v.Cluster)))
	}
	return out.Flush()
}
