package docket

import (
	"context"
	"slices"
	"strings"
	"time"

	"coroner/classify"
	"coroner/classify/ledger"
	"coroner/classify/scans"
	"coroner/ingest"
	"coroner/rules"
)

// pidNear is how far apart in time two records may be whose process id is to
// mean the same process.
const pidNear = 20 * time.Second

// gatherCase collects from the ledger everything that can bear on a case: what is
// filed under its names and under every name that those records add, what
// happened to its node, its last lines, and the coverage marks.
func gatherCase(
	ctx context.Context, q ledger.Questions, c *ledger.Case, book *rules.Rulebook, cache *scans.Cache,
) ([]*classify.Scanned, error) {
	g := &gathering{
		ctx:   ctx,
		q:     q.In(c.Cluster),
		cache: cache,
		c:     c,
		book:  book,
		seen:  map[int64]bool{},
		asked: map[string]bool{},
	}
	g.askFor(classify.Subject{Namespace: c.Namespace, Name: c.Name, UID: c.UID}.Keys()...)
	g.cutNames()
	if c.Name != "" {
		g.askFor(classify.KeyHelps + c.Name)
	}
	for len(g.keys) > 0 && g.err == nil {
		key := g.keys[0]
		g.keys = g.keys[1:]
		g.addNamed(key)
	}
	g.surroundings()
	return g.found, g.err
}

// cutNames asks for the lines that name the pod by what its name can have been cut
// to: they void what silence proves.
func (g *gathering) cutNames() {
	var keys []string
	for _, name := range classify.CutNames(g.c.Name) {
		keys = append(keys, classify.KeyName+name)
	}
	if len(keys) == 0 {
		return
	}
	filed, err := g.q.Filed(g.ctx, keys)
	g.noteError(err)
	g.askFor(filed...)
}

// gathering is one run of gather.
type gathering struct {
	ctx   context.Context
	q     ledger.Questions
	cache *scans.Cache
	c     *ledger.Case
	book  *rules.Rulebook
	err   error
	keys  []string // still to be asked for
	asked map[string]bool
	seen  map[int64]bool
	ids   []string // container and sandbox ids of the pod
	help  []string // names of pods that its job's steps ran in: their UIDs and ids

	found       []*classify.Scanned
	first, last time.Time
}

func (g *gathering) askFor(keys ...string) {
	for _, k := range keys {
		if !g.asked[k] {
			g.asked[k] = true
			g.keys = append(g.keys, k)
		}
	}
}

// addNamed takes the records that are filed under a name, and learns from those
// that are about this pod alone what else it is called.
func (g *gathering) addNamed(key string) {
	found, err := g.q.Unseen(g.ctx, key, g.seen)
	if err != nil {
		g.err = err
		return
	}
	for i := range found {
		e := &found[i].Entry
		if e.Cluster != g.c.Cluster || strings.HasPrefix(key, classify.KeyPID) && !g.isNear(e.At) {
			continue
		}
		g.seen[found[i].ID] = true
		g.learnFrom(g.addEntry(e))
	}
}

// askForIDs asks for what names the pod of a record by more than its name.
func (g *gathering) askForIDs(f *classify.Filing) {
	for _, k := range f.Keys {
		if !strings.HasPrefix(k, classify.KeyName) && !strings.HasPrefix(k, classify.KeyHelps) {
			g.askFor(k)
		}
	}
}

// isHelper says whether a record's subject is a pod that the steps of this runner's job ran in: it
// has its name, or what a record with that name has.
func (g *gathering) isHelper(s classify.Subject) bool {
	if of := s.Helps(); of != nil {
		return of.Name == g.c.Name && sameNamespace(of.Namespace, g.c.Namespace)
	}
	known := func(id string) bool { return id != "" && slices.Contains(g.help, id) }
	return known(s.UID) || slices.ContainsFunc(s.IDs, known)
}

func (g *gathering) isNear(at time.Time) bool {
	return slices.ContainsFunc(g.found, func(s *classify.Scanned) bool { return s.Entry.At.Sub(at).Abs() < pidNear })
}

