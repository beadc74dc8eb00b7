package postmortem_test

import (
	"regexp"
	"strings"
	"testing"

	"coroner/classify/postmortem"
	"coroner/rules"

	"github.com/google/go-cmp/cmp"
)

func markdown(t testing.TB, v *rules.Verdict) string {
	t.Helper()
	var b strings.Builder
	if err := postmortem.Markdown(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

const wantMarkdown = `**cgroup-OOM** (confirmed) · ~ci/amber-4kx2p~ · ` +
	`2026-03-01 10:00:04Z · node ~build-7~ · by kernel

> The kernel killed node.

- exit: 137 OOMKilled
- job: ~build~ · step ~Compile~
- domain: workload
- retry: useless

**What decides (UTC)**

~~~
10:00:04.000  kernel     oom-kill:constraint=CONSTRAINT_MEMCG
~~~

**Ruled out**

- node-OOM: no global OOM

**Missing**

- the controller's log: not in what was read

**See more**

~~~sh
kubectl get events -n ci --field-selector involvedObject.name=amber-4kx2p
logcli query --from=2026-03-01T09:58:04Z --to=2026-03-01T10:01:04Z '{namespace="ci"} | pod="amber-4kx2p"'
logcli query --from=2026-03-01T09:58:04Z --to=2026-03-01T10:01:04Z '{job="integrations/kubernetes/journal", ` +
	`instance="build-7"}'
journalctl --since "2026-03-01 09:58:04 UTC" --until "2026-03-01 10:01:04 UTC"  # on build-7
~~~

rule ~cgroup-OOM-kernel-kill~ · rulebook ~abc~ · revision 1 · said by coroner
`

// A ticket gets the finding, the facts, the lines that decide, what was
// excluded, what is missing and what to run next.
func TestMarkdown(t *testing.T) {
	want := strings.ReplaceAll(wantMarkdown, "~", "`")
	if diff := cmp.Diff(want, markdown(t, verdict())); diff != "" {
		t.Error(diff)
	}
}

// An end that harmed nobody is two lines; lines that decide nothing stand in
// where none decides.
func TestMarkdownIsShort(t *testing.T) {
	v := verdict()
	v.Evidence[0].Decisive, v.Evidence[0].Mine = false, true
	if text := markdown(t, v); !strings.Contains(
		text,
		"**The last lines about it (UTC)**\n\n```\n10:00:04.000  kernel ",
	) {
		t.Errorf("no line of the runner:\n%s", text)
	}
	v.Label = rules.Completed
	if text := markdown(t, v); strings.Count(text, "\n") != 3 {
		t.Errorf("more than a headline and a sentence:\n%s", text)
	}
}

// hostile are words that some reader of Markdown makes more of than text.
var hostile = []string{
	"@security", "a@b.c", "mailto:a@b.c", "https://evil.example/x", "www.evil.example", "evil.example",
	"evil.example/x", "#1", "o/r#1", "GH-1", "!1", "%1",
	"[click](https://evil.example)", "![x](https://evil.example)", "[x]:", "<b>", "</code>", "<!--", "&lt;",
	"&#64;here", "<!channel>", "<@U1>", "<#C1>", "<https://evil.example|x>", "<evil:x|y>",
	"*", "**b**", "_i_", "__b__", "~~s~~", "$x$", "`c`", "``", "```", "````", "~~~", ":tada:", "\\", "\\`", "|", "\\|",
	"--|--", "#", "##", "-", "+", "1.", "1)", "---", "===", ">", "/close", "```\n@here",
}

var spans = regexp.MustCompile("`[^`\n]*`")

// outside is what of a page stands in no code: the page's own words, and the
// words of a log that are let through.
func outside(t *testing.T, page string) string {
	t.Helper()
	if n := strings.Count(page, "```"); n != strings.Count("\n"+page, "\n```") {
		t.Fatalf("a fence inside of a line, which Slack takes for one:\n%s", page)
	}
	blocks := strings.Split("\n"+page, "\n```")
	if len(blocks)%2 == 0 {
		t.Fatalf("a code block is left open:\n%s", page)
	}
	var out []string
	for i := 0; i < len(blocks); i += 2 {
		out = append(out, spans.ReplaceAllString(blocks[i], ""))
	}
	return strings.Join(out, "\n")
}

// saying is a verdict that says text in every field.
func saying(text string) *rules.Verdict {
	v := verdict()
	v.Summary, v.Advice, v.Pool, v.Node, v.Runner, v.Namespace, v.Initiator, v.Domain, v.Retry, v.Resource = text, text,
		text, text, text, text, text, text, text, text
	v.Job, v.Exit.Reason, v.Rule = rules.Job{Name: text, Step: text, Repository: text, RunID: text}, text, text
	v.Evidence[0].Text, v.RuledOut[0].Because, v.Missing[0] = text, text, text
	v.Open = []rules.OpenLabel{{Label: rules.NodeOOM, Needs: text}}
	return v
}

// The text of a log stays text, wherever in the page it stands: no link, no
// mention, no HTML, no other block.
func TestMarkdownOfHostileText(t *testing.T) {
	stars := strings.Count(outside(t, markdown(t, saying("ab"))), "*")
	for _, evil := range append(hostile, strings.Join(hostile, " ")) {
		page := markdown(t, saying(evil))
		text := outside(t, page)
		for _, mark := range []string{"@", "#", "://", "evil", "www", "[", "]", "<", "&", "_", "~", "$", "`", "|", "\\",
			":tada", "GH-", "!1", "%1"} {
			if strings.Contains(text, mark) {
				t.Errorf("%q leaves %q outside of code:\n%s", evil, mark, text)
			}
		}
		if strings.Count(text, "*") > stars {
			t.Errorf("%q adds emphasis:\n%s", evil, text)
		}
		for _, call := range []string{"<!channel", "<@U", "<#C", "<http"} {
			if strings.Contains(page, call) {
				t.Errorf("%q calls people or links in a chat:\n%s", evil, page)
			}
		}
	}
}

// A table has a row for each verdict and six cells in each, whatever a log says.
func TestMarkdownList(t *testing.T) {
	for _, evil := range append(hostile, strings.Join(hostile, " ")) {
		var b strings.Builder
		if err := postmortem.MarkdownList(&b, []rules.Verdict{*saying(evil), *verdict()}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(b.String(), "\n")
		if len(lines) != 5 || strings.Count(lines[2], "|") != 7 ||
			strings.Contains(spans.ReplaceAllString(lines[2], ""), "evil") {
			t.Errorf("%q makes\n%s", evil, b.String())
		}
		if want := "| cgroup-OOM | confirmed | 2026-03-01 10:00:04Z | `build-7` | `ci/amber-4kx2p` | The kernel " +
			"killed node. |"; lines[3] != want {
			t.Errorf("got  %s\nwant %s", lines[3], want)
		}
	}
}

// A list has a line for each verdict, no wider than the terminal; where that is
// narrow, the summary goes and the names stay whole.
func TestList(t *testing.T) {
	late := verdict()
	late.Revision, late.DiedAt, late.Node, late.Summary = 3, nil, "", strings.Repeat("long\n", 100)
	for _, width := range []int{0, 100, 60} {
		var b strings.Builder
		if err := postmortem.List(&b, []rules.Verdict{*verdict(), *late}, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		want := "cgroup-OOM               confirmed  -                    -       ci/amber-4kx2p"
		if width != 60 {
			want += " (revision 3) long"
		}
		if len(lines) != 3 || !strings.HasPrefix(lines[2], want) || width == 60 && lines[2] != want {
			t.Errorf("got\n%s\nwant\n%s", b.String(), want)
		}
		for _, l := range lines {
			if width == 100 && len([]rune(l)) > width {
				t.Errorf("%d columns: %s", len([]rune(l)), l)
			}
		}
	}
}
