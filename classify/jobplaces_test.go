package classify_test

import (
	"fmt"
	"strings"
	"testing"

	"coroner/rules"
)

// A runner's output that does not tell its namespace leaves open where runners run. So a pod
// that is called like a controller speaks for itself, wherever it says that the runner is.
func TestControllersOfAnUnplacedRunner(t *testing.T) {
	book := loadBook(t)
	const runner = "teal-runner-4kx2m"
	for place, want := range map[string]rules.Confidence{
		"ci": rules.Probable, "arc-systems": rules.Confirmed, "actions-runner-system": rules.Confirmed,
	} {
		v := judged(book, map[string]string{
			runner + ".log": "√ Connected to GitHub\n\nCurrent runner version: '2.331.0'\n" +
				"2026-05-04 10:00:02Z: Listening for Jobs\n2026-05-04 10:00:20Z: Running job: build\n",
			"pods/" + place + "_gha-controller-0_7b1c2d3e-0000-4000-8000-000000000001/manager/0.log": "" +
				`2026-05-04T10:20:00.5Z stdout F {"severity":"info","ts":"2026-05-04T10:20:00Z",` +
				`"logger":"EphemeralRunner","message":"Pod is in failed phase, inspecting","ephemeralrunner":` +
				`{"name":"` + runner + `","namespace":"other"},"podReason":"DeadlineExceeded",` +
				`"podMessage":"Pod was active on the node longer than the specified deadline"}` + "\n",
		})
		if v.Label != rules.DeadlineExceeded || v.Confidence != want {
			t.Errorf("a controller in %s: %s (%s), want %s", place, v.Label, v.Confidence, want)
		}
	}
}

// In files a pod is a controller's by its names, but not where runners run: a job there may be
// able to start a pod that is called so. It makes no difference how the runner's own lines came.
func TestControllersWhereRunnersRun(t *testing.T) {
	book := loadBook(t)
	const (
		runner  = "teal-runner-4kx2m"
		uid     = "_7b1c2d3e-0000-4000-8000-00000000000"
		running = "√ Connected to GitHub\n\nCurrent runner version: '2.331.0'\n" +
			"2026-05-04 10:00:02Z: Listening for Jobs\n2026-05-04 10:00:20Z: Running job: build\n"
		word = `{"severity":"info","ts":"2026-05-04T10:20:00Z","logger":"EphemeralRunner",` +
			`"message":"Pod is in failed phase, inspecting","ephemeralrunner":{"name":"` + runner +
			`","namespace":"ci"},"podReason":"DeadlineExceeded",` +
			`"podMessage":"Pod was active on the node longer than the specified deadline"}`
	)
	logs := func(lines string) (out string) {
		for line := range strings.Lines(lines) {
			out += "2026-05-04T10:20:00.5Z stdout F " + line
		}
		return out
	}
	jsonl := func(namespace, pod, container, lines string) (out string) {
		for line := range strings.Lines(lines) {
			out += fmt.Sprintf(`{"labels":{"namespace":%q,"pod":%q,"container":%q},"line":%q,`+
				`"timestamp":"2026-05-04T10:20:00Z"}`+"\n", namespace, pod, container, strings.TrimSuffix(line, "\n"))
		}
		return out
	}
	ofControl := func(namespace string) string {
		return "pods/" + namespace + "_gha-controller-0" + uid + "1/manager/0.log"
	}
	const ownPlace = "arc-systems"
	helm := strings.NewReplacer("gha-controller-0", "gha-runner-scale-set-controller-gha-rs-controller-6b5c9d-x2z4q")
	for form, files := range map[string]func(namespace string) map[string]string{
		"files by their paths": func(namespace string) map[string]string {
			return map[string]string{ofControl(namespace): logs(word),
				"pods/ci_" + runner + uid + "2/runner/0.log": logs(running)}
		},
		"a runner by its lines": func(namespace string) map[string]string {
			return map[string]string{ofControl(namespace): logs(word),
				"pods/ci_amber-0" + uid + "2/main/0.log": logs(running)}
		},
		"an object": func(namespace string) map[string]string {
			return map[string]string{ofControl(namespace): logs(word),
				"pod.json": `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"` + runner + `","namespace":"ci"},
				"spec":{"containers":[{"name":"runner"}]},"status":{"phase":"Failed","containerStatuses":[]}}`}
		},
		"a log without a namespace": func(namespace string) map[string]string {
			return map[string]string{ofControl(namespace): logs(word), runner + ".log": running}
		},
		"one export": func(namespace string) map[string]string {
			return map[string]string{"all.jsonl": jsonl("ci", runner, "runner", running) +
				jsonl(namespace, "gha-controller-0", "manager", word+"\n")}
		},
	} {
		for _, namespace := range []string{ownPlace, "ci"} {
			for _, called := range []func(string) string{strings.Clone, helm.Replace} {
				all := map[string]string{}
				for name, text := range files(namespace) {
					all[called(name)] = called(text)
				}
				v := judged(book, all)
				confirmed := v.Confidence == rules.Confirmed
				if v.Label != rules.DeadlineExceeded || confirmed != (namespace == ownPlace) {
					t.Errorf("%s, a controller in %s: %s (%s)", form, namespace, v.Label, v.Confidence)
				}
			}
		}
	}
}
