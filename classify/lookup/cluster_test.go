package lookup

import (
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"testing"
	"time"

	"coroner/classify/ledger"
)

// twins is a ledger with runners of one name, UID and node in several clusters,
// and one that is in the first alone.
func twins(t *testing.T) (*API, func(path string) (code int, body string)) {
	a, h := serve(t, func(put func(time.Time, func(*ledger.Tx) error)) {
		put(t0, func(tx *ledger.Tx) (err error) {
			add := func(cluster, name string) {
				v, id := verdict(name, 1), ledger.NewCaseID(cluster, "arc", name, "")
				v.Cluster = cluster
				c := ledger.Case{ID: id, Cluster: cluster, Namespace: "arc", Name: name, UID: v.PodUID, Node: "n1",
					Runner: true,
					State:  ledger.StateJudged, Opened: t0.Add(-time.Hour), Heard: t0}
				err = errors.Join(err, tx.PutCase(c), tx.AddVerdict(id, v, t0, false))
			}
			for _, cluster := range []string{"east", "west", ""} {
				add(cluster, "amber")
			}
			add("east", "birch")
			return err
		})
	})
	return a, func(path string) (int, string) { return ask(t, h, path) }
}

// cluster= is for every question; without it all clusters answer, each for itself.
func TestClusterFilter(t *testing.T) {
	_, get := twins(t)
	all := []string{"", "east", "west"}
	for path, want := range map[string][]string{
		"/api/v1/runners/amber":                             all,
		"/api/v1/runners/amber?cluster=":                    all,
		"/api/v1/runners/amber?cluster=west":                {"west"},
		"/api/v1/runners/arc/amber?cluster=east":            {"east"},
		"/api/v1/runners/uid-amber?cluster=east":            {"east"},
		"/api/v1/runners/amb?cluster=east":                  {"east"},
		"/api/v1/runners/amber?cluster=north":               nil,
		"/api/v1/runners/birch?cluster=west":                nil,
		"/api/v1/search?q=amber&cluster=west":               {"west"},
		"/api/v1/search?q=n1+09:59&cluster=west":            {"west"},
		"/api/v1/search?q=n1&cluster=west":                  {"west"},
		"/api/v1/search?cluster=west&q=" + jobAddress:       {"west"},
		"/api/v1/search?q=amber":                            all,
		"/api/v1/search?cluster=north&q=" + jobAddress:      nil,
		"/api/v1/verdicts?runner=amber":                     all,
		"/api/v1/verdicts?runner=amber&cluster=east":        {"east"},
		"/api/v1/verdicts?node=n1&cluster=west":             {"west"},
		"/api/v1/verdicts?cluster=west":                     {"west"},
		"/api/v1/verdicts?cluster=north":                    nil,
		"/api/v1/verdicts?pool=linux&since=2h&cluster=west": {"west"},
	} {
		_, body := get(path)
		var got struct {
			Runners  []Runner
			Verdicts []Recorded
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		clusters := []string(nil)
		for _, r := range got.Runners {
			if r.Verdict.Cluster != r.Cluster {
				t.Errorf("%s: a runner of %q with a verdict of %q", path, r.Cluster, r.Verdict.Cluster)
			}
			clusters = append(clusters, r.Cluster)
		}
		for _, v := range got.Verdicts {
			clusters = append(clusters, v.Cluster)
		}
		if slices.Sort(clusters); !slices.Equal(clusters, want) {
			t.Errorf("%s: %q, want %q", path, clusters, want)
		}
	}
}

var jobAddress = url.QueryEscape("https://github.com/o/r/actions/runs/8/job/7")

// Who died on a node of another cluster is no sibling, whatever it is called.
func TestSiblingsAreOfTheCluster(t *testing.T) {
	a, _ := twins(t)
	for cluster, want := range map[string]int{"east": 2, "west": 1} {
		got, err := a.Find(t.Context(), cluster, "amber")
		if err != nil || len(got.Runners) != 1 {
			t.Fatal(got, err)
		}
		if s := got.Runners[0].Siblings; len(s.Died) != want || s.Of != want {
			t.Errorf("%s: %d of %d died, want %d", cluster, len(s.Died), s.Of, want)
		}
	}
}

// A verdict names its cluster, and where there is none the field is not there.
func TestClusterInTheContract(t *testing.T) {
	for cluster, want := range map[string]any{"east": "east", "": nil} {
		v := verdict("amber", 1)
		v.Cluster = cluster
		data, err := json.Marshal(Recorded{Verdict: *v})
		var got map[string]any
		if err := errors.Join(err, json.Unmarshal(data, &got)); err != nil || got["cluster"] != want {
			t.Errorf("%q: %v %v", cluster, got["cluster"], err)
		}
	}
}

// What a guess is says where it was looked for.
func TestMeaningNamesTheCluster(t *testing.T) {
	a, _ := twins(t)
	got, err := a.Search(t.Context(), "west", "n1 09:59")
	const want = "runners that died on node n1 within 10 minutes of 2026-05-04 09:59:00Z, in cluster west"
	if err != nil || got.Meaning != want {
		t.Errorf("%q %v", got.Meaning, err)
	}
}
