package document

import (
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

func read(t *testing.T, text string) (out []ingest.Entry) {
	t.Helper()
	err := Document{Name: "x.txt"}.Read(strings.NewReader(text), func(e ingest.Entry) bool {
		if e.Mark == nil {
			out = append(out, e)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// journalctl's rarer formats say the same as its common ones.
func TestRareJournalFormats(t *testing.T) {
	at := time.UnixMicro(0x64c0ae0000000).UTC()
	fields := `"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","_HOSTNAME":"build-7",` +
		`"__REALTIME_TIMESTAMP":"1772531200000000","MESSAGE":"eth0: Link is Up"`
	for _, c := range []struct {
		name, text string
		timed      bool
	}{
		{"verbose", "Tue 2026-03-03 09:46:40.000000 UTC [s=0a;i=1;b=00000000000000000000000000000001;m=10;t=" +
			"64c0ae0000000" +
			";x=0]\n    _TRANSPORT=kernel\n    SYSLOG_IDENTIFIER=kernel\n    _HOSTNAME=build-7\n" +
			"    MESSAGE=eth0: Link is Up\n", true},
		{"json-seq", "\x1e{" + fields + "}\n", false},
		{"json-sse", "data: {" + fields + "}\n\n", false},
		{"short-delta", "[  812.000001 <    0.000123 >] build-7 kernel: eth0: Link is Up\n", false},
	} {
		got := read(t, c.text)
		if len(got) != 1 || got[0].Source != ingest.Kernel || got[0].Text != "eth0: Link is Up" ||
			got[0].Node != "build-7" {
			t.Errorf("%s: %+v", c.name, got)
			continue
		}
		if c.timed && !got[0].At.Equal(at) {
			t.Errorf("%s: at %v, want %v", c.name, got[0].At, at)
		}
	}
}

// Text that only looks like it stays text.
func TestRareJournalNearMisses(t *testing.T) {
	for _, text := range []string{"[1] < 2 >] is no stamp", "data: plain", "Tue 2026 was [s=good]"} {
		if got := read(t, text+"\n"); len(got) != 1 || got[0].Source != ingest.Unknown {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
