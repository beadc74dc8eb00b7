package demo

import (
	"slices"
	"testing"
	"time"

	"coroner/fixtures/shipped"
)

// The demo tells the same whenever it is told: each runner has one story, with a
// pool, a repository and a job, and died in the 24 hours before, not all at once.
func TestStories(t *testing.T) {
	rulebook := shipped.Rulebook(t)
	tell := func(now time.Time) (names []string, all []story) {
		all, err := storiesBefore(rulebook, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			names = append(names,
				s.name+" "+string(s.want.Label)+" "+string(s.want.Confidence)+" "+s.want.Rule+" "+s.want.Job.Name)
		}
		return names, all
	}
	now := time.Date(2027, 1, 1, 3, 30, 10, 0, time.UTC)
	names, all := tell(now)
	if again, _ := tell(now.Add(77*time.Hour + 13*time.Minute)); !slices.Equal(again, names) {
		t.Errorf("on another day it tells\n%q\nnot\n%q", again, names)
	}
	seen, hours, complete := map[string]bool{}, map[int]bool{}, 0
	for _, s := range all {
		v := s.want
		if seen[v.Runner] {
			t.Errorf("two stories of %s", v.Runner)
		}
		seen[v.Runner] = true
		if v.DiedAt != nil {
			if age := now.Sub(*v.DiedAt); age < -time.Minute || age > 24*time.Hour {
				t.Errorf("%s died %s before the demo", s.name, age)
			}
			hours[v.DiedAt.Hour()] = true
		}
		if v.Pool != "" && v.Job.Repository != "" && v.Job.Name != "" {
			complete++
		}
	}
	if len(all) < 90 || len(hours) < 20 || complete*10 < len(all)*9 {
		t.Errorf("%d stories in %d hours, %d with pool, repository and job", len(all), len(hours), complete)
	}
}
