package classify_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/classify"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// reused is a name that two pods had, one after the other, and what is told of them.
type reused struct {
	ended time.Time // of the earlier life
	gap   time.Duration
	lines []string
}

const (
	reusedName = "ci/forge-0"
	earlierUID = "0a0b0c0d-1111-4222-8333-000000000001"
	laterUID   = "0a0b0c0d-1111-4222-8333-000000000002"
)

func (l *reused) say(at time.Time, program, text string) {
	l.lines = append(l.lines, at.Format("2006-01-02T15:04:05.000000-07:00")+" host-1 "+program+"[700]: "+text)
}

func (l *reused) kubelet(at time.Time, text string) {
	l.say(at, "kubelet", "I"+at.Format("0102 15:04:05.000000")+"     700 kubelet.go:1] "+text)
}

// begin tells that a pod was made and that its container runs.
func (l *reused) begin(at time.Time, uid string) {
	sandbox, id := strings.Repeat(uid[len(uid)-1:]+"a", 32), strings.Repeat(uid[len(uid)-1:]+"b", 32)
	l.kubelet(at, fmt.Sprintf(`"SyncLoop ADD" source="api" pods=["%s"]`, reusedName))
	name := fmt.Sprintf("&PodSandboxMetadata{Name:forge-0,Uid:%s,Namespace:ci,Attempt:0,}", uid)
	runtime := func(after time.Duration, text string) {
		at := at.Add(after)
		l.say(at, "containerd", fmt.Sprintf("time=%q level=info msg=%q", at.Format(time.RFC3339Nano), text))
	}
	runtime(400*time.Millisecond, fmt.Sprintf(`RunPodSandbox for %s returns sandbox id "%s"`, name, sandbox))
	runtime(500*time.Millisecond, fmt.Sprintf(
		`CreateContainer within sandbox "%s" for &ContainerMetadata{Name:runner,Attempt:0,} returns container id "%s"`,
		sandbox,
		id,
	))
	runtime(600*time.Millisecond, fmt.Sprintf(`StartContainer for "%s" returns successfully`, id))
}

// earlierEnds are the ways in which the earlier life is told to end, by its name alone.
var earlierEnds = map[string]func(*reused){
	"evicted": func(l *reused) {
		l.kubelet(l.ended, fmt.Sprintf(`"Eviction manager: pod is evicted successfully" pod="%s"`, reusedName))
	},
	"deleted": func(l *reused) {
		l.kubelet(l.ended.Add(-time.Second), fmt.Sprintf(`"SyncLoop DELETE" source="api" pods=["%s"]`, reusedName))
	},
	"removed": func(l *reused) {
		l.kubelet(l.ended, fmt.Sprintf(`"SyncLoop REMOVE" source="api" pods=["%s"]`, reusedName))
	},
	"shut down": func(l *reused) {
		l.kubelet(l.ended, fmt.Sprintf(
			`"Shutdown manager killing pod with gracePeriod" pod="%s" gracePeriod=30`, reusedName))
	},
}

// What is told of a name before a pod of that name was made is never told of that
// pod: it lives on, however close the two lives are, and whether the earlier one has
// a UID in what was read or not.
func TestNameOfEarlierLife(t *testing.T) {
	b := loadBook(t)
	for what, end := range earlierEnds {
		for _, gap := range []time.Duration{50 * time.Millisecond, time.Second, 20 * time.Second, 72 * time.Hour} {
			for _, known := range []bool{true, false} {
				l := &reused{ended: time.Date(2026, 3, 1, 10, 0, 0, 250e6, time.UTC), gap: gap}
				if known {
					l.begin(l.ended.Add(-10*time.Minute), earlierUID)
				}
				end(l)
				l.begin(l.ended.Add(gap), laterUID)
				l.kubelet(l.ended.Add(gap+5*time.Minute), `"SyncLoop (housekeeping)"`)
				for _, v := range replayText(b, "journal.log", strings.Join(l.lines, "\n")+"\n") {
					if v.PodUID == laterUID && v.Label != "none" {
						t.Errorf("%s %v before, UID of the earlier life known %v: the living pod is %s (%s) by %s",
							what, gap,
							known, v.Label, v.Confidence, v.Rule)
					}
				}
			}
		}
	}
}

