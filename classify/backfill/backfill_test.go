package backfill

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest/loki"
)

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// stream is what a Loki has for a query that contains a text.
type stream struct {
	contains string
	labels   map[string]string
	at       time.Time
	text     string
}

// question is what was asked, and of which time.
type question struct {
	query    string
	from, to time.Time
}

// newLoki answers each query with the streams that it contains the text of.
func newLoki(t *testing.T, streams ...stream) (*loki.Client, *[]question) {
	var asked []question
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, to := nanos(q, "start"), nanos(q, "end")
		asked = append(asked, question{q.Get("query"), from, to})
		var result []any
		for _, s := range streams {
			if strings.Contains(q.Get("query"), s.contains) && !s.at.Before(from) && s.at.Before(to) {
				result = append(result, map[string]any{
					"stream": s.labels, "values": [][]string{{strconv.FormatInt(s.at.UnixNano(), 10), s.text}},
				})
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{ // the client sees what does not arrive
			"status": "success", "data": map[string]any{"resultType": "streams", "result": result},
		})
	}))
	t.Cleanup(s.Close)
	return &loki.Client{URL: s.URL, HTTP: s.Client()}, &asked
}

func nanos(q url.Values, name string) time.Time {
	n, _ := strconv.ParseInt(q.Get(name), 10, 64)
	return time.Unix(0, n).UTC()
}

func newSource(c *loki.Client) *Source {
	return &Source{
		Client: c, From: t0.Add(-time.Hour), To: t0.Add(time.Hour),
		Streams: Streams{
			Pods: `{namespace="ci"}`, PodLabel: "pod", Journal: `{job="journal"}`, NodeLabel: "node",
			Controller: `{app="controller"}`,
		},
	}
}

// One runner's node is found by its own lines, and the node's whole journal is read
// around its life, so that what is not in it is known not to be.
func TestTheJournalOfARunnersNodeIsRead(t *testing.T) {
	c, asked := newLoki(t,
		stream{`pod=~"amber\\.1.*"`, map[string]string{"namespace": "ci", "pod": "amber.1", "node": "build-7"}, t0,
			"Listening"},
		stream{`node=~"build-7(:[0-9]+)?"`, map[string]string{"job": "journal", "node": "build-7"}, t0.Add(time.Second),
			"kernel: everything else"},
		stream{`node=~"build-8`, map[string]string{"job": "journal", "node": "build-8"}, t0, "kernel: another node"},
	)
	s := newSource(c)
	var texts []string
	for e := range s.Runner(context.Background(), "ci/amber.1") {
		texts = append(texts, e.Text)
	}
	if s.Err() != nil || s.Lines() != 2 {
		t.Fatalf("%d lines, %v", s.Lines(), s.Err())
	}
	if !slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "everything else") }) {
		t.Errorf("the node's journal is not among %q", texts)
	}
	if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "another node") }) {
		t.Errorf("another node's journal is among %q", texts)
	}
	last := (*asked)[len(*asked)-1]
	from, to := classify.Window(t0, t0)
	if last.query != `{job="journal", node=~"build-7(:[0-9]+)?"}` || !last.from.Equal(from) || !last.to.Equal(to) {
		t.Errorf("the journal is asked for as %s from %s to %s, want %s to %s", last.query, last.from, last.to, from,
			to)
	}
	for _, want := range []string{`{app="controller"} |= "amber.1"`, `{job="journal"} |= "amber.1"`} {
		if !slices.ContainsFunc(*asked, func(q question) bool { return q.query == want }) {
			t.Errorf("nobody asked for %s: %+v", want, *asked)
		}
	}
}

// Where the pod's name is no label of the stream but metadata of its lines, as k8s-monitoring has
// it since its release 2, the runner's own lines are found all the same; else nobody asks twice.
func TestAPodsNameInMetadata(t *testing.T) {
	const filter = `{namespace="ci"} | pod=~"amber.*"`
	labels := map[string]string{"namespace": "ci", "pod": "amber-1", "node": "build-7"}
	c, _ := newLoki(t, stream{filter, labels, t0, "Listening"})
	s, texts := newSource(c), ""
	for e := range s.Runner(context.Background(), "amber") {
		texts += e.Pod + " " + e.Text
	}
	if s.Err() != nil || texts != "amber-1 Listening" {
		t.Errorf("%q %v", texts, s.Err())
	}
	c, asked := newLoki(t, stream{`{namespace="ci", pod=~"amber.*"}`, labels, t0, "Listening"})
	for range newSource(c).Runner(context.Background(), "amber") {
	}
	if slices.ContainsFunc(*asked, func(q question) bool { return q.query == filter }) {
		t.Errorf("all lines are looked through: %+v", *asked)
	}
}

// Of a span of time everything is read; what could not be read is told.
func TestAllOfATime(t *testing.T) {
	c, _ := newLoki(t,
		stream{`app=`, map[string]string{"app": "controller"}, t0, "one"},
		stream{`job=`, map[string]string{"job": "journal"}, t0, "two"},
		stream{`namespace=`, map[string]string{"namespace": "ci"}, t0, "three"},
		stream{`namespace=`, map[string]string{"namespace": "ci"}, t0.Add(2 * time.Hour), "too late"},
	)
	s := newSource(c)
	for range s.All(context.Background()) {
	}
	if s.Lines() != 3 || s.Err() != nil {
		t.Errorf("%d lines, %v", s.Lines(), s.Err())
	}
	s = newSource(&loki.Client{URL: "http://127.0.0.1:1", HTTP: http.DefaultClient})
	ctx, stop := context.WithCancel(context.Background())
	stop()
	for range s.All(ctx) {
	}
	if s.Err() == nil {
		t.Error("nobody is told that nothing was read")
	}
}
