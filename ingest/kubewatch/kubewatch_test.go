package kubewatch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
	"coroner/fixtures/gate"
	"coroner/ingest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

// told collects what a watcher hands on.
type told struct {
	mu      sync.Mutex
	entries []ingest.Entry
	more    chan struct{}
	log     logBuffer
	metrics *Metrics
}

type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (c *told) receive(_ context.Context, entries []ingest.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries = append(c.entries, entries...)
	select {
	case c.more <- struct{}{}:
	default:
	}
	return nil
}

// lines shows the entries that hold all of the words.
func (c *told) lines(words ...string) (out []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.entries {
		line := fmt.Sprintf("%s/%s@%s %d %s", e.Namespace, e.Pod, e.Node, e.Trust, e.Text)
		if e.Mark != nil {
			line = fmt.Sprintf("%s mark %d %s", e.Namespace, e.Mark.Kind, e.Mark.Why)
		}
		missing := false
		for _, w := range words {
			missing = missing || !strings.Contains(line, w)
		}
		if !missing {
			out = append(out, line)
		}
	}
	return out
}

// wait returns the lines with the words once there are any.
func (c *told) wait(t *testing.T, words ...string) []string {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		if found := c.lines(words...); len(found) > 0 {
			return found
		}
		select {
		case <-c.more:
		case <-deadline:
			t.Fatalf("no entry with %q; log: %s\nentries: %s", words, c.log.String(), strings.Join(c.lines(), "\n"))
		}
	}
}

func (c *told) waitLog(t *testing.T, words string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !strings.Contains(c.log.String(), words) {
		select {
		case <-c.log.more:
		case <-deadline:
			t.Fatalf("the log does not say %q: %s", words, c.log.String())
		}
	}
}

// start runs a watcher against an address until the test ends.
func start(t *testing.T, s *apiserver.Server, address, token string, o Options) *told {
	t.Helper()
	file, err := s.Kubeconfig(address, token)
	if err != nil {
		t.Fatal(err)
	}
	config, err := Config(file)
	if err != nil {
		t.Fatal(err)
	}
	c := &told{
		more:    make(chan struct{}, 1),
		log:     logBuffer{more: make(chan struct{}, 1)},
		metrics: NewMetrics(prometheus.NewRegistry()),
	}
	o.Now, o.Log, o.Receive = time.Now, zerolog.New(&c.log), c.receive
	w, err := New(config, o, c.metrics)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(20 * time.Second):
			t.Error("the watcher does not stop")
		}
	})
	return c
}

