package document

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"coroner/ingest"
	"coroner/ingest/prefilter"
)

// needle is a text that some line must have to matter.
const needle = "OOM-kill"

func onlyNeedle(entries []ingest.Entry) (out []ingest.Entry) {
	for _, e := range entries {
		if strings.Contains(e.Text, needle) {
			out = append(out, e)
		}
	}
	return out
}

// nextNeedle is a Document.Next that knows one text.
func nextNeedle(b []byte, from int) int {
	if i := bytes.Index(b[from:], []byte(needle)); i >= 0 {
		return from + i
	}
	return -1
}

// sameWhenSkipping fails unless passing over the lines that nobody wants leaves
// the others, and what is said of the reading, as they are: whoever looks which
// those are, and however much is read at a time. It returns how many entries were
// not made.
func sameWhenSkipping(t *testing.T, d Document, data []byte) (skipped int) {
	t.Helper()
	all, marks := readInFull(t, d, data)
	if got, gotMarks := readAll(t, d, string(data)); !reflect.DeepEqual(got, all) ||
		!reflect.DeepEqual(gotMarks, marks) {
		t.Fatalf(
			"entries of known heads:\n got %+v %v\nwant %+v %v\nof %q",
			got,
			spell(gotMarks),
			all,
			spell(marks),
			data,
		)
	}
	d.Next = nextNeedle
	for _, in := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data)),
		sips{bytes.NewReader(data), 300}} {
		some, quietMarks := readFrom(t, d, in)
		if got, want := onlyNeedle(some), onlyNeedle(all); !reflect.DeepEqual(got, want) {
			t.Fatalf("%T: entries:\n got %+v\nwant %+v\nof %q", in, got, want, data)
		}
		if !reflect.DeepEqual(quietMarks, marks) {
			t.Fatalf("%T: marks:\n got %v\nwant %v\nof %q", in, spell(quietMarks), spell(marks), data)
		}
		skipped = len(all) - len(some)
	}
	return skipped
}

// readInFull reads as Document.Read does, by a reader that forgets after each line
// how lines begin.
func readInFull(t *testing.T, d Document, data []byte) (entries, marks []ingest.Entry) {
	t.Helper()
	r := newReader(d, prefilter.NewLines(bytes.NewReader(data)), func(e ingest.Entry) bool {
		if e.Mark != nil {
			marks = append(marks, e)
		} else {
			entries = append(entries, e)
		}
		return true
	})
	r.prepareFrom(data[:min(len(data), headSize)])
	for {
		b, err := r.in.Next()
		if err != nil {
			break
		}
		r.n, r.skipper.heads, r.skipper.waiting = r.in.Number, prefilter.Heads{}, waitingLine{}
		if err := r.readLine(b); err != nil {
			t.Fatal(err)
		}
	}
	r.finishDoc()
	return entries, marks
}

func spell(marks []ingest.Entry) (out []string) {
	for _, m := range marks {
		out = append(out, fmt.Sprintf("%s %s %s %d %+v", m.Source, m.Node, m.Boot, m.Trust, *m.Mark))
	}
	return out
}

