package push

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// pushed is what becomes of a push with a credential: the clusters of what was
// received, and why it was refused.
func pushed(
	h *Handler, got *[]ingest.Entry, req *http.Request, id *Identity,
) (clusters []string, answer *httptest.ResponseRecorder) {
	*got = nil
	if id != nil {
		req = req.WithContext(WithIdentity(req.Context(), *id))
	}
	answer = httptest.NewRecorder()
	h.ServeHTTP(answer, req)
	for _, e := range *got {
		clusters = append(clusters, e.Cluster)
	}
	return clusters, answer
}

// shipped is a push of one line, with labels and structured metadata.
func shipped(labels, metadata, line string) *http.Request {
	body := fmt.Sprintf(`{"streams":[{"stream":{"unit":"kubelet.service"},"values":[["1777888800000000000","first"]]},
		{"stream":{%s},"values":[["1777888800000000000",%q,{%s}]]}]}`, labels, line, metadata)
	req := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	return req
}

// What a credential's cluster is, the whole push is of; a label that says another
// one is refused, with the whole push. Without a credential's the label counts. What a container
// prints names none, and has no push refused.
func TestClusterOfAPush(t *testing.T) {
	var got []ingest.Entry
	refused := map[string]int{}
	h := NewHandler(Limits{}, nil, func(_ context.Context, e []ingest.Entry) error {
		got = append(got, e...)
		return nil
	}, func(reason string) { refused[reason]++ })
	agent := func(cluster string) *http.Request {
		return agentRequest(t, []ingest.Entry{
			{At: at, Source: ingest.Kernel, Node: "n1", Text: "a"},
			{At: at, Source: ingest.Kernel, Node: "n1", Cluster: cluster, Text: "b"},
		})
	}
	pod, journal := `"namespace":"ci","pod":"p-1","container":"runner"`, `"job":"systemd-journal","node":"n1"`
	east, none := &Identity{Cluster: "east"}, &Identity{}
	for _, tt := range []struct {
		name string
		req  *http.Request
		id   *Identity
		want []string // nil: refused
	}{
		{"no credential", shipped(pod, ``, "x"), nil, []string{"", ""}},
		{"a label", shipped(pod+`,"cluster":"west"`, ``, "x"), nil, []string{"", "west"}},
		{"a label, any credential", shipped(pod+`,"cluster":"west"`, ``, "x"), none, []string{"", "west"}},
		{"a program's metadata", shipped(pod, `"k8s_cluster_name":"west"`, "x"), nil, []string{"", ""}},
		{"a journal's metadata", shipped(journal, `"k8s_cluster_name":"west"`, "x"), nil, []string{"", "west"}},
		{"a credential", shipped(pod, ``, "x"), east, []string{"east", "east"}},
		{"the same label", shipped(pod+`,"cluster":"east"`, ``, "x"), east, []string{"east", "east"}},
		{"another label", shipped(pod+`,"cluster":"west"`, ``, "x"), east, nil},
		{"a program's other metadata", shipped(pod, `"k8s.cluster.name":"west"`, "x"), east, []string{"east", "east"}},
		{"a journal's other metadata", shipped(journal, `"k8s.cluster.name":"west"`, "x"), east, nil},
		{"an agent", agent("west"), nil, []string{"", "west"}},
		{"an agent's credential", agent(""), east, []string{"east", "east"}},
		{"an agent of another", agent("west"), east, nil},
	} {
		clusters, answer := pushed(h, &got, tt.req, tt.id)
		if tt.want == nil {
			text := answer.Body.String()
			clear := strings.Contains(text, `"west"`) && strings.Count(text, "\n") == 1
			if answer.Code != http.StatusForbidden || len(got) > 0 || !clear {
				t.Errorf("%s: %d %q, %d entries", tt.name, answer.Code, text, len(got))
			}
			continue
		}
		if answer.Code != http.StatusNoContent || !slices.Equal(clusters, tt.want) {
			t.Errorf("%s: %d %s, of %q, want %q", tt.name, answer.Code, answer.Body, clusters, tt.want)
		}
	}
	if refused["cluster"] != 3 || len(refused) != 1 {
		t.Errorf("counted: %v", refused)
	}
}

// A line whose halves came with two credentials is no line, whatever their labels.
func TestHalvesOfALineFromTwoClusters(t *testing.T) {
	var got []ingest.Entry
	h := NewHandler(Limits{}, nil, func(_ context.Context, e []ingest.Entry) error {
		got = append(got, e...)
		return nil
	}, func(string) {})
	pod := `"namespace":"ci","pod":"p-1","container":"runner"`
	half := func(tag, text string, id *Identity) (out []string) {
		pushed(h, &got, shipped(pod, ``, "2026-05-04T10:00:00.000000000Z stdout "+tag+" "+text), id)
		for _, e := range got {
			if e.Pod != "" {
				out = append(out, e.Cluster+": "+e.Text)
			}
		}
		return out
	}
	east, west := &Identity{Cluster: "east"}, &Identity{Cluster: "west"}
	half("P", "first ", east)
	if all := half("F", "alone", west); !slices.Equal(all, []string{"west: alone"}) {
		t.Errorf("%q", all)
	}
	if all := half("F", "and last", east); !slices.Equal(all, []string{"east: first and last"}) {
		t.Errorf("%q", all)
	}
}

// A line whose end did not come is given up when somebody else pushes; it stays that of
// the credential that it came with.
func TestAGivenUpLineStaysItsOwn(t *testing.T) {
	var got []string
	h := NewHandler(Limits{}, nil, func(ctx context.Context, e []ingest.Entry) error {
		id, _ := IdentityFrom(ctx)
		for i := range e {
			if e[i].Pod != "" {
				got = append(got, fmt.Sprintf("%s %s: %s", id.Cluster, e[i].Cluster, e[i].Text))
			}
		}
		return nil
	}, func(string) {})
	push := func(id Identity, tag, text string) {
		pod := `"namespace":"ci","pod":"p-` + id.Cluster + `","container":"runner"`
		req := shipped(pod, ``, "2026-05-04T10:00:00.000000000Z stdout "+tag+" "+text)
		h.ServeHTTP(httptest.NewRecorder(), req.WithContext(WithIdentity(t.Context(), id)))
	}
	push(Identity{}, "P", "of no cluster")
	push(Identity{Cluster: "east"}, "P", "of the east")
	push(Identity{Cluster: "west"}, "F", "of the west")
	for _, key := range h.feeds.all.Keys() {
		f, _ := h.feeds.all.Peek(key)
		f.used = f.used.Add(-time.Hour)
	}
	push(Identity{}, "F", "the last")
	want := []string{"west west: of the west", "east east: of the east", " : of no cluster", " : the last"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A context without an identity has none, which is not one that may do anything.
func TestIdentityFrom(t *testing.T) {
	if id, ok := IdentityFrom(t.Context()); ok || id != (Identity{}) {
		t.Error(id, ok)
	}
	want := Identity{Cluster: "east", Node: "n1", Agent: true}
	if id, ok := IdentityFrom(WithIdentity(t.Context(), want)); !ok || id != want {
		t.Error(id, ok)
	}
}
