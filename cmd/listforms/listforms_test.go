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

func items() []listforms.Item {
	return listforms.Items(verdicts(), func(r *lookup.Recorded) *rules.Verdict { return &r.Verdict })
}

func write(t *testing.T, form string) string {
	t.Helper()
	f, err := listforms.Parse(form, false, listforms.OfLists)
	if err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	var out strings.Builder
	if err := f.Write(&out, items()); err != nil {
		t.Fatalf("%s: %v", form, err)
	}
	return out.String()
}

func TestForms(t *testing.T) {
	for form, want := range map[string]string{
		"name": "ci/amber-1\npool/birch\n0a0b\n",
		"jsonpath={.runner} {.verdict}": "amber-1 cgroup-OOM\n pool-blocked\n" +
			"$(reboot) unknown\na b unknown\n",
		"jsonpath={.runner}":                                    "amber-1\n$(reboot)\na b\n",
		"jsonpath={.items[*].job.name}":                         "build (x64)   \n", // as kubectl has it
		"jsonpath={.items[*].nothing}":                          "",
		`jsonpath={"="}{.nothing}`:                              "=\n=\n=\n=\n",
		"jsonpath=.exit.code":                                   "3221225786\n",
		"jsonpath={.items[*].verdict}":                          "cgroup-OOM pool-blocked unknown unknown\n",
		"jsonpath={.items[0].exit.code}":                        "3221225786\n",
		`jsonpath={.runner}{"\t"}{.node}`:                       "amber-1\tbuild-7\n$(reboot)\t\na b\t\n",
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

// JSON and YAML say all that the answer has, and not only the verdict.
func TestWholeAnswers(t *testing.T) {
	for form, want := range map[string]string{"json": `{"id":"ci.amber-1",`, "yaml": "---\nid: ci.amber-1\n"} {
		if got := write(t, form); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %.60s", form, got)
		}
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		output string
		short  bool
		forms  []string
		name   string // "" = it is no form
		says   string
	}{
		{"", false, listforms.OfPages, listforms.Text, ""},
		{"", true, listforms.OfPages, listforms.JSON, ""},
		{"text", true, listforms.OfLists, listforms.JSON, ""},
		{"json", true, listforms.OfPages, listforms.JSON, ""},
		{"yaml", true, listforms.OfPages, "", "--json and -o yaml at one time"},
		{"jsonpath={.a}", true, listforms.OfPages, "", "--json and -o jsonpath={.a} at one time"},
		{"name", false, listforms.OfPages, listforms.Name, ""},
		{"jsonpath=a.b", false, listforms.OfPages, listforms.Path, ""},
		{"wide", false, listforms.OfLists, listforms.Wide, ""},
		{"wide", false, listforms.OfPages, "", "want one of text, json, yaml, markdown, name, jsonpath="},
		{"names", false, listforms.OfLists, "", "want one of text, json, yaml, markdown, wide, name, jsonpath="},
		{"jsonpath", false, listforms.OfLists, "", "-o jsonpath: want one of"},
		{"jsonpath=", false, listforms.OfLists, "", "has no template"},
		{"jsonpath={.runner", false, listforms.OfLists, "", "-o jsonpath={.runner: unclosed action"},
	} {
		f, err := listforms.Parse(tt.output, tt.short, tt.forms)
		if f.Name != tt.name || (err == nil) != (tt.name != "") ||
			err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %q %v", tt, f.Name, err)
		}
	}
}
