package casefile

import (
	"slices"
	"time"

	"coroner/rules/signal"
)

// attempt is one life of the runner's own container in its pod.
type attempt struct {
	id           string
	began, ended time.Time
}

// maxAttempts bounds how many lives of one pod are told apart; of more, the
// last ones.
const maxAttempts = 20

// Attempts are the lives of the runner in its pod, one case each, in their
// order: a container that its pod starts again dies a death of its own each
// time. A pod whose container ended once or never is one case, itself.
func (c *Case) Attempts() []*Case {
	lives := livesThatEnded(c)
	if len(lives) < 2 {
		return []*Case{c}
	}
	first, number := max(0, len(lives)-maxAttempts), map[string]int{}
	for k := range lives {
		number[lives[k].id] = k
	}
	var out []*Case
	for k := first; k < len(lives); k++ {
		one := *c
		one.life, one.Attempt, one.Evidence = &life{earlier: otherEnds(lives, k)}, k+1, nil
		out = append(out, &one)
	}
	for i := range c.Evidence {
		e := &c.Evidence[i]
		if k, known := number[c.ContainerIDOf(e)]; !known {
			for _, k := range livesAt(lives, first, e.At) {
				out[k-first].Evidence = append(out[k-first].Evidence, *e)
			}
		} else if k >= first {
			out[k-first].Evidence = append(out[k-first].Evidence, *e)
		}
	}
	return out
}

// otherEnds is when the containers of the other lives ended.
func otherEnds(lives []attempt, but int) map[string]time.Time {
	ends := map[string]time.Time{}
	for k := range lives {
		if k != but {
			ends[lives[k].id] = lives[k].ended
		}
	}
	return ends
}

// livesThatEnded lists the lives of the runner's own container that are over, by the ids
// and the times that records of an end name.
func livesThatEnded(c *Case) (lives []attempt) {
	number := map[string]int{}
	for i := range c.Evidence {
		e := &c.Evidence[i]
		id := ContainerID(e)
		if !e.Mine || id == "" || c.Sandboxes[id] || e.Str("id") != "" && e.Str("id") != id ||
			!c.MayBeRunners(c.ContainerOf(e)) {
			continue
		}
		k, known := number[id]
		if !known {
			lives, k = append(lives, attempt{id: id}), len(lives)
			number[id] = k
		}
		lives[k].noteLine(e)
	}
	lives = slices.DeleteFunc(lives, func(a attempt) bool { return a.ended.IsZero() })
	slices.SortFunc(lives, func(a, b attempt) int { return a.ended.Compare(b.ended) })
	return lives
}

// noteLine takes in what a line says of the life's beginning and end.
func (a *attempt) noteLine(e *Evidence) {
	at := e.At
	if began, _ := e.Value("started_at").(time.Time); e.Def.Exit && !began.IsZero() {
		a.began = began
	}
	if e.Def.Starts && !at.IsZero() && (a.began.IsZero() || at.Before(a.began)) {
		a.began = at
	}
	if finished, _ := e.Value("finished_at").(time.Time); !finished.IsZero() {
		at = finished
	}
	if e.Def.Exit && !at.IsZero() && e.Value("exit_code") != signal.NoCode && (a.ended.IsZero() || at.Before(a.ended)) {
		a.ended = at
	}
}

// livesAt says which lives, from the first on, a line belongs to that names none of
// their containers: those of its time. What has no time, and what the pod as a whole
// is like, belongs to all.
func livesAt(lives []attempt, first int, at time.Time) (of []int) {
	for k := first; k < len(lives); k++ {
		after := k == 0 || at.After(lives[k-1].ended.Add(aftermath)) ||
			!lives[k].began.IsZero() && !at.Before(lives[k].began.Add(-aftermath))
		before := k == len(lives)-1 || !at.After(lives[k].ended.Add(aftermath))
		if at.IsZero() || after && before {
			of = append(of, k)
		}
	}
	return of
}

// aftermath is how long after an end lines about it can come.
const aftermath = 2 * time.Second
