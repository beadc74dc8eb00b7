package demo

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"time"

	"coroner/classify"
	"coroner/classify/docket"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// story is an incident as the demo tells it: moved into the last day, of a runner
// whose name no other story has, and with a pool, a repository and a job.
type story struct {
	name    string
	entries []ingest.Entry
	want    rules.Verdict
}

// storiesBefore are the incidents that agents could have sent, spread over the 24 hours
// before now. Which they are and in which order does not depend on now.
func storiesBefore(book *rules.Rulebook, now time.Time) ([]story, error) {
	incidents, err := fixtures.All()
	if err != nil {
		return nil, err
	}
	var told []rehearsal
	seen := map[string]bool{}
	for _, in := range incidents {
		entries, v := rehearse(in, book)
		twice := seen[v.Runner] || v.PodUID != "" && seen[v.PodUID]
		if v.Runner == "" || twice || slices.ContainsFunc(entries, docket.Nameless) {
			continue
		}
		seen[v.Runner], seen[v.PodUID] = true, true
		told = append(told, rehearsal{in, entries, v})
	}
	// Neighbours in the list are variants of one rule: the hash puts others between.
	slices.SortFunc(told, func(a, b rehearsal) int { return cmp.Compare(hashOf(a.in.Name), hashOf(b.in.Name)) })
	day := 24 * time.Hour
	now = now.UTC().Truncate(time.Minute)
	var out []story
	for i, r := range told {
		at := now.Add(-day + (day*time.Duration(2*i+1))/time.Duration(2*len(told)))
		if s, ok := r.movedTo(at, book); ok {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no incident can be told")
	}
	return out, nil
}

func hashOf(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return h.Sum32()
}

// rehearsal is an incident and what explain says of it.
type rehearsal struct {
	in      fixtures.Incident
	entries []ingest.Entry
	v       rules.Verdict
}

func rehearse(in fixtures.Incident, book *rules.Rulebook) ([]ingest.Entry, rules.Verdict) {
	entries := slices.Collect(bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil))
	return entries, classify.Replay(slices.Values(entries), book, classify.Options{Runner: in.Want.Runner})[0]
}

// latestTime is the time around which everything of the incident happened.
func (r *rehearsal) latestTime() (latest time.Time) {
	if r.v.DiedAt != nil {
		return *r.v.DiedAt
	}
	for i := range r.entries {
		if e := &r.entries[i]; e.Mark == nil && e.At.After(latest) {
			latest = e.At
		}
	}
	return latest
}

// movedTo tells the story as of another time; ok is false where its verdict would
// not be the same then.
func (r *rehearsal) movedTo(at time.Time, book *rules.Rulebook) (story, bool) {
	then := r.in.Moved(at.Sub(r.latestTime()), r.latestTime())
	whole := then
	whole.Files = append(slices.Clone(then.Files), r.jobObject())
	for _, in := range []fixtures.Incident{whole, then} {
		entries, v := rehearse(in, book)
		if v.Label != r.v.Label || v.Confidence != r.v.Confidence || v.Rule != r.v.Rule || v.Runner != r.v.Runner {
			continue
		}
		ended := ingest.Entry{
			Source:    ingest.Runner,
			Namespace: v.Namespace,
			Pod:       v.Runner,
			PodUID:    v.PodUID,
			Mark:      &ingest.Mark{Kind: ingest.Ended},
		}
		if i := slices.IndexFunc(entries, func(e ingest.Entry) bool { return e.Pod == v.Runner }); i >= 0 {
			entries = append(entries, ended)
		}
		return story{r.in.Name, entries, v}, true
	}
	return story{}, false
}

// The fleet that the stories are told of.
var (
	pools        = []string{"linux-small", "linux-large", "linux-gpu", "linux-medium", "kata-large"}
	repositories = []string{
		"mill/flour", "mill/bakery", "harbour/crane", "harbour/ledger", "orchard/cider", "orchard/press",
	}
	jobs = []string{"build", "test (race)", "lint", "integration", "package", "release", "nightly fuzz"}
)

// jobObject is the object by which a scale set says whose runner it is, for what the
// incident itself leaves open.
func (r *rehearsal) jobObject() txtar.File {
	n := int(hashOf(r.v.Runner) >> 8)
	or := func(have string, names []string) string {
		if have != "" {
			return have
		}
		return names[n%len(names)]
	}
	run := r.v.Job.RunID
	if run == "" {
		run = strconv.Itoa(9_000_000_000 + n%1_000_000)
	}
	return txtar.File{Name: "ephemeralrunner.yaml", Data: fmt.Appendf(nil, `apiVersion: actions.github.com/v1alpha1
kind: EphemeralRunner
metadata:
  name: %s
  namespace: %s
  labels: {actions.github.com/scale-set-name: %q}
status:
  jobRepositoryName: %q
  jobDisplayName: %q
  workflowRunId: %s
`, r.v.Runner, r.v.Namespace, or(r.v.Pool, pools), or(r.v.Job.Repository, repositories), or(r.v.Job.Name, jobs), run)}
}