// The same holds for a log that is read newest first, with times of whole seconds: what stands
// below another line of its second was written before it.
func TestNameOfEarlierLifeNewestFirst(t *testing.T) {
	b := loadBook(t)
	for what, end := range earlierEnds {
		for _, turned := range []bool{false, true} {
			l := &reused{ended: time.Date(2026, 3, 1, 10, 0, 0, 250e6, time.UTC)}
			l.begin(l.ended.Add(-10*time.Minute), earlierUID)
			end(l)
			l.begin(l.ended.Add(50*time.Millisecond), laterUID)
			l.kubelet(l.ended.Add(5*time.Minute), `"SyncLoop (housekeeping)"`)
			if turned {
				slices.Reverse(l.lines)
			}
			text := parts.ReplaceAllString(strings.Join(l.lines, "\n")+"\n", "$1")
			for _, v := range replayText(b, "journal.log", text) {
				if v.PodUID == laterUID && v.Label != "none" {
					t.Errorf("%s, newest first %v: the living pod is %s (%s) by %s", what, turned, v.Label,
						v.Confidence, v.Rule)
				}
				for _, e := range v.Evidence {
					if strings.Contains(e.Where, ":-") {
						t.Errorf("%s: evidence at %s", what, e.Where)
					}
				}
			}
		}
	}
}

// parts are those of seconds in a time.
var parts = regexp.MustCompile(`(\d\d:\d\d:\d\d)\.\d+`)

// What is told of the name afterwards is told of the later pod, and as surely as if
// it were the only one.
func TestNameOfLaterLife(t *testing.T) {
	b := loadBook(t)
	l := &reused{ended: time.Date(2026, 3, 1, 10, 0, 0, 250e6, time.UTC)}
	l.begin(l.ended.Add(-10*time.Minute), earlierUID)
	earlierEnds["removed"](l)
	l.begin(l.ended.Add(time.Second), laterUID)
	l.ended = l.ended.Add(10 * time.Minute)
	earlierEnds["evicted"](l)
	l.kubelet(l.ended.Add(time.Minute), `"SyncLoop (housekeeping)"`)
	for _, v := range replayText(b, "journal.log", strings.Join(l.lines, "\n")+"\n") {
		if v.PodUID == laterUID && v.Label == "evicted" && v.Confidence == rules.Confirmed {
			return
		}
	}
	t.Error("the later pod was not found to be evicted, confirmed")
}

// A masked UID ties nothing together: what happened to one pod is no other's fate.
func TestMaskedUIDTiesNothing(t *testing.T) {
	b := loadBook(t)
	for _, uid := range []string{
		"***", "<uid>", "REDACTED", "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", "[uuid]", "UID",
		"00000000-0000-0000-0000-000000000000", "0a0b0c0d-1111-4222-8333-00000000000f",
	} {
		object := func(pod, reason, message string) string {
			return fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e-%s","namespace":"ci"},`+
				`"involvedObject":{"kind":"Pod","name":%q,"namespace":"ci","uid":%q},"reason":%q,"message":%q,`+
				`"type":"Warning",`+
				`"source":{"component":"kubelet","host":"host-1"},"lastTimestamp":"2026-03-01T10:00:00Z"}`, pod, pod,
				uid, reason, message)
		}
		text := `{"apiVersion":"v1","kind":"List","items":[` +
			object("other-1", "Evicted", "The node was low on resource: memory.") +
			"," + object("forge-0", "Unhealthy", "Readiness probe failed: connection refused") + "]}\n"
		for _, v := range replayText(b, "events.json", text) {
			if v.Runner == "forge-0" && v.Label == "evicted" {
				t.Errorf("UID %q: forge-0 is evicted (%s), which other-1 was", uid, v.Confidence)
			}
		}
	}
}

func replayText(b *rules.Rulebook, name, text string) []rules.Verdict {
	archive := txtar.Format(&txtar.Archive{Files: []txtar.File{{Name: name, Data: []byte(text)}}})
	return classify.Replay(bundle.Bytes("case.txtar", archive, bundle.Options{}).Entries(nil), b, classify.Options{})
}

// A kubelet that is started again lists the pods that it has: none is made by that,
// and what was told before of a pod is still told of it.
func TestKubeletRestartIsNoBirth(t *testing.T) {
	b := loadBook(t)
	for what, end := range earlierEnds {
		l := &reused{ended: time.Date(2026, 3, 1, 10, 0, 0, 250e6, time.UTC)}
		end(l)
		l.kubelet(l.ended.Add(10*time.Second), `"Started kubelet"`)
		l.kubelet(l.ended.Add(12*time.Second), fmt.Sprintf(`"SyncLoop ADD" source="api" pods=["%s"]`, reusedName))
		l.kubelet(l.ended.Add(13*time.Second), fmt.Sprintf(
			`"SyncLoop (PLEG): event for pod" pod="%s" event={"ID":"%s","Type":"ContainerStarted","Data":"%s"}`,
			reusedName, laterUID, strings.Repeat("2b", 32)))
		l.kubelet(l.ended.Add(5*time.Minute), `"SyncLoop (housekeeping)"`)
		all := replayText(b, "journal.log", strings.Join(l.lines, "\n")+"\n")
		if len(all) != 1 || all[0].PodUID != laterUID {
			t.Errorf("%s: %d verdicts, want one, of the pod that was there before", what, len(all))
		}
	}
}

