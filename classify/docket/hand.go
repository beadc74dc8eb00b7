package docket

import (
	"strings"

	"coroner/classify"
	"coroner/classify/ledger"
)

// hand holds the cases that a batch speaks of, so that each is looked up and
// written once, however many lines it has. What a case can be found by is
// written at once: the ledger always finds the same cases as it would without.
type hand struct {
	tx    *ledger.Tx
	cases map[string]*held                // by id
	uids  map[inCluster]*held             // by UID
	order []*held                         // as they came
	met   map[inCluster]map[subject]*held // by name and subject: the case is found, and knows all its names
}

// subject is what a classify.Subject has beside its name and cluster, as a key.
type subject struct{ namespace, uid, node, ids string }

func subjectOf(s *classify.Subject) subject {
	return subject{s.Namespace, s.UID, s.Node, strings.Join(s.IDs, " ")}
}

type held struct {
	ledger.Case
	stored ledger.Case // as the ledger has it; zero for one that is new
	gone   bool        // another one took it in
}

func newHand(tx *ledger.Tx) hand {
	return hand{tx: tx, cases: map[string]*held{}, uids: map[inCluster]*held{}, met: map[inCluster]map[subject]*held{}}
}

// find returns the case of a subject, nil if there is none. again says that the
// batch spoke of the same subject before.
func (h *hand) find(s *classify.Subject) (c *held, again bool, err error) {
	if c := h.met[inCluster{s.Cluster, s.Name}][subjectOf(s)]; c != nil {
		return c, true, nil
	}
	if c := h.uids[inCluster{s.Cluster, s.UID}]; c != nil && s.UID != "" {
		return c, false, nil
	}
	id, err := h.tx.FindID(s.Cluster, s.Namespace, s.Name, s.UID, s.IDs)
	if err != nil || id == "" {
		return nil, false, err
	}
	if c := h.cases[id]; c != nil {
		return c, false, nil
	}
	found, ok, err := h.tx.FindByID(id)
	if err != nil || !ok {
		return nil, false, err
	}
	return h.take(found), false, nil
}

// take returns a case that the ledger gave as the batch has it.
func (h *hand) take(c ledger.Case) *held {
	if c := h.cases[c.ID]; c != nil {
		return c
	}
	return h.add(&held{Case: c, stored: c})
}

func (h *hand) add(c *held) *held {
	h.cases[c.ID], h.uids[c.uid()] = c, c
	h.order = append(h.order, c)
	return c
}

// meet remembers whose subject it is.
func (h *hand) meet(c *held, s *classify.Subject) {
	name := inCluster{s.Cluster, s.Name}
	if h.met[name] == nil {
		h.met[name] = map[subject]*held{}
	}
	h.met[name][subjectOf(s)] = c
}

// uid is the case's UID in its cluster.
func (c *held) uid() inCluster { return inCluster{c.Cluster, c.UID} }

// found says whether the ledger finds the case by all that is known of it.
func (c *held) found() bool {
	s := &c.stored
	return s.ID != "" && s.Namespace == c.Namespace && s.Name == c.Name && s.UID == c.UID && s.Opened.Equal(c.Opened)
}

// put writes a case whole. From now on its name can mean another one than before.
func (h *hand) put(c *held) error {
	delete(h.met, inCluster{c.Cluster, c.Name})
	h.uids[c.uid()] = c
	c.stored = c.Case
	return h.tx.PutCase(c.Case)
}

// absorb takes a case out that turned out to be another one's pod, which must be
// in the ledger to take its ties.
func (h *hand) absorb(c, into *held) error {
	if into.stored.ID == "" {
		if err := h.put(into); err != nil {
			return err
		}
	}
	clear(h.met)
	c.gone = true
	delete(h.cases, c.ID)
	delete(h.uids, c.uid())
	return h.tx.MergeInto(c.ID, into.ID)
}

// flush writes what is not written yet.
func (h *hand) flush() error {
	for _, c := range h.order {
		if c.gone || c.Case == c.stored {
			continue
		}
		if err := h.move(c); err != nil {
			return err
		}
		c.stored = c.Case
	}
	return nil
}

// move writes what changed of a case: most often only that it was heard of.
func (h *hand) move(c *held) error {
	if c.stored.Heard = c.Heard; c.stored == c.Case {
		return h.tx.HearCase(c.ID, c.Heard)
	}
	return h.tx.MoveCase(c.Case)
}
