package casefile

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules/signal"
)

// A pod is several containers: the runner's own, init containers, sidecars,
// services, what somebody added to debug it, and the sandbox that holds them.
// Only the end of the runner's own container, of the sandbox or of the pod ends
// the runner.

// mainOf is the name of the container whose end is the runner's end, ""
// if it is not known: what runners and GitLab's builds call it, else the one
// that prints a runner's lines, else the only one that the pod's spec lists.
func mainOf(c *Case) string {
	names, printing, listed := map[string]bool{}, "", ""
	for _, n := range c.Containers {
		names[n] = true
	}
	maps.Copy(names, shownContainers(c))
	all := len(names) > 0 && !names[""] // every container of the pod is known by its name
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if !e.Mine || all && !e.Proven && !names[e.Container] {
			continue
		}
		names[c.ContainerOf(e)] = true
		if e.Source == ingest.Runner && e.PodUID != "" {
			printing = cmp.Or(printing, e.Container)
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
	return cmp.Or(listed, printing)
}

// shownContainers are the names of those that a status of the pod shows: a stream that says
// to be of another one is not believed.
func shownContainers(c *Case) map[string]bool {
	shown := map[string]bool{}
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if name := e.Str("container"); e.Mine && e.Source == ingest.Kube && name != "" && (e.Def.Exit || e.Def.Starts) {
			shown[name] = true
		}
	}
	return shown
}

// helpers begin the names of containers that are never the runner's own: init
// containers and docker of actions-runner-controller, GitLab's helper and
// services, what service meshes and kubectl debug put into a pod.
var helpers = []string{"init-", "dind", "docker", "helper", "svc-", "istio-", "linkerd-", "debugger-"}

func isHelper(name string) bool {
	return slices.ContainsFunc(helpers, func(h string) bool { return strings.HasPrefix(name, h) })
}

// ContainerOf is the name of the container that a line is about, "" if it is
// not known. What is no more than a claim takes it from another claim, too.
func (c *Case) ContainerOf(e *Evidence) string {
	stood, id := e.Container, ContainerID(e)
	if toldByOthers(e) {
		stood = ""
	}
	if name := cmp.Or(e.Str("container"), stood); name != "" {
		return name
	}
	id = cmp.Or(id, c.ContainerIDOf(e))
	if name := c.Containers[id]; name != "" || e.Proven || c.life == nil {
		return name
	}
	return c.life.claimed[id]
}

// ContainerIDOf is the id of the container that a line is about: by itself, by the
// cgroup that it names, else by a process of which another line says where it ran.
func (c *Case) ContainerIDOf(e *Evidence) string {
	if id := ContainerID(e); id != "" {
		return id
	}
	if e.Def.HasKind(signal.KindCgroup) || e.Def.HasKind(signal.KindUnit) {
		for path := range e.OfKind(signal.KindCgroup, signal.KindUnit) {
			if id := signal.ParseCgroup(path).ContainerID; id != "" {
				return id
			}
		}
	}
	if !e.Mine || !e.Def.HasKind(signal.KindPID) || c.life == nil || c.life.killedIn == nil {
		return ""
	}
	pid := ""
	for word := range e.OfKind(signal.KindPID) {
		pid = word
	}
	return c.life.killedIn[pid]
}

// killedIn are the containers of the processes that lines name with their cgroup.
func killedIn(evidence []Evidence) map[string]string {
	in := map[string]string{}
	for i := range evidence {
		e := &evidence[i]
		if !e.Mine || !e.Def.HasKind(signal.KindPID) || !e.Def.HasKind(signal.KindCgroup) {
			continue
		}
		pid, id := "", ""
		for path := range e.OfKind(signal.KindCgroup) {
			id = cmp.Or(signal.ParseCgroup(path).ContainerID, id)
		}
		for word := range e.OfKind(signal.KindPID) {
			pid = word
		}
		if pid != "" && id != "" {
			in[pid] = id
		}
	}
	return in
}

