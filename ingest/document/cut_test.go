package document

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

// Where a text says that lines were left out, the time between the lines around that was not read. What is
// more than dots is somebody's hand, and the lines around it are claims then.
func TestLinesLeftOut(t *testing.T) {
	line := func(minute int) string {
		return fmt.Sprintf("2026-04-02T10:%02d:00+0000 weir kernel: eth%d: renamed\n", minute, minute)
	}
	for mark, cut := range map[string]bool{
		"[... 4,312 lines omitted ...]": true, "<snip>": true, "...": true, "[...]": true, "(truncated)": true,
		"--- 12 lines skipped ---": true, "": false, "--": false, "====": false,
		"2026-04-02T10:12:30+0000 weir kernel: 12 lines omitted": false,
	} {
		var got []string
		mixed := false
		text := line(11) + line(12) + mark + "\n" + line(30) + line(31)
		_ = Document{Name: "j.log"}.Read(strings.NewReader(text), func(e ingest.Entry) bool {
			switch {
			case e.Mark != nil && e.Mark.Kind == ingest.Covered:
				got = append(got, e.Mark.From.Format("15:04-")+e.Mark.To.Format("15:04"))
			case e.Mark != nil && e.Mark.Kind == ingest.Mixed,
				e.Source == ingest.Kernel && e.Trust != ingest.Attested:
				mixed = true
			case e.Mark != nil:
				t.Errorf("%q: another mark: %+v", mark, e.Mark)
			}
			return true
		})
		want := "10:11-10:31"
		if cut {
			want = "10:11-10:12 10:30-10:31"
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, want %s", mark, s, want)
		}
		if somebodys := cut && mark != "..."; mixed != somebodys {
			t.Errorf("%q: mixed %v, want %v", mark, mixed, somebodys)
		}
	}
}

// A silence that does not fit the lines around it was not read, whether its lines were skipped or read in full.
func TestSilenceOfAFile(t *testing.T) {
	var b strings.Builder
	start := time.Date(2026, 4, 2, 10, 0, 0, 0, time.UTC)
	for i := range 600 {
		at := start.Add(time.Duration(i) * 2 * time.Second)
		if i >= 400 {
			at = at.Add(7 * time.Minute)
		}
		fmt.Fprintf(&b, "%s weir kubelet[7]: I0402 %s.000000       7 mill.go:%d] \"turned\"\n",
			at.Format("2006-01-02T15:04:05+0000"), at.Format("15:04:05"), 100+i%9)
	}
	for name, next := range map[string]func([]byte, int) int{
		"in full": nil, "skipped": func([]byte, int) int { return -1 },
	} {
		got := ""
		_ = Document{Name: "j.log", Next: next}.Read(strings.NewReader(b.String()), func(e ingest.Entry) bool {
			if e.Mark != nil && e.Mark.Kind == ingest.Covered {
				got += e.Mark.From.Format("15:04:05-") + e.Mark.To.Format("15:04:05 ")
			}
			return true
		})
		if want := "10:00:00-10:13:18 10:20:20-10:26:58 "; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
