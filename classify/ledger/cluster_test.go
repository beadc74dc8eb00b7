package ledger

import (
	"errors"
	"slices"
	"testing"
	"time"

	"coroner/ingest"

	"github.com/google/go-cmp/cmp"
)

// fillOf is fill for one cluster, where the ids of cases are its own.
func fillOf(tx *Tx, cluster string) error {
	e, wide := line(t0, "evidence"), ingest.Entry{At: t0, Source: ingest.Kernel, Node: "n1", Text: "panic"}
	mark := ingest.Entry{Source: ingest.Kubelet, Node: "n1", Mark: &ingest.Mark{From: after(-60), To: t0, Lines: 3}}
	tail := line(after(1), "last words of "+cluster)
	v := verdict("p", 1)
	e.Cluster, wide.Cluster, mark.Cluster, tail.Cluster, v.Cluster = cluster, cluster, cluster, cluster, cluster
	added1, err1 := tx.AddEvidence(&e, []string{"uid:u", "name:p"}, false)
	added2, err2 := tx.AddEvidence(&wide, nil, true)
	added3, err3 := tx.AddMark(&mark, "node:n1")
	if !added1 || !added2 || !added3 {
		return errors.New(cluster + ": what another cluster has counts as this one's")
	}
	id := NewCaseID(cluster, "arc", "p", "u")
	return errors.Join(err1, err2, err3,
		tx.AddTail("uid:u/runner", "uid:u", []ingest.Entry{tail}, 10, func([]ingest.Entry) {}),
		tx.PutCase(Case{ID: id, Cluster: cluster, Namespace: "arc", Name: "p", UID: "u", Node: "n1", Runner: true,
			State: StateOpen}),
		tx.Tie(cluster, "container", id),
		tx.PutNodes(Node{Cluster: cluster, Name: "n1", Reached: after(-1), Heard: t0}),
		tx.AddVerdict(id, v, after(-5), true))
}

// Names and nodes of one cluster are nobody else's, whatever is asked.
func TestClustersHaveTheirOwnNames(t *testing.T) {
	l := fresh(t)
	all := []string{"", "east", "west"}
	write(t, l, t0, func(tx *Tx) error {
		return errors.Join(fillOf(tx, "east"), fillOf(tx, ""), fillOf(tx, "west"))
	})
	for _, cluster := range all {
		ownOnly(t, l, cluster)
	}
	if diff := cmp.Diff(all, get(l.Clusters(t.Context()))(t)); diff != "" {
		t.Error(diff)
	}
	if n := len(get(l.Verdicts(t.Context(), Query{Runner: "p"}))(t)); n != 3 {
		t.Errorf("%d verdicts of that name; without a cluster all are meant", n)
	}
	if all, _, err := l.FindRunners(t.Context(), nil, "arc/p", 10); len(all) != 3 || err != nil {
		t.Errorf("%d runners of that name, %v", len(all), err)
	}
}

// ownOnly checks that every question about a cluster gives what is of it, once.
func ownOnly(t *testing.T, l *Ledger, cluster string) {
	t.Helper()
	q, ctx := l.In(cluster), t.Context()
	entries := texts(get(q.Tails(ctx, Owners{"uid:u"}))(t))
	if !slices.Equal(entries, []string{"last words of " + cluster}) {
		t.Errorf("%q: %v", cluster, entries)
	}
	var found []ingest.Entry
	for _, g := range get(q.Unseen(ctx, "uid:u", nil))(t) {
		found = append(found, g.Entry)
	}
	for _, id := range get(q.Wide(ctx, "n1", after(-9), after(9)))(t) {
		e, _, err := q.Evidence(ctx, id)
		found = append(found, get(e, err)(t))
	}
	found = append(found, get(q.Marks(ctx, Owners{"node:n1"}, time.Time{}))(t)...)
	if len(found) != 3 {
		t.Errorf("%q: %d records", cluster, len(found))
	}
	for _, e := range found {
		if e.Cluster != cluster {
			t.Errorf("%q is asked, %q answers: %+v", cluster, e.Cluster, e)
		}
	}
	caseOf(t, l, cluster)
	queries := []Query{{Cluster: &cluster}, {Cluster: &cluster, Node: "n1"}, {Cluster: &cluster, Runner: "arc/p"}}
	for _, query := range queries {
		if all := get(l.Verdicts(ctx, query))(t); len(all) != 1 || all[0].Verdict.Cluster != cluster {
			t.Errorf("%q: %+v", cluster, all)
		}
	}
	for _, what := range []string{"p", "arc/p", "u"} {
		if all, _, err := l.FindRunners(ctx, &cluster, what, 10); len(all) != 1 || all[0].Cluster != cluster ||
			err != nil {
			t.Errorf("%q: %s gives %+v %v", cluster, what, all, err)
		}
	}
	if n, err := l.RunnersOn(ctx, cluster, "n1", t0, t0); n != 1 || err != nil {
		t.Errorf("%q: %d runners on the node, %v", cluster, n, err)
	}
}

