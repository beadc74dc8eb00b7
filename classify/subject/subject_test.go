package subject_test

import (
	"testing"

	"coroner/classify/subject"
	"coroner/ingest"
	"coroner/rules"
)

// mark is what reading a document about a pod leaves.
func mark(source ingest.Source, doc, namespace, pod string) ingest.Entry {
	return ingest.Entry{Source: source, Doc: doc, Namespace: namespace, Pod: pod,
		Mark: &ingest.Mark{Kind: ingest.Covered, Lines: 1}}
}

func TestFind(t *testing.T) {
	object := func(doc, pod string) ingest.Entry { return mark(ingest.Kube, doc, "ci", pod) }
	log := func(pod string) ingest.Entry {
		return mark(ingest.Runner, "in/pods/ci_"+pod+"_1/runner/0.log", "ci", pod)
	}
	died := func(names ...string) (out []rules.Verdict) {
		for _, n := range names {
			out = append(out, rules.Verdict{Namespace: "ci", Runner: n, Label: rules.CgroupOOM})
		}
		return out
	}
	sidecar := mark(ingest.Job, "in/pods/ci_web-1_2/main/0.log", "ci", "web-1")
	for _, c := range []struct {
		name     string
		paths    []string
		marks    []ingest.Entry
		verdicts []rules.Verdict
		want     string
	}{
		{name: "nobody"},
		{"a death alone makes no subject", []string{"in"}, nil, died("amber-1"), ""},
		{"one object", nil, []ingest.Entry{object("in/pod.yaml", "amber-1")}, died("beryl-2", "amber-1"), "ci/amber-1"},
		{"one object of somebody who lives", nil,
			[]ingest.Entry{object("in/pod.json", "amber-1")}, died("beryl-2"), "ci/amber-1"},
		{"the object of two lives", nil,
			[]ingest.Entry{object("a.yaml", "amber-1"), object("b.yaml", "amber-1")}, nil, "ci/amber-1"},
		{"two objects", nil,
			[]ingest.Entry{object("in/pods.json", "amber-1"), object("in/pods.json", "beryl-2")}, died("amber-1"), ""},
		{"an object beside a list", nil, []ingest.Entry{
			object("in/pods.json", "amber-1"), object("in/pods.json", "beryl-2"), object("in/pod.yaml", "beryl-2"),
		}, nil, "ci/beryl-2"},
		{"two objects in two files", nil,
			[]ingest.Entry{object("a.yaml", "amber-1"), object("b.yaml", "beryl-2")}, nil, ""},
		{"events are no objects", nil, []ingest.Entry{object("in/events.txt", "amber-1")}, died("amber-1"), ""},
		{"a listener's object", nil, []ingest.Entry{
			object("in/listener.yaml", "amber-754b578d-listener"), object("in/pod.yaml", "amber-1"),
		}, nil, "ci/amber-1"},
		{"one log", nil, []ingest.Entry{log("amber-1")}, died("beryl-2"), "ci/amber-1"},
		{"one runner's log beside another pod's", nil, []ingest.Entry{sidecar, log("amber-1")}, nil, "ci/amber-1"},
		{"two runners' logs", nil, []ingest.Entry{log("amber-1"), log("beryl-2")}, nil, ""},
		{"a log elsewhere", nil, []ingest.Entry{mark(ingest.Runner, "in/runner.log", "ci", "amber-1")}, nil, ""},
		{"a folder's name", []string{"/x/s06-amber-1"}, nil, died("beryl-2", "amber-1"), "ci/amber-1"},
		{"an archive's name", []string{"/x/amber-1.tgz"}, nil, died("beryl-2", "amber-1"), "ci/amber-1"},
		{"the name wins over the object", []string{"/x/beryl-2"},
			[]ingest.Entry{object("pod.yaml", "amber-1")}, died("beryl-2"), "ci/beryl-2"},
		{"a longer name", []string{"/x/amber-1-left"}, nil, died("amber-1", "amber-1-left"), "ci/amber-1-left"},
		{"the start of another name", []string{"/x/amber-10"}, nil, died("amber-1"), ""},
		{"the end of another name", []string{"/x/xamber-1"}, nil, died("amber-1"), ""},
		{"two names", []string{"/x/amber-1", "/x/coral-2"}, nil, died("amber-1", "coral-2"), ""},
		{"a folder above", []string{"/amber-1/logs"}, nil, died("amber-1", "beryl-2"), ""},
		{"a short name", []string{"/x/ci"}, nil, died("ci", "beryl-2"), ""},
	} {
		if got := subject.Find(c.paths, c.marks, c.verdicts).String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// What is about the subject is put apart; a pool of that name is another thing.
func TestDivide(t *testing.T) {
	s := subject.Subject{Namespace: "ci", Name: "amber-1"}
	all := []rules.Verdict{
		{Namespace: "ci", Runner: "beryl-2"}, {Namespace: "ci", Runner: "amber-1"},
		{Namespace: "other", Runner: "amber-1"}, {Runner: "amber-1"},
		{Standing: rules.Standing{Kind: "pool"}, Pool: "amber-1"},
	}
	own, rest := s.Divide(all)
	if len(own) != 2 || own[0].Namespace != "ci" || own[1].Namespace != "" || len(rest) != 3 {
		t.Errorf("own %+v, rest %+v", own, rest)
	}
	if own, rest := (subject.Subject{}).Divide(all); len(own) != 0 || len(rest) != len(all) {
		t.Errorf("nobody's are %d, of the rest there are %d", len(own), len(rest))
	}
}
