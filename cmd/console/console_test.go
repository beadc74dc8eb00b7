package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/cmd/console"
	"coroner/ingest/bundle"
)

// One line is written over again, not more often than a person reads, and removed in the end.
func TestProgress(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1000, 0)
	show, clear := console.Progress(&out, func() time.Time { return now })
	show(bundle.Progress{Read: 512 << 20, Total: 1 << 30, Doc: "in/\x1b[2Jjournal.jsonl"})
	show(bundle.Progress{Read: 600 << 20, Total: 1 << 30})
	now = now.Add(time.Second)
	show(bundle.Progress{Read: 7 << 20, Doc: strings.Repeat("long/", 30) + "end"})
	clear()
	parts := strings.Split(out.String(), "\r\x1b[K")
	if len(parts) != 4 || parts[1] != `reading  50% of 1024 MiB  in/\u001b[2Jjournal.jsonl` ||
		!strings.HasPrefix(parts[2], "reading 7 MiB  …") || !strings.HasSuffix(parts[2], "/end") || parts[3] != "" {
		t.Errorf("%q", parts)
	}
}

// A file is no terminal, and neither is what is no file.
func TestNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, stream := range []any{f, &strings.Builder{}, nil} {
		if console.IsTerminal(stream) {
			t.Errorf("%T is a terminal", stream)
		}
	}
	if console.Width(f) != 0 || console.Width(&strings.Builder{}) != 0 {
		t.Error("a file has a width")
	}
}
