package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"coroner/classify/annotate"
	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/mcp"
	"coroner/classify/notify"
	"coroner/classify/otlp"
	"coroner/classify/rerun"
	"coroner/cmd/reference"
	"coroner/fixtures/shipped"
	"coroner/ingest/forge"
	"coroner/ingest/github"
	"coroner/rules"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	collector "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

const (
	shownPage     = "../../docs/shown.md"
	shownIncident = "../../fixtures/incidents/host-teardown-shim.txtar"
	shownAt       = "https://coroner.example"
	shownCommit   = "3f1a9c4e5b6d7081920a3b4c5d6e7f8091a2b3c4"
)

// shown is one death, and whoever is told of it: a forge, a channel, a collector.
type shown struct {
	t      *testing.T
	v      rules.Verdict
	ledger *ledger.Ledger
	now    time.Time
	told   *httptest.Server
	text   strings.Builder // what it was sent
}

func newShown(t *testing.T) *shown {
	t.Helper()
	s := &shown{t: t}
	s.told = httptest.NewServer(s)
	t.Cleanup(s.told.Close)
	out, code := coroner("explain", "-o", "json", shownIncident)
	first, _, _ := strings.Cut(out, "\n") // the runner that died; a neighbour follows
	if err := json.Unmarshal([]byte(first), &s.v); err != nil || code != exitOK {
		t.Fatalf("%d %v", code, err)
	}
	s.v.Rulebook, s.v.Pool = "0a1b2c3d4e5f", "bench" // another rulebook's hash changes no page
	for i := range s.v.Evidence {
		s.v.Evidence[i].Where = ""
	}
	s.now = s.v.DiedAt.Add(40 * time.Second)
	l, err := ledger.Open(filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.ledger = l
	s.record("c0ffee1234567890", &s.v)
	return s
}

func (s *shown) record(id string, v *rules.Verdict) {
	s.t.Helper()
	if err := s.ledger.Write(s.t.Context(), s.now, func(tx *ledger.Tx) error {
		return tx.AddVerdict(id, v, s.now, false)
	}); err != nil {
		s.t.Fatal(err)
	}
}

// ServeHTTP answers whoever tells it: as GitHub and GitLab, where these are asked, and notes what
// it is told.
func (s *shown) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, to := s.v.DiedAt.Add(-time.Hour).Format(time.RFC3339), s.v.DiedAt.Add(10*time.Minute).Format(time.RFC3339)
	times := fmt.Sprintf(`"started_at":%q,"completed_at":%q,"finished_at":%q`, from, to, to)
	path := strings.TrimPrefix(r.URL.Path, "/api/v4")
	if r.Method != http.MethodGet {
		s.note(r, path)
	}
	switch {
	case r.Method != http.MethodGet:
		w.WriteHeader(http.StatusCreated)
	case strings.HasSuffix(path, "/runs/42/jobs"):
		fmt.Fprintf(w, `{"total_count":1,"jobs":[{"id":77,"run_id":42,"run_attempt":1,"name":"bench",`+
			`"conclusion":"failure","runner_name":%q,"head_sha":%q,%s}]}`, s.v.Runner, shownCommit, times)
	case strings.HasSuffix(path, "/runs/42"):
		_, _ = io.WriteString(w, `{"status":"completed","conclusion":"failure","run_attempt":1}`)
	case path == "/user":
		_, _ = io.WriteString(w, `{"id":5}`)
	case path == "/projects/42":
		_, _ = io.WriteString(w, `{"path_with_namespace":"acme/mill"}`)
	case path == "/projects/42/jobs/7001":
		fmt.Fprintf(w, `{"name":"bench","status":"failed","commit":{"id":%q},"pipeline":{"id":900},%s}`, shownCommit,
			times)
	case strings.HasSuffix(path, "/merge_requests"):
		_, _ = io.WriteString(w, `[{"iid":12,"state":"opened","target_project_id":42}]`)
	case strings.HasSuffix(path, "/notes"), strings.HasSuffix(path, "/statuses"):
		_, _ = io.WriteString(w, "[]")
	default:
		_, _ = io.WriteString(w, `{"check_runs":[]}`)
	}
}

