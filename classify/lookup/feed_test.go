package lookup

import (
	"cmp"
	"context"
	"errors"
	"math/rand"
	"net/url"
	"slices"
	"strconv"
	"testing"
	"time"

	"coroner/rules"
)

// record is a server's record, as the API gives it: the latest first, the last
// revision of each.
type record struct {
	all   []Recorded
	asked int
	down  bool
}

func (r *record) put(id int, at time.Time, revision int) {
	name := strconv.Itoa(id)
	r.all = slices.DeleteFunc(r.all, func(x Recorded) bool { return x.ID == name })
	r.all = append(r.all, Recorded{ID: name, Recorded: at, Verdict: rules.Verdict{Revision: revision}})
}

func (r *record) verdicts(_ context.Context, q url.Values) (Verdicts, error) {
	if r.asked++; r.down {
		return Verdicts{}, errors.New("away")
	}
	since, _ := time.Parse(time.RFC3339Nano, q.Get("since"))
	until, _ := time.Parse(time.RFC3339Nano, q.Get("until"))
	limit, _ := strconv.Atoi(q.Get("limit"))
	var out []Recorded
	for _, x := range r.all {
		if !x.Recorded.Before(since) && (until.IsZero() || x.Recorded.Before(until)) {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out,
		func(a, b Recorded) int { return cmp.Compare(b.Recorded.UnixNano(), a.Recorded.UnixNano()) })
	return Verdicts{Verdicts: out[:min(limit, len(out))]}, nil
}

func feedOf(r *record) *Feed {
	return NewFeed(r.verdicts, url.Values{})
}

func ids(all []Recorded) (out []string) {
	for _, x := range all {
		out = append(out, x.ID+"/"+strconv.Itoa(x.Revision))
	}
	return out
}

var feedStart = time.Date(2026, 3, 1, 10, 0, 0, 123456789, time.UTC)

// A feed begins with the last few, in the order of the record, and does not come
// back to what was there before them.
func TestFeedStart(t *testing.T) {
	for last, want := range map[int][]string{0: nil, 2: {"3/1", "4/1"}, 99: {"0/1", "1/1", "2/1", "3/1", "4/1"}} {
		r := &record{}
		for i := range 5 {
			r.put(i, feedStart.Add(time.Duration(i)*time.Second), 1)
		}
		f := feedOf(r)
		got, err := f.Start(t.Context(), last)
		if err != nil || !slices.Equal(ids(got), want) {
			t.Errorf("--last %d begins with %v, %v; want %v", last, ids(got), err, want)
		}
		if again, err := f.Next(t.Context()); err != nil || len(again) > 0 {
			t.Errorf("--last %d goes on with %v, %v", last, ids(again), err)
		}
	}
}

// More than a page in between is read page by page, however close together.
func TestFeedPages(t *testing.T) {
	r := &record{}
	r.put(0, feedStart, 1)
	f := feedOf(r)
	if _, err := f.Start(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= 5*FeedPage+7; i++ {
		r.put(i, feedStart.Add(time.Duration(i/3)*time.Nanosecond), 1)
	}
	got, err := f.Next(t.Context())
	if err != nil || len(got) != 5*FeedPage+7 || !slices.IsSortedFunc(got,
		func(a, b Recorded) int { return a.Recorded.Compare(b.Recorded) }) {
		t.Errorf("%d verdicts, %v", len(got), err)
	}
}

// A page of one moment does not hold the feed up.
func TestFeedPageOfOneMoment(t *testing.T) {
	r := &record{}
	for i := range 2 * FeedPage {
		r.put(i, feedStart, 1)
	}
	f := feedOf(r)
	f.from = feedStart.Add(-time.Hour)
	if got, err := f.Next(t.Context()); err != nil || len(got) < FeedPage || r.asked > 5 {
		t.Errorf("%d verdicts after %d questions, %v", len(got), r.asked, err)
	}
}

// Whatever comes, in whatever order it gets readable, with whatever revisions
// and outages: every revision that stands when the feed asks is given out once.
func TestFeedGivesEachOnce(t *testing.T) {
	rnd := rand.New(rand.NewSource(7))
	r, now, given, want := &record{}, feedStart, map[string]int{}, map[string]bool{}
	f := feedOf(r)
	take := func(all []Recorded, err error) {
		if (err != nil) != r.down {
			t.Fatal(err)
		}
		for _, id := range ids(all) {
			given[id]++
		}
	}
	take(f.Start(t.Context(), 10))
	revisions := map[int]int{}
	for step := range 400 {
		now = now.Add(time.Duration(rnd.Intn(20)) * time.Second)
		for range rnd.Intn(40) {
			id := rnd.Intn(3000)
			revisions[id]++
			late := time.Duration(rnd.Intn(int(overlap / 2)))
			r.put(id, now.Add(-late), revisions[id])
		}
		r.down = step%10 == 3
		if !r.down {
			for _, id := range ids(r.all) {
				want[id] = true
			}
		}
		take(f.Next(t.Context()))
	}
	for id := range want {
		if given[id] != 1 {
			t.Errorf("%s was given %d times", id, given[id])
		}
	}
	if len(given) != len(want) || len(f.seen) > 5000 {
		t.Errorf("%d given, %d wanted, %d remembered", len(given), len(want), len(f.seen))
	}
}
