package notify

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify/deliver"
	"coroner/classify/ledger"
	"coroner/deploy/contract"
	"coroner/rules"
	"coroner/rules/casefile"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "rewrite the messages that are kept in testdata")

var t0 = time.Date(2026, 5, 4, 14, 2, 0, 0, time.UTC)

// inbox is a receiver that checks signatures.
type inbox struct {
	t      *testing.T
	secret string

	mu      sync.Mutex
	answers []int // statuses, the first first; then 200
	got     []delivered
}

type delivered struct{ name, kind, body string }

// ServeHTTP takes a message.
func (b *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, []byte(b.secret))
	mac.Write(body)
	if want := "sha256=" + hex.EncodeToString(mac.Sum(nil)); err != nil || r.Header.Get(SignatureHeader) != want {
		b.t.Errorf("%q is no signature of %s", r.Header.Get(SignatureHeader), body)
	}
	b.got = append(b.got, delivered{r.Header.Get(DeliveryHeader), r.Header.Get("Content-Type"), string(body)})
	if len(b.answers) > 0 {
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(b.answers[0])
		b.answers = b.answers[1:]
	}
}

// texts are the text fields of what came.
func (b *inbox) texts() (out []string) {
	for _, d := range b.got {
		var m struct{ Title, Text string }
		_ = json.Unmarshal([]byte(d.body), &m)
		out = append(out, m.Title+" | "+m.Text)
	}
	return out
}

type scene struct {
	*inbox
	ledger *ledger.Ledger
	loop   *deliver.Loop
	clock  time.Time
}

// newScene is a receiver of a kind behind one route; %s in the file is its address.
func newScene(t *testing.T, kind, extra, route string) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{inbox: &inbox{t: t, secret: "sesame"}, clock: t0}
	server := httptest.NewServer(s.inbox)
	t.Cleanup(server.Close)
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.open(
		t,
		dir,
		fmt.Sprintf("receivers:\n  - {name: ops, kind: %s, url: %q, secret_file: %q%s}\nroutes:\n  - {to: ops%s}\n",
			kind, server.URL, secret, extra, route),
	)
	return s
}

