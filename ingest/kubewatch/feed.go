package kubewatch

import (
	"maps"
	"slices"
	"time"

	"coroner/ingest"

	lru "github.com/hashicorp/golang-lru/v2"
	"k8s.io/apimachinery/pkg/types"
)

// feed is one watched resource. The client library calls it with every change, as if
// it were a store of objects; it keeps of each only which facts it has handed on.
type feed struct {
	*link
	w *Watcher

	seen    map[types.UID]*known    // the objects that are there
	perPod  *lru.Cache[string, int] // pod -> how many events about it were handed on
	version string                  // the resource version that was reached
	from    time.Time               // since when nothing was missed
	heard   time.Time               // when the server last said something; zero before the first list
	marked  time.Time               // the end of the coverage that was handed on

	counts  poolCounts // of runners' objects
	listing bool       // a list is being read
	swept   time.Time  // when it was looked last what is to be told again
}

// known is what is remembered of an object.
type known struct {
	version string
	id      ingest.Entry // names it
	running bool         // one of its containers runs
	// reported are the facts that were handed on, by their hash.
	reported map[uint64]bool
	count    int
	last     time.Time // when something was
	of       *ofPool   // what it has to do with a pool; nil: nothing
}

func newFeed(w *Watcher, r resource) *feed {
	perPod, _ := lru.New[string, int](maxPods) // an error only for a size below 1
	return &feed{
		link:   newLink(r, w.client, w.options.Log, w.metrics),
		w:      w,
		seen:   map[types.UID]*known{},
		perPod: perPod,
		counts: poolCounts{},
	}
}

// Add implements cache.ReflectorStore.
func (f *feed) Add(o any) error { f.handChange("added", o.(*object)); return nil }

// Update implements cache.ReflectorStore.
func (f *feed) Update(o any) error { f.handChange("modified", o.(*object)); return nil }

// Delete implements cache.ReflectorStore. The object is as it was at last.
func (f *feed) Delete(o any) error {
	last := o.(*object)
	f.handChange("deleted", last)
	k := f.seen[last.UID]
	if k != nil && k.running {
		f.w.out.putEntries([]ingest.Entry{f.goneWhileLive(k, "seen")})
	}
	f.forget(last.UID, k)
	return nil
}

// forget is what follows when an object is gone.
func (f *feed) forget(uid types.UID, k *known) {
	delete(f.seen, uid)
	if k == nil || k.of == nil {
		return
	}
	if f.name == "pods" {
		f.w.listeners.went(f.namespace, k.of.name, uid)
	}
	f.countRunner(k.of, "")
	f.tellPoolGone(k.of)
}

// Resync implements cache.ReflectorStore; it is never asked for.
func (f *feed) Resync() error { return nil }

// Replace implements cache.ReflectorStore: a list was read. After the first one
// that means that the watch broke and could not go on where it was.
func (f *feed) Replace(all []any, version string) error {
	now, there := f.w.options.Now(), make(map[types.UID]bool, len(all))
	if !f.heard.IsZero() && version != f.version {
		f.w.out.putEntries([]ingest.Entry{f.markAll(ingest.Mark{Kind: ingest.Gap, From: f.heard, To: now,
			Why: "the watch of " + f.name + " broke and could not go on where it was"})})
		f.from, f.marked = now, time.Time{}
	}
	if f.heard.IsZero() {
		f.from = now
		f.remember()
	}
	f.listing = true
	for _, o := range all {
		there[o.(*object).UID] = true
		f.handChange("listed", o.(*object))
	}
	for uid, k := range f.seen {
		if !there[uid] {
			f.noteMissed(uid, k)
		}
	}
	f.listing = false
	for _, pool := range slices.Sorted(maps.Keys(f.counts)) {
		f.tellCounts(pool)
	}
	f.UpdateResourceVersion(version)
	return nil
}

// remember takes the pods for known that lived before this watcher began: what
// the first list does not have of them is gone.
func (f *feed) remember() {
	if f.name != "pods" || f.w.options.Open == nil {
		return
	}
	living, err := f.w.options.Open(f.namespace)
	if err != nil {
		f.w.options.Log.Error().Err(err).Str("namespace", f.namespace).
			Msg("cannot look for the runners that lived before the restart")
	}
	for _, id := range living {
		f.seen[types.UID(id.PodUID)] = &known{id: id, running: true, reported: map[uint64]bool{}}
	}
}

// noteMissed is an object that was there before the watch broke and is no more.
func (f *feed) noteMissed(uid types.UID, k *known) {
	f.w.metrics.objects.WithLabelValues(f.name, "gone").Inc()
	if f.name == "pods" && k.running {
		f.w.out.putEntries([]ingest.Entry{f.goneWhileLive(k, "unseen")})
	}
	f.forget(uid, k)
}

// markEvery is how often coverage that goes on is reported.
const markEvery = 8 * time.Second

// UpdateResourceVersion implements cache.ResourceVersionUpdater. It is called
// after every change and at every bookmark: the server is there, and up to here
// nothing was missed.
func (f *feed) UpdateResourceVersion(version string) {
	f.version, f.heard = version, f.w.options.Now()
	if f.name == "pods" {
		f.w.listeners.listed(f.namespace, f.heard)
	}
	f.tellAgain()
	if f.heard.Sub(f.marked) >= markEvery {
		f.coverUntil()
	}
}

// coverUntil reports how far the pods were watched. Events repeat what pods say: a gap in
// them is reported, that they were read is not.
func (f *feed) coverUntil() {
	if f.name != "pods" || f.heard.IsZero() {
		return
	}
	f.marked = f.heard
	f.w.out.putEntries([]ingest.Entry{f.markAll(ingest.Mark{Kind: ingest.Covered, From: f.from, To: f.heard})})
}

// markAll is a statement about the whole namespace. It names no node, for a node
// that is named is one whose agent was heard of.
func (f *feed) markAll(m ingest.Mark) ingest.Entry {
	return ingest.Entry{
		At:        m.To,
		Clock:     ingest.WallClock,
		Source:    ingest.Kube,
		Trust:     ingest.Attested,
		Namespace: f.namespace,
		Doc:       documentName,
		Mark:      &m,
	}
}

// handChange hands on what an object says that it did not say before.
func (f *feed) handChange(how string, o *object) {
	f.w.metrics.objects.WithLabelValues(f.name, how).Inc()
	k := f.seen[o.UID]
	if k == nil {
		k = &known{reported: map[uint64]bool{}}
		f.seen[o.UID] = k
	} else if k.version == o.ResourceVersion && how != "deleted" {
		return
	}
	news := f.newFacts(k, o)
	if how != "deleted" {
		news = append(news, f.poolFacts(k, o)...)
	}
	k.version, k.running = o.ResourceVersion, isRunning(o)
	f.w.out.putEntries(news)
	if endedAny(news) {
		f.heard = f.w.options.Now()
		f.coverUntil() // the verdict needs to know what was read around the end
	}
}

func isRunning(o *object) bool {
	for i := range o.facts {
		if o.facts[i].Fields["msg"] == "container running" {
			return true
		}
	}
	return false
}

func endedAny(news []ingest.Entry) bool {
	for i := range news {
		if news[i].Fields["msg"] == "container terminated" {
			return true
		}
	}
	return false
}
