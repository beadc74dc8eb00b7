package groups

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"coroner/rules"
)

var t0 = time.Date(2026, 5, 4, 10, 20, 0, 0, time.UTC)

// ends are n of them, as change wants them; each is on a node of its own unless it says so.
func ends(n int, change func(e *End, i int)) (out []End) {
	for i := range n {
		e := End{
			Pool:  "big",
			Node:  fmt.Sprint("node-", i),
			Label: rules.HostTeardown,
			At:    t0.Add(time.Duration(i) * time.Hour),
		}
		if change != nil {
			change(&e, i)
		}
		out = append(out, e)
	}
	return out
}

// Deaths of one label and kind in one pool of one cluster are alike; what differs in any is not.
func TestAlike(t *testing.T) {
	all := ends(3, nil)
	all = append(all, ends(1, func(e *End, _ int) { e.Label = rules.CgroupOOM })...)
	all = append(all, ends(1, func(e *End, _ int) { e.Pool = "small" })...)
	all = append(all, ends(2, func(e *End, _ int) { e.Cluster = "east" })...)
	all = append(all, ends(1, func(e *End, _ int) { e.Alike = 7 })...)
	got := Alike(all)
	if len(got) != 5 || got[0].N != 3 || got[1].Cluster != "east" || got[1].N != 2 {
		t.Fatalf("%+v", got)
	}
	if !got[0].First.Equal(t0) || !got[0].Last.Equal(t0.Add(2*time.Hour)) {
		t.Errorf("from %s to %s", got[0].First, got[0].Last)
	}
	if Alike(nil) != nil {
		t.Error("a group of nothing")
	}
	slices.Reverse(all)
	for i, g := range Alike(all) {
		if g.Key != got[i].Key || g.N != got[i].N {
			t.Errorf("another order gives other groups: %+v", g)
		}
	}
}

// New is what the time before had none of; more than usual is far more than chance gives.
func TestNews(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		n, before   int
		span, since time.Duration
		want        News
	}{
		{1, 0, 7 * day, day, New},
		{50, 0, 7 * day, day, New},
		{1, 0, 0, day, ""},           // nothing is known of the time before
		{50, 20, 0, day, ""},         //
		{1, 1, 7 * day, day, Again},  //
		{3, 1, 7 * day, day, Again},  // three are no crowd
		{4, 1, 7 * day, day, More},   //
		{4, 7, 7 * day, day, Again},  // one a day, and four by chance
		{5, 7, 7 * day, day, More},   //
		{21, 70, 7 * day, day, More}, // ten a day
		{20, 70, 7 * day, day, Again},
		{1000, 7000, 7 * day, day, Again},
		{1099, 7000, 7 * day, day, Again},  // a little more of very many: not twice
		{2001, 7000, 7 * day, day, More},   //
		{10, 10, day, time.Hour, More},     // ten in an hour, after ten in a day
		{10, 240, day, time.Hour, Again},   //
		{240, 10, time.Hour, day, Again},   // the same rate
		{1000, 10, time.Hour, day, More},   //
		{4, 0, time.Minute, day, New},      //
		{4, 1, time.Minute, day, Again},    //
		{0, 5, 7 * day, day, Again},        //
		{0, 0, 7 * day, day, New},          //
		{4, 10000, 7 * day, day, Again},    //
		{4, 1, 365 * day, time.Hour, More}, //
	} {
		all := Alike(ends(max(1, c.n), nil))
		all[0].N = c.n
		Tell(all, Past{Span: c.span, Since: c.since, Ends: map[Key]int{all[0].Key: c.before}})
		if all[0].News != c.want {
			t.Errorf("%d, %d in the %s before: %q, want %q", c.n, c.before, c.span, all[0].News, c.want)
		}
	}
}

// Of a pool whose past was not counted nothing is said.
func TestPoolsWithoutPast(t *testing.T) {
	all := Alike(slices.Concat(ends(5, nil), ends(4, func(e *End, _ int) { e.Pool = "small" })))
	Tell(all, Past{Span: time.Hour, Since: time.Hour, Pools: []string{"small"}})
	if all[0].News != New || all[0].Pool != "small" || all[1].News != "" {
		t.Errorf("%+v", all)
	}
}

// Where of some deaths before the kind is not known, these may have been of any: nothing is
// said of that label and pool, but of others.
func TestKindsThatAreNotKnown(t *testing.T) {
	kind := func(pool string, number int64) func(*End, int) {
		return func(e *End, _ int) { e.Pool, e.Alike = pool, number }
	}
	all := Alike(slices.Concat(ends(5, kind("big", 1)), ends(4, kind("big", 2)), ends(3, kind("small", 1))))
	Tell(all, Past{Span: 24 * time.Hour, Since: time.Hour, Ends: map[Key]int{
		{Label: rules.HostTeardown, Pool: "big"}: 1, {Label: rules.HostTeardown, Pool: "big", Alike: 1}: 1}})
	if all[0].Pool != "small" || all[0].News != New || all[1].News != "" || all[2].News != "" {
		t.Errorf("%+v", all)
	}
}

