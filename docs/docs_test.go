package docs

import (
	"image/png"
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

// The pictures show the pages as a desk's screen does, not as a phone's, and are light
// enough for a README.
func TestPicturesAreWide(t *testing.T) {
	pictures, err := fs.Glob(Files, "*.png")
	if err != nil || len(pictures) == 0 {
		t.Fatal("no picture", err)
	}
	for _, name := range pictures {
		f, err := Files.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		size, err := png.DecodeConfig(f)
		if err != nil || size.Width < 1000 {
			t.Errorf("%s is %d pixels wide: %v", name, size.Width, err)
		}
		if info, err := f.Stat(); err != nil || info.Size() > 200_000 {
			t.Errorf("%s has more than 200 kB: %v", name, err)
		}
	}
}
