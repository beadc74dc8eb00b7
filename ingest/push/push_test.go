package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/loki/pkg/push"
	"github.com/klauspost/compress/snappy"
)

var at = time.Date(2026, 5, 4, 10, 0, 0, 123456789, time.UTC)

// whole are entries that use every field.
var whole = []ingest.Entry{
	{
		At:     at,
		Mono:   5,
		Clock:  ingest.WallClock,
		Source: ingest.Kernel,
		Trust:  ingest.Attested,
		Node:   "n1",
		Boot:   "b",
		Text:   `oom "x" {y}`,
		Doc:    "journal",
		Line:   7,
		Cursor: "s=1;i=2",
	},
	{
		At:     at,
		Clock:  ingest.WallClock,
		Source: ingest.Kata,
		Trust:  ingest.Attested,
		Node:   "n1",
		Unit:   "kata",
		Text:   "m",
		Cut:    3,
		Fields: map[string]string{"SOURCE": "abc", "msg": "m"},
	},
	{
		After:       at,
		Source:      ingest.Runner,
		Node:        "n1",
		Namespace:   "arc",
		Pod:         "p",
		PodUID:      "u",
		Container:   "runner",
		ContainerID: "c",
		Text:        "√ Connected to GitHub",
	},
	{
		At:     at,
		Clock:  ingest.WallClock,
		Source: ingest.Kubelet,
		Trust:  ingest.Attested,
		Node:   "n1",
		Mark:   &ingest.Mark{Kind: ingest.Gap, From: at.Add(-time.Minute), To: at, Why: "vacuumed"},
	},
	{
		Source:    ingest.Runner,
		Node:      "n1",
		Namespace: "arc",
		Pod:       "p",
		PodUID:    "u",
		Container: "runner",
		Mark:      &ingest.Mark{Lines: 9, From: at, To: at},
	},
	{At: at, Source: ingest.Agent, Node: "n1", Mark: &ingest.Mark{Kind: ingest.Reached, To: at}},
	{At: at, Clock: ingest.WallClock, Source: ingest.Kernel, Trust: ingest.Attested, Cluster: `ea"st`, Node: "n1",
		Text: "of a cluster"},
}

// post sends a request to a handler and returns what it received.
func post(
	t *testing.T, h func(receive func(context.Context, []ingest.Entry) error) *Handler, req *http.Request,
) (*httptest.ResponseRecorder, []ingest.Entry) {
	t.Helper()
	var got []ingest.Entry
	handler := h(func(_ context.Context, e []ingest.Entry) error {
		got = append(got, e...)
		return nil
	})
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, req)
	return w, got
}

func plainHandler(receive func(context.Context, []ingest.Entry) error) *Handler {
	return NewHandler(Limits{}, nil, receive, func(string) {})
}

func agentRequest(t testing.TB, entries []ingest.Entry) *http.Request {
	t.Helper()
	body, err := Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, Path, bytes.NewReader(body))
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set(AgentHeader, "n1")
	return req
}

// Nothing of an entry is lost on the way.
func TestAgentEntriesArriveWhole(t *testing.T) {
	w, got := post(t, plainHandler, agentRequest(t, whole))
	if w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	byText := func(all []ingest.Entry) map[string]ingest.Entry {
		m := map[string]ingest.Entry{}
		for _, e := range all {
			key := string(e.Source) + e.Text
			if e.Mark != nil {
				key += markNames[e.Mark.Kind]
			}
			m[key] = e
		}
		return m
	}
	if diff := cmp.Diff(byText(whole), byText(got)); diff != "" {
		t.Error(diff)
	}
}

// Without the header nobody is an agent: a line cannot claim trust.
func TestMetadataOfAStrangerIsNoTrust(t *testing.T) {
	req := agentRequest(t, whole[:1])
	req.Header.Del(AgentHeader)
	_, got := post(t, plainHandler, req)
	for _, e := range got {
		if e.Source == ingest.Kernel && e.Trust == ingest.Attested {
			t.Errorf("%+v", e)
		}
	}
}