// claimedNames are the names of containers that only claims tell.
func claimedNames(evidence []Evidence) map[string]string {
	names := map[string]string{}
	for i := range evidence {
		if e := &evidence[i]; e.Mine && !e.Proven {
			if id, name := ContainerID(e), e.Str("container"); id != "" && name != "" {
				names[id] = name
			}
		}
	}
	return names
}

// toldByOthers says whether a line stands in another pod's log than the one
// that it speaks about.
func toldByOthers(e *Evidence) bool { return isSecondHand(e.Source) }

func isSecondHand(source ingest.Source) bool {
	return source == ingest.Controller || source == ingest.Listener
}

// ContainerID is the id of the container that a line is about, "" if it is not known.
func ContainerID(e *Evidence) string {
	if toldByOthers(e) {
		return e.Str("container_id")
	}
	return cmp.Or(e.Str("container_id"), e.ContainerID)
}

// MayBeRunners says whether a container of that name, "" if it is not known,
// can be the runner's own.
func (c *Case) MayBeRunners(name string) bool {
	main := c.workedOutLife().main
	return name == "" || name == main || main == "" && !isHelper(name)
}

// isRunners says whether a record of an end is of the runner's own container,
// of its sandbox or of the whole pod: not of another container, nor of a
// process that was run beside.
func (c *Case) isRunners(e *Evidence) bool {
	id, name := ContainerID(e), c.ContainerOf(e)
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
// the pod is heard of, unless its sandbox lives on: then the only one that there is,
// if it failed. An init container may end well.
func (c *Case) runnersOwn(e *Evidence, name string) bool {
	main := c.workedOutLife().main
	if init, _ := e.Value("init").(bool); init || isHelper(name) && name != main {
		return false
	}
	if main != "" && name != "" {
		return name == main
	}
	if isSecondHand(e.Source) {
		return true // controllers speak of the runner's container
	}
	if name == "" && c.SpokeAfter(e) && c.OpenWhose(ContainerID(e), "", e.At) {
		return false // the runner speaks on, and another container can have ended
	}
	l := c.workedOutLife()
	if l.othersStartedAfter(e.At, name) {
		return false
	}
	return main != "" || len(c.Sandboxes) == 0 || l.sandboxOver ||
		exitFailed(e) && !c.OpenWhose(ContainerID(e), name, e.At)
}

// exitFailed says whether a record of an end has another code than 0.
func exitFailed(e *Evidence) bool {
	code, ok := e.Value("exit_code").(int)
	return e.Def.Exit && ok && code > 0
}

// SpokeAfter says whether the runner's own output goes on after a line.
func (c *Case) SpokeAfter(e *Evidence) bool {
	return c.Log.Read && !e.At.IsZero() && c.Log.Last.Sub(e.At) > spokeOn
}

// LogWentOn says whether the log of a line's source goes on after it for longer than the
// last lines of a node that went down take.
func (c *Case) LogWentOn(e *Evidence) bool {
	for k := range c.AllCoverage() {
		if k.Source == e.Source && k.Why == "" && !e.At.IsZero() && !k.From.After(e.At) && k.To.Sub(e.At) > wentOn {
			return true
		}
	}
	return false
}

// wentOn is longer than a kernel waits that panicked until it boots again.
const wentOn = time.Minute

// spokeOn is how long after a container's end what it printed can still come.
const spokeOn = 5 * time.Second

// OpenWhose says whether a container, of an id or a name that may be "", need not
// be the runner's own: another one of the pod can be, which was not over then, nor
// soon after, as it is where the runner's end takes the pod with it.
func (c *Case) OpenWhose(id, name string, at time.Time) bool {
	l := c.workedOutLife()
	if id == "" && name == "" || c.Sandboxes[id] || name != "" && name == l.main {
		return false
	}
	nameless, named := 0, 0
	for other, called := range c.Containers {
		end, over := l.over[other]
		switch {
		case other == id || over && end.Before(at.Add(takenAlong)) || isHelper(called):
		case called == "":
			nameless++
		case called != name:
			named++
		}
	}
	for other := range l.runs {
		if name != "" && other != name && !slices.Contains(slices.Collect(maps.Values(c.Containers)), other) {
			named++
		}
	}
	if nameless > 0 && len(c.Sandboxes) == 0 {
		nameless-- // it can be the sandbox
	}
	return nameless+named > 0
}

// takenAlong is how soon after the runner's end a pod is taken down.
const takenAlong = 30 * time.Second

// MainContainer is the name of the container whose end is the runner's end, "" if it
// is not known.
func (c *Case) MainContainer() string { return c.workedOutLife().main }

// Several says whether containers of the pod are named beside the runner's own.
func Several(c *Case) bool {
	main := c.MainContainer()
	if main == "" {
		return false
	}
	for _, name := range c.Containers {
		if name != "" && name != main {
			return true
		}
	}
	return slices.ContainsFunc(c.Evidence, func(e Evidence) bool {
		name := e.Str("container")
		return e.Mine && name != "" && name != main
	})
}

// SandboxOver says whether the pod's sandbox, or the whole pod, is over.
func (c *Case) SandboxOver() bool { return c.workedOutLife().sandboxOver }

// life is what the evidence as a whole says of the pod's containers.
type life struct {
	main        string        // see mainOf
	started     time.Time     // first record of a start of the pod
	sandboxOver bool          // its sandbox, or the whole pod, is over
	proven      bool          // some line of the pod is proven
	grace       time.Duration // from a request to stop to the kill, as the pod was asked for; 0 if not known

	starts   map[string]time.Time // name of a container -> last record of a start
	runs     map[string]bool      // names of the containers that a status without ids shows running
	over     map[string]time.Time // containers of which an end was read, by their ids
	earlier  map[string]time.Time // of those, what ended in other lives of the pod
	killedIn map[string]string    // process id -> id of its container
	claimed  map[string]string    // container id -> name, as lines have it that are no more than claims
}

// workedOutLife works the life out, once.
func (c *Case) workedOutLife() *life {
	if c.life != nil && c.life.over != nil {
		return c.life
	}
	l := &life{main: mainOf(c), over: map[string]time.Time{}, runs: map[string]bool{}, killedIn: killedIn(c.Evidence),
		claimed: claimedNames(c.Evidence), starts: map[string]time.Time{}}
	if c.life != nil {
		l.earlier = c.life.earlier
		maps.Copy(l.over, l.earlier)
	}
	c.life = l
	for i := range c.Evidence {
		if e := &c.Evidence[i]; e.Mine {
			c.life.addLine(c, e)
		}
	}
	return c.life
}

func (l *life) addLine(c *Case, e *Evidence) {
	id := ContainerID(e)
	l.proven = l.proven || e.Proven
	if seconds, _ := e.Value("grace").(int); seconds > 0 {
		l.grace = max(l.grace, time.Duration(min(seconds, maxGrace))*time.Second)
	}
	if e.Def.Ends || e.Def.Exit {
		if was, known := l.over[id]; !known || e.At.Before(was) {
			l.over[id] = e.At
		}
		l.sandboxOver = l.sandboxOver || c.Sandboxes[id] || id == "" && c.ContainerOf(e) == ""
	}
	if name := e.Str("container"); e.Def.Starts && id == "" && name != "" && !isHelper(name) {
		l.runs[name] = true
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
		name := c.ContainerOf(e)
		l.starts[name] = ingest.LaterOf(l.starts[name], e.At)
	}
}

// othersStartedAfter says whether another container than the one called name was started
// after a moment. That the same one was started again does not mean that it had not ended.
func (l *life) othersStartedAfter(at time.Time, name string) bool {
	for other, start := range l.starts {
		if !at.IsZero() && start.After(at) && (name == "" || other != name) {
			return true
		}
	}
	return false
}
