package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/book"
	"coroner/rules/casefile"
	"coroner/rules/signal"
	"coroner/rules/yamlfile"
)

func load(t testing.TB, layers ...string) (*rules.Rulebook, error) {
	t.Helper()
	fsys := fstest.MapFS{}
	for i, text := range layers {
		fsys[string(rune('a'+i))+".yaml"] = &fstest.MapFile{Data: []byte(text)}
	}
	return rules.Load(book.Files, fsys)
}

// A mistake in a rulebook is reported with its place and a caret under it.
func TestMistakesHavePlaceAndCaret(t *testing.T) {
	for _, c := range []struct{ name, yaml, at, says string }{
		{"misspelt signal",
			"verdicts:\n  - id: x\n    verdict: unknown\n    when: seen(kernel.oom-kil)\n    summary: s\n",
			"a.yaml:4:23", "unknown signal or field oom_kil (did you mean oom_kill?)"},
		{"misspelt field",
			"verdicts:\n  - id: x\n    verdict: unknown\n    when: any(kernel.oom-kill, .tsk == \"a\")\n" +
				"    summary: s\n", "a.yaml:4:33", "unknown signal or field tsk (did you mean task?)"},
		{"misspelt field in a block",
			"verdicts:\n  - id: x\n    verdict: unknown\n    when: |\n      seen(kernel.oom-kill) and\n" +
				"      any(kernel.oom-kill, .tsk == \"a\")\n    summary: s\n", "a.yaml:6:29", "did you mean task?"},
		{"unknown label", "verdicts:\n  - id: x\n    verdict: cgroup-OMM\n    when: ended\n    summary: s\n",
			"a.yaml:3:14", `unknown label "cgroup-OMM" (did you mean cgroup-OOM?)`},
		{"unknown word", "verdicts:\n  - id: x\n    verdict: unknown\n    when: job_runing\n    summary: s\n",
			"a.yaml:4:11", "did you mean job_running?"},
		{"not a condition", "verdicts:\n  - id: x\n    verdict: unknown\n    when: exit.code\n    summary: s\n",
			"a.yaml:4:11", "must be bool, is int"},
		{"in a template",
			"verdicts:\n  - id: x\n    verdict: unknown\n    when: ended\n    summary: 'code ${exit.cod}'\n",
			"a.yaml:5:27", "did you mean code?"},
		{"unknown key", "verdicts:\n  - id: x\n    verdit: unknown\n", "a.yaml:3:5",
			`unknown key "verdit" in verdict rule (did you mean verdict?)`},
		{"unknown source", "signals:\n  - name: a.b\n    source: kernal\n    match: some text\n", "a.yaml:3:13",
			`unknown source "kernal" (did you mean kernel?)`},
		{"unknown capture type",
			"signals:\n  - name: a.b\n    source: kernel\n    match: some text (?P<n>\\d+)\n    captures: {n: itn}\n",
			"a.yaml:5:19", `unknown capture type "itn" (did you mean int?)`},
		{"broken pattern", "signals:\n  - name: a.b\n    source: kernel\n    match: 'some (text'\n", "a.yaml:4:13",
			"missing closing )"},
		{"pattern without fixed text", "signals:\n  - name: a.b\n    source: kernel\n    match: '\\w+'\n",
			"a.yaml:4:13", "at least 4 fixed characters"},
		{"confirmed without a line",
			"verdicts:\n  - id: x\n    verdict: unknown\n    when: ended\n    confidence: confirmed\n    summary: s\n",
			"a.yaml:5:17", "names no decisive line"},
		{"twice", "facts:\n  - {name: f, value: ended}\n  - {name: f, value: ended}\n", "a.yaml:3:12",
			`"f" is defined twice`},
		{"confused with no label", "labels:\n  - name: evicted\n    confused_with: {SIGTERM-drian: x}\n", "a.yaml:3:21",
			"did you mean SIGTERM-drain?"},
		{"confused with itself", "labels:\n  - name: evicted\n    confused_with: {evicted: x}\n", "a.yaml:3:21",
			"cannot be confused with itself"},
		{"not told apart", "labels:\n  - name: evicted\n    confused_with: {SIGTERM-drain: ''}\n", "a.yaml:3:21",
			"say how evicted and SIGTERM-drain are told apart"},
		{"secret of no form", "secrets:\n  - {name: pin, doc: d}\n", "a.yaml:2:12", "give one of begins"},
		{"secret by two letters", "secrets:\n  - {name: pin, keys: [door, pw]}\n", "a.yaml:2:24", `"pw" has less`},
		{"secret without its group", "secrets:\n  - {name: pin, words: [door], match: door (.*)}\n",
			"a.yaml:2:39", "has no group (?P<secret>"},
		{"a place for no rule", "order:\n  - {family: f, at: 5000, rules: [evicted-kubelt]}\n", "a.yaml:2:35",
			"did you mean evicted-kubelet?"},
		{"a place for a rule that has one", "order:\n  - {family: f, at: -9, rules: [evicted-kubelet]}\n",
			"a.yaml:2:33", "was named before"},
		{"families that overlap", "order:\n  - {family: f, at: 3, rules: [x]}\n" +
			"verdicts:\n  - {id: x, verdict: unknown, when: ended, summary: s}\n", "a.yaml:2:14", "count down to -2"},
		{"a sign of life that is no list", "facts:\n  - {name: f, alive: true, value: ended}\n", "a.yaml:2:35",
			"must be []"},
		{"lives on after no death",
			"verdicts:\n  - {id: x, verdict: completed, when: ended, lives_on: true, summary: s}\n",
			"a.yaml:2:56", "has no use"},
		{"beside no rule",
			"verdicts:\n  - id: x\n    verdict: unknown\n    when: ended\n    before: evicted-kubelt\n    summary: s\n",
			"a.yaml:5:13", "did you mean evicted-kubelet?"},
		{"beside a rule and by number",
			"verdicts:\n  - {id: x, verdict: unknown, when: ended, precedence: 3, after: evicted-kubelet, " +
				"summary: s}\n",
			"a.yaml:2:66", "one of precedence, before and after"},
		{"in a circle", "verdicts:\n  - {id: x, verdict: unknown, when: ended, before: y, summary: s}\n" +
			"  - {id: y, verdict: unknown, when: ended, before: x, summary: s}\n",
			"a.yaml:2:52", "go in a circle"},
		{"broken yaml", "verdicts:\n  - id: [x\n", "a.yaml:", ""},
		{"not a mapping", "verdicts:\n  - just text\n", "a.yaml:2:5", "must be a mapping"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(t, c.yaml)
			var re *yamlfile.Error
			if !errors.As(err, &re) {
				t.Fatalf("no rule error, got %v", err)
			}
			if !strings.Contains(err.Error(), c.at) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got\n%v\nwant %s … %s", err, c.at, c.says)
			}
			if lines := strings.Split(re.Error(), "\n"); len(lines) == 3 && !strings.HasSuffix(lines[2], "^") {
				t.Errorf("no caret:\n%v", re)
			}
		})
	}
}

