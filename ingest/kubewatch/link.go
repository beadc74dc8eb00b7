package kubewatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// link is the way to one resource of an API server.
type link struct {
	resource
	client rest.Interface
	log    zerolog.Logger
	up     *prometheus.GaugeVec
	lasts  *troubles

	mu      sync.Mutex        // guards trouble, which lists and watches write
	trouble map[string]string // verb -> what is wrong, as it was logged
}

func newLink(r resource, client rest.Interface, log zerolog.Logger, m *Metrics) *link {
	m.up.WithLabelValues(r.namespace, r.name).Set(0)
	return &link{resource: r, client: client, log: log, up: m.up, lasts: &m.troubles,
		trouble: map[string]string{}}
}

// reflector keeps a store at what the server has.
func (l *link) reflector(store cache.ReflectorStore) *cache.Reflector {
	lw := &cache.ListWatch{ListWithContextFunc: l.listPods, WatchFuncWithContext: l.watchPods}
	o := cache.ReflectorOptions{Name: l.String(), TypeDescription: l.name}
	return cache.NewReflectorWithOptions(lw, &object{}, store, o)
}

// listTime bounds one list: a slow server is asked again.
const listTime = time.Minute

func (l *link) listPods(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	short, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	all := &list{}
	err := l.newRequest(o).Do(short).Into(all)
	if ctx.Err() == nil {
		l.noteResult("list", err)
	}
	return all, err
}

// podWatch is how many seconds a watch of a namespace's pods lasts. The server says two seconds
// before its end how far it is, else once a minute, and that its pod lives tells a zombie.
var podWatch int64 = 10

func (l *link) watchPods(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	o.Watch = true
	if l.name == "pods" && l.namespace != "" && o.SendInitialEvents == nil {
		o.TimeoutSeconds = &podWatch
	}
	stream, err := l.newRequest(o).Watch(ctx)
	first := o.SendInitialEvents != nil
	if first && unsupported(err) {
		return nil, err // it lists instead
	}
	if ctx.Err() == nil {
		l.noteResult("watch", err)
	}
	if first && err != nil {
		err = fmt.Errorf("%v", err) // or the library would wait where nobody can stop it
	}
	return stream, err
}

func (l *link) newRequest(o metav1.ListOptions) *rest.Request {
	r := l.client.Get().AbsPath(l.path)
	if l.namespace != "" {
		r = r.Namespace(l.namespace)
	}
	return r.Resource(l.name).SpecificallyVersionedParams(&o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"})
}

// knows says whether the same was said of either verb: who may not watch may not list.
func (l *link) knows(err error) bool {
	for verb, line := range l.trouble {
		if line == l.adviceFor(verb, err) {
			return true
		}
	}
	return false
}

// noteResult notes how a request went, and logs it where that changed.
func (l *link) noteResult(verb string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := len(l.trouble)
	log := l.log.With().Str("resource", l.name).Str("namespace", l.namespace).Logger()
	switch {
	case err != nil:
		line := l.adviceFor(verb, err)
		if !l.knows(err) {
			l.lasts.note(l.String(), Trouble{kindOf(err), line})
			log.Error().Msg(line + "; everything else goes on, and this is retried")
		}
		l.trouble[verb] = line
	case verb == "watch":
		clear(l.trouble)
	default:
		delete(l.trouble, verb)
	}
	if len(l.trouble) == 0 {
		l.lasts.note(l.String(), Trouble{})
	}
	up := l.up.WithLabelValues(l.namespace, l.name)
	switch {
	case len(l.trouble) > 0:
		up.Set(0)
	case verb == "watch":
		up.Set(1)
		if was > 0 {
			log.Info().Msg("the API server accepts the watch again")
		}
	}
}