// caseOf checks that all names of a case lead to the cluster's own.
func caseOf(t *testing.T, l *Ledger, cluster string) {
	t.Helper()
	write(t, l, t0, func(tx *Tx) error {
		byUID, _, err1 := tx.FindCase(cluster, "", "", "u", nil)
		byName, _, err2 := tx.FindCase(cluster, "arc", "p", "", nil)
		byTie, _, err3 := tx.FindCase(cluster, "", "", "", []string{"container"})
		live, err4 := tx.LiveOn(cluster, "n1")
		n, err5 := tx.Node(cluster, "n1")
		for _, c := range append(live, byUID, byName, byTie) {
			if c.Cluster != cluster || c.ID == "" {
				t.Errorf("%q is asked, %+v is found", cluster, c)
			}
		}
		if len(live) != 1 || n.Cluster != cluster || n.Heard.IsZero() {
			t.Errorf("%q: %+v on %+v", cluster, live, n)
		}
		return errors.Join(err1, err2, err3, err4, err5)
	})
}

// A case of the cluster without a name has the id that it always had: addresses of
// its page stay. That of another one is its own.
func TestCaseIDOfACluster(t *testing.T) {
	if id := NewCaseID("", "arc", "p", "u"); id != "0bfe935e70c321c7" {
		t.Errorf("%s is not what version 3 gave", id)
	}
	seen := map[string]bool{}
	for _, cluster := range []string{"", "east", "west"} {
		seen[NewCaseID(cluster, "arc", "p", "u")], seen[NewCaseID(cluster, "arc", "p", "")] = true, true
	}
	if len(seen) != 6 {
		t.Errorf("%v", seen)
	}
}

// inCluster is what read gives where all of it is of a cluster.
func inCluster(x everything, cluster string) everything {
	for _, list := range [][]ingest.Entry{x.Named, x.Wide, x.Marks, x.Tail} {
		for i := range list {
			list[i].Cluster = cluster
		}
	}
	for i := range x.Cases {
		x.Cases[i].Cluster = cluster
	}
	for i := range x.Nodes {
		x.Nodes[i].Cluster = cluster
	}
	for i := range x.Verdicts {
		x.Verdicts[i].Verdict.Cluster = cluster
	}
	for i := range x.Items {
		x.Items[i].Verdict.Cluster = cluster
	}
	x.ByTie.Cluster = cluster
	return x
}