// The caret stands under the column that the message names.
func TestCaretStandsUnderTheColumn(t *testing.T) {
	_, err := load(t, "verdicts:\n  - id: x\n    verdict: unknown\n    when: seen(kernel.oom-kil)\n    summary: s\n")
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %q", err)
	}
	if caret := strings.IndexByte(lines[2], '^'); !strings.HasPrefix(lines[1][caret:], "oom-kil") {
		t.Errorf("caret at %q in\n%v", lines[1][caret:], err)
	}
}

// A user's folder replaces entries of the same name and adds new ones.
func TestLayersOverride(t *testing.T) {
	b, err := load(t, `
signals:
  - name: kernel.oom-memory
    source: kernel
    match: '^memory: usage (?P<usage>\d+kB), limit (?P<limit>\d+kB) of mine'
    captures: {usage: bytes, limit: bytes}
  - name: mine.fire
    source: systemd
    match: 'rack (?P<rack>\d+) is on fire'
facts:
  - name: on_fire
    doc: A rack burns.
    value: seen(mine.fire)
    tests:
      - {name: it burns, files: {node.log: 'rack 7 is on fire'}, want: true}
verdicts:
  - id: node-crash-fire
    verdict: node-crash
    precedence: 999
    confidence: probable
    decisive: mine.fire
    summary: 'Rack ${d.rack} burnt.'
`)
	if err != nil {
		t.Fatal(err)
	}
	e := ingest.Entry{Source: ingest.Systemd, Text: "rack 7 is on fire", Trust: ingest.Attested}
	found := b.Scan(&e)
	if len(found) != 1 || found[0].Str("rack") != "7" {
		t.Fatalf("signals: %+v", found)
	}
	v := b.Judge(&casefile.Case{Evidence: []casefile.Evidence{{Signal: &found[0], Mine: true}}})
	if v.Label != rules.NodeCrash || v.Summary != "Rack 7 burnt." {
		t.Errorf("got %s %q", v.Label, v.Summary)
	}
	if b.Rule("cgroup-OOM-kernel-kill") == nil {
		t.Error("the built-in rules are gone")
	}
	for _, f := range b.Facts {
		if tested := len(f.Tests) > 0; tested != (f.Name == "on_fire") {
			t.Errorf("%s, whose signals may have been replaced, is tested: %v", f.Name, tested)
		}
	}
}