// journals are logs of the text forms that are passed over, with what can come
// between their lines.
var journals = []string{
	`2026-05-04T10:00:00.000001+0200 node-1 kubelet[812]: I0504 10:00:00.000001     812 kubelet.go:1] "a line like ` +
		`any other"
2026-05-04T10:00:01.000001+0200 node-1 sshd[1]: Accepted publickey
2026-05-04T10:00:02.000001+0200 node-1 kernel: [   12.000001] eth0: link becomes ready, and this one is long enough
2026-05-04T10:00:03.000001+0200 node-1 kernel: [   13.000001] eth0: link becomes ready
2026-05-04T10:00:04.000001+0200 node-1 sshd[22]: Accepted publickey for somebody whose name makes a line
2026-05-04T10:00:05.000001+0200 node-1 sshd[333]: Disconnected from somebody whose name makes a line
2026-05-04T10:00:06.000001+0200 node-1 kernel: [   16.000001] OOM-kill of somebody, a line about as long as
and the rest of it, which a mail program broke off: OOM-kill
2026-05-04T10:00:07.000001+0200 node-1 sshd[22]: Accepted publickey for somebody whose name makes a line
and the rest of that one OOM-kill
2026-05-04T10:00:08.000001+0200 node-1 systemd[1]: Started a unit.
2026-05-04T10:00:08.500001+0200 node-1 systemd[1]: Suppressed 12 messages from kubelet.service
2026-05-04T10:00:09.000001+0200 node-1 systemd-journald[1]: Missed 3 kernel messages
2026-05-04T10:00:09.100001+0200 node-1 containerd[9]: time="2026-05-04T08:00:09Z" level=info msg="nothing" ` +
		`source=virtcontainers
2026-05-04T10:00:09.200001+0200 node-1 containerd[9]: time="2026-05-04T08:00:09Z" level=info msg="nothing"
2026-05-04T10:00:09.300001+0200 node-1 containerd[9]: time="2026-05-04T08:00:09Z" level=info msg="nothing at all"
2026-05-04T10:00:10.000001+0200 node-1 kubelet[812]: 	OOM-kill in a value
2026-05-04T10:01:10.000001+0200 node-1 kubelet[812]: the next minute
2026-05-04T10:01:11.000001+0200 node-1 kubelet[812]: the next minute, on
-- Reboot --
2026-05-04T10:02:10.000001+0200 node-1 kubelet[7]: another boot
2026-05-04T10:02:11.000001+0200 node-1 kubelet[7]: OOM-kill in another boot
2026-05-04T10:02:11.000001+0300 node-1 kubelet[7]: another zone
2026-05-04T10:02:12.000001+0300 node-2 kubelet[7]: another node
2026-05-04T10:02:12.000001+0300 node-2 kubelet[7]: another node, on`,
	`May 04 10:00:00 node kubelet[1]: I0504 08:00:00.000001       1 kubelet.go:1] "one"
May 04 10:00:01 node kubelet[1]: I0504 08:00:01.000001       1 kubelet.go:1] "two"
May 04 10:00:02 node kernel: three
May 04 10:00:03 node kernel: four
May 04 10:00:03 node containerd[3]: time="2026-05-04T08:00:03Z" level=info msg=five
May 04 10:00:04 node containerd[3]: time="2026-05-04T08:00:04Z" level=info msg=six
May 04 10:00:04 node containerd[3]: seven
May 04 10:00:05 node CRON[77]: eight
May 04 10:00:06 node CRON[78]: nine
May 04 10:00:07 node CRON[78]: OOM-kill
May 04 10:00:59 node kernel: ten
May 04 10:01:00 node kernel: eleven
May 05 10:01:00 node kernel: twelve
##[error]Process completed with exit code 1.
May 05 10:01:01 node kernel: after a line of a job, OOM-kill
May 05 10:01:02 node kernel: after a line of a job`,
	`May 04 10:00:00 node: kubelet[1]: one
May 04 10:00:01 node: kubelet[1]: two
May 04 10:00:02 node: systemd-journald[1]: three
May 04 10:00:03 node: systemd-journald[1]: four
May 04 10:00:04 node: systemd-journald[1]: Suppressed 12 messages from kubelet.service
May 04 10:00:05 node: containerd[1]: OOM-kill`,
	`May 04 10:00:00 kubelet[1]: one
May 04 10:00:01 kubelet[1]: two
May 04 10:00:02 kubelet[1]: three
May 04 10:00:02 kubelet[1]: four
May 04 10:00:03 sudo: pam_unix(sudo:session): session opened
May 04 10:00:04 sudo: anything that is not a host's line
May 04 10:00:05 kubelet[1]: OOM-kill`,
	`May 04 10:00:00 node kubelet[1]: one
May 04 10:00:01 node kubelet[1]: two
May 04 10:00:02 node kubelet[1]: three
May 04 10:00:03 node kubelet[1]: four
May 04 10:00:04 node foo: five
2026-05-04T10:00:00+0200 node-1 kubelet[812]: one
2026-05-04T10:00:01+0200 node-1 kubelet[812]: two
2026-05-04T10:00:02+0200 node-1 kubelet[812]: three
2026-05-04T10:00:04.+0200 node-1 kubelet[812]: a point and no fraction
2026-05-04T10:00:04.
2026-05-04T10:00:04
2026-05-04T10:00:05+0200 node foo: a stamped line of nobody
2026-05-04T10:00:06+0200 node-1 kubelet[812]: OOM-kill`,
	`2026-05-04 10:00:00,900 node kubelet[1]: one
2026-05-04 10:00:00,900 node kubelet[1]: two
2026-05-04 10:00:00,900 node kubelet[1]: three
2026-05-04 10:00:00,900 node kubelet[1]: four
2026-05-04 10:00:05,900 node kubelet[1]: five
2026-05-04 10:00:05,900 node kubelet[1]: six
2026-05-04 10:00:06,900 node kubelet[1]: url=http://loki:3100/loki/api/v1/push failed
2026-05-04 10:00:07,900 node kubelet[1]: some state [s=5]`,
	`May 04 10:00:00 node kernel: [   12.000001] one
May 04 10:00:01 node kernel: [   12.000001] two
May 04 10:00:02 node kernel: [   12.000001] three
May 04 10:00:03 node kernel: [   12.000001] four
May 04 10:00:04 node kernel: [   12.000001] ts=1777802400 (1234): /proc/1234/oom_adj is deprecated
May 04 10:00:05 node kernel: [   12.000001] ts=1777802400 invoked OOM-kill
May 04 10:00:06 node kernel: [   12.000001] url=http://loki:3100/loki/api/v1/push failed
May 04 10:00:07 node kernel: [   12.000001] some state [s=5]`,
	`May 04 10:00:00.123456 kubelet[1]: no host
May 04 10:00:00.123457 kubelet[1]: no host
May 04 10:00:00.223457 kubelet[1]: no host
May 04 10:00:00.323457 kubelet[1]: no host
May 04 10:00:00.423457 kubelet[1]: no host
May 04 10:00:00.523457 kubelet[1]: OOM-kill`,
	`2026-05-04T10:00:00+0200 node-1 kernel: one
2026-05-04T10:00:01.000001+0200 node-1 kernel: two
2026-05-04T10:00:02.000001+0200 node-1 kernel: OOM-kill
2026-05-04T10:00:03.`,
}

