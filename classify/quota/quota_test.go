package quota

import (
	"testing"
	"time"

	"coroner/ingest"
)

// So many lines that say the same of a node in a minute are about all of it. Another kind, node,
// cluster or minute has its own share, and so has what nobody vouches for.
func TestNode(t *testing.T) {
	q, now := NewNode(), time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	entry := func(cluster, node string, trust ingest.Trust, at time.Time) *ingest.Entry {
		return &ingest.Entry{Cluster: cluster, Node: node, Source: ingest.Kernel, Trust: trust, At: at}
	}
	flood := SameOf(entry("c", "n1", ingest.Attested, now), "oom", now)
	for range maxSame {
		if !q.HasRoom(flood) {
			t.Fatal("no room before the bound")
		}
		q.CountFiled(flood)
	}
	if q.HasRoom(flood) {
		t.Error("room beyond the bound")
	}
	for what, key := range map[string]Same{
		"another kind":    SameOf(entry("c", "n1", ingest.Attested, now), "panic", now),
		"another node":    SameOf(entry("c", "n2", ingest.Attested, now), "oom", now),
		"another cluster": SameOf(entry("d", "n1", ingest.Attested, now), "oom", now),
		"the next minute": SameOf(entry("c", "n1", ingest.Attested, now.Add(time.Minute)), "oom", now),
		"a claim":         SameOf(entry("c", "n1", ingest.Claimed, now), "oom", now),
	} {
		if !q.HasRoom(key) {
			t.Errorf("%s has no room", what)
		}
	}
	if q.HasRoom(SameOf(entry("c", "n1", ingest.Attested, now), "", now)) {
		t.Error("what is not about the whole node has room")
	}
}
