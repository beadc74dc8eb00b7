package kubewatch

import (
	"cmp"
	"strconv"
	"time"

	"coroner/ingest"
)

// A set of EphemeralRunners counts how many of them failed until actions-runner-controller 0.14,
// the sets of Runners never do. So the watch counts the objects itself, and tells of the pools in
// which one failed.

// poolCounts are how many runners of each pool are in which phase.
type poolCounts map[string]*poolCount

type poolCount struct {
	in    map[string]int // phase -> runners
	state poolState
	tells bool // what was told last, or is to be told, has one that failed
}

// move counts a runner that was in one phase, and is in another; "" is in none.
func (c poolCounts) move(pool, from, to string) {
	p := c[pool]
	if p == nil {
		p = &poolCount{in: map[string]int{}}
		c[pool] = p
	}
	if p.in[from]--; p.in[from] <= 0 {
		delete(p.in, from)
	}
	if to != "" {
		p.in[to]++
	}
}

// news is what is to be told of a pool now: nothing where no runner failed.
func (c poolCounts) news(namespace, pool string, now time.Time) (out []ingest.Entry) {
	p := c[pool]
	failed := p.in["Failed"]
	if failed > 0 || p.tells {
		e := ownFact(ingest.Entry{Namespace: namespace}, now, runnerCounts, "pool", pool,
			"pending", strconv.Itoa(p.in["Pending"]), "running", strconv.Itoa(p.in["Running"]),
			"failed", strconv.Itoa(failed))
		out = p.state.see(e, now)
	}
	c.settle(pool)
	return out
}

// again is what is to be told although nothing changed.
func (c poolCounts) again(now time.Time) (out []ingest.Entry) {
	for pool, p := range c {
		out = append(out, p.state.again(now)...)
		c.settle(pool)
	}
	return out
}

// settle forgets a pool that has no runners when its end was told.
func (c poolCounts) settle(pool string) {
	p := c[pool]
	if p.tells = p.in["Failed"] > 0 || p.state.waits; !p.tells && len(p.in) == 0 {
		delete(c, pool)
	}
}

// countRunner counts a runner's object as it is now; a phase of "" says that it is gone. A runner
// stays in its pool.
func (f *feed) countRunner(of *ofPool, phase string) {
	if of.pool == "" || of.phase == phase {
		return
	}
	f.counts.move(of.pool, of.phase, phase)
	if of.phase = phase; !f.listing {
		f.tellCounts(of.pool)
	}
}

// tellCounts hands on what is new of a pool's runners.
func (f *feed) tellCounts(pool string) {
	f.w.out.putEntries(f.counts.news(f.namespace, pool, f.w.options.Now()))
}

// phaseOf is the pool and the phase of a runner, by a fact that tells of its object; "" by others.
func phaseOf(e *ingest.Entry) (pool, phase string) {
	if e.Fields["msg"] != "ephemeral runner" {
		return "", ""
	}
	return e.Fields["pool"], cmp.Or(e.Fields["phase"], "Pending")
}
