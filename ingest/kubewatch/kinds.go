package kubewatch

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// group is an API group, and the resources of it that tell of runners and their pools.
type group struct {
	name      string
	resources []string
}

// version is that of both groups.
const version = "v1alpha1"

func (g group) path() string { return "/apis/" + g.name + "/" + version }

// groups are those of the two generations of actions-runner-controller. An AutoscalingListener
// stands in its controller's namespace, everything else in the runners'.
var groups = []group{
	{"actions.github.com", []string{
		"ephemeralrunners", "ephemeralrunnersets", "autoscalingrunnersets", "autoscalinglisteners",
	}},
	{"actions.summerwind.dev", []string{
		"runners", "runnerdeployments", "runnerreplicasets", "runnersets", "horizontalrunnerautoscalers",
	}},
}

// Resources is what is watched in a namespace by API group, "" being that of pods: what a Role
// has to allow there.
func Resources() map[string][]string {
	all := map[string][]string{"": {"pods", "events"}}
	for _, g := range groups {
		all[g.name] = g.resources
	}
	return all
}

// costs say what is not known without a resource.
var costs = map[string]string{
	"pods":                        "no exit code, eviction or deletion of a pod is seen",
	"events":                      "what the kubelet and the scheduler say of a pod is not seen",
	"nodes":                       "nothing tells that a node was lost or was booted",
	"ephemeralrunners":            "verdicts may lack the job, and failed runners are not counted",
	"runners":                     "verdicts may lack the job, and failed runners are not counted",
	"ephemeralrunnersets":         "a pool whose runners failed or do not come up is not noticed",
	"runnerdeployments":           "a pool whose runners do not come up is not noticed",
	"runnerreplicasets":           "a pool without a RunnerDeployment whose runners do not come up is not noticed",
	"runnersets":                  "a pool whose runners do not come up is not noticed",
	"autoscalingrunnersets":       "a pool's maximum is not known, nor that it was deleted",
	"autoscalinglisteners":        "a listener that has no pod, or that does not go, is not noticed",
	"horizontalrunnerautoscalers": "a pool that is at its maximum while more jobs wait is not noticed",
}

// group is the API group of a resource, "" for that of pods.
func (r resource) group() string {
	rest, named := strings.CutPrefix(r.path, "/apis/")
	name, _, _ := strings.Cut(rest, "/")
	if !named {
		return ""
	}
	return name
}

// kinds finds out which of those resources the server has, and has them watched for as long
// as it does.
type kinds struct {
	w       *Watcher
	running map[resource]*followed
	began   bool   // it was found out once
	told    string // that there are none, as it was logged
}

// followed is a resource that is watched.
type followed struct {
	stop   context.CancelFunc
	absent int // how many times in a row the server did not have it
}

func newKinds(w *Watcher) *kinds { return &kinds{w: w, running: map[resource]*followed{}} }

// soon is how long it is waited after the server did not say what it has.
const soon = 5 * time.Second

// run finds out what there is until ctx is done, and again and again, for something can be
// installed at any time. What is watched runs in g.
func (k *kinds) run(ctx context.Context, g *errgroup.Group) error {
	for {
		next := k.w.checkEvery()
		if !k.findOut(ctx, g) {
			next = min(next, soon)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

// findOut asks once, and says whether the server answered.
func (k *kinds) findOut(ctx context.Context, g *errgroup.Group) bool {
	var found []string
	for _, of := range groups {
		has, err := k.served(ctx, of)
		if err != nil {
			return false // the watch of pods says why
		}
		for _, name := range of.resources {
			if has(name) {
				found = append(found, name)
			}
			for _, ns := range k.w.options.Namespaces {
				k.adjust(ctx, g, resource{of.path(), name, ns}, has(name))
			}
		}
	}
	if ctx.Err() == nil {
		k.tellNone(len(found) == 0)
		k.began = true
	}
	return true
}

// served asks which resources of a group the server has. Where it may not be asked all of them
// count as there: their lists will tell.
func (k *kinds) served(ctx context.Context, of group) (has func(string) bool, _ error) {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	data, err := k.w.client.Get().AbsPath(of.path()).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return func(string) bool { return false }, nil
	case apierrors.IsForbidden(err):
		return func(string) bool { return true }, nil
	case err != nil:
		return nil, err
	}
	var list struct{ Resources []struct{ Name string } }
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, err
	}
	return func(name string) bool {
		return slices.ContainsFunc(list.Resources, func(r struct{ Name string }) bool { return r.Name == name })
	}, nil
}

// adjust begins to watch what is there, and ends what has not been there twice: a server that
// starts does not know all of its kinds at once.
func (k *kinds) adjust(ctx context.Context, g *errgroup.Group, r resource, there bool) {
	is := k.running[r]
	switch {
	case there && is == nil && ctx.Err() == nil:
		short, stop := context.WithCancel(ctx)
		k.running[r] = &followed{stop: stop}
		g.Go(func() error { k.w.follow(short, r); return nil })
		if k.began {
			k.w.options.Log.Info().Str("resource", r.name).Str("namespace", r.namespace).
				Msg("the API server has this kind of objects now, so they are watched")
		}
	case there && is != nil:
		is.absent = 0
	case is != nil:
		if is.absent++; is.absent > 1 {
			is.stop()
			delete(k.running, r)
			k.w.metrics.forget(r)
		}
	}
}

// tellNone notes that the server has no kind that is wanted, or that it has some.
func (k *kinds) tellNone(none bool) {
	what := Trouble{}
	if none {
		names := []string{}
		for _, g := range groups {
			names = append(names, g.name+"/"+version)
		}
		what = Trouble{unknownKind, "the API server knows neither " + strings.Join(names, " nor ") +
			", so no objects of actions-runner-controller are watched: install it, or leave out " +
			"--kube.ephemeral-runners (in the chart apiWatch.ephemeralRunners); everything else goes on"}
	}
	k.w.metrics.Note("kinds", what)
	if what.Text != "" && k.told == "" {
		k.w.options.Log.Error().Msg(what.Text)
	}
	k.told = what.Text
}
