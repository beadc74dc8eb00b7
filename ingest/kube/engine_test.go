package kube

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func inspected(state string) string {
	return `[
  {"Id": "` + cid + `", "Created": "2031-02-03T04:00:00Z", "Path": "/run.sh", "Args": [],
   "State": {` + state + `},
   "Image": "sha256:0", "Name": "/mill-7", "RestartCount": 2, "Config": {"Labels": {"a": "b"}}}
]`
}

func TestEngine(t *testing.T) {
	const span = `"StartedAt": "2031-02-03T04:00:01Z", "FinishedAt": "2031-02-03T04:09:00Z"`
	const spanText = ` started_at=2031-02-03T04:00:01Z finished_at=2031-02-03T04:09:00Z container_id=` + cid +
		` which=state restarts=2`
	for name, c := range map[string]struct{ state, want string }{
		"killed at its limit": {
			`"Status": "exited", "Running": false, "OOMKilled": true, "ExitCode": 137, "Error": "", ` + span,
			"04:09:00 /mill-7/runner container terminated container=runner exit_code=137 reason=OOMKilled" + spanText,
		},
		"a child was killed, the container ended by itself": {
			`"Status": "exited", "Running": false, "OOMKilled": true, "ExitCode": 1, "Error": "", ` + span,
			"04:09:00 /mill-7/runner container terminated container=runner exit_code=1 reason=Error" + spanText,
		},
		"stopped": {
			`"Status": "exited", "Running": false, "OOMKilled": false, "ExitCode": 143, "Error": "no", ` + span,
			"04:09:00 /mill-7/runner container terminated container=runner exit_code=143 reason=Error" + spanText +
				" message=no",
		},
		"runs again after an end": {
			`"Status": "running", "Running": true, "OOMKilled": false, "ExitCode": 0, ` + span,
			"04:00:01 /mill-7/runner container running container=runner started_at=2031-02-03T04:00:01Z container_id=" +
				cid + " restarts=2",
		},
		"never started": {
			`"Status": "created", "Running": false, "OOMKilled": false, "ExitCode": 128, "Error": "no such runtime", ` +
				`"StartedAt": "0001-01-01T00:00:00Z", "FinishedAt": "0001-01-01T00:00:00Z"`,
			`- /mill-7/runner container waiting container=runner reason=created restarts=2 message="no such runtime"`,
		},
	} {
		text := inspected(c.state)
		if !Sniff([]byte(text)) {
			t.Errorf("%s: not taken for an object", name)
		}
		lines, n, err := read(t, text)
		if err != nil || n != 1 {
			t.Fatalf("%s: %d objects, %v", name, n, err)
		}
		if diff := cmp.Diff([]string{c.want, "covered /mill-7/ 0"}, trimmed(lines)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// trimmed gives identities without a pod the slash that show leaves out.
func trimmed(lines []string) (out []string) {
	for _, l := range lines {
		l = strings.Replace(l, " mill-7", " /mill-7", 1)
		out = append(out, strings.Replace(l, "covered /mill-7 ", "covered /mill-7/ ", 1))
	}
	return out
}

func TestRuntime(t *testing.T) {
	const text = `{
  "status": {"id": "` + cid + `", "metadata": {"attempt": 0, "name": "runner"}, "state": "CONTAINER_EXITED",
    "createdAt": "2031-02-03T04:00:00Z", "startedAt": "2031-02-03T04:00:01Z", "finishedAt": "2031-02-03T04:09:00Z",
    "exitCode": 137, "reason": "OOMKilled", "message": "",
    "labels": {"io.kubernetes.container.name": "runner", "io.kubernetes.pod.name": "mill-7",
      "io.kubernetes.pod.namespace": "mills", "io.kubernetes.pod.uid": "u-7"}},
  "info": {"pid": 0}}`
	if !Sniff([]byte(text)) {
		t.Error("not taken for an object")
	}
	lines, n, err := read(t, text)
	if err != nil || n != 1 {
		t.Fatalf("%d objects, %v", n, err)
	}
	want := []string{
		"04:09:00 mills/mill-7/runner container terminated container=runner exit_code=137 reason=OOMKilled " +
			"started_at=2031-02-03T04:00:01Z finished_at=2031-02-03T04:09:00Z container_id=" + cid + " which=state",
		"covered mills/mill-7 0",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	in := strings.NewReplacer("2031-02-03T04:00:01Z", "1927857601000000000").Replace(text)
	if again, _, _ := read(t, strings.Replace(in, `"1927857601000000000"`, "1927857601000000000", 1)); len(again) != 2 {
		t.Errorf("a time in nanoseconds: %q", again)
	}
}

// What only looks like a container of an engine is left to whoever reads text.
func TestNoEngine(t *testing.T) {
	for _, text := range []string{
		`[{"Id": "a", "State": {"Status": "exited"}, "Name": "/x"}]`,
		`[{"State": {"OOMKilled": true, "ExitCode": 137}}]`,
		`{"level": "info", "State": "OOMKilled", "ExitCode": 137}`,
		`{"status": {"id": "a", "state": "CONTAINER_EXITED", "exitCode": 137}}`,
		`{"status": "exited", "id": "a"}`,
	} {
		if _, n, err := read(t, text); n != 0 || !errors.Is(err, ErrNotObject) {
			t.Errorf("%s: %d objects, %v", text, n, err)
		}
	}
}
