package kubewatch

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/rs/zerolog"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// place is what is read of a pod to know where it is.
type place struct {
	Metadata struct {
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		NodeName string `json:"nodeName"`
	} `json:"spec"`
	Status struct {
		Init      []containerStatus `json:"initContainerStatuses"`
		Main      []containerStatus `json:"containerStatuses"`
		Ephemeral []containerStatus `json:"ephemeralContainerStatuses"`
	} `json:"status"`
}

type containerStatus struct {
	ID   string `json:"containerID"`
	Last struct {
		Terminated struct {
			ID string `json:"containerID"`
		} `json:"terminated"`
	} `json:"lastState"`
}

// containerIDs are the containers' ids without their runtime's name.
func (p *place) containerIDs() (out []string) {
	for _, c := range slices.Concat(p.Status.Init, p.Status.Main, p.Status.Ephemeral) {
		for _, id := range []string{c.ID, c.Last.Terminated.ID} {
			if _, bare, ok := strings.Cut(id, "://"); ok && bare != "" {
				out = append(out, bare)
			}
		}
	}
	return out
}

// Pod is a pod as somebody names it. Any part may be missing.
type Pod struct {
	Namespace, Name, UID string
	Containers           []string // ids
}

// Places knows on which node each pod of a cluster is, and for a while where those
// were that are gone. It is safe for concurrent use.
type Places struct {
	link   *link
	now    func() time.Time
	listed chan struct{} // closed after the first list

	mu    sync.RWMutex // guards what follows
	uids  map[string]*placed
	names map[string][]*placed // by name alone: the namespace may not be known
	ids   map[string]*placed   // by container id
	own   map[string]*placed   // static pods by the UID that their node gives them, which is another than here
	gone  []departure          // in their order
}

type departure struct {
	*placed
	at time.Time
}

type placed struct {
	Pod
	node   string
	static string    // the node's own UID of a static pod
	until  time.Time // when it went; zero: it is there
}

// What is kept of pods that are gone: an agent may tell of them much later.
const (
	keepGone    = 48 * time.Hour
	maxGone     = 50_000
	maxOfOnePod = 32 // container ids; a container that crashes without end has new ones
)

// pageSize is how many pods one answer lists: they are large, and little is kept.
const pageSize = 500

// NewPlaces returns a store of an API server's pods; it asks nothing yet.
func NewPlaces(config *rest.Config, log zerolog.Logger, m *Metrics, now func() time.Time) (*Places, error) {
	client, err := newClient(config, codec{places: true})
	if err != nil {
		return nil, err
	}
	p := newPlaces(now)
	p.link = newLink(resource{"/api/v1", "pods", ""}, client, log, m)
	return p, nil
}

func newPlaces(now func() time.Time) *Places {
	return &Places{now: now, listed: make(chan struct{}), uids: map[string]*placed{}, names: map[string][]*placed{},
		ids: map[string]*placed{}, own: map[string]*placed{}}
}

// Run follows the pods until ctx is done.
func (p *Places) Run(ctx context.Context) error {
	reflector := p.link.reflector(p)
	reflector.WatchListPageSize = pageSize
	reflector.RunWithContext(klog.NewContext(ctx, logr.Discard())) // what it has to say, link says once
	return nil
}

// Listed is closed once every pod that there is was listed.
func (p *Places) Listed() <-chan struct{} { return p.listed }

// Remember adds a pod that was on a node before this program began. What the API
// server says wins.
func (p *Places) Remember(pod Pod, node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.uids[pod.UID] == nil && pod.UID != "" && node != "" {
		p.leaveNode(p.putPod(pod, node))
	}
}

// Find says whether the pod is or was on a node; known is false where nobody can say.
// Each name by which a pod is known must be that of one on the node. A UID that
// nobody knows, beside a name of the node's, may be that of an earlier pod.
func (p *Places) Find(pod Pod, node string) (here, known bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	found, elsewhere := false, false
	note := func(k *placed) {
		if k != nil {
			found, elsewhere = true, elsewhere || k.node != node
		}
	}
	by := p.uids[pod.UID]
	if by == nil {
		by = p.own[pod.UID]
	}
	note(by)
	note(p.findNamed(pod, node))
	for _, id := range pod.Containers {
		note(p.ids[id])
	}
	if pod.UID != "" && by == nil && !elsewhere {
		return false, false
	}
	return found && !elsewhere, found
}

