package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/cmd/units"
	"coroner/fixtures/apiserver"
	"coroner/ingest"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// liveServer is coroner serve with its ledger.
type liveServer struct {
	*server
	stop func()
}

func serveFor(t *testing.T, args ...string) *liveServer {
	t.Helper()
	var c struct {
		Serve serveCmd `cmd:""`
	}
	parser, err := kong.New(&c, flagVars(":0"), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{
		"serve", "--web.listen-address=127.0.0.1:0", "--settle-deadline=1s",
	}, args...)); err != nil {
		t.Fatal(err)
	}
	s, err := c.Serve.open(c.Serve.Logger(io.Discard, false), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.runParts(ctx) }()
	live := &liveServer{server: s, stop: func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}}
	return live
}

// wait asks until what is wanted is there.
func wait(t *testing.T, what string, there func() bool) {
	t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for !there() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// verdict is a runner's latest one as "label rule exit revision confidence".
func (s *liveServer) verdict(t *testing.T, runner string) string {
	t.Helper()
	all, err := s.ledger.Verdicts(context.Background(), ledger.Query{Runner: runner})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range all {
		code := "-"
		if r.Verdict.Exit.Code != nil {
			code = fmt.Sprint(*r.Verdict.Exit.Code)
		}
		out = append(out,
			fmt.Sprintf("%s %s %s %d %s", r.Verdict.Label, r.Verdict.Rule, code, r.Verdict.Revision,
				r.Verdict.Confidence))
	}
	return strings.Join(out, "; ")
}

// crd is the definition of one of actions-runner-controller's resources.
func crd(group, kind string) string {
	plural := strings.ToLower(kind) + "s"
	return `{"metadata":{"name":"` + plural + `.` + group + `"},"spec":{"group":"` + group + `",` +
		`"scope":"Namespaced","names":{"plural":"` + plural + `","kind":"` + kind + `"},
	"versions":[{"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",` +
		`"x-kubernetes-preserve-unknown-fields":true}}}]}}`
}

// TestServeWithNothingButTheAPI: no agent, no controller's log. The Kubernetes API tells
// of deaths, GitHub of the job; a second server makes nothing new of the same objects.
func TestServeWithNothingButTheAPI(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that coroner serve judges by what a real API server tells: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	k, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer k.Stop()
	do := func(method, path, body string) {
		t.Helper()
		if _, err := k.Do(method, path, body); err != nil {
			t.Fatal(err)
		}
	}
	const ns, arc = "/api/v1/namespaces/ci", "/apis/actions.github.com/v1alpha1/namespaces/ci/"
	const runners, older = arc + "ephemeralrunners", "/apis/actions.summerwind.dev/v1alpha1/namespaces/ci/"
	do("POST", "/api/v1/namespaces", `{"metadata":{"name":"ci"}}`)
	for kind, of := range map[string]string{"EphemeralRunner": arc, "EphemeralRunnerSet": arc,
		"AutoscalingRunnerSet": arc, "AutoscalingListener": arc, "Runner": older, "RunnerSet": older,
		"HorizontalRunnerAutoscaler": older} {
		group := strings.Split(of, "/")[2] // of the older generation not all kinds are there
		do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd(group, kind))
		wait(t, "the resource of "+kind+"s", func() bool {
			_, err := k.Do("GET", of+strings.ToLower(kind)+"s", "")
			return err == nil
		})
	}

	now := time.Now().UTC().Truncate(time.Second)
	github := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/repos/mills/flour/actions/runs/36180041/jobs" ||
			r.Header.Get("Authorization") != "Bearer t0k3n" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprintf(
			w,
			`{"total_count":1,"jobs":[{"id":7,"run_id":36180041,"name":"build","status":"completed",`+
				`"conclusion":"success","runner_name":"mill-runner-1","started_at":%q,"completed_at":%q}]}`,
			now.Add(-time.Minute).Format(time.RFC3339),
			now.Format(time.RFC3339),
		)
	}))
	defer github.Close()
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	config, err := k.Kubeconfig(k.URL, apiserver.Admin)
	if err := joined(err, os.WriteFile(token, []byte("t0k3n\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	args := []string{"--ledger=" + filepath.Join(dir, "l.db"), "--kube.namespace=ci", "--kube.ephemeral-runners",
		"--kube.nodes", "--kube.config=" + config,
		"--github.token-file=" + token, "--github.url=" + github.URL}
	s := serveFor(t, args...)

	pod := func(name string) {
		do(
			"POST",
			ns+"/pods",
			`{"metadata":{"name":"`+name+
				`"},"spec":{"nodeName":"quern-1","containers":[{"name":"runner","image":"x"}]}}`,
		)
	}
	status := func(name, phase, state string) {
		do(
			"PATCH",
			ns+"/pods/"+name+"/status",
			`{"status":{"phase":"`+phase+
				`","containerStatuses":[{"name":"runner","image":"x","imageID":"","ready":false,"restartCount":0,`+
				`"state":`+state+`}]}}`,
		)
	}
	running := `{"running":{"startedAt":"` + now.Add(-time.Minute).Format(time.RFC3339) + `"}}`
	ended := func(code int, reason string) string {
		return fmt.Sprintf(`{"running":null,"terminated":{"exitCode":%d,"reason":%q,"startedAt":%q,"finishedAt":%q}}`,
			code, reason, now.Add(-time.Minute).Format(time.RFC3339), now.Format(time.RFC3339))
	}
	do(
		"POST",
		runners,
		`{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunner","metadata":{"name":"mill-runner-1"},`+
			`"status":{"phase":"Running","jobRepositoryName":"mills/flour","workflowRunId":36180041,`+
			`"jobDisplayName":"build"}}`,
	)
	for _, name := range []string{"mill-runner-1", "mill-runner-2", "mill-runner-3", "mill-runner-4"} {
		pod(name)
		status(name, "Running", running)
	}
	status("mill-runner-1", "Succeeded", ended(0, "Completed"))
	status("mill-runner-2", "Failed", ended(137, "OOMKilled"))
	do("DELETE", ns+"/pods/mill-runner-2", `{"gracePeriodSeconds":0}`)
	do("DELETE", ns+"/pods/mill-runner-3", `{"gracePeriodSeconds":0}`)

	wait(t, "the pod that was deleted right after its end", func() bool {
		return strings.HasPrefix(s.verdict(t, "mill-runner-2"), "cgroup-OOM cgroup-OOM-reason 137")
	})
	wait(t, "the pod that was deleted by force", func() bool {
		return strings.HasPrefix(s.verdict(t, "mill-runner-3"), "force-deleted force-deleted-watched - ")
	})
	wait(t, "the job that GitHub has as succeeded",
		func() bool { return strings.HasPrefix(s.verdict(t, "mill-runner-1"), "completed completed-told 0 ") })
	if got := s.verdict(t, "mill-runner-1"); !strings.HasSuffix(got, "confirmed") {
		t.Errorf("got %s", got)
	}
	wait(t, "the runner that lives on", func() bool {
		open, err := s.ledger.Cases(context.Background(), ledger.StateOpen, 0)
		return err == nil && len(open) == 1 && open[0].Name == "mill-runner-4"
	})
	set := `{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunnerSet","metadata":{"name":"mill-x7k2m"},` +
		`"spec":{"replicas":2},"status":{"currentReplicas":2,"failedEphemeralRunners":2}}`
	do("POST", arc+"ephemeralrunnersets", set)
	wait(t, "what its set says of the pool", func() bool {
		of, err := s.ledger.Since(context.Background(), "pool/mill", now)
		return err == nil && slices.ContainsFunc(of, func(e ingest.Entry) bool { return e.Fields["failed"] == "2" })
	})
	do("DELETE", arc+"ephemeralrunnersets/mill-x7k2m", "")
	var made []string
	for _, o := range [][4]string{
		{arc, "AutoscalingListener", "mill-6f9cd7bf-listener", `{"autoscalingRunnerSetName":"mill","maxRunners":4}`},
		{older, "RunnerSet", "mill", `{"replicas":5},"status":{"replicas":5,"availableReplicas":5}`},
		{older, "HorizontalRunnerAutoscaler", "scaler", `{"maxReplicas":6,"scaleTargetRef":{"name":"mill"}}`},
	} {
		path := o[0] + strings.ToLower(o[1]) + "s"
		group := strings.Split(path, "/")[2]
		do("POST", path, `{"apiVersion":"`+group+`/v1alpha1","kind":"`+o[1]+`","metadata":{"name":"`+o[2]+
			`"},"spec":`+o[3]+`}`)
		made = append(made, path+"/"+o[2])
	}
	for _, says := range []string{"autoscaling listener pool=mill max=4", "ephemeral runner set pool=mill wanted=5",
		"runner autoscaler pool=mill max=6"} {
		wait(t, says, func() bool {
			of, err := s.ledger.Since(context.Background(), "pool/mill", now)
			there := func(e ingest.Entry) bool { return strings.HasPrefix(e.Text, says) }
			return err == nil && slices.ContainsFunc(of, there)
		})
	}
	for _, path := range made {
		do("DELETE", path, "")
	}
	before := s.verdict(t, "mill-runner-")
	s.stop()

	s = serveFor(t, args...)
	up := func() float64 {
		n, _ := testutil.GatherAndCount(s.daemon.Registry, "coroner_kube_objects_total")
		return float64(n)
	}
	wait(t, "the second server's lists", func() bool { return up() >= 1 && s.filed(t, "repeated") > 0 })
	if n := s.filed(t, "evidence"); n > 0 {
		t.Errorf("%v facts of the same objects are new to the second server", n)
	}
	if got := s.verdict(t, "mill-runner-"); got != before {
		t.Errorf("after a restart: %s, before: %s", got, before)
	}
	s.stop()

	do("DELETE", ns+"/pods/mill-runner-4", `{"gracePeriodSeconds":0}`)
	s = serveFor(t, args...)
	wait(t, "the pod that went while no server ran",
		func() bool { return strings.HasPrefix(s.verdict(t, "mill-runner-4"), "unknown unknown-vanished - ") })
	s.stop()
}

// filed is how many entries became of a kind.
func (s *liveServer) filed(t *testing.T, kind string) float64 {
	t.Helper()
	all, err := s.daemon.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			if f.GetName() == "coroner_entries_total" && m.GetLabel()[0].GetValue() == kind {
				return m.GetCounter().GetValue()
			}
		}
	}
	return 0
}

