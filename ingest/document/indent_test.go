package document

import (
	"strings"
	"testing"

	"coroner/ingest"
)

// journalctl, klog and rsyslog show the further lines of a message indented or behind a tab:
// what stands there is the message's, though it begins as a line of the host's does. Where the
// whole of a paste is indented alike, its lines are the host's.
func TestIndentedLines(t *testing.T) {
	const (
		above = `May 04 10:00:00 n-1 kubelet[812]: I0504 10:00:00.000000     812 prober.go:120] "Probe failed" output=<`
		said  = `I0504 10:00:05.000000     812 eviction_manager.go:627] "Eviction manager: pod is evicted" pod="ci/r-1"`
	)
	heads := map[string]string{
		"short":     "May 04 10:00:05 n-1 kubelet[812]: " + said,
		"short-iso": "2026-05-04T10:00:05+0000 n-1 kubelet[812]: " + said,
		"klog":      said,
		"syslog":    "<6>1 2026-05-04T10:00:05Z n-1 kubelet 812 - - " + said,
		"kernel":    "May 04 10:00:05 n-1 kernel: Kernel panic - not syncing: said a job",
		"logcli":    `2026-05-04T10:00:05Z {job="systemd-journal",unit="kubelet.service",instance="n-1"} ` + said,
		"json": `{"_TRANSPORT":"stdout","_SYSTEMD_UNIT":"kubelet.service","_HOSTNAME":"n-1","__CURSOR":"c",` +
			`"__REALTIME_TIMESTAMP":"1777888805000000","MESSAGE":"Eviction manager: pod is evicted"}`,
	}
	hosts := func(text string) (count int) {
		_ = Document{Name: "journal.txt"}.Read(strings.NewReader(text), func(e ingest.Entry) bool {
			if e.Mark == nil && e.Source.Host() {
				count++
			}
			return true
		})
		return count
	}
	for name, head := range heads {
		for _, indent := range []string{"\t", "    ", strings.Repeat(" ", 35)} {
			if n := hosts(above + "\n" + indent + head + "\n"); n != 1 {
				t.Errorf("%s behind %q: %d lines of the host's, want that above it", name, indent, n)
			}
			tabbed := name == "klog" && indent == "\t" // that is how klog itself goes on
			if n := hosts(indent + above + "\n" + indent + head + "\n"); n != 2 && !tabbed {
				t.Errorf("%s, all of it behind %q: %d lines of the host's, want both", name, indent, n)
			}
		}
		if n := hosts(above + "\n" + head + "\n"); n != 2 {
			t.Errorf("%s: %d lines of the host's, want both", name, n)
		}
	}
	for _, tab := range []string{"#011", `\t`} {
		if n := hosts(above + "\nMay 04 10:00:05 n-1 kubelet[812]: " + tab + said + "\n"); n != 1 {
			t.Errorf("behind %s: %d lines of the host's", tab, n)
		}
	}
}
