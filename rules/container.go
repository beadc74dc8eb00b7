package rules

import (
	"slices"
	"strings"
	"time"

	"coroner/ingest"
)

// A pod is several containers: the runner's own, init containers, sidecars,
// services, what somebody added to debug it, and the sandbox that holds them.
// Only the end of the runner's own container, of the sandbox or of the pod ends
// the runner.

// mainContainer is the name of the container whose end is the runner's end, ""
// if it is not known: what runners and GitLab's builds call it, else the one
// that prints a runner's lines, else the only one that the pod's spec lists.
func (c *Case) mainContainer() string {
	names, printing, listed := map[string]bool{}, "", ""
	for _, n := range c.Containers {
		names[n] = true
	}
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if !e.Mine {
			continue
		}
		names[c.containerOf(e)] = true
		if e.Source == ingest.Runner && e.PodUID != "" {
			printing = orElse(printing, e.Container)
		}
		if list := e.Str("containers"); list != "" && !strings.Contains(list, ",") {
			listed = list
		}
	}
	for _, name := range []string{"runner", "build"} {
		if names[name] {
			return name
		}
	}
	return orElse(listed, printing)
}

// helpers begin the names of containers that are never the runner's own: init
// containers and docker of actions-runner-controller, GitLab's helper and
// services, what service meshes and kubectl debug put into a pod.
var helpers = []string{"init-", "dind", "docker", "helper", "svc-", "istio-", "linkerd-", "debugger-"}

func isHelper(name string) bool {
	return slices.ContainsFunc(helpers, func(h string) bool { return strings.HasPrefix(name, h) })
}

// containerOf is the name of the container that a line is about, "" if it is
// not known.
func (c *Case) containerOf(e *Evidence) string {
	stood, id := e.Container, idOf(e)
	if toldByOthers(e) {
		stood = ""
	}
	if name := orElse(e.Str("container"), stood); name != "" {
		return name
	}
	for i := range e.words {
		if k := e.Def.captures[i].kind; k != kindCgroup && k != kindUnit {
			continue
		}
		if name := c.Containers[parseCgroup(e.words[i]).ContainerID]; name != "" {
			return name
		}
	}
	return c.Containers[id]
}

// toldByOthers says whether a line stands in another pod's log than the one
// that it speaks about.
func toldByOthers(e *Evidence) bool { return hearsay(e.Source) }

func hearsay(source ingest.Source) bool {
	return source == ingest.Controller || source == ingest.Listener
}

// idOf is the id of the container that a line is about, "" if it is not known.
func idOf(e *Evidence) string {
	if toldByOthers(e) {
		return e.Str("container_id")
	}
	return orElse(e.Str("container_id"), e.ContainerID)
}

// mayBeRunners says whether a container of that name, "" if it is not known,
// can be the runner's own.
func (c *Case) mayBeRunners(name string) bool {
	main := c.lived().main
	return name == "" || name == main || main == "" && !isHelper(name)
}

// isRunners says whether a record of an end is of the runner's own container,
// of its sandbox or of the whole pod: not of another container, nor of a
// process that was run beside.
func (c *Case) isRunners(e *Evidence) bool {
	id, name := idOf(e), c.containerOf(e)
	if e.Str("id") != "" && e.Str("id") != id {
		return false // a process that was run in the container
	}
	if c.Sandboxes[id] {
		return !e.Def.Exit // the sandbox's own code says nothing
	}
	if id == "" && name == "" {
		return true // of the pod
	}
	return c.runnersOwn(e, name)
}

// runnersOwn says whether the container called name, "" if that is not known,
// is the runner's. Where nothing tells, it is the one after which nothing of
// the pod is heard of, unless its sandbox lives on.
func (c *Case) runnersOwn(e *Evidence, name string) bool {
	main := c.lived().main
	if init, _ := e.Value("init").(bool); init || isHelper(name) && name != main {
		return false
	}
	if main != "" && name != "" {
		return name == main
	}
	if hearsay(e.Source) {
		return true // controllers speak of the runner's container
	}
	began := c.lived().lastStart
	return !(began.After(e.At) && !e.At.IsZero()) && (main != "" || len(c.Sandboxes) == 0 || c.lived().sandboxOver)
}

// life is what the evidence as a whole says of the pod's containers.
type life struct {
	main               string    // see mainContainer
	started, lastStart time.Time // first record of a start of the pod, last one of a container
	sandboxOver        bool      // its sandbox, or the whole pod, is over
	proven             bool      // some line of the pod is proven
}

// lived works the life out, once.
func (c *Case) lived() *life {
	if c.life != nil {
		return c.life
	}
	c.life = &life{main: c.mainContainer()}
	for i := range c.Evidence {
		if e := &c.Evidence[i]; e.Mine {
			c.life.add(c, e)
		}
	}
	return c.life
}

func (l *life) add(c *Case, e *Evidence) {
	id := idOf(e)
	l.proven = l.proven || e.Proven
	if e.Def.Ends || e.Def.Exit {
		l.sandboxOver = l.sandboxOver || c.Sandboxes[id] || id == "" && c.containerOf(e) == ""
	}
	at := e.At
	if began, _ := e.Value("started_at").(time.Time); e.Def.Exit && !began.IsZero() {
		at = began
	} else if !e.Def.Starts {
		return
	}
	if !at.IsZero() && (l.started.IsZero() || at.Before(l.started)) {
		l.started = at
	}
	if e.Def.Starts && !c.Sandboxes[id] {
		l.lastStart = later(l.lastStart, e.At)
	}
}
