package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/rules"
)

// The gates hold every incident against what must not change a verdict, and
// against what must.

// gate is one incident as the gates ask for it: by its runner's name, so that
// neighbours do not make text without a name ambiguous.
type gate struct {
	name string
	list []ingest.Entry
	ask  string
	was  rules.Verdict
	book *rules.Rulebook
}

// gates are those of all incidents, judged once for all tests. No test changes an entry of them.
func gates(t *testing.T) []gate {
	t.Helper()
	judgedOnce.Do(func() {
		b := loadBook(t)
		for _, in := range incidents(t) {
			everyGate = append(everyGate, newGate(b, in))
		}
	})
	return slices.Clone(everyGate)
}

var (
	judgedOnce sync.Once
	everyGate  []gate
)

func newGate(b *rules.Rulebook, in fixtures.Incident) gate {
	g := gate{name: in.Name, list: entries(in), book: b, ask: in.Want.Runner}
	if v := judge(b, g.list, in); g.ask == "" && v.Runner != "" {
		g.ask = strings.TrimPrefix(v.Namespace+"/"+v.Runner, "/")
	}
	g.was = g.judge(g.list)
	return g
}

func (g *gate) judge(list []ingest.Entry) rules.Verdict {
	return classify.Replay(slices.Values(list), g.book, classify.Options{Runner: g.ask})[0]
}

// clears reports whether a verdict says that all is well of a runner that most likely died.
func (g *gate) clears(v rules.Verdict) bool {
	died := g.was.Death() && g.was.Label != rules.Unknown && g.was.Confidence != rules.Suspected
	return died && v.Confidence != rules.Suspected && !v.Label.Death() && !v.Label.Lasting()
}

func said(v rules.Verdict) string {
	return fmt.Sprintf("%s (%s) by %s", v.Label, v.Confidence, v.Rule)
}

// span is the time that the incident's entries are from.
func (g *gate) span() (from, to time.Time) {
	for i := range g.list {
		if at := g.list[i].At; !at.IsZero() && g.list[i].Mark == nil {
			if from.IsZero() || at.Before(from) {
				from = at
			}
			if at.After(to) {
				to = at
			}
		}
	}
	return from, to
}

func (g *gate) node() string {
	for i := range g.list {
		if n := g.list[i].Node; n != "" && g.list[i].Source.Host() {
			return n
		}
	}
	return g.was.Node
}

// Mutation: without the lines that decide, the verdict is another one or less
// sure. Other lines may say the same, so those go too until none is left.
func TestGateMutation(t *testing.T) {
	changed := 0
	for _, g := range gates(t) {
		v, list := g.was, g.list
		for round := 0; v.Label == g.was.Label && v.Confidence == g.was.Confidence && round < 12; round++ {
			decisive := map[string]bool{}
			for _, e := range v.Evidence {
				if e.Decisive {
					decisive[e.Source+"\x00"+e.Text] = true
				}
			}
			if len(decisive) == 0 {
				break
			}
			list = slices.DeleteFunc(slices.Clone(list), func(e ingest.Entry) bool {
				return e.Mark == nil &&
					(decisive[string(e.Source)+"\x00"+e.Text] || e.Source == ingest.Unknown &&
						slices.ContainsFunc(v.Evidence, func(l rules.EvidenceLine) bool {
							return l.Decisive &&
								l.Text == e.Text
						}))
			})
			v = g.judge(list)
		}
		switch {
		case g.clears(v):
			t.Errorf("%s: without the lines that decide it the all-clear %s, was %s", g.name, said(v), said(g.was))
		case v.Label != g.was.Label || v.Confidence != g.was.Confidence:
			changed++
		case g.was.Confidence == rules.Confirmed:
			t.Errorf("%s: still %s without any line that decides it", g.name, said(v))
		}
	}
	t.Logf("%d incidents changed without the lines that decide them", changed)
	if changed < 100 {
		t.Error("hardly any incident rests on its decisive lines: the gate shows nothing")
	}
}