// What was recorded before the server had a name for its cluster is of that
// cluster, to the field, and what comes again of it is known.
func TestAdopt(t *testing.T) {
	path := earlier(t, 3)
	l := reopen(t, path)
	want := inCluster(read(t, l), "prod")
	// the first counts, whatever the server is called later
	for _, name := range []string{"prod", "prod", "other", ""} {
		if done, err := l.Adopt(t.Context(), name); done != (name == "prod") || err != nil {
			t.Errorf("%q: %v, %v", name, done, err)
		}
		if diff := cmp.Diff(want, readIn(t, l, "prod")); diff != "" {
			t.Errorf("after %q: %s", name, diff)
		}
		l = again(t, l)
	}
	write(t, l, after(4), func(tx *Tx) error {
		e := line(t0, "evidence")
		e.Cluster = "prod"
		known, err := tx.AddEvidence(&e, []string{"uid:u", "name:p"}, false)
		e.Cluster = ""
		fresh, err2 := tx.AddEvidence(&e, []string{"uid:u", "name:p"}, false)
		if known || !fresh {
			t.Errorf("added: of prod once more %v, of a cluster without a name %v", known, fresh)
		}
		return errors.Join(err, err2)
	})
	if diff := cmp.Diff(want.Named, readIn(t, l, "prod").Named); diff != "" {
		t.Error(diff)
	}
	if all := get(l.In("").Unseen(t.Context(), "uid:u", nil))(t); len(all) != 1 || all[0].Entry.Cluster != "" {
		t.Errorf("%+v", all)
	}
}

// readIn is read of a cluster's names.
func readIn(t *testing.T, l *Ledger, cluster string) everything {
	t.Helper()
	whole := l.Questions
	defer func() { l.Questions = whole }()
	l.Questions = l.In(cluster)
	return read(t, l)
}

func again(t *testing.T, l *Ledger) *Ledger {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return reopen(t, l.path)
}

// A name that records have already is not given to those that have none: they may
// be another cluster's.
func TestAdoptWhatIsKnown(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) error { return errors.Join(fillOf(tx, ""), fillOf(tx, "east")) })
	if done, err := l.Adopt(t.Context(), "east"); done || err != nil {
		t.Error(done, err)
	}
	ownOnly(t, l, "")
	ownOnly(t, l, "east")
	if done, err := l.Adopt(t.Context(), "prod"); !done || err != nil {
		t.Error(done, err)
	}
	if all := get(l.Clusters(t.Context()))(t); !slices.Equal(all, []string{"prod", "east"}) {
		t.Errorf("%q", all)
	}
}

// What a cluster or a node is called cannot make a name another cluster's.
func TestNamesThatLookLikeAnotherClusters(t *testing.T) {
	l := fresh(t)
	write(t, l, t0, func(tx *Tx) error {
		e := ingest.Entry{At: t0, Source: ingest.Kernel, Node: "east" + within + "n1", Text: "panic"}
		_, err := tx.AddEvidence(&e, []string{"east" + within + "uid:u"}, true)
		_, err2 := tx.AddMark(&ingest.Entry{Cluster: noName, Node: "n1", Mark: &ingest.Mark{}}, "east"+within+"node:n1")
		return errors.Join(err, err2)
	})
	q := l.In("east")
	wide, named := get(q.Wide(t.Context(), "n1", after(-9), after(9)))(t), get(q.Unseen(t.Context(), "uid:u", nil))(t)
	if marks := get(q.Marks(t.Context(), Owners{"node:n1"}, time.Time{}))(t); len(wide)+len(named)+len(marks) > 0 {
		t.Errorf("%v %v %v", wide, named, marks)
	}
}

// Two names have one key only if they are one name of one cluster, whatever bytes
// are in them, and what is stored is read back.
func FuzzKey(f *testing.F) {
	f.Add("east", "uid:u", "", "uid:u", "")
	f.Add("east", "n", "", "east"+within+"n", "east")
	f.Add("", "n", noName, "n", "prod")
	f.Fuzz(func(t *testing.T, a, x, b, y, first string) {
		plain := func(s string) string { return withoutBytes(s, noName+within) }
		name := plain(first)
		n := &naming{}
		n.adopted.Store(&name)
		same := plain(a) == plain(b) && withoutBytes(x, within) == withoutBytes(y, within)
		if got := n.storedKey(a, x) == n.storedKey(b, y); got != same {
			t.Errorf("%q of %q and %q of %q: one key is %v, first is %q", x, a, y, b, got, first)
		}
		if got := n.clusterFrom(n.storedCluster(a)); got != plain(a) {
			t.Errorf("%q is read back as %q, first is %q", a, got, first)
		}
	})
}
