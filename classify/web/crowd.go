package web

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"coroner/classify/alike"
	"coroner/classify/groups"
	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/ingest"
	"coroner/rules"
)

// crowd is what can be said of many deaths at once.
type crowd struct {
	Groups []group
	Others int // deaths in groups that are not shown
	Common []groups.Common
	Of     int       // deaths that were looked at
	Since  time.Time // from when on they were; zero = all of the list's time
	Past   bool      // the time before is known
}

// group is deaths that are alike, as the page shows them.
type group struct {
	groups.Group
	Link   string
	Kind   alike.Kind // zero: it is not known
	Before string     // how many there were before, in words
}

const (
	maxDead   = 1000 // deaths that are grouped, the latest
	maxEnded  = 4000 // ends that they are compared with
	maxGroups = 5
	maxPools  = 50 // whose past is counted
	pastSpans = 7  // how many times the time that is looked at the past is, at most
	maxPast   = 14 * 24 * time.Hour
)

// crowdOf groups the latest deaths of the list, from now back to where they and all other
// ends are known.
func (p *Pages) crowdOf(ctx context.Context, f filter, q ledger.Query) (out crowd, err error) {
	if !q.Until.IsZero() || q.Kind != nil || q.State != "" {
		return out, nil
	}
	dead, err := p.Charts.Ends(ctx, q, maxDead)
	if err != nil || len(dead) == 0 {
		return out, err
	}
	every := q
	every.Labels, every.Except = nil, nil
	ended, err := p.Charts.Ends(ctx, every, maxEnded)
	if err != nil {
		return out, err
	}
	out.Since = ingest.LaterOf(cutOff(dead, maxDead), cutOff(ended, maxEnded))
	noDeaths := p.API.NoDeaths()
	dead = slices.DeleteFunc(dead, func(e ledger.End) bool {
		return e.Recorded.Before(out.Since) || e.Label.Lasting() || slices.Contains(noDeaths, e.Label)
	})
	ended = slices.DeleteFunc(ended, func(e ledger.End) bool {
		return e.Recorded.Before(out.Since) || e.Label.Lasting()
	})
	all := groups.Alike(asEnds(dead))
	counted := groups.Count(asEnds(ended))
	out.Of, out.Common = len(dead), groups.InCommon(asEnds(dead), counted)
	past, err := p.pastOf(ctx, all, ingest.LaterOf(out.Since, q.Since), q)
	groups.Tell(all, past)
	shown := worthARow(all)
	for _, g := range all[len(shown):] {
		out.Others += g.N
	}
	groups.Share(shown, counted)
	out.addGroups(shown, past, f)
	return out, errors.Join(err, p.fillKinds(ctx, out.Groups, q))
}

// cutOff is the time of the first of some ends that are the latest only.
func cutOff(some []ledger.End, most int) (at time.Time) {
	if len(some) == most {
		at = some[most-1].Recorded
	}
	return at
}

func asEnds(all []ledger.End) (out []groups.End) {
	for _, e := range all {
		at := e.Died
		if at.IsZero() {
			at = e.Recorded
		}
		out = append(out, groups.End{Cluster: e.Cluster, Pool: e.Pool, Node: e.Node, Repository: e.Repository,
			Label: e.Label, Alike: e.Alike, At: at})
	}
	return out
}

