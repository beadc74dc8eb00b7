package logtext_test

import (
	"testing"

	"coroner/ingest/logtext"
)

// What a Mac puts before a text is taken off, and of what only looks so nothing is.
func TestUnifiedLog(t *testing.T) {
	const columns = "0x1a2b     Error       0x0                  4123   0    "
	for _, tt := range []struct{ line, want string }{
		{columns + "tart: the host is full", "the host is full"},
		{columns + "vm: (Virtualization) [com.apple.vm:start] no room", "no room"},
		{columns + "vm: (two words) kept", "(two words) kept"},
		{"0x1a2b     Error       0x0                  4123   tart: kept", ""},
		{"1a2b     Error       0x0                  4123   0    tart: kept", ""},
		{columns + "no program: at all", ""},
	} {
		want := tt.want
		if want == "" {
			want = tt.line
		}
		if got := logtext.WithoutColumns(tt.line); got != want {
			t.Errorf("%q becomes %q, want %q", tt.line, got, want)
		}
	}
	if got := logtext.WithoutLibrary("build-7", "(AppleSMC) text"); got != "(AppleSMC) text" {
		t.Errorf("the text of another host becomes %q", got)
	}
	const record = "2026-03-20 10:05:01.123456+0100  localhost kernel[0]: text"
	if got := logtext.UnifiedRecord("2026-03-20 10:05:01.123456+0100", "/kernel", "text"); got != record {
		t.Errorf("the record becomes %q", got)
	}
}
