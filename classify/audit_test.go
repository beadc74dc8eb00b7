package classify_test

import (
	"fmt"
	"strings"
	"testing"

	"coroner/fixtures"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

const auditedUID = "0a0b0c0d-1111-2222-3333-444455556666"

// audited is a line of the API server's audit log about amber-1.
func audited(at, verb, sub, user, agent, more string) string {
	return fmt.Sprintf(
		`{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","stage":"ResponseComplete","verb":%q,`+
			`"user":{"username":%q},"userAgent":%q,`+
			`"objectRef":{"resource":"pods","subresource":%q,"namespace":"ci","name":"amber-1"%s},`+
			`"responseStatus":{"code":201},"stageTimestamp":"2026-03-01T%sZ"}`,
		verb,
		user,
		agent,
		sub,
		more,
		at,
	) + "\n"
}

// ended is the node's log of a runner that ended with 143 at 10:00:20, and its own.
func ended(code int) []txtar.File {
	id := strings.Repeat("ab", 32)
	kubelet := func(at, text string) string {
		return "2026-03-01T" + at + "+00:00 build-7 kubelet[812]: I0301 " + at + "     812 x.go:1] " + text + "\n"
	}
	return []txtar.File{
		{
			Name: "node.log",
			Data: []byte(
				kubelet(
					"09:58:00.500000",
					fmt.Sprintf(
						`"SyncLoop (PLEG): event for pod" pod="ci/amber-1" event={"ID":"%s",`+
							`"Type":"ContainerStarted","Data":"%s"}`,
						auditedUID,
						id,
					),
				) +
					kubelet(
						"10:00:20.000000",
						fmt.Sprintf(
							`"Generic (PLEG): container finished" podID="%s" containerID="%s" exitCode=%d`,
							auditedUID,
							id,
							code,
						),
					),
			),
		},
		{
			Name: "pods/ci_amber-1_" + auditedUID + "/runner/0.log",
			Data: []byte(
				"2026-03-01T09:58:01Z stdout F √ Connected to GitHub\n" +
					"2026-03-01T09:59:00Z stdout F 2026-03-01 09:59:00Z: Running job: build\n",
			),
		},
	}
}

// The audit log names who asked, if he did and in time.
func TestAuditNamesWhoAsked(t *testing.T) {
	const kubectl, account = "kubectl/v1.34.1 (linux/amd64)", "system:serviceaccount:kube-system:"
	for _, tt := range []struct {
		what, audit, initiator, names string
	}{
		{"a person", audited("10:00:05", "delete", "", "nora", kubectl, ""), "user", "nora with kubectl/v1.34.1"},
		{"a drain", audited("10:00:05", "create", "eviction", "nora", kubectl, ""), "drain", "nora"},
		{"an eviction by an own tool", audited("10:00:05", "create", "eviction", "nora", "tidy/2", ""), "eviction-api",
			"nora with tidy/2"},
		{"an autoscaler", audited("10:00:05", "create", "eviction", account+"cluster-autoscaler", "x/1", ""),
			"scale-down", account + "cluster-autoscaler"},
		{"the scheduler", audited("10:00:05", "delete", "", "system:kube-scheduler", "x/1", ""), "preemption",
			"system:kube-scheduler"},
		{"a controller", audited("10:00:05", "delete", "", "system:serviceaccount:ops:broker", "x/1", ""),
			"controller:broker", "ops:broker"},
		{"the first of two", audited("10:00:05", "delete", "", "nora", kubectl, "") +
			audited("10:00:06", "create", "eviction", "ben", kubectl, ""), "user", "nora"},
		{"the pod's own uid", audited("10:00:05", "delete", "", "nora", kubectl, `,"uid":"`+auditedUID+`"`), "user",
			"nora"},
		{"another pod of that name", audited("09:30:00", "delete", "", "nora", kubectl,
			`,"uid":"ffffffff-1111-2222-3333-444455556666"`), "unknown", ""},
		{"in the second of the end", audited("10:00:20.4", "delete", "", "nora", kubectl, ""), "unknown", ""},
		{"after the end", audited("10:00:25", "delete", "", "nora", kubectl, ""), "unknown", ""},
		{"the kubelet", audited("10:00:19", "delete", "", "system:node:build-7", "kubelet/v1.34.1", ""), "unknown", ""},
		{"beside other words", "hello\n" + audited("10:00:05", "delete", "", "nora", kubectl, ""), "unknown", ""},
	} {
		in := fixtures.Incident{
			Name:  "audit",
			Files: append(ended(143), txtar.File{Name: "audit.log", Data: []byte(tt.audit)}),
		}
		in.Want.Runner = "amber-1"
		v := replayAll(loadBook(t), in)[0]
		named := tt.names != ""
		if v.Label != "SIGTERM-drain" || v.Initiator != tt.initiator || (v.Confidence == rules.Confirmed) != named ||
			!strings.Contains(v.Summary, tt.names) ||
			strings.Contains(v.Summary, "nora") && !named {
			t.Errorf("%s: %s (%s) by %s: %s", tt.what, v.Label, v.Confidence, v.Initiator, v.Summary)
		}
	}
}

// A deletion by force is the cause where it came first, nobody but a person asked for it, and the one who
// tells of it is the API server.
func TestDeletionByForce(t *testing.T) {
	const forced = `,"gracePeriodSeconds":0`
	by := func(at, user, more string) string {
		line := strings.Replace(audited(at, "delete", "", user, "kubectl/v1.34.1", ""), `"kind":"Event",`,
			`"kind":"Event","requestObject":{"kind":"DeleteOptions"`+more+`},`, 1)
		return line + "\n"
	}
	ready := txtar.File{Name: "controller.log", Data: []byte("2026-03-01T09:59:00Z\tINFO\tEphemeralRunner\t" +
		`Updating ephemeral runner status` + "\t" + `{"ephemeralrunner": {"name":"amber-1","namespace":"ci"}, ` +
		`"statusPhase": "Running", "ready": true}` + "\n")}
	for what, c := range map[string]struct {
		name, audit string
		want        rules.Label
	}{
		"a person":       {"audit.log", by("10:00:05", "nora", forced), "force-deleted"},
		"with its grace": {"audit.log", by("10:00:05", "nora", `,"gracePeriodSeconds":30`), rules.None},
		"the garbage collector": {"audit.log",
			by("10:00:05", "system:serviceaccount:kube-system:pod-garbage-collector", forced), rules.None},
		"after an ordinary request": {"audit.log",
			by("10:00:05", "nora", "") + by("10:03:00", "nora", forced), rules.None},
		"another job prints it": {"pods/ci_onyx-2_" + auditedUID[:35] + "9/runner/0.log",
			"2026-03-01T10:00:06Z stdout F " + by("10:00:05", "nora", forced), rules.None},
	} {
		in := fixtures.Incident{Name: "audit", Files: []txtar.File{ready, {Name: c.name, Data: []byte(c.audit)}}}
		in.Want.Runner = "amber-1"
		if v := replayAll(loadBook(t), in)[0]; v.Label != c.want || v.Confidence == rules.Confirmed {
			t.Errorf("%s: %s (%s) by %s, want %s", what, v.Label, v.Confidence, v.Rule, c.want)
		}
	}
}

// A request alone is no death, and one before another end is not its cause.
func TestAuditIsNoDeath(t *testing.T) {
	line := txtar.File{
		Name: "audit.log",
		Data: []byte(audited("10:00:05", "delete", "", "nora", "kubectl/v1.34.1", "")),
	}
	for what, files := range map[string][]txtar.File{"alone": {line}, "with a start": {ended(0)[1], line},
		"a crash": append(ended(1), line), "a kill": append(ended(137), line)} {
		in := fixtures.Incident{Name: "audit", Files: files}
		in.Want.Runner = "amber-1"
		for _, v := range replayAll(loadBook(t), in) {
			if v.Confidence == rules.Confirmed || len(files) < 3 && v.Label != rules.None {
				t.Errorf("%s: %s (%s): %s", what, v.Label, v.Confidence, v.Summary)
			}
		}
	}
}
