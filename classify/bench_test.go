package classify_test

import (
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/rules"
	"coroner/rules/book"
	"coroner/rules/casefile"
)

// BenchmarkScan is the speed of the scan over all lines of the incidents, in
// MB/s of text: the baseline for faster scans.
func BenchmarkScan(b *testing.B) {
	book := loadBook(b)
	var lines []ingest.Entry
	size := 0
	for _, in := range incidents(b) {
		for _, e := range entries(in) {
			lines = append(lines, e)
			size += len(e.Text)
		}
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		for i := range lines {
			book.Scan(&lines[i])
		}
	}
}

// BenchmarkScanQuiet is the same over lines of which none is a signal.
func BenchmarkScanQuiet(b *testing.B) {
	book := loadBook(b)
	e := ingest.Entry{
		Source: ingest.Kubelet,
		Text: `I0301 10:00:00.000000     812 reconciler_common.go:251] ` +
			`"operationExecutor.VerifyControllerAttachedVolume started for volume" pod="ci/amber"`,
	}
	b.SetBytes(int64(len(e.Text)))
	b.ReportAllocs()
	for b.Loop() {
		book.Scan(&e)
	}
}

// BenchmarkJudge is how many cases can be judged in a second.
func BenchmarkJudge(b *testing.B) {
	book := loadBook(b)
	var cases []*casefile.Case
	for _, in := range incidents(b) {
		cases = append(cases, classify.Assembled(entries(in), book, classify.Options{Runner: in.Want.Runner})...)
	}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		book.Judge(cases[n%len(cases)])
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "cases/s")
}

// BenchmarkLoad is what every start pays for the rulebook.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := rules.Load(book.Files); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadJournal is the speed of explain over a journal without hits,
// in MB/s of the file: reading, scanning, forgetting.
func BenchmarkReadJournal(b *testing.B) {
	book := loadBook(b)
	line := `{"__CURSOR":"s=1;i=1;b=1;m=1;t=1;x=1","__REALTIME_TIMESTAMP":"1772359200000000",` +
		`"__MONOTONIC_TIMESTAMP":"100","_BOOT_ID":"00000000000000000000000000000001","_HOSTNAME":"build-7",` +
		`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"kubelet","_SYSTEMD_UNIT":"kubelet.service","PRIORITY":"6",` +
		`"_PID":"812","_COMM":"kubelet","MESSAGE":"I0301 10:00:00.000000     812 reconciler_common.go:251] ` +
		`\"operationExecutor.VerifyControllerAttachedVolume started for volume\" pod=\"ci/amber\""}` + "\n"
	text := strings.Repeat(line, 10_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		d := document.Document{Name: "journal.jsonl"}
		err := d.Read(strings.NewReader(text), func(e ingest.Entry) bool { book.Scan(&e); return true })
		if err != nil {
			b.Fatal(err)
		}
	}
}
