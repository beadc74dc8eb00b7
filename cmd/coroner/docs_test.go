package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

var fence = regexp.MustCompile("(?s)```(\\w+)\n(.*?)```")

// docs/rules.md is run as it is written, from top to bottom: the log is saved, each piece
// of YAML is added to the rules or to their tests, and each command gives what is shown.
func TestWorkedExample(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir("mine", 0o755); err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, b := range fence.FindAllSubmatch(page, -1) {
		switch string(b[1]) {
		case "text":
			add(t, "incident.log", b[2])
		case "yaml":
			name := "mine/rackd.yaml"
			if bytes.HasPrefix(b[2], []byte("tests:")) {
				name = "mine/rackd_test.yaml"
			}
			add(t, name, b[2])
		case "console":
			ran += transcript(t, string(b[2]))
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands of the page were run", ran)
	}
	mistakeIsShown(t, string(page))
}

func add(t *testing.T, name string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// transcript runs the commands of a block and looks for the lines below each.
func transcript(t *testing.T, block string) (ran int) {
	t.Helper()
	for part := range strings.SplitSeq("\n"+block, "\n$ coroner ") {
		command, shown, _ := strings.Cut(strings.TrimSpace(part), "\n")
		if command == "" {
			continue
		}
		ran++
		out, code := coroner(strings.Fields(command)...)
		if code != exitOK {
			t.Errorf("coroner %s ended with %d", command, code)
		}
		shows(t, command, out, shown)
	}
	return ran
}

func coroner(args ...string) (string, int) {
	var out bytes.Buffer
	p := &program{out: &out, err: &out, now: time.Now, tty: func(any) bool { return false }}
	code := p.runCommand(args)
	return out.String(), code
}

// shows looks for the lines in the order in which they are shown; … stands for
// anything.
func shows(t *testing.T, command, out, shown string) {
	t.Helper()
	rest := strings.Split(out, "\n")
	for want := range strings.Lines(shown) {
		want = strings.TrimRight(want, "\n ")
		if strings.TrimSpace(want) == "…" {
			continue
		}
		like := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$")
		for len(rest) > 0 && !like.MatchString(strings.TrimRight(rest[0], " ")) {
			rest = rest[1:]
		}
		if len(rest) == 0 {
			t.Errorf("coroner %s does not say\n%s\nit says\n%s", command, want, out)
			return
		}
	}
}

// mistakeIsShown makes the misspelling that the page speaks of.
func mistakeIsShown(t *testing.T, page string) {
	t.Helper()
	rule, err := os.ReadFile("mine/rackd.yaml")
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Replace(rule, []byte("(rackd.power-cut,"), []byte("(rackd.power-cutt,"), 1)
	if err := os.WriteFile("mine/rackd.yaml", broken, 0o644); err != nil {
		t.Fatal(err)
	}
	out, code := coroner("rules", "check", "--rules", "mine")
	shown := "    " + strings.ReplaceAll(strings.TrimSpace(out), "\n", "\n    ")
	if code != exitUsage || !strings.Contains(page, shown) {
		t.Errorf("the page does not show this mistake (exit %d):\n%s", code, out)
	}
}