func seedDocuments() []Document {
	return []Document{
		{Name: "journal.log"}, {Name: "journal.log", Ref: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)},
		{Name: "job.log", Zone: time.FixedZone("", 3600), Ref: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)},
	}
}

// A process id that no reader takes is none behind a known head either.
func TestKnownHeadOfABadProcess(t *testing.T) {
	for _, pid := range []string{"9999999999999999999", strings.Repeat("1", 300), strings.Repeat("0", 19) + "1"} {
		text := ""
		for i := range 6 {
			text += fmt.Sprintf("2026-05-04T10:00:0%d+0200 node-1 kubelet[812]: a line\n", i)
		}
		sameWhenSkipping(
			t,
			Document{Name: "x.log"},
			[]byte(text+"2026-05-04T10:00:09+0200 node-1 kubelet["+pid+"]: "+needle+"\n"),
		)
	}
}

// Lines that nobody wants are passed over, and nothing else changes.
func TestPassedOverLinesChangeNothingElse(t *testing.T) {
	skipped := 0
	for _, text := range journals {
		for _, d := range seedDocuments() {
			skipped += sameWhenSkipping(t, d, []byte(text))
			skipped += sameWhenSkipping(t, d, []byte(strings.Repeat(text+"\n", 9)))
		}
	}
	if skipped < 100 {
		t.Errorf("only %d lines were passed over", skipped)
	}
}

// The same for every document of the shipped incidents.
func TestPassedOverLinesOfIncidents(t *testing.T) {
	files, err := filepath.Glob("../../fixtures/incidents/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no incidents", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range bytes.Split(data, []byte("\n-- ")) {
			_, body, _ := bytes.Cut(part, []byte("\n"))
			d := seedDocuments()[i%3]
			sameWhenSkipping(t, d, bytes.ReplaceAll(body, []byte("oom-kill"), []byte(needle)))
		}
	}
}

func FuzzPassedOverLines(f *testing.F) {
	for i, text := range journals {
		f.Add([]byte(text), uint8(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, n uint8) { sameWhenSkipping(t, seedDocuments()[int(n)%3], data) })
}