// Streams as Grafana's k8s-monitoring ships them.
func TestPlainStreams(t *testing.T) {
	text := `{"streams":[
	 {"stream":{"job":"integrations/kubernetes/journal","instance":"n7","unit":"kubelet.service"},` +
		`"values":[["1777888800000000000","E0504 10:00:00.000000 1 a.go:1] \"x\""]]},
	 {"stream":{"job":"integrations/kubernetes/journal","instance":"n7","transport":"kernel"},` +
		`"values":[["1777888800000000001","Out of memory: Killed process 1 (x)"]]},
	 {"stream":{"namespace":"arc","pod":"p-runner-1","container":"runner","instance":"arc/p-runner-1:runner",` +
		`"job":"arc/runner"},"values":[["1777888800000000002","hello",{"pod_uid":"u"}]]},
	 {"stream":{"namespace":"arc-systems","pod":"arc-controller-0","container":"manager"},` +
		`"values":[["1777888800000000003","2026-05-04T10:00:00Z INFO x y"]]}]}`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(text))
	z.Close()
	for name, body := range map[string]*bytes.Buffer{"": bytes.NewBufferString(text), "gzip": &zipped} {
		req := httptest.NewRequest(http.MethodPost, Path, body)
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		req.Header.Set("Content-Encoding", name)
		w, got := post(t, plainHandler, req)
		if w.Code != http.StatusNoContent || len(got) != 4 {
			t.Fatalf("%q: %d %s: %+v", name, w.Code, w.Body, got)
		}
		for i, want := range []struct {
			source ingest.Source
			trust  ingest.Trust
			node   string
		}{
			{ingest.Kubelet, ingest.Attested, "n7"}, {ingest.Kernel, ingest.Attested, "n7"},
			{ingest.Runner, ingest.Claimed, ""}, {ingest.Controller, ingest.Attested, ""},
		} {
			if e := got[i]; e.Source != want.source || e.Trust != want.trust || e.Node != want.node ||
				e.At.UnixNano() != 1777888800000000000+int64(i) {
				t.Errorf("%q: %+v, want %+v", name, e, want)
			}
		}
		if e := got[2]; e.Pod != "p-runner-1" || e.PodUID != "u" || e.Namespace != "arc" {
			t.Errorf("%+v", e)
		}
	}
}

// A stream is a controller's if its labels name the namespace: a line can name any itself.
func TestControllerByMetadata(t *testing.T) {
	const line = `2026-05-04T10:00:00Z INFO x y`
	for labels, want := range map[string]ingest.Source{
		`"namespace":"arc-systems","container":"manager"`: ingest.Controller,
		`"exporter":"OTLP"`:                        ingest.Job,
		`"namespace":"arc","k8s_pod_name":"job-1"`: ingest.Job,
	} {
		body := `{"streams":[{"stream":{` + labels + `},"values":[["1777888800000000000","` + line +
			`",{"namespace":"arc-systems","pod":"arc-controller-0","container":"manager"}]]}]}`
		req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if _, got := post(t, plainHandler, req); len(got) != 1 || got[0].Source != want ||
			got[0].Trust == ingest.Attested && want == ingest.Job {
			t.Errorf("{%s}: %+v, want %s", labels, got, want)
		}
	}
}

// A pod that the operator named is a controller's, whatever else is said of its lines.
func TestNamedControllerWithMetadata(t *testing.T) {
	const body = `{"streams":[{"stream":{"namespace":"ops","pod":"dispatcher-0"},"values":[["1777888800000000000",` +
		`"runner pod terminated pod=a exitCode=1",{"level":"info"}]]}]}`
	req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	_, got := post(t, func(receive func(context.Context, []ingest.Entry) error) *Handler {
		return NewHandler(Limits{}, ingest.PodGlobs{"ops/dispatcher-*"}.Name, receive, func(string) {})
	}, req)
	if len(got) != 1 || got[0].Source != ingest.Controller || got[0].Trust != ingest.Attested {
		t.Errorf("%+v", got)
	}
}

// A plain stream is a controller's if the operator named its pod.
func TestNamedController(t *testing.T) {
	stream := func(namespace, pod string) string {
		return `{"stream":{"namespace":"` + namespace + `","pod":"` + pod +
			`","container":"main"},"values":[["1777888800000000000","runner pod terminated pod=a exitCode=1"]]}`
	}
	body := `{"streams":[` + stream("ops",
		"dispatcher-0") + "," + stream("ci", "dispatcher-0") + "," + stream("ops", "job-1") + "]}"
	req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	_, got := post(t, func(receive func(context.Context, []ingest.Entry) error) *Handler {
		return NewHandler(Limits{}, ingest.PodGlobs{"ops/dispatcher-*"}.Name, receive, func(string) {})
	}, req)
	if len(got) != 3 || got[0].Source != ingest.Controller || got[0].Trust != ingest.Attested ||
		got[1].Source != ingest.Job || got[2].Source != ingest.Job {
		t.Errorf("%+v", got)
	}
}

