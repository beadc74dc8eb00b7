package document

import (
	"strings"
	"testing"

	"coroner/ingest"
)

// A file's name can hold line breaks: what follows the line that names it, with
// its time, may be part of it. The next moment's lines are the kernel's again.
func TestFileNameWithLineBreaks(t *testing.T) {
	head := func(second string) string {
		return "Nov 22 09:20:0" + second + " n-1 kernel: [ 99.00000" + second + "] "
	}
	for _, c := range []struct {
		first string
		named bool
	}{
		{"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in x", true},
		{"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in x[1,2+3]",
			true}, // a name can look as if it ended
		{"traps: tool[812] trap invalid opcode ip:401000 sp:7ffd0 error:0 in x", true},
		{"process '/srv/x", true},
		{"tmpfs: Unknown parameter 'x", true},
		{"overlayfs: failed to resolve '/srv/x", true},
		{"tmpfs: Unknown parameter 'x'", false},
		{"the kernel can't do this", false},
		{"eth0: link becomes ready", false},
	} {
		text := head(
			"1",
		) + c.first + "\n" + head(
			"1",
		) + "Kernel panic - not syncing: said a file\n" + head(
			"2",
		) + "Kernel panic - not syncing: at last\n"
		var proven, claimed, others int
		_ = Document{Name: "kern.log"}.Read(strings.NewReader(text), func(e ingest.Entry) bool {
			switch panics := strings.Contains(e.Text, "Kernel panic"); {
			case panics && e.Source == ingest.Kernel && e.Trust == ingest.Attested:
				proven++
			case panics && e.Source == ingest.Kernel:
				claimed++
			case panics:
				others++
			}
			return true
		})
		want := [3]int{2, 0, 0}
		switch {
		case c.named && strings.Contains(head("1"), "["):
			want = [3]int{1, 0, 1} // the same microsecond: it is nobody's but the name's
		case c.named:
			want = [3]int{1, 1, 0}
		}
		if got := [3]int{proven, claimed, others}; got != want {
			t.Errorf("after %q: %v are proven, claimed and of others, want %v", c.first, got, want)
		}
	}
}
