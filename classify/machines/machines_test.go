package machines

import (
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"
)

var noon = time.Date(2026, 4, 7, 12, 0, 0, 0, time.UTC)

func after(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

// read is what a document holds of a program of the node hull-3, in minutes after noon.
func read(doc string, source ingest.Source, from, to int) ingest.Entry {
	return ingest.Entry{Node: "hull-3", Doc: doc, Source: source,
		Mark: &ingest.Mark{Kind: ingest.Covered, From: after(from), To: after(to)}}
}

func TestOthers(t *testing.T) {
	named := []Moment{{ingest.Kubelet, after(5), []string{"a/node.log"}}}
	began := []Moment{{Source: ingest.Kubelet, At: after(5)}}
	for _, c := range []struct {
		name    string
		read    []ingest.Entry
		moments []Moment
		want    []string
	}{
		{"its own", []ingest.Entry{read("a/node.log", ingest.Kubelet, 0, 10)}, named, nil},
		{"another that does not name it", []ingest.Entry{read("b/node.log", ingest.Kubelet, 0, 10)}, named,
			[]string{"b/node.log"}},
		{"what lies beside the other", []ingest.Entry{
			read("b/node.log", ingest.Kubelet, 0, 10), read("b/kernel.log", ingest.Kernel, 20, 30)}, named,
			[]string{"b/node.log", "b/kernel.log"}},
		{"another file beside its own", []ingest.Entry{
			read("a/other.log", ingest.Kubelet, 0, 10), read("a/kernel.log", ingest.Kernel, 0, 10)}, named,
			[]string{"a/other.log"}},
		{"a log of another program", []ingest.Entry{read("b/node.log", ingest.Containerd, 0, 10)}, named, nil},
		{"the kernel names no pod", []ingest.Entry{read("b/node.log", ingest.Kernel, 0, 10)}, named, nil},
		{"a log that begins later", []ingest.Entry{read("b/node.log", ingest.Kubelet, 5, 10)}, named, nil},
		{"a log that ends before", []ingest.Entry{read("b/node.log", ingest.Kubelet, 0, 5)}, named, nil},
		{"the only log, of a kubelet that names nobody",
			[]ingest.Entry{read("b/node.log", ingest.Kubelet, 0, 10)}, began, nil},
		{"the only log, of a kubelet that names others",
			[]ingest.Entry{read("c/node.log", ingest.Kubelet, 0, 10)}, began, []string{"c/node.log"}},
	} {
		l := New(c.read)
		l.TellsOfPods(ingest.Kubelet, "c/node.log")
		o := l.Others("", "hull-3.example", c.moments)
		for _, m := range c.read {
			want := false
			for _, doc := range c.want {
				want = want || doc == m.Doc
			}
			if o.Has(m.Doc) != want {
				t.Errorf("%s: %s is another machine's: %v", c.name, m.Doc, !want)
			}
		}
		if (o.Key() == "") != (c.want == nil) {
			t.Errorf("%s: key %q", c.name, o.Key())
		}
	}
}

// A line of another machine happened there if the pod's own logs were read over its moment.
func TestDenies(t *testing.T) {
	o := New([]ingest.Entry{
		read("a/node.log", ingest.Kubelet, 0, 10), read("a/node.log", ingest.Kernel, 0, 6),
		read("b/node.log", ingest.Kubelet, 0, 10), read("b/node.log", ingest.Kernel, 0, 10),
	}).Others("", "hull-3", []Moment{{ingest.Kubelet, after(5), []string{"a/node.log"}}})
	for _, c := range []struct {
		doc    string
		minute int
		want   bool
	}{
		{"b/node.log", 3, true}, {"b/node.log", 8, false}, {"a/node.log", 3, false}, {"c/node.log", 3, false},
	} {
		s := &signal.Signal{Source: ingest.Kernel, Doc: c.doc, At: after(c.minute)}
		if o.Denies(s) != c.want {
			t.Errorf("%s at minute %d: %v", c.doc, c.minute, !c.want)
		}
	}
	var none *Others
	if none.Has("a/node.log") || none.Denies(&signal.Signal{}) || none.Key() != "" {
		t.Error("no others, and some are")
	}
}