func TestAnswers(t *testing.T) {
	ok := func() *http.Request { return agentRequest(t, whole[:1]) }
	with := func(body string, kind string) func() *http.Request {
		return func() *http.Request {
			req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
			req.Header.Set("Content-Type", kind)
			return req
		}
	}
	bomb := snappy.Encode(nil, bytes.Repeat([]byte{0}, 1<<16))
	bad, _ := (&push.PushRequest{Streams: []push.Stream{{Labels: "{x", Entries: []push.Entry{{Line: "x"}}}}}).Marshal()
	const small = 4096
	for _, tt := range []struct {
		what   string
		req    func() *http.Request
		fail   error
		code   int
		reason string
		after  string
	}{
		{"taken", ok, nil, 204, "", ""},
		{"not stored", ok, errors.New("disk full"), 503, "not-stored", "5"},
		{"not snappy", with("hello", "application/x-protobuf"), nil, 400, "malformed", ""},
		{"not JSON", with("{", "application/json"), nil, 400, "malformed", ""},
		{
			"no time", with(`{"streams":[{"stream":{},"values":[["x","y"]]}]}`, "application/json"), nil, 400,
			"malformed", "",
		},
		{"labels", with(string(snappy.Encode(nil, bad)), "application/x-protobuf"), nil, 400, "malformed", ""},
		{"too large", with(strings.Repeat("x", small+1), "application/json"), nil, 413, "too-large", ""},
		{"too large unpacked", with(string(bomb), "application/x-protobuf"), nil, 413, "too-large", ""},
	} {
		reason := ""
		h := NewHandler(Limits{Body: small, Content: small}, nil,
			func(context.Context, []ingest.Entry) error { return tt.fail }, func(r string) { reason = r })
		w := httptest.NewRecorder()
		h.ServeHTTP(w, tt.req())
		if w.Code != tt.code || reason != tt.reason || w.Header().Get("Retry-After") != tt.after {
			t.Errorf("%s: %d %q %q, want %d %q %q", tt.what, w.Code, reason, w.Header().Get("Retry-After"), tt.code,
				tt.reason, tt.after)
		}
	}
}

// A server that is full says so at once instead of queueing.
func TestBusy(t *testing.T) {
	in, out := make(chan struct{}), make(chan struct{})
	h := NewHandler(Limits{Busy: 1}, nil, func(context.Context, []ingest.Entry) error {
		close(in)
		<-out
		return nil
	}, func(string) {})
	go h.ServeHTTP(httptest.NewRecorder(), agentRequest(t, whole[:1]))
	<-in
	w := httptest.NewRecorder()
	h.ServeHTTP(w, agentRequest(t, whole[:1]))
	close(out)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// The sender knows which answers are worth another try.
func TestSenderReadsAnswers(t *testing.T) {
	code := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer t" || r.Header.Get(AgentHeader) != "n1" {
			t.Errorf("%v", r.Header)
		}
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(code)
	}))
	defer server.Close()
	s := &Sender{
		URL:    server.URL,
		Node:   "n1",
		Token:  func() (string, error) { return "t", nil },
		Client: server.Client(),
	}
	for c, want := range map[int]string{
		204: "ok", 400: "refused", 413: "refused", 429: "later", 503: "later", 401: "later", 500: "later",
	} {
		code = c
		err := s.Post(context.Background(), nil)
		var refused Refused
		var later Later
		got := "ok"
		switch {
		case errors.As(err, &refused):
			got = "refused"
		case errors.As(err, &later):
			got = "later"
			if later.After != 7*time.Second {
				t.Errorf("%d: %v", c, later.After)
			}
		case err != nil:
			got = err.Error()
		}
		if got != want {
			t.Errorf("%d: %s, want %s", c, got, want)
		}
	}
}

