package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Lines that hold too much are matched in part; that is said, with how many.
func TestShortLinesAreCounted(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "ci_evil-runner-abcde_0a0b0c0d-1111-2222-3333-444455556666", "runner")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	line := "é " + strings.Repeat(strings.Join(recognised, " ")+` Job failed ERROR pods "/_work/ permission denied `,
		20)
	text := ""
	for i := range 7 {
		text += fmt.Sprintf("2026-03-01T10:00:0%d.000000000Z stdout F %s\n", i, line)
	}
	path := filepath.Join(dir, "0.log")
	if err := os.WriteFile(path, []byte(text+"2026-03-01T10:00:09.000000000Z stdout F Listening for Jobs\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"signals", "explain"} {
		var out, errs bytes.Buffer
		p := &program{
			in:  strings.NewReader(""),
			out: &out,
			err: &errs,
			now: time.Now,
			tty: func(any) bool { return false },
		}
		if code := p.runCommand([]string{command, path}); code != 0 ||
			!strings.Contains(errs.String(), "of 7 lines not all was matched") {
			t.Errorf("%s: %d %s", command, code, errs.String())
		}
		if !strings.Contains(out.String(), "Listening for Jobs") && command == "signals" {
			t.Errorf("%s: %.500s", command, out.String())
		}
	}
}
