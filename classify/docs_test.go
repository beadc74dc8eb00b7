package classify_test

import (
	"os"
	"strings"
	"testing"

	"coroner/rules"
)

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