func joined(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A mistake in the flags is told at once, before anything is opened; without
// the flags no API is asked.
func TestWatchFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--kube.namespace=Not_One":                                   "--kube.namespace",
		"--kube.ephemeral-runners":                                   "--kube.namespace NS",
		"--kube.config=x":                                            "nothing is watched",
		"--kube.namespace=ci --kube.config=/nowhere":                 "/nowhere",
		"--github.token-file=kube.go --github.url=ftp://x":           "--github.url",
		"--github.token-file=/nowhere":                               "/nowhere",
		"--github.token-file=kube.go --github.requests-per-minute=0": "--github.requests-per-minute",
	} {
		var out strings.Builder
		p := &program{out: &out, err: &out, now: time.Now, tty: func(any) bool { return false }}
		code := p.runCommand(append([]string{
			"serve", "--web.listen-address=127.0.0.1:0", "--ledger=" + filepath.Join(t.TempDir(), "l.db"),
		}, strings.Fields(args)...))
		if code != exitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("%s: code %d, %s", args, code, out.String())
		}
	}
	s := serveFor(t, "--ledger="+filepath.Join(t.TempDir(), "l.db"))
	defer s.stop()
	if len(s.more) > 0 {
		t.Errorf("%d tasks that nobody asked for", len(s.more))
	}
}
