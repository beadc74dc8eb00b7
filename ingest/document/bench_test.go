package document

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"coroner/ingest"
)

// benchRead reads a document that repeats lines, and says how fast.
func benchRead(b *testing.B, name string, size int, line func(i int) string) {
	var doc bytes.Buffer
	for i := 0; doc.Len() < size; i++ {
		doc.WriteString(line(i))
	}
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		err := Document{Name: name}.Read(bytes.NewReader(doc.Bytes()), func(ingest.Entry) bool { n++; return true })
		if err != nil || n == 0 {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkJournalJSON(b *testing.B) {
	benchRead(b, "journal.jsonl", 4<<20, func(i int) string {
		at := 1777888800000000 + int64(i)*1000
		if i%4 == 0 {
			return fmt.Sprintf(
				`{"_HOSTNAME":"node-a","MESSAGE":"eth%d: link becomes ready","_TRANSPORT":"kernel",`+
					`"_RUNTIME_SCOPE":"system","SYSLOG_IDENTIFIER":"kernel",`+
					`"_BOOT_ID":"0123456789abcdef0123456789abcdef","_MACHINE_ID":"fedcba9876543210fedcba9876543210",`+
					`"PRIORITY":"6","__CURSOR":"s=a;i=%x;b=c;m=d;t=e;x=f","__REALTIME_TIMESTAMP":"%d",`+
					`"__MONOTONIC_TIMESTAMP":"%d","_SOURCE_MONOTONIC_TIMESTAMP":"%d","SYSLOG_FACILITY":"0"}`+"\n",
				i,
				i,
				at,
				at-1777888000000000,
				at-1777888000000100,
			)
		}
		return fmt.Sprintf(
			`{"_RUNTIME_SCOPE":"system","MESSAGE":"I0504 10:00:00.%06d     777 prober.go:120] \"Probe failed\" `+
				`probeType=\"Liveness\" pod=\"ci/pool-runner-%d\" podUID=\"00000000-1111-2222-3333-444444444444\" `+
				`containerName=\"runner\" probeResult=\"failure\" output=\"\"","_GID":"0","_COMM":"kubelet",`+
				`"__REALTIME_TIMESTAMP":"%d","_MACHINE_ID":"fedcba9876543210fedcba9876543210",`+
				`"_EXE":"/usr/bin/kubelet","_CMDLINE":"/usr/bin/kubelet --config /etc/kubernetes/kubelet.yaml `+
				`--kubeconfig /etc/kubernetes/kubelet.conf --v 2","__MONOTONIC_TIMESTAMP":"3788515785",`+
				`"_CAP_EFFECTIVE":"1ffffffffff","_PID":"777","_HOSTNAME":"node-a",`+
				`"_BOOT_ID":"0123456789abcdef0123456789abcdef","SYSLOG_IDENTIFIER":"kubelet",`+
				`"__CURSOR":"s=a;i=%x;b=c;m=d;t=e;x=f","PRIORITY":"6","_TRANSPORT":"stdout",`+
				`"_STREAM_ID":"00112233445566778899aabbccddeeff","_UID":"0","_SYSTEMD_UNIT":"kubelet.service"}`+"\n",
			i%1000000,
			i,
			at,
			i,
		)
	})
}

func BenchmarkCRI(b *testing.B) {
	name := "pods/ci_pool-runner-1_00000000-1111-2222-3333-444444444444/runner/0.log"
	benchRead(b, name, 4<<20, func(i int) string {
		if i%3 == 0 {
			return fmt.Sprintf(
				"2026-05-04T10:%02d:%02d.%09dZ stdout F [WORKER 2026-05-04 10:00:00Z INFO JobServerQueue] Try to "+
					"append %d batches web console lines\n",
				i/60%60,
				i%60,
				i,
				i,
			)
		}
		return fmt.Sprintf(
			"2026-05-04T10:%02d:%02d.%09dZ stdout F   compiling unit %d of %s\n",
			i/60%60,
			i%60,
			i,
			i,
			strings.Repeat("x", i%80),
		)
	})
}

func BenchmarkSyslogText(b *testing.B) {
	benchRead(b, "journal.txt", 4<<20, func(i int) string {
		return fmt.Sprintf(
			"May 04 10:%02d:%02d node-a kubelet[777]: I0504 10:00:00.%06d     777 prober.go:120] \"Probe failed\" "+
				"probeType=\"Liveness\" pod=\"ci/pool-runner-%d\"\n",
			i/60%60,
			i%60,
			i%1000000,
			i,
		)
	})
}

func BenchmarkPlainText(b *testing.B) {
	benchRead(b, "notes.txt", 4<<20, func(i int) string {
		return fmt.Sprintf("compiling unit %d: object of the %s kind\n", i, strings.Repeat("y", i%50))
	})
}