// pastOf is what the groups' pools had before. Of a list that shows a part of a pool only
// nothing is said: what is usual for that is not counted.
func (p *Pages) pastOf(ctx context.Context, all []groups.Group, since time.Time, q ledger.Query) (groups.Past, error) {
	span := p.Now().Sub(since)
	out := groups.Past{Since: span, Ends: map[groups.Key]int{}}
	part := q.Node != "" || q.Repository != "" || q.Runner != "" || q.Job != "" || q.Run != "" || q.Alike != 0
	if part || len(all) == 0 {
		return out, nil
	}
	oldest, err := p.Charts.Oldest(ctx)
	if err != nil || oldest.IsZero() {
		return out, err
	}
	known := min(pastSpans*span, maxPast, since.Sub(oldest))
	if known < span/2 { // too little to say what is usual
		return out, nil
	}
	var pools []string
	for _, g := range all {
		if len(pools) < maxPools && !slices.Contains(pools, g.Pool) {
			pools = append(pools, g.Pool)
		}
	}
	counts, err := p.Charts.CountsByPool(ctx, pools, since.Add(-known), since)
	for _, c := range counts {
		out.Ends[groups.Key{Cluster: c.Cluster, Label: c.Label, Pool: c.Pool, Alike: c.Alike}] = c.N
	}
	out.Span, out.Pools = known, pools
	return out, err
}

// worthARow are the groups that a page shows, of those in their order: several deaths, or
// one that is new.
func worthARow(all []groups.Group) []groups.Group {
	slices.SortStableFunc(all, func(a, b groups.Group) int { return boolLast(alone(a)) - boolLast(alone(b)) })
	n := slices.IndexFunc(all, alone)
	if n < 0 {
		n = len(all)
	}
	return all[:min(n, maxGroups)]
}

func alone(g groups.Group) bool { return g.N < 2 && g.News != groups.New }

// fillKinds says what the deaths of each group share, as the latest of them has it.
func (p *Pages) fillKinds(ctx context.Context, all []group, q ledger.Query) error {
	q.Limit = 1
	for i := range all {
		g := &all[i]
		if g.Alike == 0 {
			continue
		}
		q.Cluster, q.Labels, q.Pool, q.Alike = &g.Cluster, []rules.Label{g.Label}, g.Pool, g.Alike
		found, err := p.Charts.Verdicts(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range found {
			g.Kind = alike.Of(&r.Verdict)
		}
	}
	return nil
}

func (c *crowd) addGroups(shown []groups.Group, past groups.Past, f filter) {
	for _, g := range shown {
		one := group{Group: g, Link: f.With("verdict", string(g.Label), "pool", g.Pool, "cluster", g.Cluster,
			"alike", alikeText(g.Alike))}
		if c.Past = c.Past || g.News != ""; g.News != "" {
			one.Before = fmt.Sprintf("%d in the %s before", g.Before, spanText(past.Span))
		}
		c.Groups = append(c.Groups, one)
	}
}

// spanText is a time in whole units, for people.
func spanText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return fmt.Sprintf("%d days", d/day)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", d/time.Hour)
	}
	return pluralOf(int(d/time.Minute), "minute")
}

// others says how many deaths of the same label the pool had before one; "" where it has no
// pool, or is no death.
func (p *Pages) others(ctx context.Context, r *lookup.Recorded) (text, link string, err error) {
	if r.Pool == "" || !r.Death() || r.Label.Lasting() {
		return "", "", nil
	}
	const day = 24 * time.Hour
	var before [2]int
	for i, span := range []time.Duration{day, 7 * day} {
		counts, err := p.Charts.CountsByPool(ctx, []string{r.Pool}, r.Recorded.Add(-span), r.Recorded)
		if err != nil {
			return "", "", err
		}
		for _, c := range counts {
			if c.Label == r.Label && c.Cluster == r.Cluster {
				before[i] += c.N
			}
		}
	}
	link = filter{}.With("verdict", string(r.Label), "pool", r.Pool, "cluster", r.Cluster,
		"since", timeForPrograms(r.Recorded.Add(-7*day)))
	switch {
	case before[1] == 0:
		return fmt.Sprintf("No other %s in pool %s in the 7 days before", r.Label, r.Pool), link, nil
	case before[0] == before[1]:
		return fmt.Sprintf("%d more %s in pool %s in the 24 hours before, none in the 6 days before that",
			before[0], r.Label, r.Pool), link, nil
	}
	return fmt.Sprintf("%d more %s in pool %s in the 24 hours before, %d in the 7 days before",
		before[0], r.Label, r.Pool, before[1]), link, nil
}
