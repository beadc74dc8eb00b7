package publish

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/grafana/loki/v3/pkg/logproto"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"coroner/classify/ledger"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/ingest/push"
	"coroner/rules"
	"coroner/rules/casefile"
)

var t0 = time.Date(2026, 5, 4, 10, 0, 0, 123456789, time.UTC)

// sent is one line as Loki got it.
type sent struct {
	Labels   string
	At       time.Time
	Line     string
	Metadata string
}

func (s sent) verdict(t testing.TB) (v rules.Verdict) {
	t.Helper()
	if err := json.Unmarshal([]byte(s.Line), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// answer says with which status a push is answered: 204 takes it.
type answer func(http.Header, []sent) int

// fakeLoki speaks Loki's push endpoint.
type fakeLoki struct {
	t      testing.TB
	server *httptest.Server

	mu     sync.Mutex
	pushes [][]sent      // every request, taken or not
	kept   map[sent]bool // as Loki keeps lines: the same one once
	answer answer        // nil takes all
}

func newLoki(t testing.TB) *fakeLoki {
	f := &fakeLoki{t: t, kept: map[sent]bool{}}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

func (f *fakeLoki) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != push.Path ||
		r.Header.Get("Content-Type") != "application/x-protobuf" {
		f.t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
	}
	var req logproto.PushRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		body, err = snappy.Decode(nil, body)
	}
	if err == nil {
		err = req.Unmarshal(body)
	}
	if err != nil {
		f.t.Error(err)
	}
	var lines []sent
	for _, s := range req.Streams {
		for _, e := range s.Entries {
			var md []string
			for _, m := range e.StructuredMetadata {
				md = append(md, m.Name+"="+m.Value)
			}
			lines = append(lines, sent{s.Labels, e.Timestamp, e.Line, strings.Join(md, " ")})
		}
	}
	f.mu.Lock()
	f.pushes = append(f.pushes, lines)
	answer := f.answer
	f.mu.Unlock()
	code := http.StatusNoContent
	if answer != nil {
		code = answer(w.Header(), lines)
	}
	if code == http.StatusNoContent {
		f.mu.Lock()
		for _, s := range lines {
			f.kept[s] = true
		}
		f.mu.Unlock()
	}
	w.WriteHeader(code)
}

func (f *fakeLoki) set(answer answer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// take gives the requests since the last take.
func (f *fakeLoki) take() [][]sent {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := f.pushes
	f.pushes = nil
	return out
}

func (f *fakeLoki) lines() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.kept)
}

// rig is a publisher over a real ledger, at a time that the test sets.
type rig struct {
	*Loki
	t    testing.TB
	path string
	now  time.Time
	reg  *prometheus.Registry
}

func newRig(t testing.TB, f *fakeLoki) *rig {
	t.Helper()
	r := &rig{t: t, path: filepath.Join(t.TempDir(), "ledger.db"), now: t0}
	r.start(f)
	return r
}

// start is a new process over the same file.
func (r *rig) start(f *fakeLoki) {
	r.t.Helper()
	l, err := ledger.Open(r.path)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = l.Close() })
	r.reg = prometheus.NewRegistry()
	r.Loki = &Loki{Ledger: l, Sender: &push.Sender{URL: f.server.URL + push.Path, Client: f.server.Client()},
		Log: zerolog.Nop(), Now: func() time.Time { return r.now }, Metrics: NewMetrics(r.reg)}
}

