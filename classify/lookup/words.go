package lookup

import (
	"context"
	"fmt"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/ingest"
	"coroner/rules/casefile"
)

// How many deaths are looked through for words, and how old they are at most: no index has
// the words of a sentence.
const (
	maxRead  = 2000
	readBack = 30 * 24 * time.Hour
)

// Box is a search box for people, who type more than names.
type Box struct{ *API }

// Words gives the runners of the latest deaths that are told with every word of a text: in
// the sentence, the label, the pool, the node, the repository or the job. A cluster is all
// of them if it is "".
func (a Box) Words(ctx context.Context, cluster, text string) (Answer, error) {
	words := strings.Fields(strings.ToLower(text))
	place := ledger.NewCursor(ledger.Query{Cluster: within(cluster), Except: a.NoDeaths(),
		Since: a.Now().Add(-readBack), Limit: maxRead, Brief: true})
	var found []ledger.Record
	for len(words) > 0 && len(found) < maxRunners {
		some, err := a.Source.Next(ctx, place)
		if err != nil {
			return Answer{}, err
		}
		if len(some) == 0 {
			break
		}
		for _, r := range some {
			if len(found) < maxRunners && holdsAll(&r, words) {
				found = append(found, r)
			}
		}
	}
	out, err := a.ofVerdicts(ctx, found)
	out.Meaning = fmt.Sprintf("runners whose deaths are told with these words, among the latest %d of 30 days", maxRead)
	return out, err
}

func holdsAll(r *ledger.Record, words []string) bool {
	v := &r.Verdict
	told := strings.ToLower(strings.Join([]string{v.Summary, string(v.Label), v.Pool, v.Node, v.Namespace, v.Cluster,
		v.Resource, v.Job.Repository, v.Job.Name}, "\n"))
	for _, w := range words {
		if !strings.Contains(told, w) {
			return false
		}
	}
	return true
}

// maxHints is how many names are suggested.
const maxHints = 8

// Hints are labels, runners and pools that begin with what somebody types.
func (a Box) Hints(ctx context.Context, cluster, text string) (out []string, err error) {
	known, err := a.Labels(ctx)
	for _, l := range known {
		if len(text) > 1 && strings.Contains(strings.ToLower(string(l)), strings.ToLower(text)) {
			out = append(out, string(l))
		}
	}
	if err != nil || len(text) < ledger.ShortestPrefix || strings.ContainsAny(text, " /@") {
		return out[:min(maxHints, len(out))], err
	}
	pools, err := a.Source.FindStanding(ctx, casefile.OfPool, within(cluster), ingest.PoolName(text))
	if err != nil {
		return nil, err
	}
	runners, _, err := a.Source.FindRunners(ctx, within(cluster), text, maxHints)
	for _, c := range append(pools, runners...) {
		out = append(out, c.Name)
	}
	return out[:min(maxHints, len(out))], err
}
