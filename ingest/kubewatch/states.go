package kubewatch

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"coroner/ingest"

	"k8s.io/apimachinery/pkg/types"
)

// What an object says of a pool is so at the time that it is seen, and may be nothing but a
// moment: a runner is being made, a listener moves to another node. What lasts is trouble. An
// object that does not change tells of that by being there, so it is told again, and how long
// it has been so.

// poolMessages are the facts that tell how a pool is.
var poolMessages = []string{"ephemeral runner set", "autoscaling runner set", "runner autoscaler",
	"autoscaling listener", listenerPod}

const (
	listenerPod  = "listener pod"
	runnerCounts = "runner counts"
)

// How soon what lasts is told again, and how often from then on.
const (
	firstAgain = 2 * time.Minute
	nextAgain  = 5 * time.Minute
)

// poolState is how one object, or the runners of a pool, are.
type poolState struct {
	last    ingest.Entry // what was seen last
	waits   bool         // and was not told yet
	key     string       // of what was told: a change of it is told at once
	at      time.Time    // when
	trouble string       // what may be wrong
	since   time.Time    // since when
	lasting bool         // it was told that this lasts: so is its end, at once
}

// see takes what an object says, and returns it where that is to be told now: when it failed
// runners, may have others, or is to go, and beyond that once a minute, for it counts every job.
func (s *poolState) see(e ingest.Entry, now time.Time) []ingest.Entry {
	if is := troubleOf(&e); is != s.trouble {
		s.trouble, s.since = is, now
	}
	s.last, s.waits = e, true
	over := s.lasting && s.trouble == ""
	if over || keyOf(&e) != s.key || now.Sub(s.at) >= minRepeat {
		return s.tell(now)
	}
	return nil
}

// again returns what is to be told although nothing changed.
func (s *poolState) again(now time.Time) []ingest.Entry {
	every := nextAgain
	if s.at.Sub(s.since) < firstAgain {
		every = firstAgain
	}
	if s.waits && now.Sub(s.at) >= minRepeat || s.trouble != "" && now.Sub(s.at) >= every {
		return s.tell(now)
	}
	return nil
}

func (s *poolState) tell(now time.Time) []ingest.Entry {
	e := s.last
	s.key, s.at, s.waits = keyOf(&e), now, false
	s.lasting = s.trouble != "" && now.Sub(s.since) >= firstAgain
	e.At, e.Clock = now.UTC(), ingest.WallClock
	if s.trouble != "" {
		lasts := strconv.Itoa(int(now.Sub(s.since).Seconds()))
		e.Fields = maps.Clone(e.Fields)
		e.Fields["lasts"] = lasts
		e.Text += " lasts=" + lasts
	}
	return []ingest.Entry{e}
}

// keyOf is what of a fact is told as soon as it changes.
func keyOf(e *ingest.Entry) string {
	if e.Fields["msg"] == runnerCounts {
		return ""
	}
	key := ""
	for _, of := range []string{"failed", "phase", "max", "deletion_timestamp"} {
		key += " " + e.Fields[of]
	}
	if status := e.Fields["status"]; status != "" {
		key += " " + statusClass(status)
	}
	return key
}

// troubleOf is what would be wrong if it stayed as a fact says, "" where nothing would.
func troubleOf(e *ingest.Entry) string {
	n := func(key string) int { v, _ := strconv.Atoi(e.Fields[key]); return v }
	is := false
	switch e.Fields["msg"] {
	case "ephemeral runner set":
		idle := n("wanted") > 0 && n("current") >= n("wanted") && n("pending") == 0 && e.Fields["running"] == "0"
		is = n("failed") > 0 || idle
	case "runner autoscaler":
		is = n("max") > 0 && n("wanted") >= n("max") && n("reserved") > n("max")
	case "autoscaling listener":
		is = e.Fields["deletion_timestamp"] != ""
	case listenerPod:
		if class := statusClass(e.Fields["status"]); class != "Running" {
			return class
		}
	case runnerCounts:
		is = n("failed") > 1 || n("failed") > 0 && n("running") == 0 && n("pending") == 0
	}
	if is {
		return e.Fields["msg"]
	}
	return ""
}

