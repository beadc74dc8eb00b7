// Package collect saves what a cluster's API still has of runners, in the layout that coroner
// explain reads: pod, events, logs of all containers, owners, the controller's and listeners'
// logs, the node and, where the kubelet gives it, the node's journal.
//
// Invariant: it only reads from the cluster. What cannot be had is one note, and the rest goes
// on; a name that is none of Kubernetes' becomes no path.
//
// Crash behaviour: what was saved before stays in the folder; nothing reads it by itself.
package collect

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strings"
	"time"
)

// Sink takes the files of a bundle.
type Sink interface {
	Put(name string, data []byte) error
}

// Collector collects. Its fields are set before its first use.
type Collector struct {
	API  *API
	Sink Sink
	Note func(text string) // is told what could not be had
	Now  func() time.Time

	Cluster Cluster // as the flags name it, for commands that are told

	oldest  time.Time // when the oldest of the pods was made
	sets    map[string]bool
	nodes   map[string]bool
	saved   map[string]bool
	runners int
}

// Runner collects what there is of one; found is false where nothing is.
func (c *Collector) Runner(ctx context.Context, namespace, name string) (found bool, err error) {
	var p pod
	where := "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods/" + url.PathEscape(name)
	data, err := c.API.read(ctx, where, nil, &p)
	if err == nil {
		err = c.pod(ctx, data, &p)
		return true, err
	}
	if !isMissing(err) {
		return false, fmt.Errorf("the pod %s/%s: %w", namespace, name, err)
	}
	c.Note("the pod object and its logs: the pod is gone")
	return c.traces(ctx, namespace, name)
}

// traces are what stays of a pod that is gone: its events for an hour, and its EphemeralRunner.
func (c *Collector) traces(ctx context.Context, namespace, name string) (found bool, err error) {
	var events list[object]
	data, err := c.API.read(ctx, "/api/v1/namespaces/"+namespace+"/events", about(name), &events)
	switch {
	case err != nil:
		c.Note("the pod's events: " + err.Error())
	case len(events.Items) > 0:
		found = true
		if err := c.put("events-"+name+".json", data); err != nil {
			return found, err
		}
	}
	runner := owner{"actions.github.com/v1alpha1", "EphemeralRunner", name}
	had := len(c.saved)
	if err := c.owners(ctx, namespace, []owner{runner}, 0); err != nil {
		return found, err
	}
	return found || len(c.saved) > had, nil
}

func about(name string) url.Values {
	return url.Values{"fieldSelector": {"involvedObject.name=" + name}}
}

// maxRunners is how many runners are collected where none is named.
const maxRunners = 200

// All collects the runners of a namespace, of all where it is "". It says how many there were.
func (c *Collector) All(ctx context.Context, namespace string) (int, error) {
	where := "/api/v1/pods"
	if namespace != "" {
		where = "/api/v1/namespaces/" + url.PathEscape(namespace) + "/pods"
	}
	names := map[string]bool{}
	for _, selector := range runnerLabels {
		var pods list[pod]
		query := url.Values{"labelSelector": {selector}, "limit": {fmt.Sprint(maxRunners)}}
		if _, err := c.API.read(ctx, where, query, &pods); err != nil {
			return len(names), fmt.Errorf("the list of runners: %w", err)
		}
		if pods.Metadata.Continue != "" {
			c.Note(fmt.Sprintf("more than %d runners: there are more; name one, or a namespace", maxRunners))
		}
		for i := range pods.Items {
			m := &pods.Items[i].Metadata
			if key := m.Namespace + "/" + m.Name; !names[key] && !listens(&pods.Items[i]) {
				names[key] = true
				if _, err := c.Runner(ctx, m.Namespace, m.Name); err != nil {
					return len(names), err
				}
			}
		}
	}
	return len(names), nil
}

// runnerLabels are those of actions-runner-controller's runners: of scale sets, and of the
// older RunnerDeployments.
var runnerLabels = []string{"actions.github.com/scale-set-name", "actions-runner-controller/inject-registration-token"}

// setLabel names the scale set of a runner and of its listener.
const setLabel = "actions.github.com/scale-set-name"

func listens(p *pod) bool {
	return strings.HasSuffix(p.Metadata.Labels["app.kubernetes.io/component"], "-listener")
}

// Find looks for a pod of that name in all namespaces.
func (c *Collector) Find(ctx context.Context, name string) (namespaces []string, err error) {
	var pods list[object]
	query := url.Values{"fieldSelector": {"metadata.name=" + name}}
	if _, err := c.API.read(ctx, "/api/v1/pods", query, &pods); err != nil {
		return nil, fmt.Errorf("the list of pods: %w", err)
	}
	for _, p := range pods.Items {
		namespaces = append(namespaces, p.Metadata.Namespace)
	}
	return namespaces, nil
}

// pod saves a pod with all that is its own.
func (c *Collector) pod(ctx context.Context, data []byte, p *pod) error {
	m := &p.Metadata
	if !isPlain(m.Name) || !isPlain(m.Namespace) || !isPlain(m.UID) {
		c.Note("a pod: its name is none of Kubernetes'")
		return nil
	}
	c.runners++
	if c.oldest.IsZero() || m.CreationTimestamp.Before(c.oldest) {
		c.oldest = m.CreationTimestamp
	}
	if err := c.put(path.Join("objects", m.Namespace+"_"+m.Name+".json"), data); err != nil {
		return err
	}
	if err := c.save(ctx, "events-"+m.Name+".json", "the pod's events",
		"/api/v1/namespaces/"+m.Namespace+"/events", about(m.Name)); err != nil {
		return err
	}
	if err := c.logs(ctx, p, nil); err != nil {
		return err
	}
	if err := c.owners(ctx, m.Namespace, m.OwnerReferences, 0); err != nil {
		return err
	}
	if set := m.Labels[setLabel]; set != "" {
		c.sets = with(c.sets, set)
	}
	return c.node(ctx, p.Spec.NodeName)
}