// What somebody should look at comes first, however few there are of it.
func TestTellSorts(t *testing.T) {
	all := Alike(slices.Concat(
		ends(9, func(e *End, _ int) { e.Pool = "again" }),
		ends(1, func(e *End, _ int) { e.Pool = "new" }),
		ends(5, func(e *End, _ int) { e.Pool = "more" })))
	Tell(all, Past{Span: 7 * 24 * time.Hour, Since: 24 * time.Hour, Ends: map[Key]int{
		{Label: rules.HostTeardown, Pool: "again"}: 70, {Label: rules.HostTeardown, Pool: "more"}: 1}})
	for i, want := range []string{"more", "new", "again"} {
		if all[i].Pool != want {
			t.Errorf("place %d: %s, want %s", i, all[i].Pool, want)
		}
	}
}

// Each row is told or not told; those that are not told are the near misses.
func TestInCommon(t *testing.T) {
	on := func(n, of int, value string) func(*End, int) { // n of them have it, the others something of their own
		return func(e *End, i int) {
			if e.Repository = ""; i < n {
				e.Node = value
			}
			if i >= of {
				panic("more than there are")
			}
		}
	}
	for _, c := range []struct {
		name               string
		dead, ofDead       int
		ended, ofEnded     int // beside the dead
		want               string
		withoutAnyBaseline bool
	}{
		{"most of four", 3, 4, 2, 40, "3 of 4 on node x (5 of all 44 that ended then)", false},
		{"all of nine", 9, 9, 3, 200, "9 of 9 on node x (12 of all 209 that ended then)", false},
		{"half of four is not most", 2, 4, 2, 40, "", false},
		{"most of three deaths is too few", 2, 3, 2, 40, "", false},
		{"three of three", 3, 3, 2, 40, "3 of 3 on node x (5 of all 43 that ended then)", false},
		{"everything that ran was there", 9, 9, 200, 200, "", false},
		{"nearly everything was there", 9, 9, 190, 200, "", false},
		{"more of the living than of the dead", 5, 9, 180, 200, "", false},
		{
			"three of twenty, far more than its share", 3, 20, 1, 200,
			"3 of 20 on node x (4 of all 220 that ended then)", false,
		},
		{"three of twenty at its share", 3, 20, 27, 180, "", false},
		{"two of twenty", 2, 20, 0, 200, "", false},
		{"only the dead are known", 9, 9, 0, 0, "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			dead := ends(c.ofDead, on(c.dead, c.ofDead, "x"))
			ended := slices.Concat(dead, ends(c.ofEnded, on(c.ended, c.ofEnded, "x")))
			for i := range ended { // nothing else in common
				ended[i].At, ended[i].Pool = t0.Add(time.Duration(i)*time.Hour), fmt.Sprint("pool-", i)
			}
			copy(dead, ended)
			got := ""
			for _, x := range InCommon(dead, Count(ended), ByHour) {
				got += x.String()
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// The three strongest are told, the strongest first; what is not known is no trait.
func TestStrongest(t *testing.T) {
	dead := ends(10, func(e *End, i int) {
		e.Cluster, e.Node, e.Repository, e.At = "east", "n", "o/r", t0
		if i < 3 {
			e.Node = fmt.Sprint("other-", i)
		}
		if i < 1 {
			e.Repository = "o/s"
		}
	})
	ended := append(ends(90, func(e *End, i int) { e.Cluster, e.Pool, e.Repository = "west", "", "" }), dead...)
	got := InCommon(dead, Count(ended))
	if len(got) != 3 || got[0].Trait != ByPool || got[1].Trait != ByCluster || got[2].Trait != ByHour {
		t.Errorf("%v", got)
	}
	if got := InCommon(dead, Count(ended), ByPool, ByCluster, ByHour); len(got) != 2 || got[0].Trait != ByRepository ||
		got[1].Trait != ByNode {
		t.Errorf("%v", got)
	}
	const hour = "10 of 10 between 10:00 and 11:00 UTC (14 of all 100 that ended then)"
	if c := InCommon(dead, Count(ended))[2]; c.String() != hour {
		t.Error(c)
	}
	unknown := ends(9, func(e *End, _ int) { e.Node, e.Pool = "", "" })
	for _, c := range InCommon(unknown, Count(slices.Concat(unknown, ended)), ByHour) {
		t.Errorf("not known is told as common: %s", c)
	}
}

// A group's own pool is nothing that its deaths have in common.
func TestShare(t *testing.T) {
	dead := ends(6, func(e *End, _ int) { e.Node = "n" })
	ended := slices.Concat(dead, ends(60, func(e *End, _ int) { e.Pool = "small" }))
	all := Alike(dead)
	Share(all, Count(ended))
	whole := InCommon(dead, Count(ended))
	if len(all[0].Common) != 1 || all[0].Common[0].Trait != ByNode {
		t.Errorf("of the group: %v", all[0].Common)
	}
	if len(whole) != 2 {
		t.Errorf("of all: %v", whole)
	}
}