// statusClass is one word for those of a pod's status that take turns while the same is wrong.
func statusClass(status string) string {
	switch status {
	case "Pending", "ContainerCreating", "PodInitializing":
		return "starts"
	case "ErrImagePull", "ImagePullBackOff":
		return "has no image"
	case "Error", "CrashLoopBackOff", "OOMKilled":
		return "ends"
	}
	return status
}

// ofPool is what is remembered of an object that has to do with a pool.
type ofPool struct {
	name        string
	state       *poolState // what it says of the pool; nil: nothing
	podless     *poolState // of a listener without a pod: that
	pool, phase string     // of a runner's object: where it is counted
}

// poolFacts is what an object that is there says of a pool, as far as that is to be told now.
func (f *feed) poolFacts(k *known, o *object) (out []ingest.Entry) {
	for _, e := range o.facts {
		pool, phase := phaseOf(&e)
		if !isPoolState(&e) && pool == "" {
			continue
		}
		if k.of == nil {
			k.of = &ofPool{name: o.Name, pool: pool}
		}
		if pool != "" {
			f.countRunner(k.of, phase)
			continue
		}
		if k.of.state == nil {
			k.of.state = &poolState{}
		}
		out = append(out, k.of.state.see(e, f.w.options.Now())...)
	}
	if f.name == "pods" && k.of != nil {
		f.w.listeners.came(f.namespace, o.Name, o.UID)
	}
	return out
}

func isPoolState(e *ingest.Entry) bool { return slices.Contains(poolMessages, e.Fields["msg"]) }

// sweepEvery is how often it is looked what is to be told again. The server is heard of once
// a minute at least.
const sweepEvery = 10 * time.Second

// tellAgain hands on what is to be told of pools although nothing changed.
func (f *feed) tellAgain() {
	now := f.w.options.Now()
	if now.Sub(f.swept) < sweepEvery {
		return
	}
	f.swept = now
	var out []ingest.Entry
	for _, k := range f.seen {
		if k.of == nil || k.of.state == nil {
			continue
		}
		out = append(out, k.of.state.again(now)...)
		if f.name == "autoscalinglisteners" {
			out = append(out, f.podless(k.of, now)...)
		}
	}
	out = append(out, f.counts.again(now)...)
	slices.SortFunc(out, func(a, b ingest.Entry) int { return strings.Compare(a.Text, b.Text) })
	f.w.out.putEntries(out)
}

// podless tells of a listener's object that has no pod, once that has lasted.
func (f *feed) podless(of *ofPool, now time.Time) []ingest.Entry {
	says := of.state.last.Fields
	if says["deletion_timestamp"] != "" || !f.w.listeners.missing(f.namespace, of.name, now) {
		of.podless = nil
		return nil
	}
	if of.podless == nil {
		const status = "Missing"
		e := ownFact(ingest.Entry{Namespace: f.namespace}, now, listenerPod,
			"status", status, "object", "Pod/"+of.name, "listener_of", says["pool"])
		of.podless = &poolState{last: e, trouble: status, since: now, at: now}
	}
	return of.podless.again(now)
}

// listenerPods are the listeners' pods that are there, by namespace. Those of a namespace whose
// pods are not watched nobody knows. It is safe for concurrent use: the watches of pods write it,
// those of listeners read it.
type listenerPods struct {
	mu    sync.Mutex
	names map[string]map[string]types.UID
	heard map[string]time.Time // when the server last spoke of the pods of a namespace
}

// came notes that a listener's pod is there.
func (l *listenerPods) came(namespace, name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names == nil {
		l.names = map[string]map[string]types.UID{}
	}
	if l.names[namespace] == nil {
		l.names[namespace] = map[string]types.UID{}
	}
	l.names[namespace][name] = uid
}

// went notes that a listener's pod is gone; the next one has its name.
func (l *listenerPods) went(namespace, name string, uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.names[namespace][name] == uid {
		delete(l.names[namespace], name)
	}
}

// listed notes that all pods of a namespace are known at a time.
func (l *listenerPods) listed(namespace string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.heard == nil {
		l.heard = map[string]time.Time{}
	}
	l.heard[namespace] = at
}

// missing says whether a listener has no pod; false where nobody has told for a while.
func (l *listenerPods) missing(namespace, name string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, heard := l.heard[namespace]
	return heard && now.Sub(at) < firstAgain && l.names[namespace][name] == ""
}