// neighbours are lines of healthy pods on the incident's node.
func (g *gate) neighbours(n int) (out []ingest.Entry) {
	from, to := g.span()
	if from.IsZero() {
		from, to = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 1, 2, 3, 5, 5, 0, time.UTC)
	}
	step := max(to.Sub(from)/time.Duration(n), time.Millisecond)
	for i := range n {
		at := from.Add(time.Duration(i) * step)
		pod, uid, id := fmt.Sprintf(
			"quiet-web-%d",
			i/12,
		), fmt.Sprintf(
			"0f0f0f0f-0000-4000-8000-%012d",
			i/12,
		), fmt.Sprintf(
			"%064x",
			0xabcd0000+i/12,
		)
		e := ingest.Entry{
			At:     at,
			Clock:  ingest.WallClock,
			Trust:  ingest.Attested,
			Node:   g.node(),
			Source: ingest.Kubelet,
			Doc:    "neighbours",
			Line:   i + 1,
		}
		klog := func(text string) string {
			return "I" + at.Format("0102 15:04:05.000000") + "     812 kubelet.go:2405] " + text
		}
		switch i % 12 {
		case 0:
			e.Text = klog(fmt.Sprintf(`"SyncLoop ADD" source="api" pods=["shop/%s"]`, pod))
		case 1:
			e.Source = ingest.Containerd
			e.Text = fmt.Sprintf(
				`time="%s" level=info msg="RunPodSandbox for &PodSandboxMetadata{Name:%s,Uid:%s,Namespace:shop,`+
					`Attempt:0,} returns sandbox id \"%s\""`,
				at.Format(time.RFC3339Nano),
				pod,
				uid,
				strings.Repeat("5", 60)+fmt.Sprintf("%04x", i/12),
			)
		case 2:
			e.Text = klog(
				fmt.Sprintf(
					`"SyncLoop (PLEG): event for pod" pod="shop/%s" event={"ID":"%s","Type":"ContainerStarted",`+
						`"Data":"%s"}`,
					pod,
					uid,
					id,
				),
			)
		case 3:
			e.Source, e.Text = ingest.Kernel, "IPv6: ADDRCONF(NETDEV_CHANGE): veth0: link becomes ready"
		case 4:
			e.Source, e.Text = ingest.Systemd, "Started session 12 of user builder."
		case 5:
			e.Source, e.Trust, e.Namespace, e.Pod, e.PodUID, e.Container, e.Text = ingest.Job, ingest.Claimed, "shop",
				pod, uid, "web", "GET /healthz 200"
		case 9:
			e.Text = klog(
				fmt.Sprintf(`"Generic (PLEG): container finished" podID="%s" containerID="%s" exitCode=0`, uid, id),
			)
		case 10:
			e.Text = klog(fmt.Sprintf(`"SyncLoop DELETE" source="api" pods=["shop/%s"]`, pod))
		case 11:
			e.Text = klog(fmt.Sprintf(`"SyncLoop REMOVE" source="api" pods=["shop/%s"]`, pod))
		default:
			e.Text = klog(
				fmt.Sprintf(
					`"Probe succeeded" probeType="Readiness" pod="shop/%s" podUID="%s" containerName="web"`,
					pod,
					uid,
				),
			)
		}
		out = append(out, e)
	}
	return out
}

// Noise: 500 lines of healthy neighbours change nothing.
func TestGateNoise(t *testing.T) {
	asked := 0
	for _, g := range gates(t) {
		if g.ask == "" {
			continue // text that names nobody is the only pod's, and with neighbours there is more than one
		}
		asked++
		v := g.judge(append(slices.Clone(g.list), g.neighbours(500)...))
		if said(v) != said(g.was) {
			t.Errorf("%s: with neighbours %s, was %s", g.name, said(v), said(g.was))
		}
	}
	t.Logf("%d incidents asked for by name", asked)
}

