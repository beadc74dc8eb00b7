package classify_test

import (
	"testing"

	"coroner/rules"
)

// A table of a whole cluster: pods that are no runners, beside runners that all run, are nobody's
// death; where a runner is ill, or the ill pod may be one, they are.
func TestStrangersInATable(t *testing.T) {
	head := "NAMESPACE   NAME                       READY   STATUS    RESTARTS   AGE\n"
	well := "ci          birch-xk29d-runner-p4m7z   1/1     Running   0          9m\n"
	ill := "ci          birch-xk29d-runner-w0q2t   0/1     Error     0          9m\n"
	stranger := "shop        orders-db-0                0/1     OOMKilled 3          2d\n"
	beside := "ci          orders-db-0                0/1     OOMKilled 3          2d\n"
	agent := "shop        maven-agent-1              0/1     OOMKilled 3          2d\n"
	for text, dies := range map[string]bool{
		head + well + stranger: false, head + stranger: true, head + well + beside: true, head + well + agent: true,
		head + well + ill + stranger: true,
	} {
		verdicts := replayLog(t, "pods.txt", text)
		if v := verdicts[0]; (v.Label != rules.None) != dies {
			t.Errorf("%s%s of %s", text, v.Label, v.Runner)
		}
	}
}
