package inline

import (
	"strings"
	"testing"
	"testing/fstest"

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

func TestReadFiles(t *testing.T) {
	files := func(text string) fstest.MapFS {
		return fstest.MapFS{"own.yaml": {Data: []byte("facts: []\n")}, "own_test.yaml": {Data: []byte(text)}}
	}
	facts := []string{"job_done", "job_seen"}
	got, err := ReadFiles(files(`tests:
  job_seen:
    - {name: a, files: {a.log: b}, want: true}
    - {name: b, files: {a.log: c}, want: false}
  job_done: {want: false}
`), facts)
	if err != nil || len(got) != 2 || got[0].Fact != "job_seen" || len(got[0].Tests) != 2 || len(got[1].Tests) != 1 ||
		got[0].Tests[1].Name != "b" || got[0].Tests[1].Pos() != "own_test.yaml:4:7" {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"tests:\n  job_sen: []\n": `own_test.yaml:2:3: unknown key "job_sen" in tests, whose keys are names of facts` +
			` (did you mean job_seen?)`,
		"tests: {job_seen: [{want: 1}], job_seen: []}\n": `key "job_seen" is given twice`,
		"tests: {job_seen: [{name: a}]}\n":               "own_test.yaml:1:20: a test of a fact says what",
		"tests: {}\nfacts: []\n":                         `own_test.yaml:2:1: unknown key "facts" in file of tests`,
		"tests: [\n":                                     "own_test.yaml:",
	} {
		if _, err := ReadFiles(files(text), facts); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