// What a server cannot store another one behind the same address may: a sender asks it at
// once, over a new connection, and once. A server that is busy is left in peace.
func TestSenderTriesAnotherServer(t *testing.T) {
	stored := errors.New("the database is away")
	taken := func(context.Context, []ingest.Entry) error { return nil }
	away := func(context.Context, []ingest.Entry) error { return stored }
	for name, tt := range map[string]struct {
		first http.Handler
		asked int // servers
		taken bool
	}{
		"one without its ledger": {NewHandler(Limits{}, nil, away, func(string) {}), 2, true},
		"one that was killed": {http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler)
		}), 2, true},
		"one that is busy": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}), 1, false},
		"one that refuses": {http.NotFoundHandler(), 1, false},
	} {
		var clients []string
		second := NewHandler(Limits{}, nil, taken, func(string) {})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if clients = append(clients, r.RemoteAddr); len(clients) == 1 {
				tt.first.ServeHTTP(w, r)
				return
			}
			second.ServeHTTP(w, r)
		}))
		body, err := Encode([]ingest.Entry{{Node: "n1", Source: ingest.Kernel, At: at, Text: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		err = (&Sender{URL: server.URL + Path, Node: "n1", Client: server.Client()}).PostToAny(t.Context(), body)
		if (err == nil) != tt.taken || len(clients) != tt.asked || tt.asked == 2 && clients[0] == clients[1] {
			t.Errorf("%s: %v, asked by %v", name, err, clients)
		}
		server.Close()
	}
	// Nobody takes it: the sender asks twice and says why.
	asked := 0
	none := NewHandler(Limits{}, nil, away, func(string) {})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		none.ServeHTTP(w, r)
	}))
	defer server.Close()
	body, _ := Encode([]ingest.Entry{{Node: "n1", Source: ingest.Kernel, At: at, Text: "x"}})
	err := (&Sender{URL: server.URL + Path, Node: "n1", Client: server.Client()}).PostToAny(t.Context(), body)
	var later Later
	if !errors.As(err, &later) || later.Status != 503 || later.After == 0 || asked != 2 {
		t.Errorf("%v after %d requests", err, asked)
	}
}

// FuzzHandler: no body makes the handler panic or hand on a line beyond the limit.
func FuzzHandler(f *testing.F) {
	body, _ := Encode(whole)
	f.Add(body, "application/x-protobuf", "", true)
	f.Add([]byte(`{"streams":[{"stream":{"pod":"p"},"values":[["1","x",{"a":"b"}]]}]}`), "application/json", "", false)
	f.Add([]byte("\x1f\x8b"), "application/json", "gzip", false)
	f.Fuzz(func(t *testing.T, body []byte, kind, encoding string, agent bool) {
		req := httptest.NewRequest(http.MethodPost, Path, bytes.NewReader(body))
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Content-Encoding", encoding)
		if agent {
			req.Header.Set(AgentHeader, "n1")
		}
		h := NewHandler(Limits{Body: 1 << 16, Content: 1 << 20}, nil,
			func(_ context.Context, entries []ingest.Entry) error {
				for _, e := range entries {
					if len(e.Text) > ingest.MaxText || e.Source.Forgeable() && e.Trust == ingest.Attested {
						t.Errorf("%+v", e)
					}
				}
				return nil
			}, func(string) {})
		h.ServeHTTP(httptest.NewRecorder(), req)
	})
}

// What an agent reads back of its own pushes is what it had put into them, and of what is none it
// learns that it is none.
func TestDecode(t *testing.T) {
	body, err := Encode(whole)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(body)
	if err != nil || len(got) != len(whole) {
		t.Fatalf("%d entries, %v", len(got), err)
	}
	for _, want := range whole {
		has := func(e ingest.Entry) bool {
			return cmp.Equal(e.Mark, want.Mark) && e.Text == want.Text && e.Source == want.Source && e.Pod == want.Pod
		}
		if !slices.ContainsFunc(got, has) {
			t.Errorf("%+v is not there", want)
		}
	}
	bomb := snappy.Encode(nil, make([]byte, maxDecoded+1))
	for _, bad := range [][]byte{nil, body[:len(body)/2], []byte("x"), snappy.Encode(nil, []byte("x")), bomb} {
		if got, err := Decode(bad); err == nil && len(bad) > 0 {
			t.Errorf("%d bytes of something else: %d entries", len(bad), len(got))
		}
	}
}
