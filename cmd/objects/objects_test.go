package objects_test

import (
	"strings"
	"testing"

	"coroner/cmd/objects"

	"go.yaml.in/yaml/v4"
)

type value struct {
	Second string   `json:"second"`
	First  *int     `json:"first"`
	List   []string `json:"list"`
	On     bool     `json:"on"`
}

// Names and order are the same in both forms, whatever characters a text has.
func TestBothForms(t *testing.T) {
	n := 3221225786
	all := []value{{"<a> & \x1b\"b\" 12", &n, []string{"x: y", "- z"}, true}, {}}
	var lines, docs strings.Builder
	if err := objects.JSON(&lines, all); err != nil {
		t.Fatal(err)
	}
	if err := objects.YAML(&docs, all); err != nil {
		t.Fatal(err)
	}
	if want := `{"second":"<a> & \u001b\"b\" 12","first":3221225786,"list":["x: y","- z"],"on":true}` + "\n" +
		`{"second":"","first":null,"list":null,"on":false}` + "\n"; lines.String() != want {
		t.Errorf("got  %s\nwant %s", lines.String(), want)
	}
	var read []string
	for doc := range strings.SplitSeq(strings.TrimPrefix(docs.String(), "---\n"), "---\n") {
		var back value
		if err := yaml.Load([]byte(doc), &back); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		first, _, _ := strings.Cut(doc, ":")
		read = append(read, first)
		was := all[len(read)-1]
		if back.Second != was.Second || len(back.List) != len(was.List) || back.On != was.On {
			t.Errorf("%+v is read back as %+v", was, back)
		}
	}
	if len(read) != 2 || read[0] != "second" {
		t.Errorf("documents that begin with %q, want two with second", read)
	}
}
