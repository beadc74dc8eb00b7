package document

import (
	"fmt"
	"reflect"
	"testing"
)

// Record gives what Line gives of the same line, whatever came before.
func sameRecord(t *testing.T, path string, texts ...string) {
	t.Helper()
	whole, known := Document{Name: path}.Feed(), Document{Name: path}.Feed()
	for i, text := range texts {
		second := fmt.Sprintf("2026-05-04T10:00:%02d.123456789Z", i%60)
		out, tag := i/3%2, "FPF"[(i+len(text))%3]
		want := whole.Line(fmt.Appendf(nil, "%s %s %c %s", second, []string{"stdout", "stderr"}[out], tag, text), 0)
		got := known.Record(at(second), Output(out), []byte(text), tag == 'F')
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q of %q:\n got %+v\nwant %+v", text, texts, got, want)
		}
	}
	if got, want := known.Flush(), whole.Flush(); !reflect.DeepEqual(got, want) {
		t.Fatalf("flushed of %q:\n got %+v\nwant %+v", texts, got, want)
	}
}

// paths are of a runner, of somebody whose lines tell who it is, and of a job.
var paths = []string{
	runPath,
	"x/pods/arc-systems_arc-listener_" + testUID + "/listener/0.log",
	"x/pods/ci_amber-1_" + testUID + "/side/0.log",
}

var recordTexts = []string{
	"", " ", "plain", "\tindented", "Listening for Jobs", "√ Connected to GitHub",
	"2026-05-04T10:00:00.1234567Z stamped", "2026-05-04 10:00:00Z: Running job: build",
	"[2026-05-04 10:00:00Z INFO Terminal] WRITE LINE: text",
	"[2026-05-04 10:00:00Z INFO A] [2026-05-04 10:00:00Z INFO B] twice",
	"2026-05-04T09:00:00Z 2026-05-04T08:00:00Z two stamps", "2026-05-04T10:00:00Z stdout F a header in the text",
	"\x1b[31mred\x1b[0m", "\x1b[31m", "t\xffglich", "\ufeffmark",
	`{"level":"info","msg":"m","logger":"listener"}`,
	`{"MESSAGE":"a record","__REALTIME_TIMESTAMP":"1777888800000000","_TRANSPORT":"kernel"}`, "{", "}",
	"##[error]Process completed with exit code 1.",
	"__CURSOR=s=1", "Mon 2026-05-04 10:00:00 UTC [s=1;i=1]", "    MESSAGE=verbose", "-- Reboot --",
	`time="2026-05-04T10:00:00Z" level=info msg="x"`, "> quoted", "kernel: [1.000000] text", "end   ",
}

func TestRecordIsLine(t *testing.T) {
	for _, path := range paths {
		for i := range recordTexts {
			sameRecord(t, path, append(recordTexts[i:len(recordTexts):len(recordTexts)], recordTexts[:i]...)...)
		}
	}
}

func FuzzRecord(f *testing.F) {
	for i, text := range recordTexts {
		f.Add(text, recordTexts[(i+7)%len(recordTexts)], uint8(i))
	}
	f.Fuzz(func(t *testing.T, first, second string, path uint8) {
		sameRecord(t, paths[int(path)%3], first, second, first)
	})
}