// An event without a UID that was written before a pod of its name was made is never more
// than a suspicion against that pod: where the kubelet wrote it, by the clock that the
// making was told by, it is none.
func TestEventOfEarlierLife(t *testing.T) {
	b := loadBook(t)
	ended := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	for _, component := range []string{"kubelet", ""} {
		for _, gap := range []time.Duration{2 * time.Second, 30 * time.Second, 110 * time.Second, time.Hour,
			-5 * time.Minute} {
			l := &reused{}
			l.begin(ended.Add(gap), laterUID)
			l.kubelet(ended.Add(gap+10*time.Minute), `"SyncLoop (housekeeping)"`)
			event := fmt.Sprintf(
				`{"apiVersion":"v1","kind":"Event","metadata":{"name":"forge-0.1","namespace":"ci"},`+
					`"involvedObject":{"kind":"Pod","name":"forge-0","namespace":"ci"},"reason":"Evicted",`+
					`"message":"The node was `+
					`low on resource: memory.","type":"Warning","source":{"component":%q},"lastTimestamp":%q}`,
				component,
				ended.Format(time.RFC3339),
			)
			archive := txtar.Format(&txtar.Archive{Files: []txtar.File{
				{
					Name: "journal.log",
					Data: []byte(strings.Join(l.lines, "\n") + "\n"),
				}, {Name: "events.json", Data: []byte(event)},
			}})
			entries := bundle.Bytes("case.txtar", archive, bundle.Options{}).Entries(nil)
			evicted := false
			for _, v := range classify.Replay(entries, b, classify.Options{}) {
				if v.PodUID != laterUID || v.Label != rules.Evicted {
					continue
				}
				evicted = true
				if gap > 0 && (component == "kubelet" || v.Confidence != rules.Suspected) {
					t.Errorf("by %q, %v before the pod was made: it is evicted (%s)", component, gap, v.Confidence)
				}
			}
			if gap < 0 && !evicted {
				t.Errorf("by %q, %v after the pod was made: it is not evicted", component, -gap)
			}
		}
	}
}

// A masked name ties nothing: what is told of one pod or node of such a name is not told of
// another, is no confirmed death, and a log of such a node rules nothing out.
func TestMaskedNamesTieNothing(t *testing.T) {
	b := loadBook(t)
	for _, name := range []string{"****", "<redacted>", "xxx", "NAME", "[REDACTED]", "{{pod}}", "$POD", "…",
		"REDACTED_NAME"} {
		row := "NAME            READY   STATUS    RESTARTS   AGE\n" + name + "   0/1     Evicted   0          3m\n" +
			"amber-7k2p9     1/1     Running   0          3m\n"
		event := fmt.Sprintf(`{"apiVersion":"v1","kind":"Event","metadata":{"name":"e","namespace":"ci"},`+
			`"involvedObject":{"kind":"Pod",`+
			`"name":%q,"namespace":"ci"},"reason":"Evicted","message":"The node was low on resource: `+
			`memory.","type":"Warning",`+
			`"source":{"component":"kubelet"},"lastTimestamp":"2026-03-01T10:00:00Z"}`, name)
		for what, text := range map[string]string{"pods.txt": row, "event.json": event} {
			for _, v := range replayText(b, what, text) {
				if v.Confidence == rules.Confirmed || v.Death() && v.Runner != "" {
					t.Errorf("%s in %s: %q is %s (%s)", name, what, v.Runner, v.Label, v.Confidence)
				}
			}
		}
		panics := "2026-03-01T10:00:30.000000+00:00 " + name + " kernel: Kernel panic - not syncing: softlockup\n"
		l := &reused{}
		l.begin(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC), laterUID)
		masked := strings.ReplaceAll(strings.Join(l.lines, "\n"), " host-1 ", " "+name+" ") + "\n"
		for _, v := range replayText(b, "journal.log", masked+panics) {
			if v.Confidence == rules.Confirmed {
				t.Errorf("node %s: %q is %s (%s)", name, v.Runner, v.Label, v.Confidence)
			}
			for _, c := range v.Coverage {
				t.Errorf("node %s: its log covers %v", name, c)
			}
		}
	}
}
