package web

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"
	"time"

	"coroner/classify/ledger"
	"coroner/rules"
)

// Deaths that are alike are one row, with how new they are and what they have in common;
// what there is more of than usual comes first.
func TestAlikeDeaths(t *testing.T) {
	s := open(t)
	s.add("long-ago", t0.Add(-20*24*time.Hour), nil)
	for day := range 7 { // two OOM kills a day in the week before
		for i := range 2 {
			at := t0.Add(-time.Duration(day+2)*24*time.Hour + time.Duration(i)*time.Minute)
			s.add(fmt.Sprintf("before-%d-%d", day, i), at, nil)
		}
	}
	add := func(n int, name string, change func(v *rules.Verdict, i int)) {
		for i := range n {
			s.add(fmt.Sprintf("%s-%d", name, i), t0.Add(-time.Duration(i)*time.Minute), func(v *rules.Verdict) {
				v.Node, v.Job.Repository = fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("o/%s-%d", name, i)
				change(v, i)
			})
		}
	}
	add(3, "usual", func(v *rules.Verdict, _ int) {})
	add(9, "struck", func(v *rules.Verdict, i int) {
		v.Label, v.Pool = rules.HostTeardown, "small"
		if i > 0 {
			v.Node = "build-9"
		}
	})
	s.add("host-before", t0.Add(-3*24*time.Hour), func(v *rules.Verdict) {
		v.Label, v.Pool = rules.HostTeardown, "small"
	})
	add(2, "other", func(v *rules.Verdict, i int) {
		v.Evidence[0].Text = fmt.Sprintf("Killed process %d (java)", i)
	})
	add(1, "fresh", func(v *rules.Verdict, _ int) { v.Label = rules.NodeCrash })
	add(40, "fine", func(v *rules.Verdict, _ int) { v.Label = rules.Completed })
	body := s.holds(
		"/",
		200,
		"Alike 15 deaths",
		"9 host-teardown in pool small host-teardown by cgroup-OOM-kernel-kill "+
			"oom-kill: told small 1 h ago first 1 h ago more than usual 1 in the 7 days before "+
			"8 of 9 on node build-9 (8 of all 55 that ended then)",
		"1 node-crash in pool big node-crash by cgroup-OOM-kernel-kill oom-kill: told big "+
			"1 h ago new 0 in the 7 days before",
		"3 cgroup-OOM in pool big cgroup-OOM by cgroup-OOM-kernel-kill oom-kill: told big "+
			"1 h ago first 1 h ago again 12 in the 7 days before",
		"2 cgroup-OOM in pool big cgroup-OOM by cgroup-OOM-kernel-kill Killed process * (java) big "+
			"1 h ago first 1 h ago new 0 in",
		"In common: 9 of 15 in pool small (9 of all 55 that ended then) ; 8 of 15 on node build-9",
		"These are counts, not causes",
	)
	if a, b := strings.Index(body, "more than usual"), strings.Index(body, `class="news">again`); a < 0 || b < a {
		t.Error("what there is more of than usual does not come first")
	}
	way := regexp.MustCompile(`href="/(\?alike=[0-9a-f]+&amp;pool=big&amp;verdict=cgroup-OOM)"`)
	if ways := way.FindAllStringSubmatch(body, -1); len(ways) != 2 {
		t.Errorf("ways from groups to their deaths: %q", ways)
	} else { // that which is new comes before that which is not
		s.holds("/"+html.UnescapeString(ways[0][1]), 200, "other-0", "other-1", "!usual-0", "!in the 7 days before")
		s.holds("/"+html.UnescapeString(ways[1][1]), 200, "usual-0", "usual-2", "!other-0")
	}
	s.holds("/?alike=%3C", 400, "want what a link of this page has")
	s.holds("/?node=build-9", 200, "8 host-teardown in pool small", "!more than usual", "!in the 7 days before")
	s.holds("/?until=2026-05-04T10:30:00Z", 200, "!Alike")
	s.holds("/?verdict=completed", 200, "!Alike")
}

// Where little is known of the time before, nothing is called new.
func TestNothingIsNewOnTheFirstDay(t *testing.T) {
	s := open(t)
	s.add("first", t0, nil)
	s.add("second", t0.Add(time.Minute), nil)
	s.holds("/", 200, "2 cgroup-OOM in pool big", "!new ", "!days before", "!In common:")
}

// A post-mortem says whether it is one of many: by label, in its pool, before it.
func TestOneOfMany(t *testing.T) {
	s := open(t)
	s.add("lone", t0, func(v *rules.Verdict) { v.Pool = "lone" })
	s.add("week", t0.Add(-3*24*time.Hour), nil)
	s.add("other-label", t0.Add(-time.Hour), func(v *rules.Verdict) { v.Label = rules.HostTeardown })
	s.add("other-cluster", t0.Add(-time.Hour), func(v *rules.Verdict) { v.Cluster = "east" })
	s.add("hour", t0.Add(-time.Hour), nil)
	s.add("it", t0, nil)
	s.add("later", t0.Add(time.Minute), nil)
	s.add("fine", t0, func(v *rules.Verdict) { v.Label = rules.Completed })
	s.add("poolless", t0, func(v *rules.Verdict) { v.Pool = "" })
	s.holds("/runners/ci/lone", 200, "No other cgroup-OOM in pool lone in the 7 days before")
	body := s.holds("/runners/ci/it", 200,
		"1 more cgroup-OOM in pool big in the 24 hours before, 2 in the 7 days before")
	if !strings.Contains(body, "pool=big&amp;since=2026-04-27T10%3A01%3A00Z&amp;verdict=cgroup-OOM") {
		t.Error("no way to them")
	}
	s.holds("/runners/ci/other-cluster", 200, "No other cgroup-OOM in pool big")
	s.holds("/runners/ci/fine", 200, "!in pool big in the", "!No other")
	s.holds("/runners/ci/poolless", 200, "!No other", "!more cgroup-OOM")
}

// Of more deaths than are looked at, the page says since when it counts.
func TestCutOff(t *testing.T) {
	at := func(n int) (out []ledger.End) {
		for i := range n {
			out = append(out, ledger.End{Recorded: t0.Add(-time.Duration(i) * time.Second)})
		}
		return out
	}
	if got := cutOff(at(5), 5); !got.Equal(t0.Add(-4 * time.Second)) {
		t.Errorf("since %s", got)
	}
	if got := cutOff(at(4), 5); !got.IsZero() {
		t.Errorf("all are there, but since %s", got)
	}
}
