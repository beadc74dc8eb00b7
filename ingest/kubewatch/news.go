package kubewatch

import (
	"cmp"
	"hash/maphash"
	"time"

	"coroner/ingest"
)

// The bounds of what one object, and all events about one pod, can make us
// keep. How a container ended is always kept: the kubelet restarts one slowly.
const (
	maxFacts  = 500
	maxEvents = 300
	maxPods   = 20_000      // pods whose events are counted
	minRepeat = time.Minute // between two of an event that is repeated
)

// newFacts are the facts of an object that were not handed on before.
func (f *feed) newFacts(k *known, o *object) (out []ingest.Entry) {
	now := f.w.options.Now()
	for _, e := range o.facts {
		if isPoolState(&e) {
			continue
		}
		if k.id.PodUID == "" && k.id.Node == "" {
			k.id = ingest.Entry{Node: e.Node, Namespace: e.Namespace, Pod: e.Pod, PodUID: e.PodUID}
		}
		h := factHash(&e)
		if k.reported[h] {
			continue
		}
		if !f.allowsMore(k, &e, now) {
			f.w.metrics.dropped.WithLabelValues(f.name, "flood").Inc()
			continue
		}
		k.reported[h], k.last = true, now
		k.count++
		out = append(out, f.complete(e, now))
	}
	return append(out, f.rebooted(k, o, now)...)
}

var seed = maphash.MakeSeed()

// factHash is what makes two facts of an object the same. That a node's kubelet
// still says so is no news.
func factHash(e *ingest.Entry) uint64 {
	text := e.Text
	if e.Fields["msg"] == "node condition" {
		text = e.Fields["type"] + " " + e.Fields["status"] + " " + e.Fields["reason"]
	}
	return maphash.String(seed, e.At.String()+"\x00"+e.Container+"\x00"+text)
}

// allowsMore says whether one more fact of an object may be kept.
func (f *feed) allowsMore(k *known, e *ingest.Entry, now time.Time) bool {
	if f.name != "events" {
		return k.count < maxFacts || e.Fields["which"] == "state" || e.Fields["msg"] == "pod deleting"
	}
	if k.count > 3 && now.Sub(k.last) < minRepeat { // one that is repeated
		return false
	}
	about := cmp.Or(e.PodUID, e.Node)
	n, _ := f.perPod.Get(about)
	f.perPod.Add(about, n+1)
	return n < maxEvents
}

// complete makes a fact an entry that the docket takes.
func (f *feed) complete(e ingest.Entry, now time.Time) ingest.Entry {
	if e.At.IsZero() {
		e.After = now // where it stands among the others
	}
	if f.name == "events" {
		e.Trust = ingest.Claimed
	}
	return e
}

// rebooted is the news that a node runs under another boot id than before.
func (f *feed) rebooted(k *known, o *object, now time.Time) []ingest.Entry {
	boot := ""
	for i := range o.facts {
		boot = cmp.Or(boot, o.facts[i].Boot)
	}
	was := k.id.Boot
	k.id.Boot = cmp.Or(boot, was)
	if was == "" || boot == "" || was == boot {
		return nil
	}
	e := f.ownRecord(k, now, "node booted", "boot_id", boot, "was", was)
	e.Boot = boot
	return []ingest.Entry{e}
}

// goneWhileLive says that a pod's object went while, as it was last known, a container
// of it ran: no exit record will come.
func (f *feed) goneWhileLive(k *known, how string) ingest.Entry {
	return f.ownRecord(k, f.w.options.Now(), "pod gone", "deletion", how)
}

// goneMessages are what is told when an object is deleted without which there is no such pool,
// or nothing that scales it. A set that a pool has of many says nothing of the kind.
var goneMessages = map[string]string{
	"autoscalingrunnersets":       "autoscaling runner set gone",
	"runnerdeployments":           "autoscaling runner set gone",
	"runnerreplicasets":           "autoscaling runner set gone",
	"runnersets":                  "autoscaling runner set gone",
	"horizontalrunnerautoscalers": "runner autoscaler gone",
}

// tellPoolGone hands on that the object of a pool was deleted.
func (f *feed) tellPoolGone(of *ofPool) {
	msg := goneMessages[f.name]
	if msg == "" || of.state == nil {
		return
	}
	if pool := of.state.last.Fields["pool"]; pool != "" {
		e := ownFact(ingest.Entry{Namespace: f.namespace}, f.w.options.Now(), msg, "pool", pool)
		f.w.out.putEntries([]ingest.Entry{e})
	}
}

// ownRecord is a record of the watch itself about an object.
func (f *feed) ownRecord(k *known, at time.Time, msg string, pairs ...string) ingest.Entry {
	return ownFact(k.id, at, msg, pairs...)
}

// ownFact is a record of the watch itself. No value of it is an object's free text.
func ownFact(e ingest.Entry, at time.Time, msg string, pairs ...string) ingest.Entry {
	e.At, e.Clock, e.Source, e.Trust, e.Doc = at.UTC(), ingest.WallClock, ingest.Kube, ingest.Attested, documentName
	e.Fields, e.Text = map[string]string{"msg": msg}, msg
	for i := 0; i < len(pairs); i += 2 {
		e.Fields[pairs[i]] = pairs[i+1]
		e.Text += " " + pairs[i] + "=" + pairs[i+1]
	}
	return e
}
