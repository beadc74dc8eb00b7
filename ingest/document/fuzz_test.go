package document

import (
	"bytes"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// seeds are one of each kind of line, so that the fuzzer knows the shapes.
var seeds = []string{
	"Name: p-a-b\nNamespace: ci\nContainers:\n  runner:\n    State: Terminated\n      Reason: Error\n" +
		"      Exit Code: 1\nConditions:\n  Ready  False\nEvents:\n",
	"{\n\t\"__CURSOR\" : \"s\",\n\t\"MESSAGE\" : \"x\"\n}\n{\"a\":1}\n",
	`{"__REALTIME_TIMESTAMP":"1","_BOOT_ID":"b","_TRANSPORT":"kernel","MESSAGE":[1,2,300]}`,
	`{"log":"x\n","stream":"stdout","time":"2026-05-04T10:00:00Z"}`,
	exported("__CURSOR=s=1;i=1", "MESSAGE=two\nlines"),
	"__REALTIME_TIMESTAMP=1\nMESSAGE\n\xff\xff\xff\xff\xff\xff\xff\x00x\n",
	"2026-05-04T10:00:00Z stdout P a\n2026-05-04T10:00:00Z stderr F b\n",
	"[pod/a-b/c] 2026-05-04T10:00:00Z\tINFO\tx.y\tz\t{\"a\":{\"b\":[1]}}\n",
	"+ ns a-b › c\nns a-b c d\nx | y\n> [diag] [2026-05-04 10:00:00Z INFO X] y\n",
	"May 04 10:00:00 h kernel: [ 1.500] x\n<6>1 2026-05-04T10:00:00Z h a - - [x] y\n-- Boot a --\n",
	"kern :info : [Mon May  4 10:00:00 2026] x\n[ 1.000][ T1] y\n5月 04 10:00:00 h kernel: z\n",
	"a\tb\t2026-05-04T10:00:00.1234567Z c\n2026-05-04T10:00:00.1Z 00O x\n",
	"Common labels: {a=\"b\"}\n2026-05-04T10:00:00Z {c=\"d\"} e\n\"Time\",\"Line\"\n\"1\",\"x\"\n",
	"I0504 10:00:00.000001 1 a.go:1] \"m\" k=\"v\" event={\"ID\":1} e=&{A:1}\ntime=\"x\" level=info msg=\"y\"\n",
	"lastState:\n  terminated:\n    exitCode: 1\nname: x\nmetadata:\n  name: p\n" +
		"  deletionTimestamp: 2026-05-04T10:00:00Z\n",
	"p-a-b 0/1 OOMKilled 1 (5m ago) 2h\n3s (x2 over 5m) Warning Failed pod/x y\n",
	`{"deathLog":"x\ny","pod":"p","namespace":"n","message":"I0504 10:00:00.000001 1 a.go:1] \"m\""}`,
	`{"":0}`, "{\"log\":\"0\\a\"\"time\":\"",
	"\xff\xfea\x00\n\x00", "\x1b[31mx\x1b]0;y\x07#033[0m\r\n\x00\xff",
}

// FuzzRead: no document makes the reader panic, run away or let a control
// character through, whatever its name.
func FuzzRead(f *testing.F) {
	for _, s := range seeds {
		f.Add("x.log", []byte(s))
		f.Add(runPath, []byte(s))
	}
	f.Add("0", []byte("{\"deathLog\":\"0\"\"pod\":\x86"))
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		lines := bytes.Count(data, []byte("\n")) + bytes.Count(data, []byte(`\n`)) // those in a JSON string as well
		entries, limit := 0, 4*lines+len(data)/8+100
		err := Document{Name: name}.Read(bytes.NewReader(data), func(e ingest.Entry) bool {
			entries++
			checkEntry(t, e)
			return true
		})
		if err != nil && !strings.HasPrefix(err.Error(), "journal export: ") {
			t.Errorf("error %v", err)
		}
		if entries > limit {
			t.Errorf("%d entries of %d bytes", entries, len(data))
		}
		Sample(data)
	})
}

func checkEntry(t *testing.T, e ingest.Entry) {
	checkText(t, "text", e.Text, ingest.MaxText)
	for _, s := range []string{e.Node, e.Boot, e.Namespace, e.Pod, e.PodUID, e.Container, e.ContainerID, e.Unit,
		e.Cursor} {
		checkText(t, "identity", s, 1024)
	}
	msg, fields, _ := logtext.Message(&e, nil)
	checkText(t, "message", msg, ingest.MaxText)
	for _, f := range fields {
		checkText(t, f.Name, f.Value, ingest.MaxText+8)
	}
	if e.Source.Forgeable() && e.Trust != ingest.Claimed {
		t.Errorf("attested %q", e.Source)
	}
	if e.Clock == ingest.NoClock && !e.At.IsZero() ||
		(e.Clock == ingest.WallClock || e.Clock == ingest.LocalClock) && e.At.IsZero() {
		t.Errorf("clock %d at %v", e.Clock, e.At)
	}
}

func checkText(t *testing.T, what, s string, limit int) {
	if len(s) > limit || !utf8.ValidString(s) {
		t.Errorf("%s: %d bytes, valid %v", what, len(s), utf8.ValidString(s))
	}
	for _, c := range s {
		if unicode.IsControl(c) && c != '\t' {
			t.Errorf("%s: control character %q in %.100q", what, c, s)
			return
		}
	}
}

func FuzzMessage(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e := ingest.Entry{Text: logtext.Cleaned(s)}
		if len(e.Text) > ingest.MaxText {
			return
		}
		checkEntry(t, e)
	})
}