// A signal is recognised only from the sources that may prove it; text that
// names no writer stays a claim.
func TestSourcesDecideWhatALineCanShow(t *testing.T) {
	b, err := load(t, "facts:\n  - {name: nothing, value: ended}\n")
	if err != nil {
		t.Fatal(err)
	}
	text := "Memory cgroup out of memory: Killed process 42 (node) total-vm:1kB, anon-rss:1kB, file-rss:0kB"
	for _, c := range []struct {
		source ingest.Source
		unit   string
		trust  ingest.Trust
		found  bool
		proven bool
	}{
		{ingest.Kernel, "", ingest.Attested, true, true},
		{ingest.Kernel, "", ingest.Claimed, true, false},
		{ingest.Unknown, "", ingest.Attested, true, false},
		{ingest.Unknown, "backup", ingest.Claimed, false, false}, // a program of the host's, not the kernel
		{ingest.Unknown, "kernel", ingest.Claimed, false, false}, // kernel[12], a process of that name
		{ingest.Runner, "", ingest.Attested, false, false},
		{ingest.Job, "", ingest.Claimed, false, false},
		{ingest.Controller, "", ingest.Attested, false, false},
	} {
		got := b.Scan(&ingest.Entry{Source: c.source, Unit: c.unit, Trust: c.trust, Text: text})
		if (len(got) > 0) != c.found {
			t.Errorf("%q: found %v, want %v", c.source, len(got) > 0, c.found)
			continue
		}
		if c.found && got[0].Proven() != c.proven {
			t.Errorf("%q trust %d: proven %v, want %v", c.source, c.trust, got[0].Proven(), c.proven)
		}
	}
}

// signal scans one line of the kubelet that must show one signal.
func oneSignal(t *testing.T, b *rules.Rulebook, at time.Time, text string) *signal.Signal {
	t.Helper()
	found := b.Scan(&ingest.Entry{At: at, Source: ingest.Kubelet, Trust: ingest.Attested, Text: text})
	if len(found) != 1 {
		t.Fatalf("%d signals in %q", len(found), text)
	}
	return &found[0]
}

func exitLine(code int) string {
	return fmt.Sprintf(
		`I0301 10:00:00.000000     812 generic.go:356] "Generic (PLEG): container finished" `+
			`podID="0a0b0c0d-1111-2222-3333-444455556666" containerID="%s" exitCode=%d`,
		strings.Repeat("1", 64),
		code,
	)
}

// confirmed takes a decisive line that is proven; a need that was not covered
// costs a step.
func TestConfidence(t *testing.T) {
	b, err := load(t, `
signals:
  - {name: mine.cause, source: kubelet, match: the cause}
verdicts:
  - {id: host-teardown-mine, verdict: host-teardown, precedence: 999, confidence: confirmed, decisive: mine.cause, `+
		`needs: [kernel], summary: s}
`)
	if err != nil {
		t.Fatal(err)
	}
	died := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	covered := []casefile.Coverage{{Source: ingest.Kernel, From: died.Add(-time.Hour), To: died.Add(time.Hour)}}
	gap := append(
		covered,
		casefile.Coverage{Source: ingest.Kernel, From: died.Add(-time.Second), To: died,
			Why: "missed 3 kernel messages"},
	)
	for _, c := range []struct {
		name     string
		proven   bool
		coverage []casefile.Coverage
		want     rules.Confidence
	}{
		{"proven and covered", true, covered, rules.Confirmed},
		{"claimed", false, covered, rules.Probable},
		{"proven, not covered", true, nil, rules.Probable},
		{"claimed, not covered", false, nil, rules.Suspected},
		{"covered with a gap at the death", true, gap, rules.Probable},
	} {
		s, exit := oneSignal(t, b, died, "the cause"), oneSignal(t, b, died, exitLine(137))
		v := b.Judge(
			&casefile.Case{
				Evidence: []casefile.Evidence{
					{Signal: s, Mine: true, Proven: c.proven},
					{Signal: exit, Mine: true, Proven: true},
				},
				Coverage: c.coverage,
			},
		)
		if v.Label != rules.HostTeardown || v.Confidence != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, v.Label, v.Confidence, c.want)
		}
	}
}

