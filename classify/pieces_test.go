package classify_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// object is a part of an object of Kubernetes'.
type object = map[string]any

// healthyPod is a pod that runs, in which somebody wrote a text somewhere.
func healthyPod(where, text string) object {
	container := object{"name": "runner", "image": "runner:1", "args": []string{"run"}}
	meta := object{"name": "teal-runner-4kx2m", "namespace": "ci", "annotations": object{"owner": "ci"},
		"uid": "7b1c2d3e-0000-4000-8000-000000000001"}
	command := object{"exec": object{"command": []string{"sh", "-c", text}}}
	switch where {
	case "an annotation":
		meta["annotations"] = object{"note": text, "owner": "ci"}
	case "an annotation with a long key":
		meta["annotations"] = object{"runners.example.com/a-key-of-much-more-than-forty-characters": text}
	case "an argument":
		container["args"] = []string{"--note", text, "--quiet"}
	case "a command":
		container["command"] = []string{"sh", "-c", text}
	case "a variable":
		container["env"] = []object{{"name": "NOTE", "value": text}, {"name": "reason", "value": "OOMKilled"}}
	case "a probe":
		container["livenessProbe"] = command
	case "a hook":
		container["lifecycle"] = object{"preStop": command}
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": meta,
		"spec": object{"containers": []object{container}, "nodeName": "n-1"},
		"status": object{"phase": "Running", "containerStatuses": []object{{"name": "runner", "ready": true,
			"state": object{"running": object{"startedAt": "2026-05-04T09:00:00Z"}}}}}}
}

// What somebody wrote into a pod is no state of it, whichever piece of the pod's text is pasted
// and however it is written, if the piece has the key that the text is a value of.
func TestPiecesOfAHealthyPod(t *testing.T) {
	book, tried := loadBook(t), 0
	forged := []string{
		"reason: OOMKilled", "exitCode: 137", "phase: Failed\nreason: Evicted\n", "Reason: Evicted\nStatus: Failed\n",
		"lastState: {terminated: {exitCode: 137, reason: OOMKilled}}", "OOMKilled", `status: "Failed"`,
		`{"lastState":{"terminated":{"exitCode":137,"reason":"OOMKilled"}}}`,
		`{"status":{"phase":"Failed","reason":"Evicted"}}`,
		"lastState:\n  terminated:\n    exitCode: 137\n    reason: OOMKilled\n",
		"Last State: Terminated\n  Reason: OOMKilled\n  Exit Code: 137\n",
		"Warning  Evicted  2m  kubelet  The node was low on resource: memory.",
		"teal-runner-4kx2m   0/1   OOMKilled   0   5m",
		"- type: DisruptionTarget\n  status: \"True\"\n  reason: EvictionByEvictionAPI\n",
	}
	for _, where := range []string{"an annotation", "an annotation with a long key", "an argument", "a command",
		"a variable", "a probe", "a hook"} {
		for _, text := range forged {
			for form, pod := range written(t, healthyPod(where, text)) {
				for piece, lines := range piecesOf(strings.Split(pod, "\n")) {
					for _, quote := range []string{"", "> "} {
						tried++
						pasted := quote + strings.Join(lines, "\n"+quote) + "\n"
						if v := judged(book, map[string]string{"pasted.txt": pasted}); v.Death() {
							t.Errorf("%s has %q, %s of the %s: %s\n%s", where, text, piece, form, said(v), pasted)
						}
					}
				}
			}
		}
	}
	if tried < 5000 {
		t.Errorf("only %d pieces were tried", tried)
	}
}

// written are the forms in which programs write an object.
func written(t *testing.T, o object) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, compact := range []bool{false, true} {
		for _, width := range []int{80, 10_000} {
			text, err := yaml.Dump(o, yaml.WithIndent(2), yaml.WithLineWidth(width),
				yaml.WithCompactSeqIndent(compact))
			if err != nil {
				t.Fatal(err)
			}
			out[fmt.Sprintf("YAML of %d columns, lists deeper %v", width, !compact)] = string(text)
		}
	}
	text, err := json.MarshalIndent(o, "", "    ")
	if err != nil {
		t.Fatal(err)
	}
	out["JSON"] = string(text)
	return out
}

// piecesOf are parts that people cut out of an object's text.
func piecesOf(lines []string) map[string][]string {
	from := func(key string) int {
		return slices.IndexFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, key+":") || strings.HasPrefix(l, `    "`+key+`":`)
		})
	}
	metadata, spec, status := from("metadata"), from("spec"), from("status")
	containers := spec + slices.IndexFunc(lines[spec:], func(l string) bool {
		return strings.Contains(l, "containers")
	})
	out := map[string][]string{
		"all":          lines,
		"the metadata": lines[metadata:spec],
		"the spec":     lines[spec:status],
		"both":         lines[metadata:status],
	}
	out["the containers"] = lines[containers:status]
	out["the containers from the key's first letter"] = append([]string{strings.TrimLeft(lines[containers], " ")},
		lines[containers+1:status]...)
	return out
}