// Clocks: two sources whose clocks are apart, and a pod's status against its
// own node, never give another confirmed verdict.
func TestGateClocks(t *testing.T) {
	shifted := 0
	for _, g := range gates(t) {
		for _, source := range ingest.Sources {
			if !slices.ContainsFunc(g.list, func(e ingest.Entry) bool { return e.Source == source && !e.At.IsZero() }) {
				continue
			}
			for _, by := range []time.Duration{20, 120, 600, -20, -120, -600} {
				for what, off := range map[string][]ingest.Entry{
					string(source): shift(g.list, source, by*time.Second,
						func(*ingest.Entry) bool { return true }),
					"the container states": shift(g.list, source, by*time.Second,
						func(e *ingest.Entry) bool { return strings.HasPrefix(e.Text, "container ") }),
				} {
					if v := g.judge(off); v.Confidence == rules.Confirmed && v.Label != g.was.Label {
						t.Errorf("%s: %s %d s off: %s, was %s", g.name, what, by, said(v), said(g.was))
					} else if g.clears(v) {
						t.Errorf("%s: %s %d s off: the all-clear %s, was %s", g.name, what, by, said(v), said(g.was))
					}
					shifted++
				}
			}
		}
	}
	t.Logf("%d shifts", shifted)
}

// A pod object is deleted after its runner's end, as every one is, and the API's clock is
// behind: where the node's programs were read over the end, that confirms no stop.
func TestGateDeletedAfterwards(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		end := g.was.DiedAt
		if g.ask == "" || end == nil || g.was.Label == rules.SIGTERMDrain || len(g.was.Missing) > 4 {
			continue
		}
		for _, behind := range []time.Duration{20, 45, 60, 120, 600} {
			at := end.Add(5*time.Second - behind*time.Second)
			deleted := ingest.Entry{At: at, Clock: ingest.WallClock, Source: ingest.Kube, Trust: ingest.Attested,
				Namespace: g.was.Namespace, Pod: g.was.Runner, PodUID: g.was.PodUID, Node: g.was.Node,
				Cluster: g.list[0].Cluster, Text: "pod deleting", Fields: map[string]string{"msg": "pod deleting",
					"deletion_timestamp": at.Add(30 * time.Second).Format(time.RFC3339), "grace_seconds": "30"}}
			tried++
			v := g.judge(append(slices.Clone(g.list), deleted))
			if v.Confidence == rules.Confirmed && v.Label != g.was.Label {
				t.Errorf("%s: deleted by a clock that is %d s behind: %s, was %s", g.name, behind, said(v), said(g.was))
			}
		}
	}
	if tried < 200 {
		t.Errorf("%d deletions only", tried)
	}
}

// A kill that the container went on after for seconds may have been a child's, and the end
// somebody else's.
func TestGateKillsThatAreOutlived(t *testing.T) {
	tried := 0
	for _, g := range gates(t) {
		if g.was.Rule != "cgroup-OOM-kernel-kill" || g.was.Confidence != rules.Confirmed || g.was.Exit.Code == nil {
			continue
		}
		tried++
		earlier := shift(g.list, ingest.Kernel, -12*time.Second, func(*ingest.Entry) bool { return true })
		if v := g.judge(earlier); v.Confidence == rules.Confirmed {
			t.Errorf("%s: killed 12 s before the end: %s", g.name, said(v))
		}
	}
	if tried < 5 {
		t.Errorf("%d kills only", tried)
	}
}

// shift moves the times of those entries of a source, those in an object's
// fields too.
func shift(list []ingest.Entry, source ingest.Source, by time.Duration, those func(*ingest.Entry) bool) []ingest.Entry {
	out := slices.Clone(list)
	for i := range out {
		e := &out[i]
		if e.Source != source || !those(e) {
			continue
		}
		if !e.At.IsZero() {
			e.At = e.At.Add(by)
		}
		if e.Mark != nil {
			m := *e.Mark
			m.From, m.To = moved(m.From, by), moved(m.To, by)
			e.Mark = &m
		}
		fields := map[string]string{}
		for k, v := range e.Fields {
			if at, err := time.Parse(time.RFC3339Nano, v); err == nil {
				v = at.Add(by).Format(time.RFC3339Nano)
			}
			fields[k] = v
		}
		if e.Fields != nil {
			e.Fields = fields
		}
	}
	return out
}

func moved(at time.Time, by time.Duration) time.Time {
	if at.IsZero() {
		return at
	}
	return at.Add(by)
}