// server starts an API server for the test; it skips where there is none.
func server(t *testing.T) *apiserver.Server {
	t.Helper()
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that the watcher follows a real API server: %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	s, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

type api struct {
	*testing.T
	*apiserver.Server
}

func (a api) do(method, path, body string) string {
	a.Helper()
	answer, err := a.Do(method, path, body)
	if err != nil {
		a.Fatal(err)
	}
	return answer
}

const (
	pods   = "/api/v1/namespaces/ci/pods"
	secret = "s3cr3t-in-the-spec"
)

func (a api) pod(name string) {
	a.Helper()
	a.do("POST", pods,
		`{"metadata":{"name":"`+name+`","annotations":{"note":"`+secret+
			`"},"labels":{"actions.github.com/scale-set-name":"mill"}},
		"spec":{"nodeName":"quern-1","containers":[{"name":"runner","image":"x","command":["./run.sh"],`+
			`"env":[{"name":"TOKEN","value":"`+secret+`"}]}]}}`)
}

func (a api) status(name, status string) {
	a.Helper()
	a.do("PATCH", pods+"/"+name+"/status", `{"status":`+status+`}`)
}

const (
	runs = `{"phase":"Running","containerStatuses":[{"name":"runner","image":"x","imageID":"","ready":true,` +
		`"restartCount":0,"state":{"running":{"startedAt":"2031-01-01T00:00:01Z"}}}]}`
	died = `{"phase":"Failed","containerStatuses":[{"name":"runner","image":"x","imageID":"","ready":false,` +
		`"restartCount":0,"state":{"running":null,"terminated":{"exitCode":137,"reason":"OOMKilled",` +
		`"startedAt":"2031-01-01T00:00:01Z","finishedAt":"2031-01-01T00:05:00Z"}}}]}`
)

// TestRealAPI: a real API server, whose objects die in every way that it can tell of.
func TestRealAPI(t *testing.T) {
	s := server(t)
	a := api{t, s}
	for _, ns := range []string{"ci", "other"} {
		a.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+ns+`"}}`)
	}
	a.pod("before-runner-1")
	way, err := gate.New(strings.TrimPrefix(s.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer way.Close()
	c := start(t, s, "https://"+way.Addr, apiserver.Admin, Options{Namespaces: []string{"ci"}, Nodes: true})
	c.wait(t, "ci/before-runner-1", "pod spec", "pool=mill", "node=quern-1")
	for name, test := range map[string]func(api, *told){
		"exit": exit, "forced": forced, "events": events, "nodes": nodes, "elsewhere": elsewhere,
	} {
		t.Run(name, func(t *testing.T) { test(api{t, s}, c) })
	}
	t.Run("broken", func(t *testing.T) { broken(api{t, s}, way, c) })
	t.Run("denied", func(t *testing.T) { denied(api{t, s}) })
	t.Run("missing", func(t *testing.T) { missingNamespace(api{t, s}) })
	t.Run("bad token", func(t *testing.T) { badToken(api{t, s}) })
	t.Run("server away", func(t *testing.T) { away(api{t, s}) })
	t.Run("nothing that is secret", func(t *testing.T) { keepsNoSecret(t, c) })
	t.Run("each fact once", func(t *testing.T) { eachOnce(t, c) })
}

// exit: the exit record of a pod that is deleted right after, with its coverage.
func exit(a api, c *told) {
	a.pod("exit-runner-1")
	a.status("exit-runner-1", runs)
	a.status("exit-runner-1", died)
	a.do("DELETE", pods+"/exit-runner-1", `{"gracePeriodSeconds":0}`)
	c.wait(a.T, "ci/exit-runner-1@quern-1 1 container terminated", "exit_code=137", "reason=OOMKilled",
		"finished_at=2031-01-01T00:05:00Z")
	c.wait(a.T, "ci/exit-runner-1", "pod deleting")
	c.wait(a.T, "ci mark 0")
	if gone := c.lines("ci/exit-runner-1", "pod gone"); gone != nil {
		a.Errorf("its container had ended: %q", gone)
	}
}

// forced: the object goes while its container runs.
func forced(a api, c *told) {
	a.pod("forced-runner-1")
	a.status("forced-runner-1", runs)
	a.do("DELETE", pods+"/forced-runner-1", `{"gracePeriodSeconds":0}`)
	c.wait(a.T, "ci/forced-runner-1@quern-1 1 pod gone deletion=seen")
	c.wait(a.T, "ci/forced-runner-1", "pod deleting", "grace_seconds=0")
}

// events: they are claims, whoever they say that they are from.
func events(a api, c *told) {
	a.do(
		"POST",
		"/api/v1/namespaces/ci/events",
		`{"metadata":{"name":"e1"},"involvedObject":{"kind":"Pod","namespace":"ci","name":"before-runner-1",`+
			`"uid":"u-1"},
		"reason":"Evicted","message":"low on grain","type":"Warning","source":{"component":"kubelet",`+
			`"host":"quern-1"},`+
			`"lastTimestamp":"2031-01-01T00:00:01Z"}`,
	)
	c.wait(a.T, "ci/before-runner-1@quern-1 0 event reason=Evicted")
}

const node = `"conditions":[{"type":"Ready","status":"%s","reason":"r","message":"m","lastHeartbeatTime":"%s",` +
	`"lastTransitionTime":"2031-01-01T00:00:0%dZ"}],"nodeInfo":{"bootID":"%s","architecture":"",` +
	`"containerRuntimeVersion":"","kernelVersion":"","kubeProxyVersion":"","kubeletVersion":"","machineID":"",` +
	`"operatingSystem":"","osImage":"","systemUUID":""}`

// nodes: conditions that change, heartbeats that say nothing, a new boot id.
func nodes(a api, c *told) {
	status := func(ready, heartbeat string, at int, boot string) {
		a.do("PATCH", "/api/v1/nodes/quern-1/status", `{"status":{`+fmt.Sprintf(node, ready, heartbeat, at, boot)+`}}`)
	}
	a.do("POST", "/api/v1/nodes", `{"metadata":{"name":"quern-1"}}`)
	status("True", "2031-01-01T00:00:01Z", 1, "boot-a")
	c.wait(a.T, "@quern-1", "node condition", "type=Ready status=True")
	status("True", "2031-01-01T00:05:01Z", 1, "boot-a")
	status("Unknown", "2031-01-01T00:05:01Z", 2, "boot-a")
	status("True", "2031-01-01T00:09:01Z", 3, "boot-b")
	c.wait(a.T, "@quern-1", "node booted boot_id=boot-b was=boot-a")
	if got := c.lines("@quern-1", "node condition", "type=Ready"); len(got) != 3 {
		a.Errorf("want three changes of Ready, a heartbeat is none: %q", got)
	}
}

// elsewhere: what is in another namespace is nobody's business.
func elsewhere(a api, c *told) {
	a.do("POST", "/api/v1/namespaces/other/pods",
		`{"metadata":{"name":"x-runner-1"},"spec":{"containers":[{"name":"runner","image":"x"}]}}`)
	a.pod("after-runner-1")
	c.wait(a.T, "ci/after-runner-1", "pod spec")
	if got := c.lines("other/"); got != nil {
		a.Errorf("read in a namespace that was not asked for: %q", got)
	}
}

// broken: the watch breaks, versions are forgotten, the server starts anew.
func broken(a api, way *gate.Gate, c *told) {
	a.pod("lost-runner-1")
	a.status("lost-runner-1", runs)
	c.wait(a.T, "ci/lost-runner-1", "container running")
	way.Shut()
	a.do("DELETE", pods+"/lost-runner-1", `{"gracePeriodSeconds":0}`)
	a.pod("new-runner-1")
	a.Down()
	if err := a.Compact(); err != nil {
		a.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := a.Up(ctx); err != nil {
		a.Fatal(err)
	}
	way.Open()
	c.wait(a.T, "ci/new-runner-1", "pod spec")
	c.wait(a.T, "ci mark 1 the watch of pods broke and could not go on where it was")
	c.wait(a.T, "ci/lost-runner-1", "pod gone deletion=unseen")
}

// denied: one line that says what is missing and how to grant it; once it is
// granted the watch goes on.
func denied(a api) {
	c := start(a.T, a.Server, a.URL, apiserver.Viewer, Options{Namespaces: []string{"ci"}})
	c.waitLog(a.T,
		"may not watch pods in namespace ci: give its service account a Role with the verbs get, list, watch on pods; "+
			"until then no exit code, eviction or deletion of a pod is seen")
	if up := testutil.ToFloat64(c.metrics.up.WithLabelValues("ci", "pods")); up != 0 {
		a.Errorf("up is %v", up)
	}
	if got := c.metrics.Trouble(); len(got) == 0 || got[0].Kind != "the Kubernetes API does not let coroner watch" ||
		strings.Contains(fmt.Sprint(got), "is not there,") {
		a.Errorf("%+v", got)
	}
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/ci/"
	a.do("POST", rbac+"roles",
		`{"metadata":{"name":"look"},"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["get","list","watch"]}]}`)
	a.do(
		"POST",
		rbac+"rolebindings",
		`{"metadata":{"name":"look"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"look"},`+
			`"subjects":[{"kind":"User","name":"viewer"}]}`,
	)
	c.wait(a.T, "ci/before-runner-1", "pod spec")
	c.waitLog(a.T, "the API server accepts the watch again")
	if up := testutil.ToFloat64(c.metrics.up.WithLabelValues("ci", "pods")); up != 1 {
		a.Errorf("up is %v: %s", up, c.log.String())
	}
	if n := strings.Count(c.log.String(), "pods in namespace ci"); n != 1 {
		a.Errorf("said %d times: %s", n, c.log.String())
	}
}

// A pod without a service-account token, and a machine that is no pod, are told so, and what
// to do.
func TestNoToken(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if _, err := Config(""); err == nil || !strings.Contains(err.Error(), "this is no pod of a cluster") {
		t.Error(err)
	}
	if _, err := os.Stat("/var/run/secrets/kubernetes.io/serviceaccount/token"); err == nil {
		t.Skip("not shown: what is said where no token is mounted: this pod has one")
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "443")
	if _, err := Config(""); err == nil || !strings.Contains(err.Error(), "no service-account token") ||
		!strings.Contains(err.Error(), "automountServiceAccountToken") {
		t.Error(err)
	}
}

// missingNamespace: a list of the pods of a namespace that is not there succeeds, so it is
// looked for by itself; told once, while it lasts.
func missingNamespace(a api) {
	o := Options{Namespaces: []string{"absent", "other"}, Check: 20 * time.Millisecond}
	c := start(a.T, a.Server, a.URL, apiserver.Admin, o)
	c.waitLog(a.T, "namespace absent is not there, so nothing is watched in it")
	if got := c.metrics.Trouble(); len(got) != 1 || strings.Contains(got[0].Kind, "absent") ||
		!strings.Contains(got[0].Text, "apiWatch.namespaces") {
		a.Errorf("%+v", got)
	}
	a.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"absent"}}`)
	c.waitLog(a.T, "the namespace is there again")
	if got := c.metrics.Trouble(); len(got) != 0 {
		a.Errorf("%+v", got)
	}
	a.do("DELETE", "/api/v1/namespaces/absent", "") // its finalizer stays: nobody runs that would end it
	c.waitLog(a.T, "namespace absent is being deleted")
	if n := strings.Count(c.log.String(), "is not there"); n != 1 ||
		strings.Contains(c.log.String(), "namespace other") {
		a.Errorf("said %d times: %s", n, c.log.String())
	}
}

func badToken(a api) {
	c := start(a.T, a.Server, a.URL, "expired", Options{Namespaces: []string{"ci"}})
	c.waitLog(a.T, "the API server rejects the token: it is wrong or has expired")
}

func away(a api) {
	c := start(a.T, a.Server, "https://127.0.0.1:1", apiserver.Admin, Options{Nodes: true})
	c.waitLog(a.T, "the API server does not answer")
}

// keepsNoSecret: of environment and annotations nothing is handed on.
func keepsNoSecret(t *testing.T, c *told) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, err := json.Marshal(c.entries)
	if err != nil || bytes.Contains(all, []byte(secret)) {
		t.Errorf("%v: a value of the spec got out", err)
	}
}

// eachOnce: lists and watches repeat themselves, what is handed on does not.
// A watch that broke lists everything again.
func eachOnce(t *testing.T, c *told) {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := map[string]int{}
	for _, e := range c.entries {
		if e.Mark == nil {
			seen[fmt.Sprint(e.At, e.Pod, e.PodUID, e.Node, e.Container, e.Text)]++
		}
		if e.Mark != nil && e.Node != "" {
			t.Errorf("a mark names node %s, whose agent is not heard of", e.Node)
		}
	}
	for what, n := range seen {
		if n > 1 {
			t.Errorf("%d times: %s", n, what)
		}
	}
}
