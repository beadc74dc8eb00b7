package podlog

import (
	"errors"
	"slices"
	"strings"
)

var (
	errCrowded = errors.New("too many streams")
	errTwice   = errors.New("two positions of one stream")
)

// tails is the set of all tails.
type tails struct {
	limit int
	byKey map[key]*tail
	order []*tail                       // in the order they were found
	byPod map[string]map[string][]*tail // by the names of the pod's and the container's directory
}

func newTails(limit int) *tails {
	return &tails{limit: limit, byKey: make(map[key]*tail), byPod: make(map[string]map[string][]*tail)}
}

// addTail adds a tail, up to the limit.
func (s *tails) addTail(t *tail) error {
	if len(s.byKey) >= s.limit {
		return errCrowded
	}
	if s.byKey[t.key] != nil {
		return errTwice
	}
	pod, container, _ := strings.Cut(t.path, "/")
	if s.byPod[pod] == nil {
		s.byPod[pod] = make(map[string][]*tail)
	}
	s.byPod[pod][container] = append(s.byPod[pod][container], t)
	s.byKey[t.key] = t
	s.order = append(s.order, t)
	return nil
}

// dropWhere closes and forgets tails.
func (s *tails) dropWhere(which func(*tail) bool) {
	if !slices.ContainsFunc(s.order, which) {
		return
	}
	s.order = slices.DeleteFunc(s.order, func(t *tail) bool {
		if !which(t) {
			return false
		}
		t.closeFiles()
		delete(s.byKey, t.key)
		s.removeFromPod(t)
		return true
	})
}

// removeFromPod removes a tail from byPod.
func (s *tails) removeFromPod(t *tail) {
	pod, container, _ := strings.Cut(t.path, "/")
	dir := s.byPod[pod]
	dir[container] = slices.DeleteFunc(dir[container], func(x *tail) bool { return x == t })
	if len(dir[container]) == 0 {
		delete(dir, container)
	}
	if len(dir) == 0 {
		delete(s.byPod, pod)
	}
}

// anyTail reports whether f holds for one of the tails.
func (s *tails) anyTail(f func(*tail) bool) bool { return slices.ContainsFunc(s.order, f) }
