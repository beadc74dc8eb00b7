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
	out := make([]*Case, len(lives))
	for i := range lives {
		one, others := *c, map[string]time.Time{}
		for k := range lives {
			if k != i {
				others[lives[k].id] = lives[k].ended
			}
		}
		one.life, one.Attempt, one.Evidence = &life{earlier: others}, i+1, nil
		out[i] = &one
	}
	for i := range c.Evidence {
		for _, k := range livesOf(c, lives, &c.Evidence[i]) {
			out[k].Evidence = append(out[k].Evidence, c.Evidence[i])
		}
	}
	return out[max(0, len(out)-maxAttempts):]
}

// livesThatEnded lists the lives of the runner's own container that are over, by the ids
// and the times that records of an end name.
func livesThatEnded(c *Case) (lives []attempt) {
	for i := range c.Evidence {
		e := &c.Evidence[i]
		id := ContainerID(e)
		if !e.Mine || id == "" || c.Sandboxes[id] || e.Str("id") != "" && e.Str("id") != id ||
			!c.MayBeRunners(c.ContainerOf(e)) {
			continue
		}
		k := slices.IndexFunc(lives, func(a attempt) bool { return a.id == id })
		if k < 0 {
			lives, k = append(lives, attempt{id: id}), len(lives)
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

// livesOf says which lives a line belongs to: by the container that it names,
// else by its time; what names no container and has no time, and what the pod as
// a whole is like, belongs to all.
func livesOf(c *Case, lives []attempt, e *Evidence) (of []int) {
	id := c.ContainerIDOf(e)
	if k := slices.IndexFunc(lives, func(a attempt) bool { return a.id == id }); k >= 0 {
		return []int{k}
	}
	for k := range lives {
		after := k == 0 || e.At.After(lives[k-1].ended.Add(aftermath)) ||
			!lives[k].began.IsZero() && !e.At.Before(lives[k].began.Add(-aftermath))
		before := k == len(lives)-1 || !e.At.After(lives[k].ended.Add(aftermath))
		if e.At.IsZero() || after && before {
			of = append(of, k)
		}
	}
	return of
}

// aftermath is how long after an end lines about it can come.
const aftermath = 2 * time.Second
