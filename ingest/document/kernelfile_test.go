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
		want  ingest.Trust
	}{
		{"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in x", ingest.Claimed},
		{"tool[812]: segfault at 0 ip 0000000000401000 sp 00007ffd0000 error 6 in x[1,2+3]",
			ingest.Claimed}, // a name can look as if it ended
		{"traps: tool[812] trap invalid opcode ip:401000 sp:7ffd0 error:0 in x", ingest.Claimed},
		{"process '/srv/x", ingest.Claimed},
		{"eth0: link becomes ready", ingest.Attested},
	} {
		text := head(
			"1",
		) + c.first + "\n" + head(
			"1",
		) + "Kernel panic - not syncing: said a file\n" + head(
			"2",
		) + "Kernel panic - not syncing: at last\n"
		var got []ingest.Trust
		_ = Document{Name: "kern.log"}.Read(strings.NewReader(text), func(e ingest.Entry) bool {
			if strings.HasPrefix(e.Text, "Kernel panic") {
				got = append(got, e.Trust)
			}
			return true
		})
		if len(got) != 2 || got[0] != c.want || got[1] != ingest.Attested {
			t.Errorf("after %q: trust %v, want [%v %v]", c.first, got, c.want, ingest.Attested)
		}
	}
}
