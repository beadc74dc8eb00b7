package yamlfile

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// read reads one file with the fields that the test knows, and gives what is wrong with it.
func read(t *testing.T, data string, fields func(*Reader) map[string]func(*yaml.Node)) error {
	t.Helper()
	var mistakes Errors
	r := NewReader(File{"a.yaml", []byte(data)}, &mistakes)
	if root := r.Root(); root != nil {
		r.Object(root, "rulebook", fields(r))
	}
	return mistakes.Join()
}

// A pattern that is written over several lines is the one that stands on one line, and a
// place in it is found on its own line. What is no pattern keeps its lines.
func TestPatternOverLines(t *testing.T) {
	var pattern, text, folded, quoted Text
	var where []Pair
	var some []Text
	err := read(t, `match: |-
  ^(?:one|
  two  |three)
text: |-
  one
  two
folded: >-
  one
  two
quoted: 'one|two'
where:
  error: |
    a|
    b
  msg: c
some:
  - |-
    d|
    e
  - f
`, func(r *Reader) map[string]func(*yaml.Node) {
		return map[string]func(*yaml.Node){
			"match": r.Pattern(&pattern), "text": r.Text(&text), "folded": r.Pattern(&folded),
			"quoted": r.Pattern(&quoted), "where": r.PatternPairs(&where), "some": r.Patterns(&some),
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		pattern.Value: "^(?:one|two  |three)", text.Value: "one\ntwo", folded.Value: "one two", quoted.Value: "one|two",
		where[0].Value.Value: "a|b", where[1].Value.Value: "c", some[0].Value: "d|e", some[1].Value: "f",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, c := range []struct {
		of   Text
		what string
		want string
	}{
		{pattern, "(?:one", "a.yaml:2:4"}, {pattern, "two", "a.yaml:3:3"}, {pattern, "three", "a.yaml:3:9"},
		{quoted, "two", "a.yaml:10:14"}, {where[0].Value, "b", "a.yaml:14:5"},
	} {
		if got := c.of.AtOffset(strings.Index(c.of.Value, c.what)).String(); got != c.want {
			t.Errorf("%s of %q is at %s, want %s", c.what, c.of.Value, got, c.want)
		}
	}
}
