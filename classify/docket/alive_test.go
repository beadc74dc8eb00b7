package docket

import (
	"context"
	"fmt"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules"
)

// listenerSays files a line of the listener's about a runner.
func (w *world) listenerSays(message, fields string) {
	w.t.Helper()
	e := w.entry(ingest.Listener, fmt.Sprintf("%s\tINFO\tservice\t%s\t{\"runnerName\": %q, \"RunnerName\": %[3]q, %s}",
		w.clock.at.Format(time.RFC3339), message, pod, fields))
	e.Node, e.Namespace, e.Pod, e.Container = "n2", "arc-systems", "mill-754b578d-listener", "listener"
	w.tell(e)
}

func (w *world) jobBegins() {
	w.listenerSays("update job info for runner", `"jobDisplayName": "build"`)
}

func (w *world) jobEnds() {
	w.listenerSays("job completed message received.", `"RequestId": 7, "Result": "succeeded"`)
}

// later lets minutes pass in which the watch goes on.
func (w *world) later(minutes int) {
	w.t.Helper()
	for range minutes {
		w.pass(time.Minute)
		w.tell(w.watch())
		w.due()
	}
}

// A runner that goes on living after its job, without a word of anybody, is a zombie while
// it lives; its end is another revision.
func TestHungRunnerIsAZombieLive(t *testing.T) {
	w := newWorld(t, Options{})
	w.listed(pod, "pool=mill")
	w.jobBegins()
	w.later(20)
	w.want("while its job runs")
	w.jobEnds()
	w.later(3)
	w.want("a little after its job")
	w.later(3)
	w.want("minutes after its job", pod+" zombie 1")
	v := w.verdict(pod).Verdict
	if v.State != rules.Open || v.Confidence != rules.Probable || v.DiedAt != nil {
		t.Errorf("%s, %s, died %v; want it open, probable and alive", v.State, v.Confidence, v.DiedAt)
	}
	w.tell(w.watched(pod, "pod condition", "type=Ready status=True")...)
	w.later(10)
	w.want("what it was judged by is on file, so that it stands", pod+" zombie 1")
	w.ended(pod, "0")
	w.later(3)
	if v := w.verdict(pod).Verdict; v.Label == rules.Zombie || v.Revision != 2 {
		t.Errorf("after its end: %s, revision %d", v.Label, v.Revision)
	}
}

// Silence alone makes no zombie: without a watch that goes on, or without the word that the
// job is over, nobody knows.
func TestSilenceMakesNoZombie(t *testing.T) {
	unwatched := newWorld(t, Options{})
	unwatched.listed(pod, "pool=mill")
	unwatched.tell(unwatched.watch())
	unwatched.jobBegins()
	unwatched.jobEnds()
	for range 20 {
		unwatched.pass(time.Minute)
		unwatched.due()
	}
	unwatched.want("the watch broke off")

	working := newWorld(t, Options{})
	working.listed(pod, "pool=mill")
	working.jobBegins()
	working.later(60)
	working.want("its job runs for an hour")

	ended := newWorld(t, Options{})
	ended.listed(pod, "pool=mill")
	ended.jobBegins()
	ended.later(5)
	ended.jobEnds()
	ended.pass(10 * time.Second)
	ended.ended(pod, "0")
	ended.later(10)
	ended.want("it ended with its job", pod+" completed 1")

	unseen := newWorld(t, Options{}) // by the watch, which is on another namespace's pods
	unseen.jobBegins()
	unseen.jobEnds()
	unseen.later(20)
	unseen.want("a pod that the watch never saw")
}

// What the listener says puts nothing off: a runner that it names and that never starts is
// judged when its time is up, and so is a zombie of which a recording tells, whose job ended
// long ago.
func TestListenerPutsNothingOff(t *testing.T) {
	w := newWorld(t, Options{})
	w.tell(w.watched(pod, "pod spec", "containers=runner node=n1 pool=mill")...)
	w.tell(w.watched(pod, "container waiting", "container=runner reason=ImagePullBackOff restarts=0")...)
	w.pass(40 * time.Second)
	w.jobBegins()
	w.pass(25 * time.Second)
	w.tell(w.watch())
	w.due()
	w.want("a minute after it was heard of first", pod+" image-pull-failure 1")

	w = newWorld(t, Options{})
	w.listed(pod, "pool=mill")
	w.jobBegins()
	w.jobEnds()
	w.clock.at = w.clock.at.Add(time.Hour) // on its way all the time, as the watch is now
	w.jobEnds()
	for range 4 {
		w.pass(15 * time.Second)
		w.tell(w.watch())
	}
	w.due()
	w.want("an hour later", pod+" zombie 1")
}

// A runner that GitHub refuses never gets a pod, so nothing of it ends: it has its verdict all
// the same. One that has its pod goes on, whatever was refused before.
func TestRefusedRunnerHasItsVerdict(t *testing.T) {
	w := newWorld(t, Options{})
	const error = `"error": "failed to get registration token: 403 API rate limit exceeded for installation ID 12"`
	say := func(name, message, more string) {
		w.tell(w.entry(ingest.Controller, fmt.Sprintf("%s\tINFO\tEphemeralRunner\t%s\t{%q: {%q: %q, %q: %q}%s}",
			w.clock.at.Format(time.RFC3339), message, "ephemeralrunner", "name", name, "namespace", "ci", more)))
	}
	for _, name := range []string{"mill-runner-aaaaa", "mill-runner-bbbbb"} {
		say(name, "Failed to generate JIT config", ", "+error)
	}
	w.pass(10 * time.Second)
	say("mill-runner-bbbbb", "Created ephemeral runner pod", `, "runnerName": "mill-runner-bbbbb"`)
	w.pass(5 * time.Minute)
	w.due()
	w.want("minutes later", "mill-runner-aaaaa rate-limited 1")
}

// A life sign is only of a case that is open, and of a watch that goes on.
func TestLifeSign(t *testing.T) {
	w := newWorld(t, Options{})
	w.listed(pod, "pool=mill")
	w.tell(w.watch())
	all, err := w.ledger.Cases(context.Background(), ledger.StateOpen, 0)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d cases, %v", len(all), err)
	}
	book := w.Book()
	found, err := w.judge.scans.gatherCase(context.Background(), w.ledger.Questions, &all[0], book)
	if err != nil {
		t.Fatal(err)
	}
	e := lifeSign(&all[0], found, w.clock.at.Add(time.Minute))
	if e == nil || !e.At.Equal(w.clock.at) || e.PodUID != "uid-"+pod {
		t.Fatalf("life sign %+v, want one at %s", e, w.clock.at)
	}
	if e := lifeSign(&all[0], found, w.clock.at.Add(3*time.Minute)); e != nil {
		t.Errorf("the watch was last heard of three minutes ago: %+v", e)
	}
	ending := all[0]
	ending.State = ledger.StateEnding
	if e := lifeSign(&ending, found, w.clock.at); e != nil {
		t.Errorf("something of it ended: %+v", e)
	}
}