// What was not read, or was lost, is named.
func TestMissingNamesWhatWasNotRead(t *testing.T) {
	b := builtIn(t)
	died := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	exit := oneSignal(t, b, died, exitLine(9))
	v := b.Judge(
		&casefile.Case{Evidence: []casefile.Evidence{{Signal: exit, Mine: true, Proven: true}},
			Coverage: []casefile.Coverage{
				{Source: ingest.Kernel, From: died.Add(-time.Hour), To: died.Add(time.Hour)},
				{Source: ingest.Kubelet, From: died.Add(-time.Hour), To: died.Add(time.Hour)},
				{
					Source: ingest.Kubelet,
					From:   died.Add(-2 * time.Second),
					To:     died,
					Why:    "journald suppressed 120 messages",
				},
				{Source: ingest.Containerd, From: died.Add(-time.Hour), To: died.Add(-30 * time.Minute)},
			}},
	)
	all := strings.Join(v.Missing, "\n")
	for _, want := range []string{
		"the kubelet's log: lost 09:59:58Z–10:00:00Z (journald suppressed 120 messages)",
		"containerd's log: read, but not over the death at 10:00:00Z",
		"the runner's own output: not in what was read",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing lacks %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, "kernel log") {
		t.Errorf("the kernel was read:\n%s", all)
	}
}

// Judge gives a verdict for everything, an empty case included.
func TestJudgeAlwaysAnswers(t *testing.T) {
	b := builtIn(t)
	if v := b.Judge(&casefile.Case{}); v.Label != rules.None {
		t.Errorf("an empty case is %s", v.Label)
	}
}

// A rule stands directly beside the one that it names, whatever its own name is.
func TestRuleStandsBesideItsNeighbour(t *testing.T) {
	b, err := load(t, `verdicts:
  - {id: unknown-a, verdict: unknown, when: ended, after: evicted-kubelet, summary: s}
  - {id: unknown-b, verdict: unknown, when: ended, before: evicted-kubelet, summary: s}
  - {id: unknown-c, verdict: unknown, when: ended, before: unknown-b, summary: s}
`)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(b.Rules, func(r *rules.Rule) bool { return r.ID == "unknown-c" })
	var got []string
	for _, r := range b.Rules[at : at+4] {
		got = append(got, r.ID)
	}
	if want := []string{"unknown-c", "unknown-b", "evicted-kubelet", "unknown-a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A rule that replaces a built-in one takes its place in the order, unless it names
// another; a number is one of those that the list shows, as it was before there were
// families.
func TestPlaceOfAReplacedRule(t *testing.T) {
	plain, err := load(t, "")
	if err != nil {
		t.Fatal(err)
	}
	place := func(b *rules.Rulebook, id string) int {
		return slices.IndexFunc(b.Rules, func(r *rules.Rule) bool { return r.ID == id })
	}
	for own, next := range map[string]string{
		"":                           plain.Rules[place(plain, "evicted-kubelet")+1].ID,
		", before: node-crash-boot":  "node-crash-boot",
		", precedence: 861":          "node-crash-boot",
		", after: none-unrecognised": "",
	} {
		b, err := load(t, "verdicts:\n  - {id: evicted-kubelet, verdict: evicted, when: ended"+own+", summary: s}\n")
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if at := place(b, "evicted-kubelet") + 1; at < len(b.Rules) {
			got = b.Rules[at].ID
		}
		if got != next {
			t.Errorf("%q stands before %q, want %q", own, got, next)
		}
	}
}