func with(set map[string]bool, key string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	set[key] = true
	return set
}

// logs saves the logs of all containers of a pod, and those of their lives before.
func (c *Collector) logs(ctx context.Context, p *pod, query url.Values) error {
	m := &p.Metadata
	where := "/api/v1/namespaces/" + m.Namespace + "/pods/" + m.Name + "/log"
	for _, s := range p.containers() {
		if !isPlain(s.Name) {
			continue
		}
		for life := s.RestartCount; life >= max(0, s.RestartCount-1); life-- {
			q := url.Values{"container": {s.Name}, "timestamps": {"true"}, "limitBytes": {fmt.Sprint(maxAnswer)}}
			for k, v := range query {
				q[k] = v
			}
			what := "the log of container " + s.Name + " of " + m.Name
			if life < s.RestartCount {
				q.Set("previous", "true")
				what += " before it was started again"
			}
			name := path.Join("pods", m.Namespace+"_"+m.Name+"_"+m.UID, s.Name, fmt.Sprintf("%d.log", life))
			if err := c.save(ctx, name, what, where, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxOwners is how far up owners are followed: runner, set, scale set.
const maxOwners = 4

// owners saves what a pod belongs to, and what that belongs to.
func (c *Collector) owners(ctx context.Context, namespace string, all []owner, depth int) error {
	for _, o := range all {
		file := strings.ToLower(o.Kind) + "-" + o.Name + ".json"
		if depth == maxOwners || !isPlain(o.Kind) || !isPlain(o.Name) || c.saved[file] {
			continue
		}
		var up object
		data, err := c.API.read(ctx, o.path(namespace), nil, &up)
		if err != nil {
			c.Note("the " + o.Kind + ": " + err.Error())
			continue
		}
		if err := c.put(file, data); err != nil {
			return err
		}
		if set := up.Metadata.Labels[setLabel]; set != "" {
			c.sets = with(c.sets, set)
		}
		if err := c.owners(ctx, namespace, up.Metadata.OwnerReferences, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// node saves a node, its events and, where the kubelet gives it, its journal.
func (c *Collector) node(ctx context.Context, name string) error {
	if name == "" || !isPlain(name) || c.nodes[name] {
		return nil
	}
	c.nodes = with(c.nodes, name)
	if err := c.save(ctx, "node-"+name+".json", "the node "+name, "/api/v1/nodes/"+name, nil); err != nil {
		return err
	}
	if err := c.save(ctx, "events-node-"+name+".json", "the events of the node "+name,
		"/api/v1/namespaces/default/events", about(name)); err != nil {
		return err
	}
	return c.journal(ctx, name)
}

// lookBack is how long before the oldest pod the logs of others begin, and how long before now
// where there is no pod.
const (
	lookBack     = 10 * time.Minute
	lookBackGone = 6 * time.Hour
)

func (c *Collector) since() time.Time {
	if c.oldest.IsZero() {
		return c.Now().Add(-lookBackGone).UTC()
	}
	return c.oldest.Add(-lookBack).UTC()
}

// controllerLabels are those of the pods that make runners.
var controllerLabels = []string{
	"app.kubernetes.io/component=runner-scale-set-listener", "app.kubernetes.io/part-of=gha-rs-controller",
	"app.kubernetes.io/name=gha-rs-controller", "app.kubernetes.io/name=actions-runner-controller",
}

// Controllers saves the logs of the controllers and of the runners' listeners.
func (c *Collector) Controllers(ctx context.Context) error {
	done := map[string]bool{}
	for _, selector := range controllerLabels {
		var pods list[pod]
		query := url.Values{"labelSelector": {selector}}
		if _, err := c.API.read(ctx, "/api/v1/pods", query, &pods); err != nil {
			c.Note("the controller's and listeners' logs: the list of pods in all namespaces: " + err.Error())
			return nil
		}
		for i := range pods.Items {
			p := &pods.Items[i]
			m := &p.Metadata
			set := m.Labels[setLabel]
			others := listens(p) && set != "" && len(c.sets) > 0 && !c.sets[set]
			if done[m.UID] || others || !isPlain(m.Name) || !isPlain(m.Namespace) || !isPlain(m.UID) {
				continue
			}
			done[m.UID] = true
			since := url.Values{"sinceTime": {c.since().Format(time.RFC3339)}}
			if err := c.logs(ctx, p, since); err != nil {
				return err
			}
		}
	}
	if len(done) == 0 {
		c.Note("the controller's and listeners' logs: no pod has actions-runner-controller's labels")
	}
	return nil
}

// save asks for a path and saves the answer, or notes why there is none.
func (c *Collector) save(ctx context.Context, file, what, where string, query url.Values) error {
	data, cut, err := c.API.get(ctx, where, query)
	if err != nil {
		c.Note(what + ": " + err.Error())
		return nil
	}
	if cut {
		c.Note(fmt.Sprintf("%s: what is behind its first %d MiB", what, maxAnswer>>20))
	}
	return c.put(file, data)
}

func (c *Collector) put(file string, data []byte) error {
	c.saved = with(c.saved, file)
	return c.Sink.Put(file, data)
}