// record puts verdicts into the outbox that were recorded now.
func (r *rig) record(stamp time.Time, all ...*rules.Verdict) {
	r.t.Helper()
	err := r.Ledger.Write(r.t.Context(), r.now, func(tx *ledger.Tx) error {
		for _, v := range all {
			if err := tx.AddVerdict("case-"+v.Runner, v, stamp, true); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) flush() {
	r.t.Helper()
	if err := r.Flush(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) outbox() int {
	r.t.Helper()
	n, err := r.Ledger.Outbox.Count(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// metric is the value of a metric with a label's value, 0 if there is none.
func (r *rig) metric(name, label string) float64 {
	r.t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		r.t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.Metric {
			if f.GetName() == name && (label == "" || len(m.Label) == 1 && m.Label[0].GetValue() == label) {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func verdict(runner string) *rules.Verdict {
	died, code := t0.Add(-time.Minute), 137
	return &rules.Verdict{Cluster: "prod", Runner: runner, Namespace: "arc", Node: "n1", PodUID: "uid-1", Pool: "linux",
		Label: rules.CgroupOOM, Confidence: rules.Confirmed,
		Domain: "workload", Initiator: "kernel", Retry: "useless", Rule: "cgroup-OOM-kernel-kill",
		JudgedBy: rules.JudgedBy{Rulebook: "abc"},
		Revision: 1, DiedAt: &died,
		Exit:     rules.Exit{Code: &code, Reason: "OOMKilled"},
		Job:      rules.Job{Name: "build", ID: "7", RunID: "8", Repository: "o/r", Step: "test"},
		Summary:  "The kernel killed <rustc>.",
		Evidence: []rules.EvidenceLine{{At: &died, Text: "oom", Decisive: true, Mine: true}},
		RuledOut: []rules.RuledOut{}, Open: []rules.OpenLabel{}, Missing: []string{}}
}

// The stream of a verdict has the labels that dashboards and alerts select by,
// and no more: a runner's name as a label would be a stream for each runner.
// Its names are structured metadata, its line the verdict as JSON.
func TestWhatLokiGets(t *testing.T) {
	f := newLoki(t)
	r := newRig(t, f)
	died := t0.Add(-time.Minute)
	r.record(died, verdict("amber-1"), verdict("amber-2"))
	bare := &rules.Verdict{Cluster: "prod", Runner: `q"\1`, Label: rules.Unknown, Confidence: rules.Suspected,
		Namespace: "a\"b\\c\n", Revision: 2, Evidence: []rules.EvidenceLine{},
		Revises: &rules.Revised{Label: rules.NodeLost, Confidence: rules.Probable}}
	r.now = t0.Add(1)
	r.record(t0, bare)
	r.flush()
	pushes := f.take()
	if len(pushes) != 1 || len(pushes[0]) != 3 {
		t.Fatalf("%d requests, want one with all of the lines", len(pushes))
	}
	got := pushes[0]
	want := sent{
		Labels: `{job="coroner", verdict="cgroup-OOM", confidence="confirmed", domain="workload", namespace="arc", ` +
			`pool="linux", cluster="prod"}`,
		At: died,
		Metadata: "runner=amber-1 node=n1 pod_uid=uid-1 rule=cgroup-OOM-kernel-kill initiator=kernel retry=useless " +
			"rulebook=abc revision=1 case=case-amber-1 kind=runner " +
			"died_at=2026-05-04T09:59:00.123456789Z exit_code=137 job_name=build job_id=7 run_id=8 repository=o/r",
	}
	line := got[0]
	line.Line = ""
	if diff := cmp.Diff(want, line); diff != "" {
		t.Error(diff)
	}
	if got[1].Labels != want.Labels || !strings.HasPrefix(got[1].Metadata, "runner=amber-2 ") {
		t.Errorf("the second runner: %+v", got[1])
	}
	if diff := cmp.Diff(*verdict("amber-1"), got[0].verdict(t)); diff != "" {
		t.Errorf("the line is not the verdict: %s", diff)
	}
	labels, ok := logtext.ParseLabels(got[2].Labels)
	if diff := cmp.Diff(
		map[string]string{
			"job": "coroner", "verdict": "unknown", "confidence": "suspected", "namespace": bare.Namespace,
			"cluster": "prod",
		},
		labels,
	); diff != "" || !ok {
		t.Errorf("%s: what is not known must be no label, and a value must not break out of its quotes: %s",
			got[2].Labels, diff)
	}
	if got[2].Metadata != `runner=q"\1 revision=2 change=label case=case-q"\1 kind=runner` || !got[2].At.Equal(t0) {
		t.Errorf("%+v", got[2])
	}
	for _, s := range got {
		if strings.Contains(s.Labels, "amber") || strings.Contains(s.Labels, "uid-1") ||
			strings.Contains(s.Labels, "n1") {
			t.Errorf("a name is a label: %s", s.Labels)
		}
	}
	nowhere := verdict("amber-3")
	nowhere.Cluster = ""
	r.record(died, nowhere)
	r.flush()
	if got := f.take()[0][0].Labels; strings.Contains(got, "cluster") {
		t.Errorf("%s of a verdict without a cluster", got)
	}
}

// What a verdict misses can be asked for in a word or two, in the words that
// the rulebook's judge has for it; what was lost, apart from what was not read.
func TestWhatWasMissingCanBeAskedFor(t *testing.T) {
	metadata := func(c *casefile.Case) map[string]string {
		book := shipped.Rulebook(t)
		v, out := book.Judge(c), map[string]string{}
		for _, m := range metadata("", &v) {
			out[m.Name] = m.Value
		}
		return out
	}
	died := t0.Add(-time.Minute)
	read := func(s ingest.Source, why string) casefile.Coverage {
		return casefile.Coverage{Source: s, From: died.Add(-time.Hour), To: t0, Why: why}
	}
	nothing := metadata(&casefile.Case{})
	if nothing["missing"] != "kernel,kubelet,containerd,runner,kube,controller" || nothing["lost"] != "" {
		t.Errorf("nothing was read, and missing=%q, lost=%q", nothing["missing"], nothing["lost"])
	}
	some := metadata(&casefile.Case{
		Coverage: []casefile.Coverage{
			read(ingest.Kernel, "rotated"), read(ingest.Controller, "dropped"), read(ingest.Kubelet, ""),
		},
	})
	if !strings.HasPrefix(some["missing"], "kernel,kubelet,") || some["lost"] != "kernel,controller" {
		t.Errorf("the kernel's and the controller's log have gaps, and missing=%q, lost=%q", some["missing"],
			some["lost"])
	}
	if none := verdict("amber"); missingSources(none.Missing, "") != "" {
		t.Error("something of nothing")
	}
}

// What Loki has taken leaves the outbox, and is not sent again.
func TestTakenLeavesTheOutbox(t *testing.T) {
	f := newLoki(t)
	r := newRig(t, f)
	var all []*rules.Verdict
	for i := range 2*batch + 50 {
		all = append(all, verdict(fmt.Sprint("amber-", i)))
	}
	r.record(t0, all...)
	r.flush()
	if n := len(f.take()); n != 3 || f.lines() != 2*batch+50 || r.outbox() != 0 {
		t.Errorf("%d requests, %d lines in Loki, %d in the outbox", n, f.lines(), r.outbox())
	}
	if r.metric("coroner_loki_pushes_total", "sent") != 2*batch+50 || r.metric("coroner_outbox_verdicts", "") != 0 {
		t.Error("the metrics do not say so")
	}
	r.now = r.now.Add(time.Hour)
	if r.flush(); len(f.take()) != 0 {
		t.Error("sent again")
	}
}

// While Loki is away or overloaded the verdicts wait, longer each time or as
// long as Loki asks for, and then go out as they were.
func TestALokiThatIsAwayLosesNothing(t *testing.T) {
	later := func(code int, after string) answer {
		return func(h http.Header, _ []sent) int {
			if after != "" {
				h.Set("Retry-After", after)
			}
			return code
		}
	}
	for _, tt := range []struct {
		what   string
		answer answer
		waits  []time.Duration // before the second try, the third …
	}{
		{"500", later(500, ""), []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}},
		{"429", later(429, ""), []time.Duration{time.Second, 2 * time.Second}},
		{"429 that asks for a while", later(429, "30"), []time.Duration{30 * time.Second, 30 * time.Second}},
		{
			"503 that asks for less than the pause", later(503, "1"),
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second},
		},
		{"wrong credentials", later(401, ""), []time.Duration{time.Second, 2 * time.Second}},
		{
			"no answer", func(http.Header, []sent) int { panic(http.ErrAbortHandler) },
			[]time.Duration{time.Second, 2 * time.Second},
		},
	} {
		f := newLoki(t)
		r := newRig(t, f)
		r.record(t0.Add(-time.Minute), verdict("amber-1"), verdict("amber-2"))
		f.set(tt.answer)
		r.flush()
		first := f.take()
		if len(first) != 1 || r.outbox() != 2 || r.metric("coroner_outbox_verdicts", "") != 2 ||
			r.metric("coroner_loki_pushes_total", "postponed") != 2 {
			t.Errorf("%s: %d requests, %d in the outbox", tt.what, len(first), r.outbox())
		}
		for _, wait := range tt.waits {
			r.now = r.now.Add(wait - 1)
			if r.flush(); len(f.take()) != 0 {
				t.Errorf("%s: sent again before %s were over", tt.what, wait)
			}
			r.now = r.now.Add(1)
			r.flush()
			if again := f.take(); len(again) != 1 || !cmp.Equal(first, again) {
				t.Errorf("%s: after %s: %s", tt.what, wait, cmp.Diff(first, again))
			}
		}
		f.set(nil)
		r.now = r.now.Add(time.Hour)
		r.flush()
		if diff := cmp.Diff(first, f.take()); diff != "" || r.outbox() != 0 || f.lines() != 2 {
			t.Errorf("%s: in the end %d in the outbox: %s", tt.what, r.outbox(), diff)
		}
	}
}

func TestBackoff(t *testing.T) {
	for attempts, want := range map[int]time.Duration{
		0: time.Second, 1: 2 * time.Second, 8: 256 * time.Second, 9: maxBackoff, 64: maxBackoff, 1 << 20: maxBackoff,
	} {
		if got := backoffTime(attempts); got != want {
			t.Errorf("%d: %s, want %s", attempts, got, want)
		}
	}
}

// One line that Loki will not have does not hold up the others.
func TestABadLineHoldsUpNobody(t *testing.T) {
	f := newLoki(t)
	r := newRig(t, f)
	f.set(func(_ http.Header, lines []sent) int {
		if slices.ContainsFunc(lines, func(s sent) bool { return strings.Contains(s.Line, "bad") }) {
			return http.StatusBadRequest
		}
		return http.StatusNoContent
	})
	r.record(t0, verdict("amber-1"), verdict("bad"), verdict("amber-2"))
	r.flush()
	if n := len(f.take()); n != 4 || f.lines() != 2 || r.outbox() != 1 {
		t.Fatalf("%d requests, %d lines in Loki, %d in the outbox; want 4, 2 and 1", n, f.lines(), r.outbox())
	}
	for tries := 1; r.outbox() > 0; tries++ { // it is given up some time, for Loki
		if tries > 2*maxAttempts {
			t.Fatalf("still tried after %d times", tries)
		}
		r.now = r.now.Add(maxBackoff)
		r.record(t0, verdict(fmt.Sprint("next-", tries)))
		r.flush()
		if got := f.lines(); got != 2+tries {
			t.Fatalf("%d lines in Loki after %d tries", got, tries)
		}
	}
	if r.metric("coroner_loki_pushes_total", "given-up") != 1 {
		t.Error("that it was given up is not counted")
	}
	if rec, ok, err := r.Ledger.LastVerdict(t.Context(), "case-bad"); !ok || err != nil || rec.Verdict.Runner != "bad" {
		t.Error("the ledger has lost it")
	}
}

// tooOld refuses what is stamped before a time, as Loki does with lines that
// are far behind the latest of their stream.
func tooOld(limit time.Time) answer {
	return func(_ http.Header, lines []sent) int {
		if slices.ContainsFunc(lines, func(s sent) bool { return s.At.Before(limit) }) {
			return http.StatusBadRequest
		}
		return http.StatusNoContent
	}
}

// A death that is too long ago for Loki is shown at the time of its verdict.
func TestTooOldGoesUnderTheTimeOfItsVerdict(t *testing.T) {
	f := newLoki(t)
	r := newRig(t, f)
	f.set(tooOld(t0))
	r.record(t0.Add(-2*time.Hour), verdict("amber-1"))
	r.now = r.now.Add(time.Minute)
	r.flush()
	if first := f.take(); len(first) != 1 || !first[0][0].At.Equal(t0.Add(-2*time.Hour)) || r.outbox() != 1 {
		t.Fatalf("%+v, %d in the outbox", first, r.outbox())
	}
	r.now = r.now.Add(time.Second)
	r.flush()
	if again := f.take(); len(again) != 1 || !again[0][0].At.Equal(t0) || r.outbox() != 0 {
		t.Errorf("%+v, %d in the outbox", again, r.outbox())
	}
}

// After Loki was away for a night the verdicts of that night come, though new
// ones of the same stream came first and Loki takes nothing that is so far behind.
func TestALongOutageLosesNothing(t *testing.T) {
	for _, age := range []time.Duration{0, time.Minute} { // of the death when it was judged
		f := newLoki(t)
		r := newRig(t, f)
		f.set(func(http.Header, []sent) int { return http.StatusServiceUnavailable })
		r.record(t0.Add(-age), verdict("amber-1"))
		for range 2 * maxAttempts {
			r.flush()
			r.now = r.now.Add(maxBackoff)
		}
		f.take()
		f.set(tooOld(r.now.Add(-time.Hour)))
		for range 5 {
			r.flush()
			r.now = r.now.Add(maxBackoff)
		}
		if f.lines() != 1 || r.outbox() != 0 || r.metric("coroner_loki_pushes_total", "given-up") != 0 {
			t.Errorf("a death %s before its verdict: %d lines in Loki, %d in the outbox", age, f.lines(), r.outbox())
		}
	}
}

// A crash between Loki's answer and the outbox, or an answer that is lost,
// sends the same line under the same time and labels, which Loki keeps once.
func TestSentAgainIsTheSame(t *testing.T) {
	for _, dies := range []bool{true, false} {
		f := newLoki(t)
		r := newRig(t, f)
		r.record(t0.Add(-time.Minute), verdict("amber-1"), verdict("amber-2"))
		if dies {
			f.set(func(http.Header, []sent) int {
				_ = r.Ledger.Close() // nothing is written after the answer
				return http.StatusNoContent
			})
		} else {
			r.Sender.Client = &http.Client{Transport: deaf{f.server.Client().Transport}}
		}
		if err := r.Flush(t.Context()); (err != nil) != dies {
			t.Fatalf("dies %v: %v", dies, err)
		}
		first := f.take()
		_ = r.Ledger.Close()
		f.set(nil)
		r.now = r.now.Add(time.Hour)
		r.start(f)
		if f.lines() != 2 || r.outbox() != 2 {
			t.Fatalf("dies %v: %d lines in Loki, %d in the outbox", dies, f.lines(), r.outbox())
		}
		r.flush()
		if diff := cmp.Diff(first, f.take()); diff != "" || f.lines() != 2 || r.outbox() != 0 {
			t.Errorf("dies %v: %d lines in Loki, %d in the outbox: %s", dies, f.lines(), r.outbox(), diff)
		}
	}
}

// deaf loses every answer.
type deaf struct{ http.RoundTripper }

func (d deaf) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := d.RoundTripper.RoundTrip(req)
	if err == nil {
		_ = res.Body.Close()
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// maxLine is Loki's default max_line_size; a longer line is refused.
const maxLine = 256 << 10

// A verdict with very much evidence is a line that Loki takes, with what
// decides in it; the ledger keeps the whole.
func TestTheLineIsLimited(t *testing.T) {
	at := func(i int) *time.Time {
		out := t0.Add(time.Duration(i) * time.Second)
		return &out
	}
	evidence := func(i int, decisive, mine bool) rules.EvidenceLine {
		return rules.EvidenceLine{
			At:       at(i),
			Source:   "runner",
			Signal:   "runner.connect-error",
			Text:     fmt.Sprint(i, " ", strings.Repeat("<é>", 80)),
			Decisive: decisive,
			Mine:     mine,
		}
	}
	for _, tt := range []struct {
		what     string
		evidence func(i int) rules.EvidenceLine
		count    int
		want     func(e rules.EvidenceLine) bool // must be there
	}{
		{"few decide", func(i int) rules.EvidenceLine { return evidence(i, i == 0 || i == 200, true) }, 400,
			func(e rules.EvidenceLine) bool { return e.Decisive || e.At.After(*at(399 - maxEvidence)) }},
		{"others are not the runner's", func(i int) rules.EvidenceLine { return evidence(i, i == 0, i == 1) }, 400,
			func(e rules.EvidenceLine) bool { return e.Decisive || e.Mine }},
		{"one decides, of another", func(i int) rules.EvidenceLine { return evidence(i, i == 3, false) }, 9,
			func(e rules.EvidenceLine) bool { return e.Decisive }},
		{"all decide", func(i int) rules.EvidenceLine { return evidence(i, true, true) }, 800,
			func(e rules.EvidenceLine) bool { return e.At.After(*at(799 - maxDecisive)) }},
	} {
		f := newLoki(t)
		r := newRig(t, f)
		v := verdict("amber-1")
		v.Evidence = nil
		for i := range tt.count {
			v.Evidence = append(v.Evidence, tt.evidence(i))
		}
		r.record(t0, v)
		r.flush()
		line := f.take()[0][0]
		if len(line.Line) > maxLine {
			t.Errorf("%s: the line has %d bytes", tt.what, len(line.Line))
		}
		got := line.verdict(t)
		if !slices.IsSortedFunc(got.Evidence, func(a, b rules.EvidenceLine) int { return a.At.Compare(*b.At) }) {
			t.Errorf("%s: the evidence is not in the order of its time", tt.what)
		}
		var want, have []time.Time
		for _, e := range v.Evidence {
			if tt.want(e) {
				want = append(want, *e.At)
			}
		}
		for _, e := range got.Evidence {
			if tt.want(e) {
				have = append(have, *e.At)
			}
			if !e.Mine && !e.Decisive {
				t.Errorf("%s: evidence of others is in it", tt.what)
			}
			if len(e.Text) > maxText+len("…") || !strings.HasSuffix(e.Text, "…") || !utf8.ValidString(e.Text) ||
				strings.ContainsRune(e.Text, utf8.RuneError) {
				t.Errorf("%s: text %q", tt.what, e.Text)
			}
		}
		if diff := cmp.Diff(want, have); diff != "" {
			t.Errorf("%s: %s", tt.what, diff)
		}
		if rec, _, err := r.Ledger.LastVerdict(t.Context(), "case-amber-1"); err != nil || !cmp.Equal(rec.Verdict, *v) {
			t.Errorf("%s: the ledger has not the whole (%v)", tt.what, err)
		}
	}
}

// A text that fits stays whole; one that does not is cut between two runes,
// wherever the limit falls.
func TestTextIsCutBetweenRunes(t *testing.T) {
	for pad := range 5 {
		text := strings.Repeat("x", maxText-pad)
		v := verdict("amber-1")
		v.Evidence = []rules.EvidenceLine{
			{Text: text + strings.Repeat("y", pad), Decisive: true}, {Text: text + "😀 and more", Decisive: true},
		}
		got := briefVerdict(v).Evidence
		want := text + "…"
		if pad == 4 {
			want = text + "😀…"
		}
		if got[0].Text != v.Evidence[0].Text || got[1].Text != want {
			t.Errorf("%d bytes before the limit: %q, %q", pad, got[0].Text[maxText-5:], got[1].Text[maxText-5:])
		}
	}
}

// A Loki that asks for a minute's rest has it from new verdicts too, and none that
// was recorded meanwhile is forgotten.
func TestLokiHasItsRest(t *testing.T) {
	f := newLoki(t)
	f.set(func(h http.Header, _ []sent) int {
		h.Set("Retry-After", "60")
		return http.StatusTooManyRequests
	})
	r := newRig(t, f)
	for i := range 10 {
		r.record(t0, verdict(fmt.Sprint("amber-", i)))
		r.flush()
	}
	if n := len(f.take()); n != 1 {
		t.Errorf("%d requests", n)
	}
	f.set(func(http.Header, []sent) int { return http.StatusNoContent })
	r.now = r.now.Add(59 * time.Second)
	if r.flush(); f.lines() != 0 {
		t.Error("asked too soon")
	}
	r.now = r.now.Add(2 * time.Second)
	if r.flush(); r.outbox() != 0 || f.lines() != 10 {
		t.Errorf("%d wait, %d lines", r.outbox(), f.lines())
	}
}

// What Loki was to get later is found without that anything new comes.
func TestRunLooksAgain(t *testing.T) {
	defer func(was time.Duration) { pause = was }(pause)
	pause = time.Millisecond
	f := newLoki(t)
	r := newRig(t, f)
	var looks atomic.Int64 // each a second after the one before
	r.Now = func() time.Time { return t0.Add(time.Duration(looks.Add(1)) * time.Second) }
	r.record(t0, verdict("amber-1"))
	pushes := make(chan int, 2)
	f.set(func(http.Header, []sent) int {
		pushes <- 0
		return map[int]int{1: http.StatusServiceUnavailable, 2: http.StatusNoContent}[len(pushes)]
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	for f.lines() == 0 {
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err != nil || len(pushes) != 2 {
		t.Error(err, len(pushes))
	}
}

// The publisher looks into the outbox whenever something comes into it, sends what
// it finds, and stops when it is told to, even while Loki does not answer.
func TestRun(t *testing.T) {
	defer func(was time.Duration) { pause = was }(pause)
	pause = time.Hour // it must be woken
	f := newLoki(t)
	r := newRig(t, f)
	got := make(chan string, 1) // the runner of each push
	release := make(chan struct{})
	defer close(release)
	f.set(func(_ http.Header, lines []sent) int {
		name := lines[0].verdict(t).Runner
		if got <- name; name == "amber-3" {
			<-release
		}
		return http.StatusNoContent
	})
	looked := make(chan struct{}, 1000) // a look into an empty outbox asks for the time once
	r.Now = func() time.Time {
		looked <- struct{}{}
		return t0
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-looked
	r.record(t0, verdict("amber-1"))
	for i := 1; i <= 3; i++ {
		if name, want := <-got, fmt.Sprint("amber-", i); name != want {
			t.Errorf("%s, want %s", name, want)
		}
		if i < 3 {
			r.record(t0, verdict(fmt.Sprint("amber-", i+1)))
		}
	}
	cancel() // while Loki holds amber-3
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := r.outbox(); n != 1 {
		t.Errorf("%d in the outbox, want the one that was not answered", n)
	}
}
