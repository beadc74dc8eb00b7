package docket

import (
	"context"
	"slices"
	"strings"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/ingest"
)

// pidNear is how far apart in time two records may be whose process id is to
// mean the same process.
const pidNear = 20 * time.Second

// gather collects from the ledger everything that can bear on a case: what is
// filed under its names and under every name that those records add, what
// happened to its node, its last lines, and the coverage marks.
func (d *Docket) gather(ctx context.Context, c *ledger.Case) ([]ingest.Entry, error) {
	g := &gathering{ctx: ctx, d: d, c: c, seen: map[int64]bool{}, asked: map[string]bool{}}
	g.ask(classify.Subject{Namespace: c.Namespace, Name: c.Name, UID: c.UID}.Keys()...)
	for len(g.keys) > 0 && g.err == nil {
		key := g.keys[0]
		g.keys = g.keys[1:]
		g.named(key)
	}
	g.surroundings()
	return g.entries, g.err
}

// Gather returns everything that a case is judged from.
func (d *Docket) Gather(ctx context.Context, c ledger.Case) ([]ingest.Entry, error) {
	return d.gather(ctx, &c)
}

type gathering struct {
	ctx   context.Context
	d     *Docket
	c     *ledger.Case
	err   error
	keys  []string // still to be asked for
	asked map[string]bool
	seen  map[int64]bool
	ids   []string // container and sandbox ids of the pod

	entries     []ingest.Entry
	first, last time.Time
}

func (g *gathering) ask(keys ...string) {
	for _, k := range keys {
		if !g.asked[k] {
			g.asked[k] = true
			g.keys = append(g.keys, k)
		}
	}
}

// named takes the records that are filed under a name, and learns from those
// that are about this pod alone what else it is called.
func (g *gathering) named(key string) {
	found, err := g.d.ledger.Named(g.ctx, key)
	if err != nil {
		g.err = err
		return
	}
	for i := range found {
		e := &found[i].Entry
		if g.seen[found[i].ID] || strings.HasPrefix(key, classify.KeyPID) && !g.near(e.At) {
			continue
		}
		g.seen[found[i].ID] = true
		g.entries = append(g.entries, *e)
		g.learn(e)
	}
}

func (g *gathering) near(at time.Time) bool {
	return slices.ContainsFunc(g.entries, func(e ingest.Entry) bool { return e.At.Sub(at).Abs() < pidNear })
}

func (g *gathering) learn(e *ingest.Entry) {
	f, _ := classify.File(e, g.d.Book())
	if len(f.Subjects) != 1 || !g.mine(f.Subjects[0]) {
		return
	}
	g.ids = append(g.ids, f.Subjects[0].IDs...)
	for _, k := range f.Keys {
		if !strings.HasPrefix(k, classify.KeyName) {
			g.ask(k)
		}
	}
	if !e.At.IsZero() && (g.first.IsZero() || e.At.Before(g.first)) {
		g.first = e.At
	}
	if e.At.After(g.last) {
		g.last = e.At
	}
}

// mine says whether a record's subject can be this pod and no other.
func (g *gathering) mine(s classify.Subject) bool {
	switch {
	case s.UID != "" && g.c.UID != "":
		return s.UID == g.c.UID
	case slices.ContainsFunc(s.IDs, func(id string) bool { return slices.Contains(g.ids, id) }):
		return true
	}
	return s.Name != "" && s.Name == g.c.Name && (s.Namespace == "" || g.c.Namespace == "" || s.Namespace == g.c.Namespace)
}

// surroundings adds the node's events, the coverage and the last lines.
func (g *gathering) surroundings() {
	if g.first.IsZero() {
		g.first = g.c.Opened
	}
	g.last = latest(g.last, g.c.Died)
	from, to := classify.Window(g.first, g.last)
	l := g.d.ledger
	if g.c.Node != "" {
		g.add(l.Wide(g.ctx, g.c.Node, from, to))
		g.marks("node:"+g.c.Node, from, to)
	}
	g.marks("controller", from, to)
	g.marks("kube:"+g.c.Namespace, from, to)
	for _, key := range []string{classify.KeyUID + g.c.UID, classify.KeyName + g.c.Name} {
		if strings.HasSuffix(key, ":") {
			continue
		}
		g.add(l.Marks(g.ctx, key, time.Time{}))
		g.add(l.Tail(g.ctx, key))
	}
}

// marks adds what was read, or lost, of an owner between two times.
func (g *gathering) marks(owner string, from, to time.Time) {
	some, err := g.d.ledger.Marks(g.ctx, owner, from)
	g.add(slices.DeleteFunc(some, func(e ingest.Entry) bool { return e.Mark.From.After(to) }), err)
}

func (g *gathering) add(some []ingest.Entry, err error) {
	if g.err == nil {
		g.err = err
	}
	g.entries = append(g.entries, some...)
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
