package postmortem

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coroner/rules"
)

// Commands are the shell commands that show more of a death. Names are put in
// only when they are plain: a name is data like everything else.
func Commands(v *rules.Verdict) (out []string) {
	if !v.Death() {
		return nil
	}
	from, to, timed := timeWindow(v)
	if r := plainName(v.Runner); r != "" {
		flag := " -A"
		if ns := plainName(v.Namespace); ns != "" {
			flag = " -n " + ns
		}
		out = append(out, collecting(v, r, flag)...)
		if timed {
			out = append(out, logcliCommand(from, to, linesOf(v.Namespace, r)))
		}
	}
	if n := plainName(v.Node); n != "" && timed {
		out = append(
			out,
			logcliCommand(from, to, fmt.Sprintf(`{job="integrations/kubernetes/journal", instance=%q}`, n)),
			fmt.Sprintf(
				"journalctl --since %q --until %q  # on %s",
				from.Format("2006-01-02 15:04:05 UTC"),
				to.Format("2006-01-02 15:04:05 UTC"),
				n,
			),
		)
	}
	return out
}

// collecting are the commands that save what is not among what was read of a runner.
// A name without its namespace finds no object, so all namespaces are searched.
func collecting(v *rules.Verdict, runner, flag string) (out []string) {
	object := fmt.Sprintf("%s %s -o yaml", flag, runner)
	if flag == " -A" {
		object = fmt.Sprintf(" -A --field-selector metadata.name=%s -o yaml", runner)
	}
	if !tells(v, "kube.event") {
		out = append(out, fmt.Sprintf("kubectl get events%s --field-selector involvedObject.name=%s", flag, runner))
	}
	if slices.ContainsFunc(v.Missing, func(m string) bool { return strings.HasPrefix(m, "the pod object") }) {
		out = append(out, "kubectl get pod"+object)
	}
	if v.Label == rules.Unknown && !tells(v, "kube.ephemeral-runner") && !tells(v, "job.gitlab") {
		out = append(out, "kubectl get ephemeralrunner"+object)
	}
	if v.Label == rules.Unknown {
		out = append(out, "coroner lookup "+runner)
	}
	return out
}

// tells says whether a line with such a signal is among the verdict's evidence.
func tells(v *rules.Verdict, signal string) bool {
	return slices.ContainsFunc(v.Evidence, func(e rules.EvidenceLine) bool {
		return strings.HasPrefix(e.Signal, signal)
	})
}

// Queries are LogQL: the verdicts of this runner, its own log, its node's
// journal. The first is what coroner publishes, the others have the labels of
// Grafana's k8s-monitoring.
func Queries(v *rules.Verdict) (out []string) {
	if r := plainName(v.Runner); r != "" {
		own := `{job="coroner"}`
		if c := plainName(v.Cluster); c != "" {
			own = fmt.Sprintf(`{job="coroner", cluster=%q}`, c)
		}
		out = append(out, fmt.Sprintf(`%s | runner=%q`, own, r), linesOf(v.Namespace, r))
	}
	if n := plainName(v.Node); n != "" {
		out = append(out, fmt.Sprintf(`{job="integrations/kubernetes/journal", instance=%q}`, n))
	}
	return out
}

// linesOf is LogQL for a pod's own lines. Its name is a filter, which finds a stream's label and
// the metadata of a line: that is where k8s-monitoring has it since its release 2. A query needs
// a label beside that.
func linesOf(namespace, pod string) string {
	if ns := plainName(namespace); ns != "" {
		return fmt.Sprintf("{namespace=%q} | pod=%q", ns, pod)
	}
	return fmt.Sprintf("{container=~\".+\"} | pod=%q", pod)
}

func logcliCommand(from, to time.Time, selector string) string {
	return fmt.Sprintf(
		"logcli query --from=%s --to=%s '%s'",
		from.Format(time.RFC3339),
		to.Format(time.RFC3339),
		selector,
	)
}

// timeWindow spans the death and every deciding line, with some minutes around.
func timeWindow(v *rules.Verdict) (from, to time.Time, ok bool) {
	widen := func(t *time.Time) {
		if t == nil {
			return
		}
		if !ok || t.Before(from) {
			from = t.UTC()
		}
		if !ok || t.After(to) {
			to = t.UTC()
		}
		ok = true
	}
	widen(v.DiedAt)
	for _, e := range v.Evidence {
		if e.Decisive {
			widen(e.At)
		}
	}
	return from.Add(-2 * time.Minute).Truncate(time.Second), to.Add(time.Minute).Truncate(time.Second), ok
}

// plainName returns s if it is a Kubernetes name, else "".
func plainName(s string) string {
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_') {
			return ""
		}
	}
	if len(s) > 253 || s != "" && (s[0] == '-' || s[0] == '.') {
		return ""
	}
	return s
}
