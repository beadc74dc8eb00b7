package docket

import (
	"context"
	"fmt"
	"strings"
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

// githubSays files what a webhook says of a job that the runner has, or had until now.
func (w *world) githubSays(id int, status string, more ...func(*ingest.Entry)) {
	w.t.Helper()
	e := w.job(id, w.clock.at.Add(-time.Minute), status, "mill")
	e.Pod, e.Fields["runner_name"] = pod, pod
	for _, change := range more {
		change(&e)
	}
	w.tell(e)
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
	over := w.clock.at
	w.jobEnds()
	w.want("just after its job")
	w.later(2)
	w.want("minutes after its job", pod+" zombie 1")
	v := w.verdict(pod).Verdict
	if v.State != rules.Open || v.Confidence != rules.Probable || v.DiedAt != nil {
		t.Errorf("%s, %s, died %v; want it open, probable and alive", v.State, v.Confidence, v.DiedAt)
	}
	w.tell(w.watched(pod, "pod condition", "type=Ready status=True")...)
	w.later(10)
	w.want("what it was judged by is on file, so that it stands", pod+" zombie 1")
	ended := w.clock.at
	w.ended(pod, "0")
	w.later(3)
	w.want("after its end", pod+" zombie 2")
	v = w.verdict(pod).Verdict
	if v.State != rules.Resolved || v.Since == nil || !v.Since.Equal(over) || v.Until == nil || !v.Until.Equal(ended) {
		t.Errorf("after its end: %s since %v until %v, want it resolved, %v and %v", v.State, v.Since, v.Until, over,
			ended)
	}
	w.later(10)
	w.want("nothing more is heard", pod+" zombie 2")
}

// The end of a zombie resolves it however it ended, unless the end is a death with its own
// evidence: whoever takes it away does as he is told.
func TestZombieEnds(t *testing.T) {
	for what, c := range map[string]struct {
		end  func(*world)
		want string
	}{
		"by itself":                         {func(w *world) { w.ended(pod, "0") }, "zombie resolved"},
		"with a code that nothing explains": {func(w *world) { w.ended(pod, "1") }, "zombie resolved"},
		"deleted": {func(w *world) {
			w.tell(w.watched(pod, "pod deleting", "grace_seconds=30")...)
			w.pass(30 * time.Second)
			w.ended(pod, "137")
		}, "zombie resolved"},
		"deleted at once": {func(w *world) {
			w.tell(w.watched(pod, "pod gone", "deletion=seen")...)
		}, "zombie resolved"},
		"killed for memory": {func(w *world) {
			at := w.clock.at.Format(time.RFC3339)
			w.tell(w.watched(pod, "container terminated",
				"container=runner exit_code=137 reason=OOMKilled finished_at="+at+" which=state restarts=0")...)
		}, "cgroup-OOM "},
		"evicted": {func(w *world) {
			w.tell(w.watched(pod, "pod status", "phase=Failed reason=Evicted")...)
			w.ended(pod, "137")
		}, "evicted "},
	} {
		for _, swept := range []bool{false, true} {
			w := newWorld(t, Options{})
			w.listed(pod, ephemeral)
			w.jobBegins()
			w.jobEnds()
			w.later(5)
			w.want(what, pod+" zombie 1")
			if swept { // its beginning is kept no longer
				w.pass(50 * time.Hour)
				w.tell(w.watch())
				if err := w.Upkeep(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			c.end(w)
			w.later(5)
			v := w.verdict(pod).Verdict
			if got := string(v.Label) + " " + string(v.State); got != c.want || v.Revision != 2 || v.DiedAt == nil {
				t.Errorf("%s, swept %v: %q revision %d died %v, want %q", what, swept, got, v.Revision, v.DiedAt,
					c.want)
			}
		}
	}
}

// A runner that was asked to stop while it worked, and that ends minutes later, was no zombie.
func TestSlowStopIsNoZombie(t *testing.T) {
	w := newWorld(t, Options{})
	w.listed(pod, ephemeral)
	w.jobBegins()
	w.later(5)
	w.tell(w.watched(pod, "pod deleting", "grace_seconds=150")...)
	w.pass(2 * time.Second)
	w.jobEnds()
	w.seconds(150)
	w.ended(pod, "143")
	w.later(5)
	w.want("it was asked to stop", pod+" SIGTERM-drain 1")
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

const ephemeral = "pool=mill owner=EphemeralRunner/" + pod

// GitHub's own word that the job is over makes a zombie of a runner that goes on, and of no other.
func TestGitHubTellsOfAZombie(t *testing.T) {
	for what, c := range map[string]struct {
		spec string
		tell func(*world)
		want []string
	}{
		"its job is over": {ephemeral, func(w *world) { w.githubSays(7, "completed") }, []string{pod + " zombie 1"}},
		"its job runs":    {ephemeral, func(w *world) { w.githubSays(7, "in_progress") }, nil},
		"it ends in seconds": {ephemeral, func(w *world) {
			w.githubSays(7, "completed")
			w.pass(8 * time.Second)
			w.ended(pod, "0")
		}, []string{pod + " completed 1"}},
		"it has another job": {ephemeral, func(w *world) {
			w.githubSays(7, "completed")
			w.pass(20 * time.Second)
			w.githubSays(8, "in_progress")
		}, nil},
		"it has ended its other job": {ephemeral, func(w *world) {
			w.githubSays(7, "completed")
			w.pass(time.Second)
			w.githubSays(8, "in_progress")
			w.pass(20 * time.Second)
			w.githubSays(8, "completed")
		}, []string{pod + " zombie 1"}},
		"a runner that stays": {"pool=mill owner=Runner/" + pod, func(w *world) { w.githubSays(7, "completed") }, nil},
		"another cluster's": {ephemeral, func(w *world) {
			w.githubSays(7, "completed", func(e *ingest.Entry) { e.Cluster = "b" })
		}, nil},
		"another namespace's": {ephemeral, func(w *world) {
			w.githubSays(7, "completed", func(e *ingest.Entry) { e.Namespace = "else" })
		}, nil},
		"which namespace's is open": {ephemeral, func(w *world) {
			for _, e := range w.watched(pod, "pod spec", "containers=runner node=n1 "+ephemeral) {
				e.Namespace, e.PodUID = "else", "uid-else"
				w.tell(e)
			}
			w.pass(5 * time.Second)
			w.githubSays(7, "completed")
		}, nil},
		"an earlier pod's": {ephemeral, func(w *world) {
			w.githubSays(7, "completed", func(e *ingest.Entry) { e.At = e.At.Add(-time.Hour) })
		}, nil},
		"somebody's claim": {ephemeral, func(w *world) {
			w.githubSays(7, "completed", func(e *ingest.Entry) { e.Trust = ingest.Claimed })
		}, nil},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t, Options{})
			w.listed(pod, c.spec)
			w.pass(2 * time.Minute)
			c.tell(w)
			w.later(10)
			w.want("minutes later", c.want...)
			if len(c.want) == 0 {
				return
			}
			if v := w.verdict(pod).Verdict; v.Job.ID == "" || v.Label == rules.Zombie && v.State != rules.Open {
				t.Errorf("%s, job %q; want a zombie open and the job known", v.State, v.Job.ID)
			}
		})
	}
}

// runnerSays files a line of the runner's own.
func (w *world) runnerSays(text string) {
	w.t.Helper()
	e := w.entry(ingest.Runner, text)
	e.PodUID = "uid-" + pod
	w.tell(e)
}

// seconds lets seconds pass in which the watch tells every ten how far it is, and gives those after
// which a zombie was open first, 0 where none was.
func (w *world) seconds(n int) (open int) {
	w.t.Helper()
	for i := range n {
		w.pass(time.Second)
		if i%10 == 9 {
			w.tell(w.watch())
		}
		w.due()
		if found := w.verdicts(); open == 0 && len(found) > 0 && strings.Contains(found[0], "zombie") {
			open = i + 1
		}
	}
	return open
}

// A runner that lives on is a zombie within a minute of the first word that its job is over, and
// none before 45 seconds.
func TestZombieWithinAMinute(t *testing.T) {
	for what, says := range map[string]func(*world){
		"the listener": func(w *world) { w.jobEnds() },
		"GitHub":       func(w *world) { w.githubSays(7, "completed") },
		"GitHub, five seconds late": func(w *world) {
			w.githubSays(7, "completed", func(e *ingest.Entry) { e.At = e.At.Add(-5 * time.Second) })
		},
		"the runner": func(w *world) {
			w.runnerSays(w.clock.at.Format("2006-01-02 15:04:05Z") + ": Job build completed with result: Succeeded")
		},
	} {
		for _, offset := range []int{0, 9} { // from the watch's word to the job's end
			w := newWorld(t, Options{})
			w.listed(pod, ephemeral)
			w.jobBegins()
			w.later(5)
			w.tell(w.watch())
			w.seconds(offset)
			says(w)
			if after := w.seconds(90); after <= 40 || after > 60 {
				t.Errorf("%s, the watch's word %d s old: a zombie after %d s, want more than 40 and at most 60", what,
					offset, after)
			}
		}
	}
}

// A runner that takes its time to end, works on for a hook, or was asked to stop is none.
func TestSlowEndsAreNoZombies(t *testing.T) {
	for what, c := range map[string]struct {
		meanwhile func(*world)
		after     int // seconds until it ends
	}{
		"it ends at once":       {func(*world) {}, 1},
		"it ends in 30 seconds": {func(*world) {}, 30},
		"it ends in 45 seconds": {func(*world) {}, 45},
		"its hook works for two": {func(w *world) {
			for range 6 {
				w.seconds(20)
				w.runnerSays("[WORKER " + w.clock.at.Format("2006-01-02 15:04:05Z") +
					" INFO StepsRunner] Processing step: DisplayName='Run /hooks/job-completed.sh'")
			}
		}, 40},
		"it was asked to stop": {func(w *world) {
			w.seconds(5)
			w.tell(w.watched(pod, "pod deleting", "grace_seconds=120")...)
		}, 90},
	} {
		w := newWorld(t, Options{})
		w.listed(pod, ephemeral)
		w.jobBegins()
		w.later(5)
		w.jobEnds()
		c.meanwhile(w)
		if after := w.seconds(c.after); after > 0 {
			t.Errorf("%s: a zombie", what)
		}
		w.ended(pod, "0")
		w.later(5)
		if v := w.verdict(pod).Verdict; v.Label == rules.Zombie || v.Revision > 1 {
			t.Errorf("%s: %s, revision %d", what, v.Label, v.Revision)
		}
	}
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
	found, err := gatherCase(context.Background(), w.ledger.Questions, &all[0], book, w.judge.scans)
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
