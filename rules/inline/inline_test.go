package inline

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"coroner/rules/yamlfile"
)

// read reads one test of a fact from YAML, and says what is wrong with it.
func read(t *testing.T, text string) (FactTest, error) {
	t.Helper()
	var mistakes yamlfile.Errors
	r := yamlfile.NewReader(yamlfile.File{Name: "own.yaml", Data: []byte(text)}, &mistakes)
	n := r.Root()
	if n == nil || n.Kind != yaml.MappingNode {
		t.Fatal(mistakes)
	}
	return ReadFactTest(r, n), mistakes.Join()
}

func TestReadFactTest(t *testing.T) {
	got, err := read(t, "name: a\nfiles: {node.log: b}\nwant: ''\n")
	if err != nil || got.Name != "a" || got.Files["node.log"] != "b" || got.Want != "" || got.Pos() != "own.yaml:1:1" {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"name: a\nfiles: {node.log: b}\n":                "own.yaml:1:1: a test of a fact says what the fact must be",
		"name: a\nwant: 1\nverdict: none\n":              `own.yaml:3:1: unknown key "verdict" in fact test`,
		"name: a\nwant: [1, 2]\nfiles: {node.log: hm}\n": "own.yaml:2:7: must be text",
	} {
		if _, err := read(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