// note keeps what is sent: JSON as it is, but for evidence, and protobuf as JSON.
func (s *shown) note(r *http.Request, path string) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(body)
	}
	data, err := io.ReadAll(body)
	var events collector.ExportLogsServiceRequest
	if r.Header.Get("Content-Type") == "application/x-protobuf" && err == nil {
		if err = proto.Unmarshal(data, &events); err == nil {
			data, err = protojson.Marshal(&events)
		}
	}
	if err != nil {
		s.t.Error(err)
	}
	fmt.Fprintf(&s.text, "%s %s\n", r.Method, path)
	if len(data) > 0 {
		s.text.WriteString(indented(s.t, data) + "\n")
	}
}

// indented is JSON for people, in which long lists are cut.
func indented(t *testing.T, data []byte) string {
	t.Helper()
	var all any
	if err := json.Unmarshal(data, &all); err != nil {
		t.Errorf("%v: %s", err, data)
	}
	if m, ok := all.(map[string]any); ok {
		if in, ok := m["data"].(map[string]any); ok {
			m = in
		}
		if v, ok := m["verdict"].(map[string]any); ok { // docs/verdict.md has it whole
			m["verdict"] = map[string]any{"runner": v["runner"], "verdict": v["verdict"], "…": "as the API has it"}
		}
	}
	plainAttributes(all)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(all); err != nil {
		t.Error(err)
	}
	return strings.TrimSpace(out.String())
}

// plainAttributes makes one object of each list of OpenTelemetry's attributes.
func plainAttributes(of any) {
	switch of := of.(type) {
	case []any:
		for _, v := range of {
			plainAttributes(v)
		}
	case map[string]any:
		if list, ok := of["attributes"].([]any); ok {
			plain := map[string]any{}
			for _, a := range list {
				for _, value := range a.(map[string]any)["value"].(map[string]any) {
					plain[a.(map[string]any)["key"].(string)] = value
				}
			}
			of["attributes"] = plain
		}
		for _, v := range of {
			plainAttributes(v)
		}
	}
}

// sent is what a sender sends of a death.
func (s *shown) sent(send deliver.Send, id string, v *rules.Verdict) string {
	s.t.Helper()
	s.text.Reset()
	d := ledger.Delivery{Record: ledger.Record{Case: id, Recorded: s.now, Verdict: *v}}
	note, err := send(s.t.Context(), d)
	if err != nil || s.text.Len() == 0 {
		s.t.Errorf("%v %q: nothing is sent", err, note)
	}
	if note != "" {
		fmt.Fprintf(&s.text, "\nand in the ledger, with the verdict: %s\n", note)
	}
	return s.text.String()
}

func (s *shown) gitHub() *github.Client {
	return github.NewClient(s.told.URL, func() (string, error) { return "t", nil }, s.told.Client(),
		func() time.Time { return s.now })
}

func (s *shown) locate(_ context.Context, r *ledger.Record) (github.Question, error) {
	return github.Question{Repository: "acme/mill", Run: "42", Runner: r.Verdict.Runner, Died: *r.Verdict.DiedAt}, nil
}

func (s *shown) notified(kind string) string {
	s.t.Helper()
	const file = "receivers: [{name: a, kind: %s, url: %q}]\nroutes: [{to: a}]\n"
	c, err := notify.Parse("notify.yaml", fmt.Appendf(nil, file, kind,
		s.told.URL+map[string]string{"alertmanager": "/api/v2/alerts"}[kind]))
	if err != nil {
		s.t.Fatal(err)
	}
	sender := &notify.Sender{Receiver: c.Receivers[0], Routes: c.To("a"), Ledger: s.ledger, Pages: shownAt,
		HTTP: notify.NewClient(), Now: func() time.Time { return s.now }}
	return s.sent(sender.Send, "c0ffee1234567890", &s.v)
}

