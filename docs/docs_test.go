package docs

import (
	"io/fs"
	"os"
	"slices"
	"testing"
)

// What the program holds are the pages that stand here, each of them.
func TestAllPagesAreHeld(t *testing.T) {
	for _, pattern := range []string{"*.md", "verdicts/*.md", "*.png"} {
		here, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		held, err := fs.Glob(Files, pattern)
		if err != nil || len(here) == 0 || !slices.Equal(here, held) {
			t.Errorf("%s: %v, held are %v, %v", pattern, here, held, err)
		}
	}
	if others, err := fs.Glob(os.DirFS("."), "*/*/*"); err != nil || len(others) > 0 {
		t.Errorf("%v is in no page: %v", others, err)
	}
}
