package kubewatch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest"
	"coroner/ingest/document"
	"coroner/ingest/kube"
	"coroner/rules"
	"coroner/rules/book"
	"coroner/rules/casefile"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

// live is a watcher that follows the server, by a clock of the test.
type live struct {
	*served
	*told
	t     *testing.T
	w     *Watcher
	mu    sync.Mutex
	now   time.Time
	begun map[string]bool // the resources of which something was sent
	sent  int
}

// followObjects has a watcher follow a server that has some objects of namespace ci.
func followObjects(t *testing.T, all ...string) *live {
	lists := map[string][]string{}
	for _, o := range all {
		lists[resourceOf(o)] = append(lists[resourceOf(o)], o)
	}
	l := &live{served: serve(t, lists), told: &told{more: make(chan struct{}, 1)}, t: t,
		now: time.Date(2031, 1, 1, 10, 0, 0, 0, time.UTC), begun: map[string]bool{}}
	clock := func() time.Time { l.mu.Lock(); defer l.mu.Unlock(); return l.now }
	l.w = l.follow(t, Options{Receive: l.receive, Now: clock, Log: zerolog.Nop()})
	for name := range lists {
		l.begun[name] = true
	}
	return l
}

func resourceOf(object string) string {
	for resource, kind := range kindNames {
		if strings.Contains(object, `"kind":"`+kind+`","metadata"`) {
			return resource
		}
	}
	panic(object)
}

// change tells of an object as it is now, remove that it is gone; each returns when the watcher
// has taken it.
func (l *live) change(object string) { l.tell("MODIFIED", object) }
func (l *live) remove(object string) { l.tell("DELETED", object) }

func (l *live) tell(how string, object string) {
	l.t.Helper()
	name := resourceOf(object)
	l.begun[name] = true
	l.advance(time.Second)
	l.changes[name] <- fmt.Sprintf(`{"type":%q,"object":%s}`, how, object)
	l.probe(name)
}

// probe adds objects that say nothing, and returns when all before them was taken.
func (l *live) probe(name string) {
	l.t.Helper()
	for range 2 { // the end of a change is known when the next one began
		l.sent++
		l.changes[name] <- fmt.Sprintf(`{"type":"ADDED","object":{"kind":"Probe","apiVersion":"v1","metadata":`+
			`{"name":"probe","uid":"probe-%[1]d","resourceVersion":"%[1]d"}}}`, l.sent)
	}
	l.until(l.t, "the watch of "+name+" took it", func() bool {
		n := 0.0
		for of := range l.begun {
			n += testutil.ToFloat64(l.w.metrics.objects.WithLabelValues(of, "added"))
		}
		return int(n) == l.sent
	})
}

func (l *live) advance(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now = l.now.Add(d)
}

// pass lets minutes pass, in each of which the server says that it is there.
func (l *live) pass(minutes int) {
	l.t.Helper()
	for range minutes {
		l.advance(time.Minute)
		for name := range l.begun {
			l.probe(name)
		}
	}
}

// entries are all that was handed on until now.
func (l *live) entries() []ingest.Entry {
	l.t.Helper()
	l.sent++
	last := fmt.Sprint("the end ", l.sent)
	l.w.out.putEntries([]ingest.Entry{{Text: last}})
	l.told.wait(l.t, last)
	l.sent--
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.told.entries), func(e ingest.Entry) bool { return e.Source == "" })
}

// opinion is the verdict on the pool swingle by entries: its label, and that it is over.
func opinion(b *rules.Rulebook, entries []ingest.Entry) (label string, sure rules.Confidence) {
	v := classify.JudgeStanding(slices.Values(entries), b, casefile.OfPool, "", "swingle")
	if label = string(v.Label); v.State == rules.Resolved {
		label += " over"
	}
	return label, v.Confidence
}

