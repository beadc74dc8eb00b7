package casefile

import (
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"

	"github.com/google/go-cmp/cmp"
)

// A verdict says what was read around the death: spans that overlap are one,
// gaps stand for themselves, and what is far away or has no time is left out.
func TestSpans(t *testing.T) {
	died := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return died.Add(time.Duration(s) * time.Second) }
	c := Case{Coverage: []Coverage{
		{Source: ingest.Runner},
		{Source: ingest.Kubelet, From: at(-100), To: at(-50)},
		{Source: ingest.Kernel, From: at(-40), To: at(500)},
		{Source: ingest.Kernel, From: at(-9000), To: at(-40)},
		{Source: ingest.Kernel, From: at(-20), To: at(-10), Why: "vacuumed"},
		{Source: ingest.Kernel, From: at(-20), To: at(-10), Why: "vacuumed"},
		{Source: ingest.Kubelet, From: at(-30), To: at(5)},
		{Source: ingest.Containerd, From: at(-9000), To: at(-8000)},
	}}
	want := []Span{
		{"kernel", at(-600), at(10), ""},
		{"kernel", at(-20), at(-10), "vacuumed"},
		{"kubelet", at(-100), at(-50), ""},
		{"kubelet", at(-30), at(5), ""},
	}
	if diff := cmp.Diff(want, c.Spans(died)); diff != "" {
		t.Error(diff)
	}
	if got := c.Spans(time.Time{}); len(got) != 0 {
		t.Errorf("a death of no known time has %v", got)
	}
}

// However many holes a source has, those next to the death are told, none is
// passed off as read, and the other sources are told as well.
func TestSpansOfAHoledJournal(t *testing.T) {
	died := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	c := Case{
		Coverage: []Coverage{
			{Source: ingest.Kernel, From: died.Add(-time.Hour), To: died},
			{Source: ingest.Kubelet, From: died.Add(-time.Hour), To: died},
		},
	}
	for i := range 150 {
		at := died.Add(-4 * time.Second * time.Duration(i))
		c.Coverage = append(
			c.Coverage,
			Coverage{Source: ingest.Kernel, From: at.Add(-time.Second), To: at, Why: "hole"},
		)
	}
	got := c.Spans(died)
	holes, lost := 0, time.Time{}
	for _, s := range got {
		if s.Source == "kernel" && s.Lost == "hole" {
			holes, lost = holes+1, s.To
		}
	}
	if holes != maxSpans-1 || !lost.Equal(died) || got[0].Lost != "" || !got[0].To.Equal(died) ||
		!strings.HasSuffix(got[1].Lost, " holes in this time") ||
		got[1].To.Before(died.Add(-4*time.Second*maxSpans)) {
		t.Errorf("%d holes, the last %s; the first %+v", holes, lost, got[:2])
	}
	if last := got[len(got)-1]; last.Source != "kubelet" || last.Lost != "" {
		t.Errorf("the last span is %+v", last)
	}
}

// Who asks a pod to stop does so a grace period before its end: that nobody asked takes a source
// that was read for as long, and that memory did not run out does not.
func TestLookBackIsTheGracePeriod(t *testing.T) {
	died := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	covers := func(grace int, read time.Duration, source ingest.Source) bool {
		span := Coverage{Source: source, From: died.Add(-read), To: died}
		c := Case{Coverage: []Coverage{span}, Evidence: told(), life: &life{
			over: map[string]time.Time{}, started: died.Add(-time.Hour), grace: time.Duration(grace) * time.Second}}
		return c.Covers(source, died)
	}
	for _, k := range []struct {
		grace  int
		read   time.Duration
		source ingest.Source
		want   bool
	}{
		{0, 31 * time.Second, ingest.Kubelet, true},
		{30, 31 * time.Second, ingest.Kubelet, true},
		{600, 31 * time.Second, ingest.Kubelet, false},
		{600, 601 * time.Second, ingest.Kubelet, true},
		{600, 31 * time.Second, ingest.Containerd, false},
		{600, 31 * time.Second, ingest.Kernel, true},
		{7200, time.Hour, ingest.Kubelet, true}, // the pod's whole life
	} {
		if got := covers(k.grace, k.read, k.source); got != k.want {
			t.Errorf("grace %d s, %s read for %v: %v", k.grace, k.source, k.read, got)
		}
	}
}

// told is a kubelet's word of the pod's end.
func told() []Evidence {
	return []Evidence{{Signal: &signal.Signal{Def: &signal.Def{Name: "kubelet.container-finished",
		Effect: signal.Effect{Exit: true}}, Source: ingest.Kubelet}, Mine: true, Proven: true}}
}

// A kubelet that tells nothing of what it does with the pod may have stopped it.
func TestSilentKubeletCoversNothing(t *testing.T) {
	died := time.Date(2026, 4, 2, 10, 0, 0, 0, time.UTC)
	c := &Case{Coverage: []Coverage{{Source: ingest.Kubelet, From: died.Add(-time.Hour), To: died.Add(time.Hour)}}}
	claim := told()
	claim[0].Proven = false
	for what, said := range map[string][]Evidence{"nothing": nil, "what somebody only claims": claim} {
		if c.Evidence = said; c.Covers(ingest.Kubelet, died) {
			t.Errorf("covered by a kubelet that says %s", what)
		}
	}
	want := "the kubelet's log: read, but it tells nothing of the pod's start, stop or end (verbosity below 2)"
	if missing := Missing(c, Findings{Died: died}); !slices.Contains(missing, want) {
		t.Errorf("%q", missing)
	}
}

// What was read in part covers nothing, and is no hole in what was read whole.
func TestPartlyReadCoversNothing(t *testing.T) {
	died := time.Date(2026, 4, 2, 10, 0, 0, 0, time.UTC)
	span := Coverage{Source: ingest.Kubelet, From: died.Add(-time.Hour), To: died.Add(time.Hour)}
	thin := span
	thin.Partly = "only some lines were saved"
	for _, c := range []struct {
		read []Coverage
		want bool
	}{{[]Coverage{thin}, false}, {[]Coverage{span}, true}, {[]Coverage{span, thin}, true}} {
		if got := (&Case{Coverage: c.read, Evidence: told()}).Covers(ingest.Kubelet, died); got != c.want {
			t.Errorf("%+v: covers %v, want %v", c.read, got, c.want)
		}
	}
	missing := Missing(&Case{Coverage: []Coverage{thin}}, Findings{Died: died})
	if !slices.Contains(missing, "the kubelet's log: "+thin.Partly+"; what is not among them proves nothing") {
		t.Errorf("%q", missing)
	}
}
