package lookup

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Feed gives verdicts in the order in which they were recorded, every revision
// that it learns of once. It asks again for a little of what it had: a verdict
// can be stamped before another and be there to read after it.
type Feed struct {
	ask    func(context.Context, url.Values) (Verdicts, error)
	query  url.Values
	from   time.Time            // nothing before is wanted
	newest time.Time            // the latest record that was seen, by the server's clock
	seen   map[string]time.Time // what was given out, for as long as it can come again
}

// NewFeed returns a feed of what ask answers to a query, which may name since when.
func NewFeed(ask func(context.Context, url.Values) (Verdicts, error), query url.Values) *Feed {
	from, _ := time.Parse(time.RFC3339Nano, query.Get("since")) // zero where it does not say
	return &Feed{ask: ask, query: query, from: from, seen: map[string]time.Time{}}
}

// FeedPage is how many verdicts a feed asks for at one time: they come with their
// evidence.
const FeedPage = 200

// overlap is how much of what it had a feed asks for again.
const overlap = 30 * time.Second

// Start gives what the feed begins with: all since its query's time, or the last n.
func (f *Feed) Start(ctx context.Context, last int) ([]Recorded, error) {
	if !f.from.IsZero() {
		return f.Next(ctx)
	}
	latest, err := f.ask(ctx, f.with(time.Time{}, max(1, last)))
	if err != nil || len(latest.Verdicts) == 0 {
		return nil, err
	}
	newest := latest.Verdicts[0].Recorded
	before, err := f.since(ctx, newest.Add(-overlap))
	f.fresh(slices.DeleteFunc(before, func(r Recorded) bool { return r.Recorded.After(newest) }))
	f.fresh(latest.Verdicts)
	out := latest.Verdicts[:min(last, len(latest.Verdicts))]
	slices.Reverse(out)
	return out, err
}

// Next gives what is new.
func (f *Feed) Next(ctx context.Context) ([]Recorded, error) {
	since := f.from
	if at := f.newest.Add(-overlap); !f.newest.IsZero() && at.After(since) {
		since = at
	}
	all, err := f.since(ctx, since)
	if err != nil {
		return nil, err
	}
	return f.fresh(all), nil
}

// since asks page by page for all that was recorded since then, the oldest first.
func (f *Feed) since(ctx context.Context, since time.Time) (all []Recorded, _ error) {
	q := f.with(since, FeedPage)
	for {
		page, err := f.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Verdicts...)
		if len(page.Verdicts) < FeedPage {
			slices.Reverse(all)
			return all, nil
		}
		oldest := page.Verdicts[FeedPage-1].Recorded
		until := FormatTime(oldest.Add(1)) // that moment may have more
		if until == q.Get("until") {
			until = FormatTime(oldest) // a page of one moment: each verdict is a write of its own, so it has no more
		}
		q.Set("until", until)
	}
}

// FormatTime is a moment as the API takes it.
func FormatTime(at time.Time) string { return at.UTC().Format(time.RFC3339Nano) }

func (f *Feed) with(since time.Time, limit int) url.Values {
	q := url.Values{}
	for k, v := range f.query {
		q[k] = v
	}
	q.Del("since")
	if !since.IsZero() {
		q.Set("since", FormatTime(since))
	}
	q.Set("limit", strconv.Itoa(limit))
	return q
}

// fresh keeps what was not given out yet, and forgets what cannot come again.
func (f *Feed) fresh(all []Recorded) (out []Recorded) {
	for _, r := range all {
		key := r.ID + "/" + strconv.Itoa(r.Revision)
		if _, ok := f.seen[key]; !ok {
			f.seen[key] = r.Recorded
			out = append(out, r)
		}
		if r.Recorded.After(f.newest) {
			f.newest = r.Recorded
		}
	}
	for key, at := range f.seen {
		if at.Before(f.newest.Add(-2 * overlap)) {
			delete(f.seen, key)
		}
	}
	return out
}
