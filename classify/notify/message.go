package notify

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"coroner/classify/alike"
	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules"
)

// Message is what a template has.
type Message struct {
	Case    string
	Verdict rules.Verdict
	Title   string // label, confidence, runner, pool
	Text    string // the sentence, and how new it is
	Page    string // of coroner; "" if its address is not known
	New     string // "first host-teardown on node n1 in 30 days", or ""
	Alike   string // "12th like it since 14:02", or ""
	// AlikeKey is the same for all that are alike; of what is over, that of what it was.
	AlikeKey string
	Count    int // which of those that are alike it is
	Since    time.Time
	Over     bool // what was wrong is over, or was none

	recorded time.Time
	began    string // the key of the revision with which what is told began: an alert keeps its labels
}

// worthTelling says whether a revision tells somebody something: a death, what lasts, its end,
// or that there was none. What changed a detail only does not.
func worthTelling(v *rules.Verdict) bool {
	if v.Change() == rules.ChangeDetail && !v.Label.Lasting() {
		return false
	}
	return v.Wrong() || v.Label.Lasting() || v.Revises != nil && v.Revises.Label.Death()
}

const (
	usualWindow = 24 * time.Hour
	newWindow   = 30 * 24 * time.Hour // within which something is the first
	maxAlike    = 300                 // that are counted
)

// message makes what is said of a revision; wanted is false where the route asks for new ones
// only, and this is none.
func (s *Sender) message(ctx context.Context, route *Route, r *ledger.Record) (m Message, wanted bool, err error) {
	v := &r.Verdict
	m = Message{Case: r.Case, Verdict: *v, Title: title(v), Text: postmortem.Clean(v.Summary), recorded: r.Recorded,
		Page: pageOf(s.Pages, lookup.PagePath(v.Kind, v.Namespace, v.About(), r.Case)), Over: !v.Wrong()}
	if m.AlikeKey, m.began, err = s.alikeKeys(ctx, r); err != nil {
		return m, false, err
	}
	if m.Over {
		m.Title = "Over: " + m.Title
		if !v.Label.Lasting() {
			m.Title = "Withdrawn: " + string(v.Revises.Label) + ": " + title(v)
		}
		return m, true, nil
	}
	first, err := s.isFirst(ctx, r, max(route.FirstIn, newWindow))
	if err != nil {
		return m, false, err
	}
	if first {
		m.New = fmt.Sprintf("first %s on node %s in %s", v.Label, postmortem.Clean(v.Node),
			daysText(max(route.FirstIn, newWindow)))
	}
	if route.FirstIn > 0 {
		if first, err = s.isFirst(ctx, r, route.FirstIn); err != nil || !first {
			return m, false, err
		}
	}
	fresh, err := s.count(ctx, route, r, &m)
	for _, more := range []string{m.New, m.Alike} {
		if more != "" {
			m.Text += " (" + more + ")"
		}
	}
	return m, fresh, err
}

// told is the label of what a revision tells of: of what is withdrawn, the one that it had.
func told(v *rules.Verdict) rules.Label {
	if !v.Wrong() && !v.Label.Lasting() && v.Revises != nil {
		return v.Revises.Label
	}
	return v.Label
}

// alikeKeys are the keys of what a revision tells of, as it is and as it began: that of the first
// of the revisions in a row before it that tell of the same. What is over has the last one's.
func (s *Sender) alikeKeys(ctx context.Context, r *ledger.Record) (key, began string, err error) {
	v, last := &r.Verdict, ""
	if key = alike.Key(v); v.Revision <= 1 {
		return key, key, nil
	}
	all, err := s.Ledger.Revisions(ctx, r.Case)
	for i := range slices.Backward(all) {
		o := &all[i].Verdict
		if o.Revision >= v.Revision {
			continue
		}
		if o.Label != told(v) || !o.Wrong() {
			break
		}
		began = alike.Key(o)
		last = cmp.Or(last, began)
	}
	if !v.Wrong() {
		key = cmp.Or(last, key)
	}
	return key, cmp.Or(began, key), err
}

func title(v *rules.Verdict) string {
	out := fmt.Sprintf(
		"%s (%s): %s",
		v.Label,
		v.Confidence,
		postmortem.Clean(postmortem.FullName(v.Namespace, v.About())),
	)
	if v.Pool != "" && v.Pool != v.About() {
		out += ", pool " + postmortem.Clean(v.Pool)
	}
	return out
}

func daysText(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}

// isFirst says whether no other case of the verdict's label was recorded on its node before it
// in so long a time.
func (s *Sender) isFirst(ctx context.Context, r *ledger.Record, within time.Duration) (bool, error) {
	v := &r.Verdict
	if v.Node == "" {
		return false, nil
	}
	found, err := s.Ledger.Verdicts(ctx, ledger.Query{Cluster: &v.Cluster, Node: v.Node, Labels: []rules.Label{v.Label},
		Since: r.Recorded.Add(-within), Until: r.Recorded, Brief: true, Limit: 2})
	for _, other := range found {
		if other.Case != r.Case {
			return false, err
		}
	}
	return err == nil, err
}

// count says which of those that are alike it is, and whether the route wants this one.
func (s *Sender) count(ctx context.Context, route *Route, r *ledger.Record, m *Message) (wanted bool, err error) {
	v, window := &r.Verdict, route.Window
	if window == 0 {
		window = usualWindow
	}
	begin := r.Recorded.Add(-window)
	bucket := r.Recorded
	if route.Every > 0 {
		bucket = r.Recorded.Truncate(route.Every)
		if bucket.Before(begin) {
			begin = bucket
		}
	}
	found, err := s.Ledger.Verdicts(ctx, ledger.Query{Cluster: &v.Cluster, Pool: v.Pool, Labels: []rules.Label{v.Label},
		Since: begin, Until: r.Recorded, Limit: maxAlike})
	m.Count, m.Since, wanted = 1, r.Recorded, true
	for i := range found {
		o := &found[i]
		if o.Case == r.Case || alike.Key(&o.Verdict) != m.AlikeKey {
			continue
		}
		if !o.Recorded.Before(bucket) {
			wanted = false
		}
		m.Count++
		if o.Recorded.Before(m.Since) {
			m.Since = o.Recorded
		}
	}
	if m.Count > 1 {
		m.Alike = fmt.Sprintf("%s like it since %s UTC", ordinal(m.Count), m.Since.UTC().Format("15:04"))
	}
	return wanted, err
}

// ordinal is a number as one counts: 1st, 2nd, 11th.
func ordinal(n int) string {
	suffix := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprint(n, suffix)
}