// findNamed is a pod of that name, on the node if there is or was one.
func (p *Places) findNamed(pod Pod, node string) (found *placed) {
	for _, k := range p.names[pod.Name] {
		if pod.Namespace != "" && pod.Namespace != k.Namespace {
			continue
		}
		if found = k; k.node == node {
			return k
		}
	}
	return found
}

// Add implements cache.ReflectorStore.
func (p *Places) Add(o any) error { return p.Update(o) }

// Update implements cache.ReflectorStore.
func (p *Places) Update(o any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updatePod(o.(*object))
	return nil
}

func (p *Places) updatePod(o *object) {
	if o.place.Spec.NodeName == "" { // nobody has it yet
		return
	}
	pod := Pod{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), Containers: o.place.containerIDs()}
	k := p.putPod(pod, o.place.Spec.NodeName)
	k.until = time.Time{}
	if uid := o.place.Metadata.Annotations[mirrorOf]; uid != "" && p.own[uid] == nil {
		p.own[uid], k.static = k, uid
	}
}

// mirrorOf is the annotation with which the API server shows a static pod.
const mirrorOf = "kubernetes.io/config.mirror"

// Delete implements cache.ReflectorStore. The object is as it was at last.
func (p *Places) Delete(o any) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.updatePod(o.(*object))
	if k := p.uids[string(o.(*object).UID)]; k != nil {
		p.leaveNode(k)
	}
	return nil
}

// Replace implements cache.ReflectorStore: a list was read.
func (p *Places) Replace(all []any, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	there := make(map[types.UID]bool, len(all))
	for _, o := range all {
		there[o.(*object).UID] = true
		p.updatePod(o.(*object))
	}
	for uid, k := range p.uids {
		if !there[types.UID(uid)] && k.until.IsZero() {
			p.leaveNode(k)
		}
	}
	select {
	case <-p.listed:
	default:
		close(p.listed)
	}
	return nil
}

// Resync implements cache.ReflectorStore; it is never asked for.
func (p *Places) Resync() error { return nil }

// putPod notes a pod under all its names.
func (p *Places) putPod(pod Pod, node string) *placed {
	k := p.uids[pod.UID]
	if k == nil {
		k = &placed{Pod: Pod{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, node: node}
		p.uids[pod.UID] = k
		p.names[pod.Name] = append(p.names[pod.Name], k)
	}
	for _, id := range pod.Containers {
		if p.ids[id] == nil {
			p.ids[id], k.Containers = k, append(k.Containers, id)
		}
	}
	for len(k.Containers) > maxOfOnePod {
		delete(p.ids, k.Containers[0])
		k.Containers = k.Containers[1:]
	}
	return k
}

// leaveNode notes that a pod is gone and forgets those that went long ago.
func (p *Places) leaveNode(k *placed) {
	now := p.now()
	if k.until.IsZero() {
		k.until, p.gone = now, append(p.gone, departure{k, now})
	}
	for len(p.gone) > 0 && (len(p.gone) > maxGone || now.Sub(p.gone[0].at) > keepGone) {
		if old := p.gone[0]; old.until.Equal(old.at) { // else it came back
			p.forgetPod(old.placed)
		}
		p.gone = p.gone[1:]
	}
}

func (p *Places) forgetPod(k *placed) {
	delete(p.uids, k.UID)
	if k.static != "" {
		delete(p.own, k.static)
	}
	for _, id := range k.Containers {
		delete(p.ids, id)
	}
	rest := slices.DeleteFunc(p.names[k.Name], func(other *placed) bool { return other == k })
	if p.names[k.Name] = rest; len(rest) == 0 {
		delete(p.names, k.Name)
	}
}
