package classify_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/classify"
	"coroner/rules"
	"coroner/rules/book"
)

// The worked example of docs/rules.md compiles, its tests pass, and its
// mistake is reported as the page says.
func TestWorkedExample(t *testing.T) {
	page, err := os.ReadFile("../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	for _, b := range blocks {
		text.Write(b[1])
	}
	if len(blocks) != 2 {
		t.Fatalf("%d blocks of YAML", len(blocks))
	}
	load := func(text string) (*rules.Rulebook, error) {
		return rules.Load(book.Files, fstest.MapFS{"rackd.yaml": {Data: []byte(text)}})
	}
	b, err := load(text.String())
	if err != nil {
		t.Fatal(err)
	}
	if failed, _ := classify.TestBook(b); len(failed) > 0 {
		t.Error(failed)
	}
	_, err = load(strings.Replace(text.String(), "(rackd.power-cut,", "(rackd.power-cutt,", 1))
	if err == nil || !strings.Contains(string(page), strings.Split(err.Error(), "\n")[0]) {
		t.Errorf("the page does not show this mistake:\n%v", err)
	}
}

// README names every label.
func TestReadmeNamesEveryLabel(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range rules.Labels {
		if !strings.Contains(string(page), "`"+string(l)+"`") {
			t.Errorf("README does not name %s", l)
		}
	}
}
