package docket

import (
	"strings"

	"coroner/classify"
	"coroner/classify/ledger"
)

// caseCache holds the cases that a batch speaks of, so that each is looked up and
// written once, however many lines it has. What a case can be found by is
// written at once: the ledger always finds the same cases as it would without.
type caseCache struct {
	tx        *ledger.Tx
	byID      map[string]*cachedCase
	byUID     map[inCluster]*cachedCase
	bySubject map[inCluster]map[subject]*cachedCase // by name first; the ledger finds these cases by all their names
	order     []*cachedCase                         // as they were added
}

// subject is what a classify.Subject has beside its name and cluster, as a key.
type subject struct{ namespace, uid, node, ids string }

func subjectOf(s *classify.Subject) subject {
	return subject{s.Namespace, s.UID, s.Node, strings.Join(s.IDs, " ")}
}

// cachedCase is a case as the batch has changed it.
type cachedCase struct {
	ledger.Case
	stored ledger.Case // as the ledger has it; zero for one that is new
	merged bool        // another case took it in
}

func newCaseCache(tx *ledger.Tx) caseCache {
	return caseCache{
		tx:        tx,
		byID:      map[string]*cachedCase{},
		byUID:     map[inCluster]*cachedCase{},
		bySubject: map[inCluster]map[subject]*cachedCase{},
	}
}

// findCase returns the case of a subject, nil if there is none. again says that the
// batch spoke of the same subject before.
func (cc *caseCache) findCase(s *classify.Subject) (c *cachedCase, again bool, err error) {
	if c := cc.bySubject[inCluster{s.Cluster, s.Name}][subjectOf(s)]; c != nil {
		return c, true, nil
	}
	if c := cc.byUID[inCluster{s.Cluster, s.UID}]; c != nil && s.UID != "" {
		return c, false, nil
	}
	id, err := cc.tx.FindID(s.Cluster, s.Namespace, s.Name, s.UID, s.IDs)
	if err != nil || id == "" {
		return nil, false, err
	}
	if c := cc.byID[id]; c != nil {
		return c, false, nil
	}
	found, ok, err := cc.tx.FindByID(id)
	if err != nil || !ok {
		return nil, false, err
	}
	return cc.asCached(found), false, nil
}

// asCached returns a case that the ledger gave as the batch has it.
func (cc *caseCache) asCached(c ledger.Case) *cachedCase {
	if c := cc.byID[c.ID]; c != nil {
		return c
	}
	return cc.addCase(&cachedCase{Case: c, stored: c})
}

func (cc *caseCache) addCase(c *cachedCase) *cachedCase {
	cc.byID[c.ID], cc.byUID[c.uidInCluster()] = c, c
	cc.order = append(cc.order, c)
	return c
}

// indexSubject remembers that the subject is the case's.
func (cc *caseCache) indexSubject(c *cachedCase, s *classify.Subject) {
	name := inCluster{s.Cluster, s.Name}
	if cc.bySubject[name] == nil {
		cc.bySubject[name] = map[subject]*cachedCase{}
	}
	cc.bySubject[name][subjectOf(s)] = c
}

// uidInCluster is the case's UID in its cluster.
func (c *cachedCase) uidInCluster() inCluster { return inCluster{c.Cluster, c.UID} }

// isIndexed says whether the ledger finds the case by all that is known of it.
func (c *cachedCase) isIndexed() bool {
	s := &c.stored
	return s.ID != "" && s.Namespace == c.Namespace && s.Name == c.Name && s.UID == c.UID && s.Opened.Equal(c.Opened)
}

// putCase writes a case whole. From now on its name can mean another one than before.
func (cc *caseCache) putCase(c *cachedCase) error {
	delete(cc.bySubject, inCluster{c.Cluster, c.Name})
	cc.byUID[c.uidInCluster()] = c
	c.stored = c.Case
	return cc.tx.PutCase(c.Case)
}

// mergeInto takes out a case that turned out to be of the same pod as another, which
// must be in the ledger to take over its ties.
func (cc *caseCache) mergeInto(c, into *cachedCase) error {
	if into.stored.ID == "" {
		if err := cc.putCase(into); err != nil {
			return err
		}
	}
	clear(cc.bySubject)
	c.merged = true
	delete(cc.byID, c.ID)
	delete(cc.byUID, c.uidInCluster())
	return cc.tx.MergeInto(c.ID, into.ID)
}

// flushCases writes what is not written yet.
func (cc *caseCache) flushCases() error {
	for _, c := range cc.order {
		if c.merged || c.Case == c.stored {
			continue
		}
		if err := cc.updateCase(c); err != nil {
			return err
		}
		c.stored = c.Case
	}
	return nil
}

// updateCase writes what changed of a case: most often only that it was heard of.
func (cc *caseCache) updateCase(c *cachedCase) error {
	c.stored.Heard, c.stored.Version = c.Heard, c.Version
	if c.stored == c.Case {
		return cc.tx.HearCase(c.ID, c.Heard)
	}
	return cc.tx.MoveCase(c.Case)
}
