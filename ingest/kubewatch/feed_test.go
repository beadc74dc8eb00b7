package kubewatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// bench is a feed without a server: what it hands on stays in the outbox.
type bench struct {
	*feed
	t   *testing.T
	now time.Time
}

func newBench(t *testing.T, name string) *bench {
	b := &bench{t: t, now: time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)}
	w := &Watcher{
		metrics: NewMetrics(prometheus.NewRegistry()),
		options: Options{Now: func() time.Time { return b.now }, Log: zerolog.Nop()},
	}
	w.out = newOutbox(nil, zerolog.Nop())
	w.out.waiting = make(chan []ingest.Entry, 10_000)
	b.feed = newFeed(w, resource{"/api/v1", name, "ci"})
	return b
}

func (b *bench) object(text string) *object {
	b.t.Helper()
	o, _, err := codec{}.Decode([]byte(text), nil, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return o.(*object)
}

// said is what was handed on since the last time.
func (b *bench) said() (out []string) {
	for {
		select {
		case some := <-b.w.out.waiting:
			for _, e := range some {
				line := e.Text
				if e.Mark != nil {
					line = fmt.Sprintf("mark %d %s %s", e.Mark.Kind, e.Mark.From.Format("15:04:05"),
						e.Mark.To.Format("15:04:05"))
				}
				out = append(out, line)
			}
		default:
			return out
		}
	}
}

func (b *bench) want(what string, want ...string) {
	b.t.Helper()
	got := b.said()
	ok := len(got) == len(want)
	for i := range want {
		ok = ok && strings.HasPrefix(got[i], want[i])
	}
	if !ok {
		b.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func pod(version int, status string) string {
	return fmt.Sprintf(
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p-runner-1","namespace":"ci","uid":"u1",`+
			`"resourceVersion":"%d"},"spec":{"nodeName":"n1"},"status":{%s}}`,
		version,
		status,
	)
}

const up = `"containerStatuses":[{"name":"runner","restartCount":0,` +
	`"state":{"running":{"startedAt":"2031-01-01T00:00:01Z"}}}]`

// Coverage goes on as long as the server is heard of, ends where it was heard
// of last, and a list that tells of changes after a break is a gap.
func TestCoverage(t *testing.T) {
	b := newBench(t, "pods")
	_ = b.Replace([]any{b.object(pod(1, up))}, "10")
	b.want("the first list", "container running", "mark 0 00:00:00 00:00:00")
	b.now = b.now.Add(5 * time.Second)
	b.UpdateResourceVersion("11")
	b.want("a bookmark soon after")
	b.now = b.now.Add(55 * time.Second)
	b.UpdateResourceVersion("12")
	b.want("a bookmark", "mark 0 00:00:00 00:01:00")
	b.now = b.now.Add(time.Minute)
	_ = b.Replace([]any{b.object(pod(1, up))}, "12")
	b.want("a list that tells of no change", "mark 0 00:00:00 00:02:00")
	b.now = b.now.Add(time.Minute)
	_ = b.Replace(nil, "20")
	b.want("a list after a break", "mark 1 00:02:00 00:03:00", "pod gone deletion=unseen", "mark 0 00:03:00 00:03:00")
	b.now = b.now.Add(time.Minute)
	b.UpdateResourceVersion("21")
	b.want("a new span", "mark 0 00:03:00 00:04:00")
}

// An object that is listed or changed without saying anything new is no news,
// and the end that a deletion carries is told with its coverage.
func TestNews(t *testing.T) {
	b := newBench(t, "pods")
	_ = b.Add(b.object(pod(1, up)))
	b.want("new", "container running")
	_ = b.Update(b.object(pod(2, up)))
	b.want("a change that says nothing")
	b.UpdateResourceVersion("2")
	b.said()
	_ = b.Delete(b.object(pod(
		3,
		`"containerStatuses":[{"name":"runner","restartCount":0,"state":{"terminated":{"exitCode":3,`+
			`"finishedAt":"2031-01-01T00:00:09Z"}}}]`,
	)))
	b.want("its last state", "container terminated container=runner exit_code=3", "mark 0")
	if len(b.seen) > 0 {
		t.Errorf("%d objects remembered after they went", len(b.seen))
	}
}

// A set that comes to a state that it had before is news, for that is how a pool's trouble
// ends; counts that only follow the jobs are told once a minute, however many there are.
func TestCountsOfASet(t *testing.T) {
	b := newBench(t, "ephemeralrunnersets")
	version := 0
	set := func(running, failed int) {
		version++
		b.Update(b.object(fmt.Sprintf(`{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunnerSet",`+
			`"metadata":{"name":"heron-x7k2m","namespace":"ci","uid":"s1","resourceVersion":"%d"},`+
			`"spec":{"replicas":2},`+
			`"status":{"currentReplicas":2,"runningEphemeralRunners":%d,"failedEphemeralRunners":%d}}`,
			version, running, failed)))
		b.now = b.now.Add(time.Second)
	}
	const well, ill = "ephemeral runner set pool=heron wanted=2 current=2 running=1 failed=0",
		"ephemeral runner set pool=heron wanted=2 current=2 running=0 failed=2"
	set(1, 0)
	set(0, 2)
	set(1, 0)
	b.want("three states", well, ill, well)
	for i := range 600 {
		set(i%2, 0)
	}
	if got := b.said(); len(got) != 10 {
		t.Errorf("%d facts in ten minutes", len(got))
	}
}

// That a pool's object was deleted is told, also where that was while the watch was broken. A
// set's says nothing of its pool: a changed pool has a new one.
func TestPoolGone(t *testing.T) {
	pool := func(name string) string {
		return `{"apiVersion":"actions.github.com/v1alpha1","kind":"AutoscalingRunnerSet","metadata":{"name":"` + name +
			`","namespace":"ci","uid":"` + name + `","resourceVersion":"1"},"spec":{"maxRunners":2}}`
	}
	b := newBench(t, "autoscalingrunnersets")
	_ = b.Replace([]any{b.object(pool("heron")), b.object(pool("egret")), b.object(pool("rook"))}, "1")
	b.said()
	_ = b.Delete(b.object(pool("heron")))
	b.want("deleted", "autoscaling runner set gone pool=heron")
	b.now = b.now.Add(time.Minute)
	_ = b.Replace([]any{b.object(pool("egret"))}, "9")
	b.want("deleted unseen", "mark 1", "autoscaling runner set gone pool=rook")
	b = newBench(t, "ephemeralrunnersets")
	_ = b.Delete(b.object(strings.Replace(pool("heron-x7k2m"), "AutoscalingRunnerSet", "EphemeralRunnerSet", 1)))
	if got := b.said(); len(got) > 1 || strings.Contains(strings.Join(got, ""), "gone") {
		t.Errorf("a set was deleted: %q", got)
	}
}

// A pod that changes without end, and events without end, are bounded; how the
// container ended is told all the same.
func TestFlood(t *testing.T) {
	b := newBench(t, "pods")
	for i := range 3 * maxFacts {
		_ = b.Update(b.object(pod(i,
			fmt.Sprintf(`"containerStatuses":[{"name":"runner","state":{"waiting":{"reason":"R%d"}}}]`, i))))
	}
	if n := len(b.said()); n != maxFacts {
		t.Errorf("%d facts of one pod", n)
	}
	if n := testutil.ToFloat64(b.w.metrics.dropped.WithLabelValues("pods", "flood")); n != 2*maxFacts {
		t.Errorf("%v counted as dropped", n)
	}
	_ = b.Update(b.object(pod(9999, `"containerStatuses":[{"name":"runner","state":{"terminated":{"exitCode":3}}}]`)))
	b.want("its end", "container terminated", "mark 0")

	e := newBench(t, "events")
	for i := range 3 * maxEvents {
		_ = e.Add(e.object(fmt.Sprintf(
			`{"kind":"Event","apiVersion":"v1","metadata":{"name":"e%d","uid":"e%d","resourceVersion":"1"},`+
				`"involvedObject":{"kind":"Pod","name":"p","uid":"u1"},"reason":"R%d"}`,
			i,
			i,
			i,
		)))
	}
	if n := len(e.said()); n != maxEvents {
		t.Errorf("%d events about one pod", n)
	}
	for i := range 100 { // one event, repeated every second
		e.now = e.now.Add(time.Second)
		_ = e.Update(e.object(fmt.Sprintf(
			`{"kind":"Event","apiVersion":"v1","metadata":{"name":"r","uid":"r","resourceVersion":"%d"},`+
				`"involvedObject":{"kind":"Pod","name":"q","uid":"u2"},"reason":"BackOff","count":%d,`+
				`"lastTimestamp":"2031-01-01T00:00:01Z"}`,
			i,
			i+1,
		)))
	}
	if n := len(e.said()); n < 4 || n > 8 {
		t.Errorf("an event that is repeated was told %d times", n)
	}
}

// What a pod's object says is attested; an event says only what somebody wrote.
func TestTrust(t *testing.T) {
	const event = `{"kind":"Event","apiVersion":"v1","metadata":{"name":"e","uid":"e","resourceVersion":"1"},` +
		`"involvedObject":{"kind":"Pod","namespace":"ci","name":"p","uid":"u1"},"reason":"Evicted",` +
		`"source":{"component":"kubelet","host":"n1"}}`
	for name, c := range map[string]struct {
		object string
		want   ingest.Trust
	}{"pods": {pod(1, up), ingest.Attested}, "events": {event, ingest.Claimed}} {
		b := newBench(t, name)
		_ = b.Add(b.object(c.object))
		if some := <-b.w.out.waiting; some[0].Trust != c.want || some[0].Source != ingest.Kube {
			t.Errorf("%s: %+v", name, some[0])
		}
	}
}

// While entries cannot be stored none is lost and their order stays.
func TestOutboxTriesAgain(t *testing.T) {
	var got []string
	ctx, cancel := context.WithCancel(context.Background())
	refused := 1
	o := newOutbox(func(_ context.Context, some []ingest.Entry) error {
		if refused > 0 {
			refused--
			return errors.New("disk full")
		}
		for _, e := range some {
			got = append(got, e.Text)
		}
		if len(got) == 3 {
			cancel()
		}
		return nil
	}, zerolog.Nop())
	done := make(chan error)
	go func() { done <- o.runUntil(ctx) }()
	for _, text := range []string{"a", "b", "c"} {
		o.putEntries([]ingest.Entry{{Text: text}})
	}
	if err := <-done; err != nil || strings.Join(got, "") != "abc" {
		t.Errorf("%v %q", err, got)
	}
	o.putEntries(make([]ingest.Entry, maxBatch*(maxWaiting+2))) // nobody takes it any more: it must not wait
}

// Each failure is one line that says what to do.
func TestAdvice(t *testing.T) {
	pods, nodes := resource{"/api/v1", "pods", "ci"}, resource{"/api/v1", "nodes", ""}
	gr := schema.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		r    resource
		err  error
		want string
	}{
		{
			pods, apierrors.NewForbidden(gr, "", errors.New("x")),
			"may not watch pods in namespace ci: give its service account a Role with the verbs get, list, " +
				"watch on pods",
		},
		{
			nodes, apierrors.NewForbidden(gr, "", errors.New("x")),
			"may not watch nodes in the cluster: give its service account a ClusterRole with the verbs get, list, " +
				"watch on nodes",
		},
		{pods, apierrors.NewUnauthorized("x"), "the API server rejects the token"},
		{pods, apierrors.NewNotFound(gr, ""), "the API server knows no pods in namespace ci"},
		{
			pods, &url.Error{Op: "Get", URL: "https://h/?timeoutSeconds=12", Err: errors.New("refused")},
			"the API server does not answer: refused",
		},
		{pods, apierrors.NewServiceUnavailable("busy"), "cannot watch pods in namespace ci: busy"},
	} {
		if got := c.r.adviceFor("watch", c.err); !strings.HasPrefix(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

// FuzzCodec: whatever a server sends is an object, a list, a status or an error.
func FuzzCodec(f *testing.F) {
	f.Add([]byte(pod(1, up)), true)
	f.Add(
		[]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"c"},"items":[`+
			pod(1, up)+`,{"metadata":{"name":"x"}}]}`),
		true,
	)
	f.Add([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Expired","code":410}`), false)
	f.Add([]byte(`{"kind":"Pod","metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}`), false)
	f.Fuzz(func(t *testing.T, data []byte, page bool) {
		var into runtime.Object
		if page {
			into = &list{}
		}
		o, _, err := codec{}.Decode(data, nil, into)
		if err != nil {
			return
		}
		switch o := o.(type) {
		case *object:
			check(t, o)
		case *list:
			for i := range o.Items {
				check(t, &o.Items[i])
			}
		case *metav1.Status:
		default:
			t.Fatalf("%T", o)
		}
	})
}

func check(t *testing.T, o *object) {
	for i := range o.facts {
		e := &o.facts[i]
		if _, err := json.Marshal(e); err != nil || e.Mark != nil || e.Source != ingest.Kube ||
			len(e.Text) > ingest.MaxText {
			t.Fatalf("%v %+v", err, e)
		}
	}
}
