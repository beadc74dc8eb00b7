package ingest

import (
	"strings"
	"testing"
)

// A file's name can hold line breaks: what follows the line that names it, with
// its time, may be part of it. The next moment's lines are the kernel's again.
func TestFileNameWithLineBreaks(t *testing.T) {
	head := func(second string) string {
		return "Nov 22 09:20:0" + second + " n-1 kernel: [ 99.00000" + second + "] "
	}
	for _, c := range []struct {
		first string
		want  Trust
	}{
		{"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in x", Claimed},
		{"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in x[1,2+3]", Claimed}, // a name can look as if it ended
		{"traps: tool[812] trap invalid opcode ip:401000 sp:7ffd0 error:0 in x", Claimed},
		{"process '/srv/x", Claimed},
		{"eth0: link becomes ready", Attested},
	} {
		text := head("1") + c.first + "\n" + head("1") + "Kernel panic - not syncing: said a file\n" + head("2") + "Kernel panic - not syncing: at last\n"
		var got []Trust
		_ = Document{Name: "kern.log"}.Read(strings.NewReader(text), func(e Entry) bool {
			if strings.HasPrefix(e.Text, "Kernel panic") {
				got = append(got, e.Trust)
			}
			return true
		})
		if len(got) != 2 || got[0] != c.want || got[1] != Attested {
			t.Errorf("after %q: trust %v, want [%v %v]", c.first, got, c.want, Attested)
		}
	}
}
