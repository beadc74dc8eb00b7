package document

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// pieces are what formats are made of: a line that repeats one of them, or two, is
// what a parser can be lost in.
var pieces = []string{
	"a=", "a= ", "a=b ", `a="b" `, `"`, `\`, `\"`, `{"a":`, `{"a":{},`, "{", "[", "[[", "\t", "INFO\t", "#033[",
	"#033[1m", "\x1b[", "\x1b]",
	"\x00", "a:b ", "2026-03-01T10:00:00Z ", "I0301 10:00:00.000000 1 a.go:1] ", "msg=a ", `msg="a\"`, " {", "} ",
	"a={", "a=[", "a=&{b:c ",
	"a=b, ", "pod/a/b] ", "a | ", "é", "\xff", "<6>", "Mar  1 10:00:00 a b: ", "[ 1.0] ", "- a: ", "stdout P ",
	`"a":"b",`, `{"a":"b\`, `k="\u`,
	"a={ ( ", "a.b=c ", "k=v k=v,",
}

// fronts are how lines of some formats begin.
var fronts = []string{
	"", "INFO a ", `I0301 10:00:00.000000     812 a.go:1] "m" `, `{"msg":"a",`, "time=x level=info msg=",
	"time=x component=a msg=",
	"2026-03-01T10:00:00Z\tINFO\tx\t", "Mar  1 10:00:00 host kubelet[1]: ", "E ",
}

// No line takes forever, and none costs more than its length says: a line of more
// pairs than are kept once never came to its end.
func TestNoLineCostsMoreThanItsLength(t *testing.T) {
	for _, front := range fronts {
		for i, a := range pieces {
			for _, b := range []string{"", "a=b ", `"`, pieces[(i+1)%len(pieces)]} {
				short, long := costs(front, a+b, 1000), costs(front, a+b, ingest.MaxText)
				for way, least := range short {
					for try := 0; try < 5 && long[way] > 4*least+100; try++ { // others may have had the processor
						least = max(least, costs(front, a+b, 1000)[way])
						long[way] = min(long[way], costs(front, a+b, ingest.MaxText)[way])
					}
					if long[way] > 4*least+100 {
						t.Errorf(
							"%s: %.0f ns a byte of a short line, %.0f of a long one: %q and %q again and again",
							way,
							least,
							long[way],
							front,
							a+b,
						)
					}
				}
			}
		}
	}
}

// costs is what each byte of a line costs, by who reads it.
func costs(front, piece string, size int) map[string]float64 {
	text := (front + strings.Repeat(piece, size/len(piece)+1))[:size]
	e := &ingest.Entry{Source: ingest.Runner, Text: logtext.Cleaned(text)}
	pod := Document{Name: "ci_amber-4kx2p_0a0b0c0d-1111-2222-3333-444455556666/runner/0.log"}.Feed()
	line := []byte("2026-03-01T10:00:00.000000000Z stdout F " + text)
	plain, labels := Document{
		Name: "loki",
	}.Feed(), map[string]string{
		"unit": "kubelet.service",
		"job":  "integrations/kubernetes/journal",
	}
	out := map[string]float64{}
	for way, f := range map[string]func(){
		"message": func() { logtext.Message(e, nil) },
		"pod log": func() { pod.Line(line, 0) },
		"shipped": func() { plain.Shipped(time.Unix(1e9, 0), labels, text); plain.Held() },
	} {
		least := time.Duration(math.MaxInt64)
		for range 3 {
			began := time.Now()
			f()
			least = min(least, time.Since(began))
		}
		out[way] = float64(least.Nanoseconds()) / float64(size)
	}
	return out
}

// A line with more pairs than are kept ends, and keeps those that it may.
func TestMorePairsThanAreKept(t *testing.T) {
	for _, text := range []string{"time=x level=info msg=a %s", "%s msg=a",
		`I0301 10:00:00.000000     812 a.go:1] "m" %s`, "INFO a %s", `ERROR a {"a": 1} %s`} {
		var pairs strings.Builder
		for n := range 3 * logtext.MaxFields {
			fmt.Fprintf(&pairs, "k%d=v ", n)
		}
		e := ingest.Entry{Source: ingest.Runner, Text: fmt.Sprintf(text, pairs.String())}
		if _, fields, _ := logtext.Message(&e, nil); len(fields) > logtext.MaxFields+2 {
			t.Errorf("%.30s: %d fields", e.Text, len(fields))
		}
	}
}
