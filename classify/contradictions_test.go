package classify_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/classify/postmortem"
	"coroner/ingest"
	"coroner/rules"
)

// contradiction is a kind of thing that a page must not say beside another one of its own.
type contradiction struct {
	kind  string
	found func(v *rules.Verdict, page string) string // what contradicts; "" = nothing
}

var contradictions = []contradiction{
	{"open for want of what the timeline shows", func(v *rules.Verdict, _ string) string {
		for _, o := range v.Open {
			for source, asked := range askedFor {
				if asked.MatchString(o.Needs) && !saysWhy.MatchString(o.Needs) && shows(v, source) {
					return string(o.Label) + " would be decided by " + o.Needs
				}
			}
		}
		return ""
	}},
	{"missing though the timeline shows it", func(v *rules.Verdict, _ string) string {
		for _, m := range v.Missing {
			for _, source := range ingest.Sources {
				if m == rules.SourceNoun(source)+": not in what was read" && shows(v, source) {
					return m
				}
			}
		}
		return ""
	}},
	{"advice about a list that is empty", func(v *rules.Verdict, _ string) string {
		if len(v.Missing) == 0 && strings.Contains(v.Advice, "missing") {
			return v.Advice
		}
		return ""
	}},
	{"a retry that helps, and one that should wait", func(v *rules.Verdict, _ string) string {
		if v.Retry == "helps" && shouldWait.MatchString(v.Advice) ||
			v.Retry == "useless" && runAgain.MatchString(v.Advice) {
			return v.Retry + " — " + v.Advice
		}
		return ""
	}},
	{"advice to find out who it was, beside who it was", func(v *rules.Verdict, _ string) string {
		who := []string{"unknown", "user", "eviction-api", "drain"} // of those it is still open
		if v.Death() && !slices.Contains(who, v.Initiator) && findOut.MatchString(v.Advice) {
			return v.Initiator + " — " + v.Advice
		}
		return ""
	}},
	{"ruled out and open at one time", func(v *rules.Verdict, _ string) string {
		for _, o := range v.Open {
			for _, r := range v.RuledOut {
				if o.Label == r.Label || o.Label == v.Label || r.Label == v.Label {
					return string(o.Label)
				}
			}
		}
		return ""
	}},
	{"a plural of one, or a zero", func(_ *rules.Verdict, page string) string {
		return oddNumber.FindString(page)
	}},
	{"a size or a duration that nobody reads", func(v *rules.Verdict, _ string) string {
		return oddUnit.FindString(strings.Join([]string{v.Summary, v.Advice, strings.Join(v.Missing, " ")}, "\n"))
	}},
	{"an end before its beginning", func(v *rules.Verdict, _ string) string {
		if v.Since != nil && v.Until != nil && v.Until.Before(*v.Since) {
			return v.Since.String() + " to " + v.Until.String()
		}
		return ""
	}},
}

var (
	findOut = regexp.MustCompile(`(?i)find (?:out )?who (?:removed|deletes|asked)`)
	// askedFor is how the label's needs speak of a source.
	askedFor = map[ingest.Source]*regexp.Regexp{
		ingest.Runner:     regexp.MustCompile(`the runner's (output|last lines)`),
		ingest.Controller: regexp.MustCompile(`the controller's log`),
		ingest.Kubelet:    regexp.MustCompile(`the kubelet's log`),
		ingest.Containerd: regexp.MustCompile(`containerd's log`),
		ingest.Kube:       regexp.MustCompile(`the pod object|the pod's status|terminated reason`),
	}
	saysWhy    = regexp.MustCompile(`does not decide it|do not decide it|only single lines were read`)
	shouldWait = regexp.MustCompile(`(?i)before running|before (it|the job) is run|do not run`)
	runAgain   = regexp.MustCompile(`(?i)\brun (the job|it) again\b`)
	// oddNumber looks at what the page itself counts: log lines may say what they like.
	oddNumber = regexp.MustCompile(`… 1 lines|… 0 line|\(1 times|\(0 times|\b1 (causes|ends|deaths|verdicts)\b|` +
		`\b0s (before|after)|\b(ran|after) 0s\b`)
	oddUnit = regexp.MustCompile(`\b\d{4,} ?(kB|KiB|MiB|bytes)\b|` +
		`(?:^|[^.\d])\d{3,} ?s(econds)?\b|\b1 OOM kills\b|\b0 OOM kills?\b`)
)

// shows says whether the timeline has lines of a source that name the runner. An event or a
// row of a table is none of the pod's object.
func shows(v *rules.Verdict, source ingest.Source) bool {
	for _, e := range v.Evidence {
		if e.Mine && e.Source == string(source) && e.Signal != "kube.event" && e.Signal != "kube.row" {
			return true
		}
	}
	return false
}

// No page of an incident contradicts itself, whoever of it is asked for.
func TestNoPageContradictsItself(t *testing.T) {
	b, pages := loadBook(t), 0
	for _, in := range incidents(t) {
		all := classify.Replay(slices.Values(entries(in)), b, classify.Options{})
		all = append(all, judge(b, entries(in), in))
		for i := range all {
			var short, whole strings.Builder
			for out, style := range map[*strings.Builder]postmortem.Style{&short: {}, &whole: {All: true}} {
				if err := postmortem.Write(out, &all[i], style); err != nil {
					t.Fatal(err)
				}
			}
			pages++
			for _, c := range contradictions {
				if text := c.found(&all[i], short.String()+whole.String()); text != "" {
					t.Errorf("%s, rule %s: %s: %s", in.Name, all[i].Rule, c.kind, text)
				}
			}
		}
	}
	if pages < 300 {
		t.Errorf("%d pages only", pages)
	}
}

// Each kind is found where it is.
func TestContradictionsAreFound(t *testing.T) {
	mine := []rules.EvidenceLine{{Source: "runner", Signal: "runner.exiting", Mine: true}}
	open := func(needs string) []rules.OpenLabel {
		return []rules.OpenLabel{{Label: rules.RunnerCrash, Needs: needs}}
	}
	for i, v := range []rules.Verdict{
		{Evidence: mine, Open: open("the runner's last lines")},
		{Evidence: mine, Missing: []string{"the runner's own output: not in what was read"}},
		{Advice: "Save what is listed as missing."},
		{Retry: "helps", Advice: "Check the results before running it again."},
		{Label: rules.SIGTERMDrain, Initiator: "liveness", Advice: "Run it again; find out who removed the pod."},
		{Open: open("x"), RuledOut: []rules.RuledOut{{Label: rules.RunnerCrash}}},
		{},
		{Summary: "The guest had 60000 kB free."},
	} {
		page := map[bool]string{true: "… 1 lines left out"}[i == 6]
		if contradictions[i].found(&v, page) == "" {
			t.Errorf("%s is not found", contradictions[i].kind)
		}
	}
	v := rules.Verdict{Evidence: mine, Open: open("the runner's last lines; what was read does not decide it")}
	if text := contradictions[0].found(&v, ""); text != "" {
		t.Errorf("what is explained is found: %s", text)
	}
}
