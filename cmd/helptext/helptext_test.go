package helptext

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every text is used by a flag, and is a sentence or a default.
func TestTextsAreUsed(t *testing.T) {
	var tags strings.Builder
	files, err := filepath.Glob("../*/*.go")
	for _, file := range files {
		source, bad := os.ReadFile(file)
		if bad != nil {
			t.Fatal(bad)
		}
		tags.Write(source)
	}
	if err != nil || tags.Len() == 0 {
		t.Fatal("no source was read: ", err)
	}
	for name, text := range Vars {
		if !strings.Contains(tags.String(), "${"+name+"}") {
			t.Errorf("no flag uses %s", name)
		}
		if strings.Contains(text, " ") && !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") {
			t.Errorf("%s is no sentence: %q", name, text)
		}
	}
}
