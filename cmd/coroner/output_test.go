package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"coroner/classify/lookup"
	"coroner/cmd/objects"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// YAML says what JSON says, under the same names and in the same order, also
// of text that YAML has no characters for or would take for something else.
func TestYAMLSaysWhatJSONSays(t *testing.T) {
	code := 137
	v := rules.Verdict{Runner: "true", Namespace: "12", Node: "null", PodUID: "2026-03-01", Label: rules.CgroupOOM,
		Exit: rules.Exit{Code: &code},
		Summary: "a\x00\x07\x1b[2J\x7f\u0085\u202e\u2028\ufeff\U0001F600 \\ \" ' : # - --- ... \n---\nlabel: none\n" +
			"\t\xff",
		Missing: []string{"", " ", "~", "- x", "!!str", "*a", "&a", "%", "@", "`", strings.Repeat("long ", 300)}}
	var js, ym strings.Builder
	if err := objects.JSON(&js, []rules.Verdict{v}); err != nil {
		t.Fatal(err)
	}
	if err := objects.YAML(&ym, []rules.Verdict{v, v}); err != nil {
		t.Fatal(err)
	}
	var want, got map[string]any
	if err := json.Unmarshal([]byte(js.String()), &want); err != nil {
		t.Fatal(err)
	}
	dec := yaml.NewDecoder(strings.NewReader(ym.String()))
	for range 2 {
		got = nil
		if err := dec.Decode(&got); err != nil {
			t.Fatalf("%v in\n%s", err, ym.String())
		}
		want["exit"].(map[string]any)["code"], want["exit"].(map[string]any)["signal"], want["revision"] = 137, 0, 0
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	if strings.IndexByte(ym.String(), 0x1b) >= 0 {
		t.Error("an escape character goes to the terminal")
	}
	if !strings.HasPrefix(ym.String(), "---\nrunner: 'true'\nnamespace: '12'\n") {
		t.Errorf("other names, order or types:\n%.100s", ym.String())
	}
}

// A label that is nearly right is named; nonsense is not guessed at.
func TestNearLabel(t *testing.T) {
	away := &lookup.Client{Server: "http://127.0.0.1:1", HTTP: http.DefaultClient}
	for typed, want := range map[string]string{
		"cgrop-OOM": "did you mean cgroup-OOM?", "host-teardwon": "did you mean host-teardown?",
		"evict": "did you mean evicted?", "oom": "no such label; coroner rules list",
		"": "no such label; coroner rules list",
	} {
		if _, err := away.KnownLabel(t.Context(), typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", typed, err, want)
		}
	}
	if l, err := away.KnownLabel(t.Context(), "sigterm-DRAIN"); err != nil || l != rules.SIGTERMDrain {
		t.Errorf("%v, %v", l, err)
	}
}
