package classify_test

import (
	"regexp"
	"strings"
	"testing"

	"coroner/fixtures"

	"golang.org/x/tools/txtar"
)

// thinned keeps the lines of the saved logs that a wish takes; objects and tables stay whole.
func thinned(files []txtar.File, wish func(line string) bool) (out []txtar.File, less bool) {
	for _, f := range files {
		if !logLine.Match(f.Data) || strings.Contains(f.Name, "pods/") {
			out = append(out, f)
			continue
		}
		var b strings.Builder
		for line := range strings.Lines(string(f.Data)) {
			if wish(line) {
				b.WriteString(line)
			}
		}
		less = less || b.Len() < len(f.Data)
		out = append(out, txtar.File{Name: f.Name, Data: []byte(b.String())})
	}
	return out, less
}

var (
	logLine  = regexp.MustCompile(`(?m)^\S+ (?:\d+ \S+ )?\S+ (?:kernel|kubelet|containerd|systemd)\b|^\{.*"MESSAGE"`)
	everyday = regexp.MustCompile(`kubelet\[\d+\]: I\d{4}|level=(?:info|debug)`)
)

// A node's log that was thinned out on its way proves no more than its lines: by the pod's name, by
// what people look for, by severity. Its verdict is never another confirmed one, nor an all-clear.
func TestGateThinned(t *testing.T) {
	b, tried := loadBook(t), 0
	for _, in := range incidents(t) {
		g := newGate(b, in)
		wishes := map[string]func(string) bool{
			"a word of death": regexp.MustCompile(`(?i)kill`).MatchString,
			"no severity":     func(line string) bool { return !everyday.MatchString(line) },
			"not the kernel":  func(line string) bool { return !strings.Contains(line, " kernel") },
		}
		if name := g.was.Runner; name != "" {
			wishes["the runner's name"] = func(line string) bool { return strings.Contains(line, name) }
		}
		for what, wish := range wishes {
			files, less := thinned(in.Files, wish)
			if !less {
				continue
			}
			tried++
			v := g.judge(entries(fixtures.Incident{Name: in.Name, Story: "x", Files: files}))
			if v.Label != g.was.Label && v.Confidence == "confirmed" || g.clears(v) {
				t.Errorf("%s, %s: %s, was %s", in.Name, what, said(v), said(g.was))
			}
		}
	}
	if t.Logf("%d thinned", tried); tried < 300 {
		t.Errorf("%d thinned", tried)
	}
}
