//go:build linux && cgo && !nojournal

package journal

import (
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkRead is the cost of one record, from its file to its entry.
func BenchmarkRead(b *testing.B) {
	dir, start := b.TempDir(), time.Now().Add(-time.Hour).UTC()
	const n = 20000
	store(b, filepath.Join(dir, strange, "system.journal"), exported(bootA, start, 0, n, append(fromKubelet,
		"PRIORITY=6", "SYSLOG_FACILITY=3", "_PID=812", "_GID=0", "_EXE=/usr/bin/kubelet", "_CMDLINE=/usr/bin/kubelet --config=/etc/kubelet",
		"_CAP_EFFECTIVE=1ffffffffff", "_SELINUX_CONTEXT=unconfined", "_SYSTEMD_CGROUP=/system.slice/kubelet.service",
		"_SYSTEMD_SLICE=system.slice", "_SYSTEMD_INVOCATION_ID=0123456789abcdef0123456789abcdef", "_STREAM_ID=abc")...))
	b.ReportAllocs()
	read := 0
	for read < b.N {
		f := newFollower(New(Config{Dirs: []string{dir}, Node: "node-1", Boot: bootA}), func(x Batch) error { read += x.Lines; return nil })
		for !f.tail && read < b.N {
			if err := f.step(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		read += f.batch.Lines
		f.close()
	}
}
