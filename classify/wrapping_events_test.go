package classify_test

import (
	"fmt"
	"html"
	"strings"
	"testing"

	"coroner/fixtures"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// anEvent is one event of the API, as any form tells it.
type anEvent struct {
	kind, name, severity, reason, from, message string
	label                                       rules.Label
}

var events = []anEvent{
	{"Pod", "amber-runner-4kx2p", "Warning", "Evicted", "kubelet",
		`The node was low on resource: memory. Threshold quantity: 100Mi, available: 51Mi. `, "evicted"},
	{"Node", "build-7", "Warning", "OOMKilling", "kernel-monitor",
		"Memory cgroup out of memory: Killed process 1187 (java) total-vm:9012344kB, anon-rss:4190200kB", "cgroup-OOM"},
	{"Pod", "amber-runner-4kx2p", "Warning", "FailedScheduling", "default-scheduler",
		"0/9 nodes are available: 9 Insufficient cpu. preemption: 0/9 nodes are available.", "unschedulable"},
	{"Pod", "amber-runner-4kx2p", "Normal", "Preempted", "default-scheduler",
		"Preempted by pod 0a0b0c0d-1111-2222-3333-444455556666 on node build-7", "SIGTERM-drain"},
	{"Pod", "amber-runner-4kx2p", "Warning", "FailedMount", "kubelet",
		`MountVolume.SetUp failed for volume "token" : secret "amber-token" not found`, "never-started"},
	{"Pod", "amber-runner-4kx2p", "Normal", "BackOff", "kubelet",
		`Back-off pulling image "registry.mill.example/runner:7"`, "image-pull-failure"},
	{"Pod", "amber-runner-4kx2p", "Warning", "Failed", "kubelet",
		`Failed to pull image "registry.mill.example/runner:7": not found`, "image-pull-failure"},
	{"Node", "build-7", "Normal", "NodeNotReady", "node-controller", "Node build-7 status is now: NodeNotReady",
		"node-lost"},
	{"Pod", "amber-runner-4kx2p", "Normal", "TaintManagerEviction", "taint-eviction-controller",
		"Marking for deletion Pod ci/amber-runner-4kx2p", "node-lost"},
	{"Pod", "amber-runner-4kx2p", "Warning", "FailedCreatePodSandBox", "kubelet",
		"Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox",
		"sandbox-failure"},
}

func (e anEvent) object() string { return strings.ToLower(e.kind) + "/" + e.name }

func (e anEvent) row() string {
	return fmt.Sprintf("3m12s       %-9s %-18s %-26s %s", e.severity, e.reason, e.object(), e.message)
}

// forms are the ways in which one event is handed on.
var forms = map[string]func(e anEvent) string{
	"a row": func(e anEvent) string { return e.row() },
	"a table": func(e anEvent) string {
		return "LAST SEEN   TYPE      REASON             OBJECT                     MESSAGE\n" + e.row()
	},
	"a row of 1.13": func(e anEvent) string {
		return fmt.Sprintf("3m12s       %-9s %-18s %-6s %s", e.severity, e.reason, e.kind, e.message)
	},
	"a table of all namespaces": func(e anEvent) string {
		return "NAMESPACE   LAST SEEN   TYPE      REASON             OBJECT   MESSAGE\nci          " + e.row()
	},
	"custom columns": func(e anEvent) string {
		return "TYPE      REASON             OBJECT                MESSAGE\n" +
			fmt.Sprintf("%-9s %-18s %-20s  %s", e.severity, e.reason, e.name, e.message)
	},
	"custom columns in another order": func(e anEvent) string {
		return "OBJECT                REASON             MESSAGE\n" +
			fmt.Sprintf("%-20s  %-18s %s", e.name, e.reason, e.message)
	},
	"all columns": func(e anEvent) string {
		return "LAST SEEN   TYPE   REASON   OBJECT   SUBOBJECT   SOURCE   MESSAGE   FIRST SEEN   COUNT   NAME\n" +
			fmt.Sprintf("3m12s       %-9s %-18s %-26s             %s   %s   3m12s        1       %s.17a1b2c3d4e5f607",
				e.severity, e.reason, e.object(), e.from, e.message, e.name)
	},
	"describe": func(e anEvent) string {
		where := "Namespace:    ci\n"
		if e.kind == "Node" {
			where = "Roles:        <none>\n"
		}
		return "Name:         " + e.name + "\n" + where +
			"Events:\n  Type     Reason     Age    From     Message\n  ----     ------     ----   ----     -------\n" +
			fmt.Sprintf("  %-8s %-10s 3m12s  %s  %s", e.severity, e.reason, e.from, e.message)
	},
	"JSON": func(e anEvent) string {
		return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"x.1","namespace":"ci"},`+
			`"involvedObject":{"kind":%q,"name":%q,"namespace":"ci"},"type":%q,"reason":%q,"source":{"component":%q},`+
			`"message":%q,"lastTimestamp":"2026-03-01T10:00:00Z"}`, e.kind, e.name, e.severity, e.reason, e.from,
			e.message)
	},
	"YAML": func(e anEvent) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Event\nmetadata:\n  name: x.1\n  namespace: ci\ninvolvedObject:\n"+
			"  kind: %s\n  name: %s\n  namespace: ci\ntype: %s\nreason: %s\nsource:\n  component: %s\nmessage: %q\n"+
			"lastTimestamp: \"2026-03-01T10:00:00Z\"", e.kind, e.name, e.severity, e.reason, e.from, e.message)
	},
	"event.go": func(e anEvent) string {
		object := e.name
		if e.kind == "Pod" {
			object = "ci/" + e.name
		}
		return fmt.Sprintf(
			`I0301 10:00:00.000000       1 event.go:389] "Event occurred" object=%q fieldPath="" kind=%q `+
				`apiVersion="v1" type=%q reason=%q message=%q`, object, e.kind, e.severity, e.reason, e.message)
	},
}

// around are what lies around it.
var around = map[string]func(text string) string{
	"":       func(s string) string { return s },
	"quoted": func(s string) string { return "> " + strings.ReplaceAll(s, "\n", "\n> ") },
	"fenced": func(s string) string { return "```\n" + s + "\n```" },
	"Slack":  func(s string) string { return "[10:04 AM] " + strings.ReplaceAll(s, "\n", "\n[10:04 AM] ") },
	"grep -rn": func(s string) string {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = fmt.Sprintf("saved/events.txt:%d:%s", i+12, lines[i])
		}
		return strings.Join(lines, "\n")
	},
	"wrapped at 80": func(s string) string {
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = broken(lines[i], 80, false)
		}
		return strings.Join(lines, "\n")
	},
	"HTML entities": html.EscapeString,
	"tabs lost":     func(s string) string { return blanks.ReplaceAllString(s, "$1 ") },
	"cut":           func(s string) string { return s[:len(s)-8] },
}

// wantForms is how many of the events keep their label, of all in all forms and
// wrappings. It may only rise.
const wantForms = 973

// One event has the same label in whatever form it comes, and never another one.
func TestEventsInAnyForm(t *testing.T) {
	b := loadBook(t)
	kept, tried := 0, 0
	for _, e := range events {
		for form, write := range forms {
			for wrapping, wrap := range around {
				text := wrap(write(e)) + "\n"
				in := fixtures.Incident{Name: "event", Story: "x",
					Files: []txtar.File{{Name: "saved.txt", Data: []byte(text)}}}
				v := judge(b, entries(in), in)
				tried++
				if v.Label == e.label {
					kept++
				} else if v.Label != rules.Unknown && v.Label != rules.None {
					t.Errorf("%s, %s, %s: %s, want %s", e.reason, form, wrapping, said(v), e.label)
				}
			}
		}
	}
	if t.Logf("%d of %d events keep their label", kept, tried); kept < wantForms {
		t.Errorf("%d of %d keep their label, want %d", kept, tried, wantForms)
	}
}
