package listforms_test

import (
	"strings"
	"testing"
	"time"

	"coroner/classify/lookup"
	"coroner/cmd/listforms"
	"coroner/rules"
	"coroner/rules/casefile"
)

func verdicts() []lookup.Recorded {
	at := time.Date(2026, 3, 1, 10, 0, 4, 0, time.UTC)
	code := 3221225786
	return []lookup.Recorded{
		{ID: "ci.amber-1", Verdict: rules.Verdict{
			Runner: "amber-1", Namespace: "ci", Node: "build-7", Pool: "amber", Label: rules.CgroupOOM,
			Confidence: rules.Confirmed, Initiator: "kernel", Retry: "useless", DiedAt: &at,
			Exit: rules.Exit{
				Code: &code,
			}, Job: rules.Job{Name: "build (x64)"}, Summary: "The kernel \x1b[31mkilled node.",
		}},
		{Verdict: rules.Verdict{Standing: rules.Standing{Kind: casefile.OfPool}, Pool: "birch",
			Label: rules.PoolBlocked, Confidence: rules.Probable}},
		{Verdict: rules.Verdict{Runner: "$(reboot)", PodUID: "0a0b", Label: rules.Unknown}},
		{Verdict: rules.Verdict{Runner: "a b", Label: rules.Unknown}},
	}
}

func write(t *testing.T, form string) string {
	t.Helper()
	f, ok, err := listforms.Parse(form)
	if !ok || err != nil {
		t.Fatalf("%s: %v %v", form, ok, err)
	}
	var out strings.Builder
	if err := f.Write(&out, verdicts()); err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	return out.String()
}

func TestForms(t *testing.T) {
	for form, want := range map[string]string{
		"name": "ci/amber-1\npool/birch\n0a0b\n",
		"jsonpath={.runner} {.verdict}": "amber-1 cgroup-OOM\n pool-blocked\n" +
			"$(reboot) unknown\na b unknown\n",
		"jsonpath=.exit.code":                                   "3221225786\n\n\n\n",
		"jsonpath={.items[*].verdict}":                          "cgroup-OOM pool-blocked unknown unknown\n",
		"jsonpath={.items[0].exit.code}":                        "3221225786\n",
		`jsonpath={.runner}{"\t"}{.node}`:                       "amber-1\tbuild-7\n\t\n$(reboot)\t\na b\t\n",
		"jsonpath={range .items[*]}{.pool}{\"\\n\"}{end}":       "amber\nbirch\n\n\n",
		`jsonpath={.items[?(@.verdict=="cgroup-OOM")].summary}`: `The kernel \u001b[31mkilled node.` + "\n",
		"jsonpath={.items[?(@.exit.code==3221225786)].id}":      "ci.amber-1\n",
	} {
		if got := write(t, form); got != want {
			t.Errorf("%s: got %q, want %q", form, got, want)
		}
	}
	wide := strings.Split(write(t, "wide"), "\n")
	if strings.Join(strings.Fields(wide[0]), " ") !=
		"VERDICT CONFIDENCE DIED AT EXIT BY RETRY CLUSTER NODE POOL RUNNER JOB SUMMARY" ||
		strings.Join(
			strings.Fields(wide[1]),
			" ",
		) != "cgroup-OOM confirmed 2026-03-01 10:00:04Z 3221225786 kernel useless - "+
			`build-7 amber ci/amber-1 build (x64) The kernel \u001b[31mkilled node.` {
		t.Errorf("%q", wide)
	}
	if strings.Index(wide[0], "RUNNER") != strings.Index(wide[1], "ci/amber-1") {
		t.Errorf("the columns do not stand under their names:\n%s", strings.Join(wide, "\n"))
	}
}

func TestParse(t *testing.T) {
	for _, form := range []string{"text", "json", "yaml", "markdown", "", "names", "jsonpath"} {
		if _, ok, _ := listforms.Parse(form); ok {
			t.Errorf("%q is taken", form)
		}
	}
	for _, form := range []string{"jsonpath=", "jsonpath={.runner"} {
		f, _, err := listforms.Parse(form)
		if err == nil {
			var out strings.Builder
			err = f.Write(&out, verdicts())
		}
		if err == nil {
			t.Errorf("%s is taken", form)
		}
	}
}