// fromFile is what coroner explain has of objects in a file.
func fromFile(t *testing.T, all ...string) (out []ingest.Entry) {
	t.Helper()
	list := `{"apiVersion":"v1","kind":"List","items":[` + strings.Join(all, ",") + `]}`
	_, err := kube.Read(document.Document{Name: "objects.json"}, []byte(list), func(e ingest.Entry) bool {
		out = append(out, e)
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// obj is an object of one of actions-runner-controller's kinds.
func obj(kind, name, meta, rest string) string {
	group := "actions.summerwind.dev"
	if strings.HasPrefix(kind, "Autoscaling") || strings.HasPrefix(kind, "Ephemeral") {
		group = "actions.github.com"
	}
	objects++
	return fmt.Sprintf(`{"apiVersion":"%s/v1alpha1","kind":%q,"metadata":{"name":%[3]q,"namespace":"ci",`+
		`"uid":%[3]q,"resourceVersion":"%[4]d"%[5]s},%[6]s}`, group, kind, name, objects, meta, rest)
}

var objects int // that were made until now: the version of the latest

func runner(name, phase string) string {
	return obj("Runner", name, `,"labels":{"runner-deployment-name":"swingle"}`, `"status":{"phase":"`+phase+
		`","registration":{"token":"`+secret+`","expiresAt":"2031-01-01T11:00:00Z"}}`)
}

// ephemeral is an EphemeralRunner that failed, uncounted a set of them as it is since 0.15.
func ephemeral(name string) string {
	return obj("EphemeralRunner", "swingle-x7k2m-runner-"+name,
		`,"labels":{"actions.github.com/scale-set-name":"swingle"}`,
		`"status":{"phase":"Failed","reason":"TooManyPodFailures","failures":{"a":"2031-01-01T09:00:00Z"}}`)
}

var uncounted = obj("EphemeralRunnerSet", "swingle-x7k2m", "",
	`"spec":{"replicas":2},"status":{"phase":"Running"}`)

func runnerSet(kind string, available int) string {
	return obj(kind, "swingle", "", fmt.Sprintf(`"spec":{"replicas":3},"status":{"replicas":3,`+
		`"desiredReplicas":3,"availableReplicas":%d}`, available))
}

// scaler is an autoscaler of at most three runners that wants some and promised room to some.
func scaler(wanted, reserved int) string {
	return obj("HorizontalRunnerAutoscaler", "swingle-scaler", "", fmt.Sprintf(
		`"spec":{"minReplicas":1,"maxReplicas":3,"scaleTargetRef":{"kind":"RunnerSet","name":"swingle"},`+
			`"capacityReservations":[{"replicas":%d}]},"status":{"desiredReplicas":%d}`, reserved, wanted))
}

const listenersName = "swingle-6f9cd7bf-listener"

func listener(meta string) string {
	return obj("AutoscalingListener", listenersName, meta,
		`"spec":{"autoscalingRunnerSetName":"swingle","maxRunners":3}`)
}

const going = `,"deletionTimestamp":"2031-01-01T10:00:00Z"`

// listenersPod is its pod; uid tells one from the next of the same name.
func listenersPod(uid, phase, state string) string {
	objects++
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"namespace":"ci","uid":%q,`+
		`"resourceVersion":"%d","labels":{"app.kubernetes.io/component":"runner-scale-set-listener",`+
		`"actions.github.com/scale-set-name":"swingle"}},"spec":{"containers":[{"name":"listener"}]},`+
		`"status":{"phase":%q,"containerStatuses":[{"name":"listener","state":{%s}}]}}`,
		listenersName, uid, objects, phase, state)
}

func podRuns(uid string) string {
	return listenersPod(uid, "Running", `"running":{"startedAt":"2031-01-01T10:00:00Z"}`)
}

func podWaits(uid, reason string) string {
	return listenersPod(uid, "Pending", `"waiting":{"reason":"`+reason+`"}`)
}

// What the objects say of a pool makes the same verdict whether they were saved to a file or are
// watched. What is seen for a moment only makes none, and what is over is over.
func TestVerdictsOnWatchedPools(t *testing.T) {
	b, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	const none, blocked, down = "none", "pool-blocked", "listener-down"
	for _, c := range []struct {
		name   string
		begins []string // the objects that there are
		file   string   // the verdict on them in a file
		then   func(*live)
		want   string // the verdict when that was
	}{
		{"two runners failed and stay", []string{runner("swingle-a", "Failed"), runner("swingle-b", "Failed")}, blocked,
			func(l *live) { l.pass(3) }, blocked},
		{"they are taken away", []string{runner("swingle-a", "Failed"), runner("swingle-b", "Failed")}, blocked,
			func(l *live) {
				l.pass(3)
				l.remove(runner("swingle-a", "Failed"))
				l.remove(runner("swingle-b", "Failed"))
			}, blocked + " over"},
		{"they failed a moment ago", []string{runner("swingle-a", "Failed"), runner("swingle-b", "Failed")}, blocked,
			func(*live) {}, none},
		{"each fails at its end and is replaced, hours apart", []string{runner("swingle-a", "Running")}, none,
			func(l *live) {
				for _, name := range []string{"swingle-a", "swingle-b", "swingle-c"} {
					l.change(runner(name, "Failed"))
					l.remove(runner(name, "Failed"))
					l.pass(70)
				}
			}, none},
		{"one of two failed", []string{runner("swingle-a", "Failed"), runner("swingle-b", "Running")}, none,
			func(l *live) { l.pass(10) }, none},

		{"two of the newer kind, whose set counts nothing since 0.15",
			[]string{ephemeral("aaaaa"), ephemeral("bbbbb"), uncounted}, blocked,
			func(l *live) { l.pass(3); l.change(uncounted) }, blocked},
		{"they are taken away, too",
			[]string{ephemeral("aaaaa"), ephemeral("bbbbb"), uncounted}, blocked,
			func(l *live) {
				l.pass(3)
				l.remove(ephemeral("aaaaa"))
				l.remove(ephemeral("bbbbb"))
			}, blocked + " over"},
		{"a set that counts nothing", []string{uncounted}, none, func(l *live) { l.pass(13) }, none},

		{"a set without ready pods", []string{runnerSet("RunnerSet", 0)}, blocked,
			func(l *live) { l.pass(13) }, blocked},
		{"a deployment without ready pods", []string{runnerSet("RunnerDeployment", 0)}, blocked,
			func(l *live) { l.pass(13) }, blocked},
		{"a replica set without ready pods", []string{runnerSet("RunnerReplicaSet", 0)}, blocked,
			func(l *live) { l.pass(13) }, blocked},
		{"one that comes up", []string{runnerSet("RunnerSet", 0)}, blocked,
			func(l *live) { l.pass(8); l.change(runnerSet("RunnerSet", 1)); l.pass(5) }, none},
		{"one that came up at last", []string{runnerSet("RunnerSet", 0)}, blocked,
			func(l *live) { l.pass(13); l.change(runnerSet("RunnerSet", 1)) }, blocked + " over"},
		{"one that was deleted", []string{runnerSet("RunnerSet", 0)}, blocked,
			func(l *live) { l.pass(13); l.remove(runnerSet("RunnerSet", 0)) }, blocked + " over"},
		{"one that has some", []string{runnerSet("RunnerSet", 1)}, none, func(l *live) { l.pass(13) }, none},

		{"at its maximum", []string{scaler(3, 5)}, blocked, func(l *live) { l.pass(8) }, blocked},
		{"at its maximum, and no more jobs wait", []string{scaler(3, 3)}, none, func(l *live) { l.pass(8) }, none},
		{"for two minutes", []string{scaler(3, 5)}, blocked,
			func(l *live) { l.pass(2); l.change(scaler(3, 2)); l.pass(8) }, none},
		{"until promises end that nobody takes back", []string{scaler(3, 5)}, blocked,
			func(l *live) { l.pass(8); l.change(scaler(1, 5)) }, blocked + " over"},
		{"until nothing scales it", []string{scaler(3, 5)}, blocked,
			func(l *live) { l.pass(8); l.remove(scaler(3, 5)) }, blocked + " over"},

		{"a listener that does not go", []string{listener(going), podRuns("p")}, none,
			func(l *live) { l.pass(12) }, down},
		{"one that is made anew", []string{listener(going), podRuns("p")}, none,
			func(l *live) { l.pass(1); l.change(listener("")); l.pass(12) }, none},
		{"one that is made anew at last", []string{listener(going), podRuns("p")}, none,
			func(l *live) { l.pass(12); l.change(listener("")) }, down + " over"},

		{"a listener whose pod is gone", []string{listener(""), podRuns("p")}, none,
			func(l *live) { l.pass(1); l.remove(podRuns("p")); l.pass(14) }, down},
		{"whose pod was gone before", []string{listener("")}, none,
			func(l *live) { l.begun["pods"] = true; l.pass(14) }, down},
		{"whose pod comes again in time", []string{listener(""), podRuns("p")}, none,
			func(l *live) { l.remove(podRuns("p")); l.pass(4); l.change(podRuns("q")); l.pass(14) }, none},
		{"whose pod comes again at last", []string{listener(""), podRuns("p")}, none,
			func(l *live) { l.remove(podRuns("p")); l.pass(14); l.change(podRuns("q")) }, down + " over"},
		{"whose pods nobody tells of", []string{listener("")}, none, func(l *live) { l.pass(14) }, none},
		{"whose next pod is told of before the last one's end", []string{listener(""), podRuns("p")}, none,
			func(l *live) { l.change(podRuns("q")); l.remove(podRuns("p")); l.pass(14) }, none},

		{"a listener without an image", []string{listener(""), podWaits("p", "ImagePullBackOff")}, down,
			func(l *live) { l.pass(1); l.change(podWaits("p", "ErrImagePull")); l.pass(3) }, down},
		{"that got it soon", []string{listener(""), podWaits("p", "ErrImagePull")}, down,
			func(l *live) { l.pass(1); l.change(podRuns("p")); l.pass(14) }, none},
		{"a listener that does not start", []string{listener(""), podWaits("p", "ContainerCreating")}, none,
			func(l *live) { l.pass(13) }, down},
		{"a listener that runs", []string{listener(""), podRuns("p")}, none, func(l *live) { l.pass(14) }, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			saved, sure := opinion(b, fromFile(t, c.begins...))
			if saved != c.file {
				t.Errorf("in a file: %s, want %s", saved, c.file)
			}
			l := followObjects(t, c.begins...)
			c.then(l)
			entries := l.entries()
			if got, as := opinion(b, entries); got != c.want || got == saved && as != sure {
				t.Errorf("watched: %s (%s), want %s (%s)", got, as, c.want, sure)
			}
			for i := range entries {
				if e := &entries[i]; strings.Contains(fmt.Sprint(e), secret) || e.Trust != ingest.Attested {
					t.Errorf("%+v", e)
				}
			}
			if t.Failed() {
				t.Log(strings.Join(l.lines("swingle"), "\n"))
			}
		})
	}
}

// A thousand Runners that all fail and are deleted cost one list and one watch, a fact for each
// change, and a record of their pool a minute. Nothing of them is kept.
func TestRunnersAreBounded(t *testing.T) {
	const many = 1000
	var running []string
	name := func(i int) string { return fmt.Sprintf("swingle-%04d", i) }
	for i := range many {
		running = append(running, runner(name(i), "Running"))
	}
	l := followObjects(t, running...)
	for i := range many {
		l.changes["runners"] <- `{"type":"MODIFIED","object":` + runner(name(i), "Failed") + `}`
		if i%100 == 99 {
			l.pass(1)
		}
	}
	for i := range many {
		l.changes["runners"] <- `{"type":"DELETED","object":` + runner(name(i), "Failed") + `}`
	}
	l.pass(2)
	facts := slices.DeleteFunc(l.entries(), func(e ingest.Entry) bool { return e.Mark != nil })
	if counts := len(l.lines("runner counts")); len(facts) > 2*many+counts || counts > 14 {
		t.Errorf("%d entries, %d of them of the pool", len(facts), counts)
	}
	if last := l.lines("runner counts"); !strings.HasSuffix(last[len(last)-1], "failed=0") {
		t.Errorf("the last of the pool: %s", last[len(last)-1])
	}
	l.with(func() {
		for path, n := range l.asked {
			if n > 2 { // a watch that begins with what is there is asked for first
				t.Errorf("%d requests for %s", n, path)
			}
		}
	})

	b := newBench(t, "runners")
	for i := range many {
		_ = b.Update(b.object(runner(name(i), "Failed")))
	}
	for i := range many {
		_ = b.Delete(b.object(runner(name(i), "Failed")))
	}
	b.now = b.now.Add(time.Minute)
	b.UpdateResourceVersion("9")
	if len(b.seen) > 0 || len(b.counts) > 0 {
		t.Errorf("%d runners and %d pools are remembered after they went", len(b.seen), len(b.counts))
	}
}
