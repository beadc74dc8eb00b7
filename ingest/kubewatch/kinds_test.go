package kubewatch

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/rs/zerolog"
)

// logged are options whose log a test can wait for. It is looked often what there is.
func logged() (*told, Options) {
	c := &told{more: make(chan struct{}, 1), log: logBuffer{more: make(chan struct{}, 1)}}
	return c, Options{Receive: c.receive, Now: time.Now, Log: zerolog.New(&c.log), Check: 5 * time.Millisecond}
}

// asks waits until the server was asked for a path some times more.
func (s *served) asks(t *testing.T, path string, times int) {
	t.Helper()
	s.with(func() { times += s.asked[path] })
	s.until(t, "it is asked for "+path, func() bool { return s.asked[path] >= times })
}

// until waits until something holds of what the server saw.
func (s *served) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(time.Minute)
	for ok := false; !ok; {
		select {
		case <-ticker.C:
			s.with(func() { ok = holds() })
		case <-deadline:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// askedOf is how often objects of a resource were asked for.
func (s *served) askedOf(resource string) (n int) {
	s.with(func() {
		for path, times := range s.asked {
			if strings.Contains(path, "/"+resource+" ") {
				n += times
			}
		}
	})
	return n
}

const (
	newer = "/apis/actions.github.com/v1alpha1 "
	older = "/apis/actions.summerwind.dev/v1alpha1 "
)

// A cluster without actions-runner-controller is asked for its kinds only, and that is one line. What
// is installed later is watched from then on, and what is removed is not any longer.
func TestKindsAreFound(t *testing.T) {
	s := serve(t, map[string][]string{"runners": {`{"metadata":{"name":"teasel-x7k2m-aq2wz","namespace":"ci",` +
		`"uid":"r1",` +
		`"resourceVersion":"1"},"status":{"phase":"Running"}}`}})
	s.with(func() { s.lacks["actions.github.com"], s.lacks["actions.summerwind.dev"] = true, true })
	c, o := logged()
	w := s.begin(t, o)
	<-s.watched // pods
	<-s.watched // events
	s.asks(t, newer, 20)
	for _, g := range groups {
		for _, name := range g.resources {
			if n := s.askedOf(name); n > 0 {
				t.Errorf("%d questions for %s, which are not installed", n, name)
			}
		}
	}
	const none = "the API server knows neither actions.github.com/v1alpha1 nor actions.summerwind.dev/v1alpha1"
	if got := c.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, none) {
		t.Errorf("the log: %s", got)
	}
	if got := w.metrics.Trouble(); len(got) != 1 || got[0].Kind != unknownKind {
		t.Errorf("%+v", got)
	}

	s.with(func() { s.lacks["actions.summerwind.dev"], s.lacks["runnersets"] = false, true })
	c.wait(t, "ci/teasel-x7k2m-aq2wz", "phase=Running")
	c.waitLog(t, "the API server has this kind of objects now")
	s.asks(t, older, 2)
	if n := s.askedOf("runnersets") + s.askedOf("ephemeralrunners"); n > 0 || len(w.metrics.Trouble()) > 0 {
		t.Errorf("%d questions for what is not installed; %+v", n, w.metrics.Trouble())
	}

	up := func() int { return testutil.CollectAndCount(w.metrics.up) }
	s.until(t, "six are watched", func() bool { return up() == 6 })
	s.with(func() { s.lacks["runners"] = true })
	s.until(t, "it is watched no longer", func() bool { return up() == 5 })
	s.with(func() { s.lacks["runners"] = false })
	s.until(t, "and again", func() bool { return up() == 6 })
}

// A server that does not tell its kinds once, as while it starts, has nothing ended.
func TestKindsThatBlink(t *testing.T) {
	s := serve(t, nil)
	c, o := logged()
	o.Check = time.Hour
	w := s.begin(t, o)
	for range s.changes {
		<-s.watched
	}
	k := newKinds(w)
	r := resource{groups[0].path(), "ephemeralrunners", "ci"}
	stopped := 0
	k.running[r] = &followed{stop: func() { stopped++ }}
	for i, there := range []bool{true, false, true, false, false} {
		k.adjust(t.Context(), nil, r, there)
		if want := i / 4; stopped != want {
			t.Errorf("look %d: stopped %d times, want %d; %s", i, stopped, want, c.log.String())
		}
	}
}

// Who may not ask which kinds there are has all of them tried: what may be read is.
func TestKindsThatNobodyMayAskFor(t *testing.T) {
	s := serve(t, nil)
	s.with(func() { s.denied["v1alpha1"] = true })
	s.follow(t, Options{Receive: (&told{more: make(chan struct{}, 1)}).receive})
}

// A missing permission is one line, which says what to grant and what is not known until then;
// the rest is watched, and so is that as soon as it may be.
func TestPermissionThatIsMissing(t *testing.T) {
	s := serve(t, nil)
	s.with(func() { s.denied["autoscalinglisteners"] = true })
	c, o := logged()
	s.begin(t, o)
	for range len(s.changes) - 1 {
		<-s.watched
	}
	const line = "may not watch autoscalinglisteners in namespace ci: give its service account a Role with the " +
		"verbs get, list, watch on autoscalinglisteners of the API group actions.github.com; until then a listener " +
		"that has no pod, or that does not go, is not noticed"
	c.waitLog(t, line)
	s.asks(t, strings.TrimSpace(newer)+"/namespaces/ci/autoscalinglisteners ", 1)
	if got := c.log.String(); strings.Count(got, "\n") != 1 {
		t.Errorf("the log: %s", got)
	}
	s.with(func() { s.denied["autoscalinglisteners"] = false })
	<-s.watched
}

// Of every resource it is known what is missed without it.
func TestEveryResourceHasItsCost(t *testing.T) {
	for _, names := range Resources() {
		for _, name := range names {
			if costs[name] == "" {
				t.Errorf("%s: what is not known without it?", name)
			}
		}
	}
}