func (s *scene) open(t *testing.T, dir, config string) {
	t.Helper()
	c, err := Parse("notify.yaml", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	if s.ledger, err = ledger.Open(filepath.Join(dir, "l.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.ledger.Close() })
	now := func() time.Time { return s.clock }
	sender := &Sender{Receiver: c.Receivers[0], Routes: c.To("ops"), Ledger: s.ledger, Pages: "https://coroner.example",
		HTTP: NewClient(), Now: now}
	s.loop = &deliver.Loop{Receiver: "notify-ops", List: s.ledger.Deliveries("notify-ops"), Send: sender.Send,
		Log: zerolog.Nop(), Now: now, Metrics: deliver.NewMetrics(prometheus.NewRegistry())}
	s.flush(t)
}

func (s *scene) flush(t *testing.T) {
	t.Helper()
	if err := s.loop.Flush(t.Context()); err != nil {
		t.Error(err)
	}
}

// put records a verdict so long after the one before, and sends what is due.
func (s *scene) put(t *testing.T, after time.Duration, id string, change func(*rules.Verdict)) {
	t.Helper()
	s.clock = s.clock.Add(after)
	died := s.clock
	v := &rules.Verdict{Runner: id, Namespace: "arc", Node: "n1", Pool: "linux", Label: rules.HostTeardown, Rule: "r",
		Confidence: rules.Confirmed, Domain: "platform", Revision: 1, DiedAt: &died, Advice: "Look at the node.",
		Summary:  "It <b>died</b> & *all* of \"it\".\n<!channel> \x1b[31m",
		Evidence: []rules.EvidenceLine{{Signal: "kubelet.drain", Decisive: true}}}
	change(v)
	err := s.ledger.Write(t.Context(), s.clock, func(tx *ledger.Tx) error {
		return tx.AddVerdict(id, v, s.clock, false)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.flush(t)
}

func nothing(*rules.Verdict) {}

// What each kind of receiver gets, kept as files.
func TestForms(t *testing.T) {
	for name, extra := range map[string]string{
		"webhook": "", "slack": "", "teams": "", "alertmanager": "", "cloudevents": "",
		"template": `, template: '{"who": {{json .Verdict.Runner}}, "what": {{json .Verdict.Summary}}, ` +
			`"n": {{.Count}}}'`,
	} {
		kind := name
		if name == "template" {
			kind = "webhook"
		}
		s := newScene(t, kind, extra, "")
		s.put(t, time.Second, "amber", nothing)
		s.put(t, time.Minute, "amber", func(v *rules.Verdict) {
			v.Label, v.Revision = rules.Completed, 2
			v.Revises = &rules.Revised{Label: rules.HostTeardown, Confidence: rules.Confirmed}
		})
		var page strings.Builder
		for _, d := range s.got {
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, []byte(d.body), "", "  "); err != nil {
				t.Errorf("%s: %v: %s", name, err, d.body)
			}
			fmt.Fprintf(&page, "%s %s\n%s\n\n", d.name, d.kind, &pretty)
		}
		path := filepath.Join("testdata", name+".txt")
		if *update {
			if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), page.String()); diff != "" || len(s.got) != 2 {
			t.Errorf("%s: what is sent changed; -update, if it should:\n%s", name, diff)
		}
		if kind == "slack" &&
			(strings.Contains(page.String(), "<!channel") || strings.Contains(page.String(), `\u003c!channel`)) {
			t.Errorf("a log can call everybody: %s", &page)
		}
	}
}

// A route has what fits all that it says.
func TestRoutes(t *testing.T) {
	for route, want := range map[string]bool{
		"": true, ", verdicts: [host-*, x]": true, ", verdicts: [node-*]": false,
		", pools: [lin*]": true, ", pools: [windows]": false, ", clusters: ['']": true, ", clusters: [east]": false,
		", domains: [platform]": true, ", domains: [workload]": false, ", confidence: confirmed": true,
	} {
		s := newScene(t, "webhook", "", route)
		s.put(t, time.Second, "amber", nothing)
		if (len(s.got) == 1) != want {
			t.Errorf("%s: %d messages", route, len(s.got))
		}
	}
	s := newScene(t, "webhook", "", ", confidence: probable")
	s.put(t, time.Second, "a", func(v *rules.Verdict) { v.Confidence = rules.Suspected })
	s.put(t, time.Second, "b", func(v *rules.Verdict) { v.Confidence = rules.Probable })
	s.put(t, time.Second, "c", func(v *rules.Verdict) { v.Label = rules.Completed })
	s.put(t, time.Second, "b", func(v *rules.Verdict) { // a detail
		v.Revision, v.Confidence = 2, rules.Probable
		v.Revises = &rules.Revised{Label: rules.HostTeardown, Confidence: rules.Probable}
	})
	if len(s.got) != 1 || s.got[0].name != "b/1" {
		t.Errorf("%+v", s.got)
	}
}

// How new a death is, and how many are like it, is said; a route can ask for the new ones only,
// and for one message for all that are alike.
func TestNewAndAlike(t *testing.T) {
	s := newScene(t, "webhook", "", "")
	for i := range 12 {
		s.put(t, time.Minute, fmt.Sprint("r", i), nothing)
	}
	s.put(t, time.Minute, "other", func(v *rules.Verdict) {
		v.Evidence[0].Text, v.Node = "It says something else.", "n2"
	})
	s.put(t, time.Minute, "once-more", func(v *rules.Verdict) { v.Evidence[0].Text += " 4242" })
	s.put(t, time.Minute, "and-again", func(v *rules.Verdict) { v.Evidence[0].Text += " 17" })
	texts := s.texts()
	for i, want := range map[int]string{
		0: "(first host-teardown on node n1 in 30 days)", 1: "(2nd like it since 14:03 UTC)",
		11: "(12th like it since 14:03 UTC)", 12: "(first host-teardown on node n2 in 30 days)",
		14: "(2nd like it since 14:16 UTC)",
	} {
		if !strings.HasSuffix(texts[i], want) {
			t.Errorf("%d: %s, want %s", i, texts[i], want)
		}
	}
	if strings.Contains(texts[1], "first") || strings.Contains(texts[12], "like it") {
		t.Errorf("%q %q", texts[1], texts[12])
	}

	s = newScene(t, "webhook", "", ", first_in: 720h")
	s.put(t, time.Minute, "a", nothing)
	s.put(t, time.Minute, "b", nothing)
	s.put(t, time.Minute, "c", func(v *rules.Verdict) { v.Node = "n2" })
	s.put(t, 719*time.Hour, "d", nothing)
	s.put(t, 721*time.Hour, "e", nothing)
	if got := fmt.Sprint(s.names()); got != "[a/1 c/1 e/1]" {
		t.Error(got)
	}

	s = newScene(t, "webhook", "", ", every: 1h")
	for i := range 90 { // 14:03 to 15:32
		s.put(t, time.Minute, fmt.Sprint("r", i), nothing)
	}
	if got := s.texts(); len(got) != 2 || !strings.HasSuffix(got[1], "(58th like it since 14:03 UTC)") {
		t.Errorf("%q", got)
	}
}

// What a webhook and the data of a CloudEvent hold is what the schema says, field for field.
func TestMessageSchema(t *testing.T) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	described := map[string]any{}
	for _, name := range []string{"message.json", "verdict.json"} {
		data, err := fs.ReadFile(contract.Files, "schemas/"+name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		delete(doc.(map[string]any), "$id") // it has the address under which it is served
		if err := c.AddResource("https://coroner.test/api/schemas/"+name, doc); err != nil {
			t.Fatal(err)
		}
		if name == "message.json" {
			described = doc.(map[string]any)["properties"].(map[string]any)
		}
	}
	schema, err := c.Compile("https://coroner.test/api/schemas/message.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"webhook", "cloudevents"} {
		s := newScene(t, kind, "", "")
		judged := func(v *rules.Verdict) { // as a rulebook does: a list can be empty
			v.RuledOut, v.Open, v.Missing = []rules.RuledOut{}, []rules.OpenLabel{}, []string{}
			v.Retry, v.Evidence[0].Source = "helps", "kubelet"
		}
		s.put(t, time.Minute, "a", judged)
		s.put(t, time.Minute, "b", judged)
		s.put(t, time.Minute, "a", func(v *rules.Verdict) {
			judged(v)
			v.Label, v.Revision = rules.Completed, 2
			v.Revises = &rules.Revised{Label: rules.HostTeardown, Confidence: rules.Confirmed}
		})
		for _, d := range s.got {
			var all map[string]any
			if err := json.Unmarshal([]byte(d.body), &all); err != nil {
				t.Fatal(err)
			}
			if kind == "cloudevents" {
				all = all["data"].(map[string]any)
			}
			if err := schema.Validate(all); err != nil {
				t.Errorf("%s %s: %v", kind, d.name, err)
			}
			fields, want := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(described))
			if !slices.Equal(fields, want) || len(s.got) != 3 {
				t.Errorf("%s %s has %q, the schema %q", kind, d.name, fields, want)
			}
			all["alike_key"] = "short"
			if schema.Validate(all) == nil {
				t.Error("a key that is none is taken")
			}
		}
	}
}

// Deaths that are alike have one key in every form, and others have another; the name of the
// event's attribute is one that CloudEvents allow. What is over has the key of what it was.
func TestAlikeKey(t *testing.T) {
	type event struct {
		AlikeKey string `json:"alikekey"`
		Data     struct {
			AlikeKey string `json:"alike_key"`
		}
	}
	s := newScene(t, "cloudevents", "", "")
	s.put(t, time.Minute, "a", func(v *rules.Verdict) { v.Evidence[0].Text = "Killed process 17 (node)" })
	s.put(t, time.Minute, "b", func(v *rules.Verdict) {
		v.Evidence[0].Text, v.Node, v.Namespace = "Killed process 4242 (node)", "n2", "other"
	})
	for i, other := range []func(v *rules.Verdict){
		func(v *rules.Verdict) { v.Evidence[0].Text = "Killed process 17 (java)" },
		func(v *rules.Verdict) { v.Rule = "another" }, func(v *rules.Verdict) { v.Pool = "windows" },
		func(v *rules.Verdict) { v.Label = rules.NodeOOM }, func(v *rules.Verdict) { v.Cluster = "east" },
	} {
		s.put(t, time.Minute, fmt.Sprint("other", i), func(v *rules.Verdict) {
			v.Evidence[0].Text = "Killed process 17 (node)"
			other(v)
		})
	}
	s.put(t, time.Minute, "a", func(v *rules.Verdict) {
		v.Label, v.Rule, v.Revision = rules.Completed, "well", 2
		v.Revises = &rules.Revised{Label: rules.HostTeardown, Confidence: rules.Confirmed}
	})
	var keys []string
	for _, d := range s.got {
		var all map[string]any
		var e event
		if err := errors.Join(json.Unmarshal([]byte(d.body), &e), json.Unmarshal([]byte(d.body), &all)); err != nil {
			t.Fatal(err)
		}
		for name := range all {
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
				t.Errorf("an event cannot have an attribute %q", name)
			}
		}
		if e.AlikeKey != e.Data.AlikeKey || len(e.AlikeKey) != 32 {
			t.Errorf("%s: %q and %q", d.name, e.AlikeKey, e.Data.AlikeKey)
		}
		keys = append(keys, e.AlikeKey)
	}
	if len(keys) != 8 || keys[1] != keys[0] || keys[7] != keys[0] {
		t.Fatalf("%q", keys)
	}
	for i, key := range keys[2:7] {
		if key == keys[0] {
			t.Errorf("other%d has the key of a", i)
		}
	}
}

// An alert keeps its labels while late evidence gives its death another rule, until it is over:
// else what is over would end another alert.
func TestAlertKeepsItsKey(t *testing.T) {
	s := newScene(t, "alertmanager", "", "")
	revised := func(label rules.Label, rule string, revision int, was rules.Label) func(v *rules.Verdict) {
		return func(v *rules.Verdict) {
			v.Label, v.Rule, v.Revision = label, rule, revision
			v.Revises = &rules.Revised{Label: was, Confidence: rules.Suspected}
		}
	}
	s.put(t, time.Minute, "a", nothing)
	s.put(t, time.Minute, "a", revised(rules.HostTeardown, "surer", 2, rules.HostTeardown))
	s.put(t, time.Minute, "a", revised(rules.HostTeardown, "surest", 3, rules.HostTeardown))
	s.put(t, time.Minute, "a", revised(rules.Completed, "well", 4, rules.HostTeardown))
	s.put(t, time.Minute, "b", func(v *rules.Verdict) { v.Rule = "surest" })
	var keys []string
	for _, d := range s.got {
		var alerts []struct{ Labels map[string]string }
		if err := json.Unmarshal([]byte(d.body), &alerts); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, alerts[0].Labels["alike"])
	}
	if len(keys) != 5 || keys[0] == "" || slices.ContainsFunc(keys[:4], func(k string) bool { return k != keys[0] }) ||
		keys[4] == keys[0] {
		t.Errorf("%q", keys)
	}
}