func (g *gathering) learnFrom(s *classify.Scanned) {
	e, f := &s.Entry, classify.FileSignals(s.Signals)
	switch {
	case len(f.Subjects) != 1:
		return
	case g.isHelper(f.Subjects[0]):
		g.help = append(append(g.help, f.Subjects[0].UID), f.Subjects[0].IDs...)
		g.askForIDs(&f)
		return
	case !g.isMine(f.Subjects[0]):
		return
	}
	g.ids = append(g.ids, f.Subjects[0].IDs...)
	g.askForIDs(&f)
	if !e.At.IsZero() && (g.first.IsZero() || e.At.Before(g.first)) {
		g.first = e.At
	}
	if e.At.After(g.last) {
		g.last = e.At
	}
}

// isMine says whether a record's subject can be this pod and no other.
func (g *gathering) isMine(s classify.Subject) bool {
	switch {
	case s.UID != "" && g.c.UID != "":
		return s.UID == g.c.UID
	case slices.ContainsFunc(s.IDs, func(id string) bool { return slices.Contains(g.ids, id) }):
		return true
	}
	return s.Name != "" && s.Name == g.c.Name && sameNamespace(s.Namespace, g.c.Namespace)
}

func sameNamespace(a, b string) bool { return a == "" || b == "" || a == b }

// surroundings adds the node's events, the coverage and the last lines.
func (g *gathering) surroundings() {
	if g.first.IsZero() {
		g.first = g.c.Opened
	}
	g.last = ingest.LaterOf(g.last, g.c.Died)
	from, to := classify.Window(g.first, g.last)
	around, own := ledger.Owners{"controller", "kube:" + g.c.Namespace}, ledger.Owners{}
	if g.c.Node != "" {
		g.addNodeWide(from, to)
		around[2] = "node:" + g.c.Node
	}
	if g.c.UID != "" {
		own[0] = classify.KeyUID + g.c.UID
	}
	if g.c.Name != "" {
		own[1] = classify.KeyName + g.c.Name
	}
	g.addMarks(around, from, to)
	g.addAll(g.q.Marks(g.ctx, own, time.Time{}))
	g.addAll(g.q.Tails(g.ctx, own))
}

// addMarks adds what was read, or lost, of some owners between two times.
func (g *gathering) addMarks(of ledger.Owners, from, to time.Time) {
	some, err := g.q.Marks(g.ctx, of, from)
	g.addAll(slices.DeleteFunc(some, func(e ingest.Entry) bool { return e.Mark.From.After(to) }), err)
}

// addNodeWide adds what happened on the case's node. Many cases of the node ask for the
// same, so it is remembered.
func (g *gathering) addNodeWide(from, to time.Time) {
	ids, err := g.q.Wide(g.ctx, g.c.Node, from, to)
	g.noteError(err)
	for _, id := range ids {
		if g.seen[id] {
			continue
		}
		k := scans.Key{ID: id, Book: g.book}
		s, known := g.cache.Get(k)
		if !known {
			e, ok, err := g.q.Evidence(g.ctx, id)
			if g.noteError(err); err != nil || !ok {
				continue
			}
			s = scanEntry(&e, g.book)
			g.cache.Add(k, s)
		}
		g.found = append(g.found, s)
	}
}

func scanEntry(e *ingest.Entry, book *rules.Rulebook) *classify.Scanned {
	s := &classify.Scanned{Entry: *e}
	if e.Mark == nil {
		s.Signals = book.Scan(&s.Entry)
	}
	if s.Signals == nil { // what an older version filed has its secrets still
		book.Redact(&s.Entry)
	}
	return s
}

func (g *gathering) addEntry(e *ingest.Entry) *classify.Scanned {
	s := scanEntry(e, g.book)
	g.found = append(g.found, s)
	return s
}

func (g *gathering) addAll(some []ingest.Entry, err error) {
	g.noteError(err)
	for i := range some {
		g.addEntry(&some[i])
	}
}

func (g *gathering) noteError(err error) {
	if g.err == nil {
		g.err = err
	}
}
