package manual_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/fixtures"
	"coroner/fixtures/shipped"
	"coroner/rules"
	"coroner/rules/book"
	"coroner/rules/manual"
)

func pages(t *testing.T) []manual.Page {
	t.Helper()
	b := shipped.Rulebook(t)
	incidents, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	return manual.Pages(b, incidents)
}

func page(t *testing.T, l rules.Label) manual.Page {
	t.Helper()
	for _, p := range pages(t) {
		if p.Label == l {
			return p
		}
	}
	t.Fatalf("no page of %s", l)
	return manual.Page{}
}

// Every label has a page that answers what a person asks of it.
func TestEveryLabelHasItsAnswers(t *testing.T) {
	all := pages(t)
	if len(all) != len(rules.Labels) {
		t.Fatalf("%d pages for %d labels", len(all), len(rules.Labels))
	}
	for _, p := range all {
		if p.Meaning == "" || p.Business == "" || p.Again == "" || len(p.Rules) == 0 || len(p.Confused) == 0 {
			t.Errorf("%s: the page has gaps: %+v", p.Label, p)
		}
		if p.Label != rules.None && (p.Advice == "" || len(p.Queries) == 0) {
			t.Errorf("%s: says neither what to do nor how to find it", p.Label)
		}
		for _, r := range p.Rules {
			if r.Doc == "" || r.Says == "" || len(r.Incidents) == 0 {
				t.Errorf("%s: says not enough of %s, or no incident shows it", p.Label, r.ID)
			}
		}
	}
}

// A rule that can confirm names the lines that do, and who prints them.
func TestConfirmingRulesNameTheirLines(t *testing.T) {
	for _, p := range pages(t) {
		for _, r := range p.Rules {
			if r.AtMost == rules.Confirmed && len(r.Signals) == 0 {
				t.Errorf("%s: which line decides is not said", r.ID)
			}
			for _, s := range r.Signals {
				if s.Doc == "" || s.Printed == "" || len(s.Sources) == 0 {
					t.Errorf("%s: says not enough of the signal %s", r.ID, s.Name)
				}
			}
		}
	}
}

// A line that only a condition looks at does not count as deciding.
func TestConditionsDoNotDecide(t *testing.T) {
	p := page(t, rules.HostTeardown)
	i := slices.IndexFunc(p.Rules, func(r manual.Rule) bool { return r.ID == "host-teardown-kvm" })
	var names []string
	for _, s := range p.Rules[i].Signals {
		names = append(names, s.Name)
	}
	if want := []string{"kata.qemu-dead", "kata.sandbox-died", "kernel.kvm-failed"}; !slices.Equal(names, want) {
		t.Errorf("the deciding signals are %v, want %v", names, want)
	}
}

// What X is told from Y by, Y is told from X by.
func TestConfusionGoesBothWays(t *testing.T) {
	apart := map[[2]rules.Label]string{}
	for _, p := range pages(t) {
		for _, c := range p.Confused {
			apart[[2]rules.Label{p.Label, c.Label}] = c.Apart
		}
	}
	for pair, text := range apart {
		if text == "" || apart[[2]rules.Label{pair[1], pair[0]}] != text {
			t.Errorf("%s and %s are not told apart in the same words on both pages", pair[0], pair[1])
		}
	}
}

// No page shows the language that rules are written in.
func TestPagesAreInWords(t *testing.T) {
	code := regexp.MustCompile(`\$\{|\?\s*"|\b(?:and|or) not |[a-z]\(|#\.|\.(?:mine|near|lag|before)\b|==|&&`)
	for _, p := range pages(t) {
		var says []string
		for _, r := range p.Rules {
			says = append(says, r.Says, r.Advice)
		}
		for _, s := range append(says, p.RuledOut...) {
			if found := code.FindString(s); found != "" {
				t.Errorf("%s: %q looks like code: %s", p.Label, found, s)
			}
		}
	}
}

// A value is shown by its name, words that may be left out in brackets.
func TestSays(t *testing.T) {
	all := allRules(t)
	for id, want := range map[string]string{
		"cgroup-OOM-kernel-kill": "The kernel killed ‹task› (pid ‹pid›) because the ‹level› reached its memory " +
			"limit[ of ‹limit›].",
		"completed-runner": "The runner did its work[ (‹result›)] and ended well.",
		"completed-job-log": "The runner is healthy[; a step ended with code ‹code›[, which is SIGKILL; memory is " +
			"the usual cause]].",
		"runner-crash-signal": "The container's main process died by its own fault (exit ‹code›, signal ‹number›).",
		"completed-exit": "The container ended with 0[; the runner's output was not read, so it may have crashed " +
			"all the same].",
	} {
		i := slices.IndexFunc(all, func(r manual.Rule) bool { return r.ID == id })
		if got := all[i].Says; got != want {
			t.Errorf("%s says %q, want %q", id, got, want)
		}
	}
}

