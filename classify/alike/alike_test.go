package alike

import (
	"strings"
	"testing"

	"coroner/rules"
)

func died(change func(v *rules.Verdict), lines ...string) Kind {
	v := &rules.Verdict{Rule: "oom.cgroup", Runner: "amber-x7k2p-runner-bcdfg", Node: "n1", Namespace: "ci",
		Pool:   "memory",
		PodUID: "6f1d8c1e-0c3b-4f1e-9a55-1f2e3d4c5b6a",
		Job:    rules.Job{Name: "Unit tests (linux)", Repository: "acme/shop", ID: "4242", Step: "Run"}}
	for _, text := range lines {
		v.Evidence = append(v.Evidence, rules.EvidenceLine{Text: text, Decisive: true})
	}
	if change != nil {
		change(v)
	}
	return Of(v)
}

// What a line says of this death only is masked; what it says is not.
func TestTemplate(t *testing.T) {
	for line, want := range map[string]string{
		"Memory cgroup out of memory: Killed process 4242 (node) total-vm:9kB, anon-rss:8kB"://
		"Memory cgroup out of memory: Killed process * (node) *, *",
		`"Killing container" pod="ci/amber-x7k2p-runner-bcdfg" containerName="runner"`://
		`"Killing container" pod="*" containerName="runner"`,
		"2026-05-04T14:02:00Z node n1 is not ready: no answer since 14:01:20."://
		"* node * is not ready: no answer since *.",
		"pod other-qwxzt  was\tpreempted":            "pod * was preempted", // another's name that Kubernetes drew
		"job Unit tests (linux) of acme/shop failed": "job * of * failed",
		"https://github.com/acme/shop/runs: 404":     "*: *",
		// Near misses: words that look like a name, and names that are words.
		"out of memory, evicting in order":     "out of memory, evicting in order", // the pool is called memory
		"a well-known end: state-break":        "a well-known end: state-break",    // a vowel: nobody drew it
		"Run it again":                         "Run it again",
		"nothing":                              "nothing",
		"":                                     "",
		"text with \xff and no more than that": "text with and no more than that",
	} {
		if got := died(nil, line).Template; got != want {
			t.Errorf("%q:\n%q, want\n%q", line, got, want)
		}
	}
}

// The key is of the kind and of whose it is: cluster, label and pool.
func TestKey(t *testing.T) {
	key := func(change func(v *rules.Verdict)) string {
		v := &rules.Verdict{Cluster: "east", Label: rules.CgroupOOM, Rule: "r", Pool: "p", Runner: "a-1", Node: "n1",
			Evidence: []rules.EvidenceLine{{Text: "Killed process 17 (node)", Decisive: true}}}
		change(v)
		return Key(v)
	}
	one := key(func(*rules.Verdict) {})
	if again := key(func(v *rules.Verdict) {
		v.Runner, v.Node, v.Evidence[0].Text = "b-2", "n2", "Killed process 4 (node)"
	}); again != one || len(one) != 32 || strings.Trim(one, "0123456789abcdef") != "" {
		t.Errorf("%q, %q", one, again)
	}
	for name, change := range map[string]func(v *rules.Verdict){
		"cluster": func(v *rules.Verdict) { v.Cluster = "" },
		"label":   func(v *rules.Verdict) { v.Label = rules.NodeOOM },
		"rule":    func(v *rules.Verdict) { v.Rule = "s" },
		"pool":    func(v *rules.Verdict) { v.Pool = "q" },
		"text":    func(v *rules.Verdict) { v.Evidence[0].Text = "Killed process 17 (java)" },
		"border":  func(v *rules.Verdict) { v.Cluster, v.Label = "eas", "t"+rules.CgroupOOM },
	} {
		if key(change) == one {
			t.Errorf("another %s has the same key", name)
		}
	}
}

// Two deaths by the same line about other things are alike; another rule or another text is
// another kind. Which line that decides came first does not matter, nor what decides nothing.
func TestOf(t *testing.T) {
	a := died(nil, "Killed process 4242 (node)", "Task in /kubepods/pod1 killed")
	b := died(func(v *rules.Verdict) {
		v.Runner, v.Node, v.Job = "birch-1", "n2", rules.Job{}
		v.Evidence = append(v.Evidence, rules.EvidenceLine{Text: "A line beside it"})
	}, "Task in /kubepods/pod2 killed", "Killed process 17 (node)")
	if a != b || a.Number() != b.Number() || a.Number() <= 0 {
		t.Errorf("%+v %+v", a, b)
	}
	seen := map[int64]Kind{}
	for _, k := range []Kind{a, died(func(v *rules.Verdict) { v.Rule = "oom.other" }, "Killed process 4242 (node)"),
		died(nil, "Killed process 4242 (java)"), died(nil), {}} {
		if other, ok := seen[k.Number()]; ok {
			t.Errorf("%+v and %+v are one", k, other)
		}
		seen[k.Number()] = k
	}
}
