package kube

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"coroner/ingest"
	"coroner/ingest/document"
)

// TestYAMLSame: an object says the same in YAML as in JSON, whether the whole
// document or an item of a list.
func TestYAMLSame(t *testing.T) {
	var v any
	if err := json.Unmarshal([]byte(podJSON), &v); err != nil {
		t.Fatal(err)
	}
	one, err := yaml.Dump(v)
	if err != nil {
		t.Fatal(err)
	}
	list, err := yaml.Dump(map[string]any{"apiVersion": "v1", "items": []any{v}, "kind": "List"})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{string(one), string(list), "---\n" + string(one) + "...\n",
		strings.ReplaceAll(string(one), "\n", "\r\n")} {
		got, n, err := read(t, in)
		if n != 1 || err != nil {
			t.Fatalf("n %d err %v", n, err)
		}
		if d := cmp.Diff(podWant, got); d != "" {
			t.Error(d)
		}
	}
}

func TestYAMLShapes(t *testing.T) {
	const item = "apiVersion: v1\n%kind: Node\n%metadata:\n%  name: NAME\n%status:\n" +
		"%  conditions: [{type: Ready, status: \"True\"}]\n"
	node := func(name, indent string) string {
		return strings.NewReplacer("NAME", name, "%", indent).Replace(item)
	}
	want := []string{
		`- @a node condition type=Ready status=True`, `- @b node condition type=Ready status=True`,
		`covered @a 0`, `covered @b 0`,
	}
	for name, in := range map[string]string{
		"documents": node("a", "") + "---\n" + node("b", "") + "--- # end\n",
		"list": "apiVersion: v1\nitems:\n- " + node("a", "  ") + "\n# note\n- " + node("b", "  ") +
			"kind: List\nmetadata:\n  resourceVersion: \"\"\n",
		"indented list": "items:\n\n  - " + node("a", "    ") + "  - " + node("b", "    ") + "kind: List\n",
		"flow list": `items: [{kind: Node, apiVersion: v1, metadata: {name: a}, ` +
			`status: {conditions: [{type: Ready, status: "True"}]}}, {kind: Node, apiVersion: v1, ` +
			`metadata: {name: b}, status: {conditions: [{type: Ready, status: yes, status: "True"}]}}]`,
		"sequence":    "- " + node("a", "  ") + "- " + node("b", "  "),
		"empty items": "items: []\n---\n" + node("a", "") + "---\n" + node("b", ""),
		"list of a kind": "kind: NodeList\napiVersion: v1\nitems:\n- metadata: {name: a}\n" +
			"  status: {conditions: [{type: Ready, status: \"True\"}]}\n- metadata: {name: b}\n" +
			"  status: {conditions: [{type: Ready, status: \"True\"}]}\n",
		"anchors": "items:\n- &x\n  " + node("a", "  ") +
			"- apiVersion: v1\n  kind: Node\n  metadata: {name: b}\n  status:\n" +
			"    conditions: [{type: Ready, status: \"True\"}]\n",
	} {
		got, n, err := read(t, in)
		if n != 2 || err != nil {
			t.Errorf("%s: n %d err %v", name, n, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestYAMLScalars: what YAML would guess stays as written.
func TestYAMLScalars(t *testing.T) {
	got, _, err := read(
		t,
		"kind: Pod\napiVersion: v1\nmetadata: {name: 0123, namespace: no}\nstatus:\n  containerStatuses:\n"+
			"  - name: 1e3\n    restartCount: '2'\n    state:\n      terminated:\n        exitCode: 137\n"+
			"        finishedAt: 2031-01-01T00:00:09Z\n        startedAt: null\n        reason: ~\n"+
			"        message: |\n          two\n          lines\n",
	)
	want := []string{
		`00:00:09 no/0123/1e3 container terminated container=1e3 exit_code=137 finished_at=2031-01-01T00:00:09Z ` +
			`which=state restarts=2 message="two lines"`,
		`covered no/0123 0`,
	}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// TestYAMLBombs: aliases, depth and size end in ErrNotObject, quickly.
func TestYAMLBombs(t *testing.T) {
	bomb := "apiVersion: v1\nkind: Pod\nmetadata:\n  a0: &a0 x\n"
	for i := 1; i < 30; i++ {
		p := "a" + string(rune('a'+i-1))
		if i == 1 {
			p = "a0"
		}
		bomb += "  a" + string(rune('a'+i)) + ": &a" + string(rune('a'+i)) + " [*" + p + ", *" + p + "]\n"
	}
	for name, in := range map[string]string{
		"aliases": bomb,
		"depth":   "kind: Pod\nmetadata: " + strings.Repeat("[", 5000),
		"size":    "kind: Pod\nmetadata:\n  name: " + strings.Repeat("x", maxYAML),
	} {
		if _, n, err := read(t, in); n != 0 || !errors.Is(err, ErrNotObject) {
			t.Errorf("%s: n %d err %v", name, n, err)
		}
	}
}

// TestClean: values cannot add fields, lines or control characters.
func TestClean(t *testing.T) {
	_, text, cut := fieldsAndText(
		"event",
		[]pair{{"reason", "a\x1b[31mb\u202e"}, {"empty", " "}, {"message", "x\n exit_code=0 \"q\" \xff"}},
	)
	if want := `event reason=ab message="x  exit_code=0 \"q\" ` + "\uFFFD" + `"`; text != want || cut != 0 {
		t.Errorf("%q cut %d", text, cut)
	}
	long := []pair{
		{"a", strings.Repeat("é ", maxValue)},
		{"b", strings.Repeat("y", maxValue)},
		{"c", strings.Repeat("z", 9999)},
		{"d", strings.Repeat("\x00", 9999)},
		{"e", strings.Repeat("\"", maxValue)},
	}
	m, text, cut := fieldsAndText("m", long)
	if len(text) > ingest.MaxText || !utf8.ValidString(text) || cut == 0 || len(m["a"]) > maxValue {
		t.Errorf("text %d bytes, cut %d, a %d", len(text), cut, len(m["a"]))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(
		[]byte(
			`{"kind":"Pod","metadata":{"name":"p","deletionTimestamp":"2031-01-01T00:00:00Z",` +
				`"deletionGracePeriodSeconds":"1e9"},"status":{"phase":"Failed","containerStatuses":[{"name":"c",` +
				`"state":{"terminated":{"exitCode":1}}}]}}`,
		),
	)
	f.Add(
		[]byte(
			"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: x\n- kind: Node\n" +
				"kind: List\n",
		),
	)
	f.Add([]byte("kind: Pod\nmetadata: &a {name: x, labels: *a}\nstatus: {phase: Failed}\n"))
	f.Add(
		[]byte(
			`{"type":"ADDED","object":{"kind":"Event","involvedObject":{"kind":"Pod","name":"p",` +
				`"fieldPath":"spec.containers{c}"},"message":"\u0000\ud800"}}x`,
		),
	)
	f.Add(
		[]byte(
			`{"items":[{"metadata":{"name":"n"},"status":{"nodeInfo":{},"conditions":[null,` +
				`{"lastTransitionTime":1}]}},`,
		),
	)
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := Read(document.Document{Name: "f"}, data, func(e ingest.Entry) bool {
			checkEntry(t, e)
			return true
		})
		tail := (*TailError)(nil)
		switch {
		case n == 0 && err != nil && !errors.Is(err, ErrNotObject):
			t.Fatalf("no object, but %v", err)
		case n > 0 && err != nil && (!errors.As(err, &tail) || tail.Offset < 0 || tail.Offset > len(data)):
			t.Fatalf("%d objects and %v", n, err)
		}
		Sniff(data)
	})
}

// checkEntry holds an entry against what package ingest promises.
func checkEntry(t *testing.T, e ingest.Entry) {
	t.Helper()
	for _, s := range []string{e.Text, e.Pod, e.Namespace, e.Container, e.Node, e.PodUID, e.ContainerID,
		e.Fields["message"]} {
		bad := strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
		if bad || !utf8.ValidString(s) || len(s) > ingest.MaxText {
			t.Fatalf("bad text %q", s)
		}
	}
	if e.Mark == nil && e.Fields["msg"] == "" || e.At.IsZero() != (e.Clock == ingest.NoClock) {
		t.Fatalf("bad entry %+v", e)
	}
}