func allRules(t *testing.T) (out []manual.Rule) {
	t.Helper()
	for _, p := range pages(t) {
		out = append(out, p.Rules...)
	}
	return out
}

// Nothing that a rulebook says can break the page: no markup, no table cell.
func TestTextIsNotMarkup(t *testing.T) {
	p := manual.Page{Label: rules.NodeOOM, Meaning: "a <b>bold</b>\n# claim", Rules: []manual.Rule{{
		ID: "x", Signals: []manual.Signal{{Name: "a.b", Doc: "one|two", Printed: "p"}},
	}}}
	got := p.Markdown("")
	if strings.Contains(got, "<b>") || strings.Contains(got, "\n# claim") || !strings.Contains(got, `one\|two`) {
		t.Errorf("the text came through as markup:\n%s", got)
	}
}

// A rule of one's own is on the page, with its own line and tests.
func TestOwnRules(t *testing.T) {
	own := `
signals:
  - {name: rackd.power-cut, source: systemd, reach: node, doc: The rack lost its power., printed: rackd, ` +
		`match: 'power cut in rack (?P<rack>\d+)'}
verdicts:
  - {id: node-crash-power, verdict: node-crash, precedence: 864, confidence: confirmed, doc: Power., ` +
		`decisive: 'filter(rackd.power-cut, .near)', summary: 'Rack ${d.rack} lost its power.', ` +
		`tests: [{name: the power goes}]}`
	b, err := rules.Load(book.Files, fstest.MapFS{"own.yaml": {Data: []byte(own)}})
	if err != nil {
		t.Fatal(err)
	}
	p, ok := manual.PageOf(b, rules.NodeCrash, nil)
	if !ok {
		t.Fatal("no page")
	}
	text := p.Markdown("")
	for _, want := range []string{"### node-crash-power", "> Rack ‹rack› lost its power.",
		"| `rackd.power-cut` | The rack lost its power. | systemd | rackd |", "its own test: the power goes"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q:\n%s", want, text)
		}
	}
	if _, ok := manual.PageOf(b, "no-such-label", nil); ok {
		t.Error("a label that is not there has a page")
	}
}

// What each label can be follows from its rules: the sources of their deciding lines, whether a
// job could have written them, and the logs that they need whole.
func TestReadings(t *testing.T) {
	b := shipped.Rulebook(t)
	const sure, likely, maybe = rules.Confirmed, rules.Probable, rules.Suspected
	for label, want := range map[rules.Label][3]rules.Confidence{
		rules.CgroupOOM:    {sure, sure, likely},    // by the kernel's line; by the controller's OOMKilled
		rules.NodeOOM:      {sure, sure, ""},        // only the node tells
		rules.HostTeardown: {sure, likely, maybe},   // by the node's programs, whole; by words
		rules.GuestOOM:     {likely, likely, maybe}, // the runner's samples need the kernel's silence
		rules.Completed:    {sure, sure, sure},      // the listener tells
	} {
		for i, r := range manual.Readings {
			if got, by, ok := r.Best(b, label); got != want[i] || ok != (want[i] != "") || ok != (len(by) > 0) {
				t.Errorf("%s, %s: %q by %v, want %q", label, r.Title, got, by, want[i])
			}
		}
	}
	page := manual.Lists(b)[manual.ReadingName]
	for _, l := range b.LabelOrder() {
		if strings.Count(page, "\n| ["+string(l)+"](") != 1 {
			t.Errorf("the table has no line of %s", l)
		}
	}
	if !strings.Contains(page, "| [node-OOM](node-OOM.md) | confirmed | confirmed | **unknown** |") {
		t.Error("the table does not say that a node's OOM is lost")
	}
}

// A rule of one's own counts as those that are built in.
func TestReadingsOfOwnRules(t *testing.T) {
	own := fstest.MapFS{"own.yaml": {Data: []byte("signals:\n" +
		"  - {name: runner.own-oom, source: runner, doc: d, match: own OOM}\n" +
		"verdicts:\n" +
		"  - {id: own-oom, verdict: node-OOM, before: node-OOM-victim, confidence: confirmed, doc: d,\n" +
		"     confirmed_because: x, decisive: 'filter(runner.own-oom, .mine)', summary: s}\n")}}
	b, err := rules.Load(book.Files, own)
	if err != nil {
		t.Fatal(err)
	}
	got, by, _ := manual.Readings[2].Best(b, rules.NodeOOM) // a job can print what the runner prints
	if got != rules.Probable || !slices.Equal(by, []string{"own-oom"}) {
		t.Errorf("%s by %v", got, by)
	}
}