// asked is an assistant's question and its answer.
func (s *shown) asked() string {
	s.t.Helper()
	mux := http.NewServeMux()
	api := &lookup.API{Source: s.ledger, Now: func() time.Time { return s.now }}
	api.Register(mux)
	mcp.Register(mux, func(h http.Handler) http.Handler { return h }, mux, "test")
	server := httptest.NewServer(mux)
	defer server.Close()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(s.t.Context(),
		&sdk.StreamableClientTransport{Endpoint: server.URL + "/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer session.Close()
	name := map[string]any{"name": s.v.Runner}
	res, err := session.CallTool(s.t.Context(), &sdk.CallToolParams{Name: "explain_death", Arguments: name})
	if err != nil {
		s.t.Fatal(err)
	}
	call, _ := json.Marshal(map[string]any{"name": "explain_death", "arguments": name})
	text := res.Content[0].(*sdk.TextContent).Text
	text = regexp.MustCompile(`untrusted [a-z2-7]{16}`).ReplaceAllString(text, "untrusted NUMBER")
	return "tools/call " + string(call) + "\n" + text
}

// docs/shown.md shows what is really sent and answered.
func TestShown(t *testing.T) {
	s := newShown(t)
	book := func() *rules.Rulebook { return shipped.Rulebook(t) }
	check := &annotate.Annotator{Mode: annotate.Check, GitHub: s.gitHub(), Locate: s.locate, Ledger: s.ledger,
		Scope: annotate.Scope{"acme/*"}, Pages: shownAt, Log: zerolog.Nop(), Book: book}
	again := &rerun.Rerunner{GitHub: s.gitHub(), Locate: s.locate, Ledger: s.ledger, Scope: annotate.Scope{"acme/*"},
		PerHour: 5, Log: zerolog.Nop(), Now: func() time.Time { return s.now },
		Metrics: rerun.NewMetrics(prometheus.NewRegistry())}
	lab := &annotate.GitLab{Ledger: s.ledger, Scope: annotate.Groups{"acme"}, Pages: shownAt, Log: zerolog.Nop(),
		Book: book,
		API: forge.New(forge.Options{Name: "GitLab", URL: s.told.URL + "/api/v4", HTTP: s.told.Client(),
			Now: func() time.Time { return s.now }, Prefix: "RateLimit-",
			Token: func() (string, error) { return "t", nil }})}
	ofLab := s.v
	ofLab.Runner, ofLab.Node, ofLab.Job.ID = "runner-t3sxyz-project-42-concurrent-0-abcdefgh", "scree-9", "7001"
	s.record("c0ffee1234567891", &ofLab)
	events, err := otlp.New(s.told.URL+"/v1/logs", func() (string, error) { return "t", nil }, "0.2.0", shownAt)
	if err != nil {
		t.Fatal(err)
	}
	for part, text := range map[string]string{
		"the check run":  s.sent(check.Send, "c0ffee1234567890", &s.v),
		"the rerun":      s.sent(again.Send, "c0ffee1234567890", &s.v),
		"the note":       s.sent(lab.Send, "c0ffee1234567891", &ofLab),
		"Slack":          s.notified("slack"),
		"Alertmanager":   s.notified("alertmanager"),
		"CloudEvents":    s.notified("cloudevents"),
		"OpenTelemetry":  s.sent(events.Send, "c0ffee1234567890", &s.v),
		"the assistant":  s.asked(),
		"kubectl":        s.atKubectl(),
		"the collection": s.collected(),
	} {
		block := "```text\n" + strings.TrimSpace(text) + "\n```\n"
		if err := reference.Hold(shownPage, part, block, *renew); err != nil {
			t.Error(err)
		}
	}
}

// kube is an API server that answers by the longest beginning of a path, and a kubeconfig for it.
func (s *shown) kube(answers map[string]func(http.ResponseWriter, *http.Request)) (config string) {
	s.t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		best := ""
		for path := range answers {
			if strings.HasPrefix(r.URL.Path, path) && len(path) > len(best) {
				best = path
			}
		}
		if best == "" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		answers[best](w, r)
	}))
	s.t.Cleanup(api.Close)
	config = filepath.Join(s.t.TempDir(), "kubeconfig")
	if err := os.WriteFile(config, []byte(`{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "`+api.URL+`"}}], users: [{name: u, user: {}}],
contexts: [{name: x, context: {cluster: c, user: u, namespace: arc-eu}}]}`), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return config
}