func (s *scene) names() (out []string) {
	for _, d := range s.got {
		out = append(out, d.name)
	}
	return out
}

// A message is sent until it is taken, under the same name; what is never taken is given up.
func TestRetries(t *testing.T) {
	s := newScene(t, "webhook", "", "")
	s.answers = []int{500, 503, 200}
	s.put(t, time.Second, "amber", nothing)
	for range 100 {
		s.clock = s.clock.Add(time.Second)
		s.flush(t)
	}
	if got := fmt.Sprint(s.names()); got != "[amber/1 amber/1 amber/1]" || s.got[0].body != s.got[2].body {
		t.Error(got)
	}
	s = newScene(t, "webhook", "", "")
	s.answers = []int{400, 302}
	s.put(t, time.Second, "amber", nothing)
	s.put(t, time.Hour, "birch", nothing)
	s.flush(t)
	if got := fmt.Sprint(s.names()); got != "[amber/1 birch/1]" {
		t.Error(got)
	}
}

// A file that cannot work is refused by one line, with where it is wrong and what.
func TestConfigMistakes(t *testing.T) {
	for text, says := range map[string]string{
		"": "notify.yaml:1: nothing is in it",
		"receivers:\n  - name: a\n    kind: slack\n    url: http://x\n    colour: red\n":    "notify.yaml:5: ",
		"receivers:\n  - name: a\n    kind: slack\n   url: http://x\n":                      "notify.yaml:4: ",
		"receivers: []\n\nroutes:\n  - {to: a, every: often}\n":                             "notify.yaml:4: ",
		"receivers: [\n{name: a, kind: slack, url: 'http://x'},\n{name: b}]\n":              "notify.yaml:3: receiver",
		"receivers: [{name: a, kind: slack, url: 'http://x'}]\nroutes:\n- to: a\n\n- to: b": "notify.yaml:5: route 2",
		"receivers: [{name: a, kind: pager, url: 'http://x'}]":                              "webhook, slack",
		"receivers: [{name: a, kind: slack}]":                                               "url or url_file",
		"receivers: [{name: a, kind: slack, url: 'ftp://x'}]":                               "http://HOST",
		"receivers: [{name: 'a b', kind: slack, url: 'http://x'}]":                          "its name",
		"receivers: [{name: a, kind: slack, url_file: /nowhere/x}]":                         "no such file",
		"receivers: [{name: a, kind: slack, url: 'http://x', template: '{{.Nothing}}'}]":    "Nothing",
		"receivers: [{name: a, kind: slack, url: 'http://x', template: '{{'}]":              "template",
		"receivers: [{name: a, kind: cloudevents, url: 'http://x', template: x}]":           "no template",
		"receivers: [{name: a, kind: slack, url: 'http://x', colour: red}]":                 "colour",
		"routes: [{to: b}]": "no such receiver",
		"receivers: [{name: a, kind: slack, url: 'http://x'}]\nroutes: [{to: a, pools: ['[']}]":         "no glob",
		"receivers: [{name: a, kind: slack, url: 'http://x'}]\nroutes: [{to: a, confidence: sure}]":     "confidence",
		"receivers: [{name: a, kind: slack, url: 'http://x'}]\nroutes: [{to: a, every: -1h}]":           "below zero",
		"receivers: [{name: a, kind: slack, url: 'http://x'}, {name: a, kind: slack, url: 'http://x'}]": "twice",
	} {
		_, err := Parse("notify.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") ||
			!strings.HasPrefix(err.Error(), "notify.yaml:") {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// A real Alertmanager takes an alert, keeps one for a pool over its revisions, and ends it.
func TestAlertmanager(t *testing.T) {
	program, err := exec.LookPath("prometheus-alertmanager")
	if err != nil {
		t.Skip("not shown: that an Alertmanager takes the alerts (prometheus-alertmanager is not installed)")
	}
	dir := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	_ = listener.Close()
	config := filepath.Join(dir, "am.yaml")
	if err := os.WriteFile(config, []byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--config.file="+config, "--storage.path="+dir, "--web.listen-address="+address,
		"--cluster.listen-address=")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	alerts := func() (out []map[string]any) {
		res, err := http.Get("http://" + address + "/api/v2/alerts")
		if err != nil {
			return nil
		}
		defer res.Body.Close()
		_ = json.NewDecoder(res.Body).Decode(&out)
		return out
	}
	ready := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for alerts() == nil {
		select {
		case <-ready:
			t.Fatal("the Alertmanager does not answer")
		case <-tick.C:
		}
	}
	s := &scene{inbox: &inbox{t: t}, clock: time.Now()}
	s.open(t, dir, fmt.Sprintf("receivers: [{name: ops, kind: alertmanager, url: 'http://%s/api/v2/alerts'}]\n"+
		"routes: [{to: ops}]\n", address))
	onPool := func(state rules.State, revision int) func(*rules.Verdict) {
		return func(v *rules.Verdict) {
			v.Kind, v.Runner, v.Label, v.State, v.Revision = casefile.OfPool, "", rules.PoolBlocked, state, revision
			v.DiedAt, v.Since, v.Rule = nil, &t0, fmt.Sprint("rule-", revision)
		}
	}
	s.put(t, 0, "amber", nothing)
	s.put(t, 0, "pool", onPool(rules.Open, 1))
	s.put(t, 0, "pool", onPool(rules.Open, 2))
	if got := alerts(); len(got) != 2 {
		t.Errorf("%d alerts: %v", len(got), got)
	}
	s.put(t, 0, "pool", onPool(rules.Resolved, 3))
	if got := alerts(); len(got) != 1 {
		t.Errorf("%d alerts after the end: %v", len(got), got)
	}
	if n, err := s.loop.List.Waiting(t.Context()); n != 0 || err != nil {
		t.Errorf("%d wait, %v", n, err)
	}
}

// The file that the documentation shows is one.
func TestDocumentedFile(t *testing.T) {
	page, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n    receivers:\n")
	text, _, _ = strings.Cut(text, "\n\n")
	text = strings.ReplaceAll("receivers:\n"+text, "\n    ", "\n")
	dir := t.TempDir()
	for _, name := range []string{"slack", "hmac", "token"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("https://x.example/\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Parse("notify.yaml", []byte(strings.ReplaceAll(text, "/etc/coroner", dir)))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if len(c.Receivers) != 4 || len(c.Routes) != 4 || c.Routes[3].FirstIn != 30*24*time.Hour {
		t.Errorf("%+v", c)
	}
}
