package classify

import (
	"slices"
	"strconv"
	"strings"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
)

// A runner of actions-runner-controller in Kubernetes mode has its steps run in other
// pods: one has its name with -workflow behind it, those of container actions have
// -step- and an id. Such a pod has a verdict of its own, and that verdict is one line
// of evidence about its runner.

// jobPod is a pod that works for a runner, and the runner's name.
type jobPod struct {
	*casefile.Case
	runner string
}

// runnerOfJobPod is the name of the runner that a pod of that name works for, "" if it
// is none.
func runnerOfJobPod(name string) string {
	if runner, ok := strings.CutSuffix(name, "-workflow"); ok {
		return runner
	}
	if at := strings.LastIndex(name, "-step-"); at > 0 {
		return name[:at]
	}
	return ""
}

// Helps is the runner that a pod works for, as the subject of records, nil where the pod is none
// that does.
func (s Subject) Helps() *Subject {
	runner := runnerOfJobPod(s.Name)
	if runner == "" {
		return nil
	}
	return &Subject{Cluster: s.Cluster, Namespace: s.Namespace, Name: runner}
}

// jobPodsOf are those of all pods that work for one of the chosen, in their order.
func jobPodsOf(chosen, all []*Pod) (found []*Pod) {
	if !slices.ContainsFunc(all, func(p *Pod) bool { return runnerOfJobPod(p.Name) != "" }) {
		return nil
	}
	asked := map[inCluster]bool{}
	for _, p := range chosen {
		asked[inCluster{p.Cluster, p.Name}] = true
	}
	for _, p := range all {
		if runner := runnerOfJobPod(p.Name); runner != "" && asked[inCluster{p.Cluster, runner}] {
			found = append(found, p)
		}
	}
	return found
}

// without are the pods that are not among others.
func without(pods, others []*Pod) []*Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(p *Pod) bool { return slices.Contains(others, p) })
}

func sameNamespace(a, b string) bool { return a == "" || b == "" || a == b }

// tellRunners adds the verdicts of the pods that work for runners to the evidence of
// these.
func (f *caseFiles) tellRunners(book *rules.Rulebook) {
	for _, pod := range f.jobPods {
		for _, c := range f.named {
			if c.Name != pod.runner || c.Cluster != pod.Cluster || !sameNamespace(c.Namespace, pod.Namespace) {
				continue
			}
			for _, life := range pod.Attempts() {
				if v := book.Judge(life); v.Death() {
					c.Evidence = append(c.Evidence, jobPodEvidence(c, &v, book)...)
				}
			}
			slices.SortStableFunc(c.Evidence, func(a, b casefile.Evidence) int { return a.At.Compare(b.At) })
		}
	}
}

// jobPodEvidence is the verdict of a pod as evidence about its runner. The tie is a
// name, so it proves nothing by itself.
func jobPodEvidence(runner *casefile.Case, v *rules.Verdict, book *rules.Rulebook) (out []casefile.Evidence) {
	summary := strings.TrimSuffix(v.Summary, ".")
	e := ingest.Entry{
		Source: ingest.Kube, Cluster: runner.Cluster, Namespace: runner.Namespace, Pod: runner.Name,
		PodUID: runner.UID, Node: v.Node,
		Fields: map[string]string{
			"msg": "job pod died", "job_pod": v.Runner, "verdict": string(v.Label), "initiator": v.Initiator,
			"summary": summary,
		},
		Text: "job pod died job_pod=" + v.Runner + " verdict=" + string(v.Label) + " initiator=" + v.Initiator +
			" summary=" + strconv.Quote(summary),
	}
	if v.DiedAt != nil {
		e.At, e.Clock = *v.DiedAt, ingest.WallClock
	}
	for _, s := range book.Scan(&e) {
		out = append(out, casefile.Evidence{Signal: &s, Mine: true})
	}
	return out
}