func text(answer string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }
}

// atAPI takes the address of the API server out of what is printed.
var atAPI = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// atKubectl is kubectl coroner, which asks a server by the proxy.
func (s *shown) atKubectl() string {
	s.t.Helper()
	mux := http.NewServeMux()
	api := &lookup.API{Source: s.ledger, Now: func() time.Time { return s.now }}
	api.Register(mux)
	const proxy = "/api/v1/namespaces/coroner/services/coroner:http/proxy"
	config := s.kube(map[string]func(http.ResponseWriter, *http.Request){
		"/api/v1/services": text(`{"items":[{"metadata":{"name":"coroner","namespace":"coroner"},` +
			`"spec":{"ports":[{"name":"http"}]}}]}`),
		proxy + "/": http.StripPrefix(proxy, mux).ServeHTTP,
	})
	out, notes, code := run(true, s.v.Runner, "-n", s.v.Namespace, "--kubeconfig", config)
	if code != exitOK {
		s.t.Errorf("%d: %s", code, notes)
	}
	return fmt.Sprintf("$ kubectl coroner %s -n %s\n%s", s.v.Runner, s.v.Namespace,
		atAPI.ReplaceAllString(out, "https://kube.example"))
}

// collected is what is printed where there is no server, and the pod is still there.
func (s *shown) collected() string {
	s.t.Helper()
	folder := filepath.Join(s.t.TempDir(), "bundle")
	at := "2026-03-27T23:58:57Z"
	pod := fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"birch-runner-q8w5z","namespace":"arc-eu",`+
		`"uid":"0a0b0c0d-1111-2222-3333-444455556666","creationTimestamp":"2026-03-27T23:40:00Z",`+
		`"labels":{"actions.github.com/scale-set-name":"birch"}},"spec":{"nodeName":"scree-5",`+
		`"containers":[{"name":"runner"}]},"status":{"phase":"Failed","containerStatuses":[{"name":"runner",`+
		`"restartCount":0,"state":{"terminated":{"exitCode":137,"reason":"OOMKilled",`+
		`"startedAt":"2026-03-27T23:40:09Z",`+
		`"finishedAt":%q,"containerID":"containerd://%s"}}}]}}`, at, strings.Repeat("ab", 32))
	const arc = "/api/v1/namespaces/arc-eu/"
	config := s.kube(map[string]func(http.ResponseWriter, *http.Request){
		arc + "pods/birch-runner-q8w5z": func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/log") {
				_, _ = io.WriteString(w, "2026-03-27T23:41:00Z √ Connected to GitHub\n")
				return
			}
			_, _ = io.WriteString(w, pod)
		},
		arc + "events": text(`{"items":[]}`), "/api/v1/pods": text(`{"items":[]}`),
		"/api/v1/nodes/scree-5/proxy": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
		},
		"/api/v1/nodes/scree-5":      text(`{"kind":"Node","apiVersion":"v1","metadata":{"name":"scree-5"}}`),
		"/api/v1/namespaces/default": text(`{"items":[]}`),
	})
	var out, notes bytes.Buffer
	p := &program{out: &out, err: &notes, now: func() time.Time { return s.now }, tty: func(any) bool { return false }}
	code := p.runCommand([]string{"collect", "birch-runner-q8w5z", "-o", folder, "--kubeconfig", config})
	if code != exitOK {
		s.t.Errorf("%d: %s", code, &notes)
	}
	here := strings.NewReplacer(" --kubeconfig '"+config+"'", "", folder, "bundle")
	shown := here.Replace(notes.String() + out.String())
	shown = regexp.MustCompile(`rulebook [0-9a-f]{12}`).ReplaceAllString(shown, "rulebook 0a1b2c3d4e5f")
	return "$ coroner collect birch-runner-q8w5z -n arc-eu -o bundle\n" + shown
}
