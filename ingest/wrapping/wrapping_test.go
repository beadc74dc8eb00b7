package wrapping_test

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"coroner/ingest/wrapping"
)

const (
	first  = `2026-03-01T10:00:03+00:00 build-7 kernel: <tun0> "up"`
	second = `2026-03-01T10:00:04+00:00 build-7 kubelet[812]: ready`
	plain  = first + "\n" + second + "\n"
)

// What people put around lines is taken off, and nothing else.
func TestLayers(t *testing.T) {
	around := func(before, after string) string {
		return before + first + after + "\n" + before + second + after + "\n"
	}
	for name, wrapped := range map[string]string{
		"quoted":         around("> ", ""),
		"quoted twice":   around("> > ", ""),
		"a difference":   around("+", ""),
		"a list of code": around("- `", "`"),
		"a table":        around("| ", " |"),
		"grep -n":        "12:" + first + "\n40:" + second + "\n",
		"grep -H":        around("node.log:", ""),
		"grep -rn":       "logs/node.log:12:" + first + "\nlogs/node.log:40:" + second + "\n",
		"cat -n":         "     1\t" + first + "\n     2\t" + second + "\n",
		"less -N":        "      1 " + first + "\n      2 " + second + "\n",
		"a chat":         around("[10:04 AM] ", ""),
		"colours":        around("\x1b[33m", "\x1b[0m"),
		"end blanks":     around("", "     "),
		"a quoted grep":  "> 12:" + first + "\n> 40:" + second + "\n",
		"HTML":           strings.NewReplacer(`"`, "&quot;", "<", "&lt;", ">", "&gt;").Replace(plain),
		"hard blanks":    strings.ReplaceAll(plain, " ", "\u00a0"),
		"curly quotes":   strings.Replace(strings.Replace(plain, `"`, "“", 1), `"`, "”", 1),
	} {
		if got := unwrapped(t, wrapped); got != plain {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// Lines that were broken are whole again, and those behind keep their numbers.
func TestBrokenLines(t *testing.T) {
	const line = `2026-03-01T10:00:04+00:00 build-7 kubelet[812]: E0301 10:00:04.000000 812 pod_workers.go:1301] ` +
		`"Error syncing pod, skipping" err="the node ran out of what it has" pod="ci/amber-runner-1"`
	for name, wrapped := range map[string]string{
		"between words": line[:73] + "\n" + line[74:146] + "\n" + line[147:] + "\n" + second + "\n",
		"anywhere":      line[:80] + "\n" + line[80:160] + "\n" + line[160:] + "\n" + second + "\n",
	} {
		if got, want := unwrapped(t, wrapped), line+"\n\n\n"+second+"\n"; got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// What a program itself writes is no wrapping.
func TestUnwrapped(t *testing.T) {
	for name, text := range map[string]string{
		"a log":              plain,
		"no line end":        first,
		"nothing":            "",
		"times of day":       "10:00:01 kubelet[1]: a\n10:00:02 kubelet[1]: b\n",
		"a shell's trace":    "+ make all\n+ echo done\n",
		"a job's own file":   "job.log:12:" + first + "\n",
		"another pod's file": "var/log/pods/ci_a_0a/web/0.log:12:" + first + "\n",
		"entities in quotes": `{"msg":"a &quot; b"}` + "\n",
		"rows of one length": "NAME      READY   STATUS    RESTARTS   AGE    IP           NODE        X\n" +
			"amber-1   0/1     Error     0          5m     10.0.0.10    build-007   1\n" +
			"amber-2   1/1     Running   0          5m     10.0.0.11    build-007   1\n",
		"rows of counts": "NAMESPACE   NAME      DESIRED   CURRENT   UP-TO-DATE   AVAILABLE   AGE\n" +
			"carding     amber     3         3         3            0           90m\n" +
			"carding     beryl     3         3         3            2           20d\n",
		"sentences": "Waiting for pod mill/build-1 to be running, status is Pending\n" +
			"\tUnschedulable: \"0/5 nodes are available: 5 Insufficient memory.\"\n" +
			"Running on build-1 via mill-gitlab-runner-1...\n",
		"binary": "\x00> a\n> b\n",
	} {
		if got := unwrapped(t, text); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// unwrapped reads text at once and in small pieces, which must be the same.
func unwrapped(t *testing.T, text string) string {
	t.Helper()
	w := wrapping.Of([]byte(text))
	got := string(w.Text([]byte(text)))
	slow, err := io.ReadAll(w.Reader(iotest.OneByteReader(strings.NewReader(text))))
	if err != nil || string(slow) != got {
		t.Errorf("%q byte by byte, %q at once, %v", slow, got, err)
	}
	return got
}

// What mails, chats and pages put around a text tells that people handed it on; grep and colours do not.
func TestPasted(t *testing.T) {
	line := "2026-03-01T10:00:00Z one two\n"
	for text, want := range map[string]bool{
		line + line: false, "7:" + line + "8:" + line: false, "\x1b[32m" + line: false,
		"> " + line + "> " + line: true, "10:22 AM " + line + "10:22 AM " + line: true,
		"- `" + line[:len(line)-1] + "`\n": true,
	} {
		if got := wrapping.Of([]byte(text)).Pasted(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A text that explains errors, or shows how a source changed, holds none that happened.
func TestGuideAndDifference(t *testing.T) {
	guide := "## Common errors\n\n**Lost communication with the server**\n" +
		"Usually `OOMKilled`: look for it in the pod.\n"
	report := "## What happened\n\nWe see **lost communication** again. Usually it works. Common errors: none.\n"
	change := "diff --git a/x_test.go b/x_test.go\nindex 1a2b3c4..2b3c4d5 100644\n--- a/x_test.go\n+++ b/x_test.go\n" +
		"@@ -1,2 +1,3 @@ func TestX(t *testing.T) {\n \twant := 1\n+\t\"Pod was evicted\"\n"
	added := "diff --git a/x.log b/x.log\nnew file mode 100644\n--- /dev/null\n+++ b/x.log\n@@ -0,0 +1,200 @@\n" +
		strings.Repeat("+2026-03-01T10:00:00Z one two\n", 200)
	table := "## Reasons\n\n| Reason | Description |\n|---|---|\n| `StepOOM` | A step was OOMKilled |\n\nThat is all.\n"
	for text, want := range map[string][2]bool{
		guide: {true, false},
		guide + "```\n2026-03-01 10:00:00 x\n```\n": {},
		report: {},
		change: {false, true},
		added:  {false, true},
		change + "2026-03-01T10:00:00Z one two\n":                    {},
		"+2026-03-01T10:00:00Z one two\n":                            {},
		"```diff\n" + change[strings.Index(change, "@@"):] + "```\n": {false, true},
		"$ git diff\n" + change:                                      {},
		change + "+ make test\n+ ./run.sh\n":                         {},
		strings.Replace(table, "Reason |", "Time |", 1):              {},
		strings.Replace(table, "A step was", "10:04 a step", 1):      {},
		table:                                    {true, false},
		table + "2026-03-01T10:00:00Z one two\n": {},
		strings.Replace(table, "#", "", 2):       {},
	} {
		if got := [2]bool{wrapping.Guide([]byte(text)), wrapping.Difference([]byte(text))}; got != want {
			t.Errorf("%.80q: %v, want %v", text, got, want)
		}
	}
	if !wrapping.Of([]byte(added)).None() {
		t.Error("a difference is unwrapped")
	}
}

// What a program can print did not happen.
func TestSource(t *testing.T) {
	code := "cmd/root.go:226\n+\tcase 2:\n+\t\tfmt.Println(\"Runner ended, again in 5 seconds.\")\n" +
		"+\t\tcount.Add(1)\n+\tdefault:\n+\t\tlog.Print(\"Runner was OOMKilled\")\n+\t\tstopping = false\n"
	for text, want := range map[string]bool{
		code:                                    true,
		code + "2026-03-01T10:00:00Z one two\n": false,
		code + strings.Repeat("Runner ended\n", 3):                 false,
		"name = forge\ncount = 3\nsize = 4\na = 5\nb = 6\nc = 7\n": false,
		"Killed(\"x\")\nKilled(\"y\")\n":                           false,
	} {
		if got := wrapping.Source([]byte(text)); got != want {
			t.Errorf("%.80q: %v, want %v", text, got, want)
		}
	}
}

// A log store's column of times goes where the line has its own, and stays where it has none.
func TestStoreTimes(t *testing.T) {
	const object, columns = "2026-03-01 10:00:00.118\t", "2026-03-01 10:00:00.118 | "
	for text, want := range map[string]string{
		object + `{"time":"10:00:00","message":"one"}`:  `{"time":"10:00:00","message":"one"}`,
		object + `{"ts": 1772359200.5,"message":"one"}`: `{"ts": 1772359200.5,"message":"one"}`,
		object + `{"message":"one"}`:                    object + `{"message":"one"}`,
		columns + "2026/03/01 10:00:00 one":             "2026/03/01 10:00:00 one",
		columns + "one":                                 columns + "one",
	} {
		text, want = strings.Repeat(text+"\n", 4), strings.Repeat(want+"\n", 4)
		w := wrapping.Of([]byte(text))
		if got := string(w.Text([]byte(text))); got != want {
			t.Errorf("%q became %q", text, got)
		}
		if shown := time.Date(2026, 3, 1, 10, 0, 0, 118e6, time.UTC); w.Latest().Equal(shown) == (text == want) {
			t.Errorf("%q: latest %v", text, w.Latest())
		}
	}
}

// A table with bars between its columns alone is one where the line below its head says so.
func TestInnerBars(t *testing.T) {
	const rows = "Type | Reason | Age\n-- | -- | --\nNormal | Pulled | 3m\n"
	if got, want := unwrapped(t, rows), "Type  Reason  Age\n\nNormal  Pulled  3m\n"; got != want {
		t.Errorf("%q", got)
	}
	within := strings.Repeat("a line of a job\n", 4) + rows // what a job prints changes nothing of its log
	for _, plain := range []string{"a | b | c\nd | e | f\n", "one two\n-- | -- \nthree\n", within} {
		if got := unwrapped(t, plain); got != plain {
			t.Errorf("%q became %q", plain, got)
		}
	}
}

// Of prose only what it quotes as a message is read; commands, names and bare words are none.
func TestQuoted(t *testing.T) {
	const text = "The nodes restart with `watchdog: BUG: soft lockup - CPU#2 stuck`, see `values.yaml` and\n" +
		"`kubectl drain build-7 --force` helps. `OOMKilled` was not it.\n" +
		"ERROR: Job failed (system failure): no pod\nThe ERROR: came twice.\n" +
		"It says \"finish job request for job 7 with result: Succeeded\", or \"all well\", and then\n" +
		"The self-hosted runner lost communication with the server\n"
	want := "watchdog: BUG: soft lockup - CPU#2 stuck\nERROR: Job failed (system failure): no pod\n" +
		"finish job request for job 7 with result: Succeeded\n" +
		"The self-hosted runner lost communication with the server\n"
	if got := wrapping.Quoted([]byte(text)); got != want {
		t.Errorf("%q", got)
	}
}
