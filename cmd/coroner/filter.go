package main

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/rules"
)

// filterFlags say which verdicts are wanted. Empty ones are all.
type filterFlags struct {
	Verdict    []string `help:"Only these labels, with commas between." placeholder:"LABEL" complete:"labels"`
	Cluster    string   `help:"Only of this cluster." placeholder:"NAME" complete:"clusters"`
	Node       string   `help:"Only of this node." placeholder:"NAME" complete:"nodes"`
	Pool       string   `help:"Only of this pool of runners." placeholder:"NAME"`
	Repository string   `help:"Only of jobs of this repository." placeholder:"OWNER/NAME"`
	Run        string   `help:"Only of jobs of this workflow run." placeholder:"ID"`
	Until      string   `help:"Only what was judged before: as --since." placeholder:"TIME"`
	Since      string   `help:"Only what was judged since: a duration back from now (90m, 7d) or a time (2026-01-02T15:04:05Z)." placeholder:"TIME"`
}

// query is the filter as the API takes it.
func (f *filterFlags) query(now time.Time) (url.Values, error) {
	q := url.Values{}
	wanted := map[string]string{"cluster": f.Cluster, "node": f.Node, "pool": f.Pool,
		"repository": f.Repository, "run": f.Run}
	for name, value := range wanted {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, value := range map[string]string{"since": f.Since, "until": f.Until} {
		if value == "" {
			continue
		}
		at, err := lookup.Since(value, now)
		if err != nil {
			return nil, usage("--%s %s: want a duration like 90m or 7d, or a time like 2026-01-02T15:04:05Z", name, value)
		}
		q.Set(name, stamp(at))
	}
	for i, name := range f.Verdict {
		label, err := labelNamed(name)
		if err != nil {
			return nil, err
		}
		f.Verdict[i] = string(label)
	}
	if len(f.Verdict) > 0 {
		q.Set("verdict", strings.Join(f.Verdict, ","))
	}
	return q, nil
}

func labelNamed(name string) (rules.Label, error) {
	name = strings.TrimSpace(name)
	if i := slices.IndexFunc(rules.Labels, func(l rules.Label) bool { return strings.EqualFold(string(l), name) }); i >= 0 {
		return rules.Labels[i], nil
	}
	near := slices.MinFunc(rules.Labels, func(a, b rules.Label) int { return distance(name, string(a)) - distance(name, string(b)) })
	if distance(name, string(near)) <= 1+len(name)/3 {
		return "", usage("--verdict %q: no such label; did you mean %s? coroner rules list shows all", name, near)
	}
	return "", usage("--verdict %q: no such label; coroner rules list shows all", name)
}

// distance is how many letters have to be changed, added or left out to make
// one word of the other, in whatever case.
func distance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal, row[j+1] = row[j+1], min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
