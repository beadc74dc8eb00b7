package classify_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/fixtures/shipped"
	"coroner/ingest"
	"coroner/ingest/bundle"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"

	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted verdicts of the incidents")

func loadBook(t testing.TB) *rules.Rulebook {
	t.Helper()
	return shipped.Rulebook(t)
}

func incidents(t testing.TB) []fixtures.Incident {
	t.Helper()
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func entries(in fixtures.Incident) []ingest.Entry {
	return slices.Collect(bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil))
}

func judge(b *rules.Rulebook, list []ingest.Entry, in fixtures.Incident) rules.Verdict {
	all := classify.Replay(slices.Values(list), b, classify.Options{Runner: in.Want.Runner})
	for _, v := range all {
		if in.Want.Pool != "" && v.Kind == casefile.OfPool && v.Pool == in.Want.Pool {
			return v // its runners' deaths stand before it
		}
	}
	return all[0]
}

// Every incident comes out as it must.
func TestIncidents(t *testing.T) {
	b := loadBook(t)
	for _, in := range incidents(t) {
		t.Run(in.Name, func(t *testing.T) {
			v := judge(b, entries(in), in)
			if *update {
				rewrite(t, in, &v)
				return
			}
			w := in.Want
			if string(v.Label) != w.Verdict || string(v.Confidence) != w.Confidence || v.Rule != w.Rule {
				t.Errorf(
					"got %s (%s) by %s, want %s (%s) by %s",
					v.Label,
					v.Confidence,
					v.Rule,
					w.Verdict,
					w.Confidence,
					w.Rule,
				)
			}
			if w.Pool != "" && (v.Pool != w.Pool || v.Kind != casefile.OfPool) {
				t.Errorf("%s %s, want pool %s", v.Kind, v.Pool, w.Pool)
			}
			if w.Initiator != "" && v.Initiator != w.Initiator {
				t.Errorf("initiator %s, want %s", v.Initiator, w.Initiator)
			}
			if w.Exit != nil && (v.Exit.Code == nil || *v.Exit.Code != *w.Exit) {
				t.Errorf("exit %v, want %d", v.Exit.Code, *w.Exit)
			}
			if v.Confidence == rules.Confirmed &&
				!slices.ContainsFunc(v.Evidence, func(e rules.EvidenceLine) bool { return e.Decisive }) {
				t.Error("confirmed without a decisive line")
			}
		})
	}
}

// rewrite puts the verdict that came out into the incident; story and inputs stay.
func rewrite(t *testing.T, in fixtures.Incident, v *rules.Verdict) {
	path := filepath.Join("..", "fixtures", "incidents", in.Name+".txtar")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w := in.Want
	in.Want.Verdict, in.Want.Confidence, in.Want.Rule = string(v.Label), string(v.Confidence), v.Rule
	if in.Want.Initiator != "" {
		in.Want.Initiator = v.Initiator
	}
	if w.Verdict == in.Want.Verdict && w.Confidence == in.Want.Confidence && w.Rule == in.Want.Rule &&
		w.Initiator == in.Want.Initiator {
		return // as it stands, in whatever form it is written
	}
	want, err := yaml.Marshal(in.Want)
	if err != nil {
		t.Fatal(err)
	}
	a := txtar.Parse(data)
	for i := range a.Files {
		if a.Files[i].Name == "want.yaml" && !bytes.Equal(a.Files[i].Data, want) {
			a.Files[i].Data = want
		}
	}
	if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every rule has an incident that it wins, named after it, and one that it
// must lose to another label although it saw one of its signals.
func TestEveryRuleWinsAndLoses(t *testing.T) {
	b := loadBook(t)
	wins, loses := map[string]bool{}, map[string]bool{}
	for _, in := range incidents(t) {
		if in.Want.Rule == "" || !strings.HasPrefix(in.Name, in.Want.Verdict) {
			t.Errorf("%s: its name must begin with its verdict %q", in.Name, in.Want.Verdict)
		}
		if in.Name == in.Want.Rule || strings.HasPrefix(in.Name, in.Want.Rule+"~") {
			wins[in.Want.Rule] = true
		}
		for _, id := range in.Want.Near {
			checkNear(t, b, in, id)
			loses[id] = true
		}
	}
	for _, r := range b.Rules {
		if !wins[r.ID] {
			t.Errorf("rule %s wins no incident of its name", r.ID)
		}
		if !loses[r.ID] && r.Label != rules.None && r.Label != rules.Unknown {
			t.Errorf("rule %s is no incident's near miss", r.ID)
		}
	}
}

func checkNear(t *testing.T, b *rules.Rulebook, in fixtures.Incident, id string) {
	r := b.Rule(id)
	if r == nil {
		t.Errorf("%s: near names %q, which is no rule", in.Name, id)
		return
	}
	if string(r.Label) == in.Want.Verdict {
		t.Errorf("%s: near miss %s has the wanted label itself", in.Name, id)
	}
	if len(r.Signals) == 0 {
		return
	}
	for _, e := range entries(in) {
		for _, s := range b.Scan(&e) {
			if slices.Contains(r.Signals, s.Def.Name) {
				return
			}
		}
	}
	t.Errorf("%s: shows no signal that near miss %s looks at", in.Name, id)
}

// A signal that nothing prints would never be missed: each has an example beside it or an incident.
func TestEverySignalIsMet(t *testing.T) {
	b := loadBook(t)
	met := map[string]bool{}
	for _, in := range incidents(t) {
		for _, e := range entries(in) {
			for _, s := range b.Scan(&e) {
				met[s.Def.Name] = true
			}
		}
	}
	for _, d := range b.Signals {
		hasExample := slices.ContainsFunc(d.Tests, func(t signal.Test) bool { return !t.Not })
		if !met[d.Name] && !hasExample && d.Family != "symptom" { // whose examples are those of their words
			t.Errorf("%s: no example beside it, and no incident has it", d.Name)
		}
	}
}

// No expression of the rulebook fails on any incident: an error would count
// as "no" in silence.
func TestExpressionsEvaluate(t *testing.T) {
	b := loadBook(t)
	for _, in := range incidents(t) {
		for _, err := range classify.Check(slices.Values(entries(in)), b, classify.Options{Runner: in.Want.Runner}) {
			t.Errorf("%s: %v", in.Name, err)
		}
	}
}

func sameVerdict(a, b rules.Verdict) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

// A verdict is a function of the evidence: order and repetition do not matter.
func TestOrderAndRepetition(t *testing.T) {
	b := loadBook(t)
	random := rand.New(rand.NewPCG(1, 2))
	for _, in := range incidents(t) {
		list := entries(in)
		want := judge(b, list, in)
		twice := append(slices.Clone(list), list...)
		if got := judge(b, twice, in); !sameVerdict(got, want) {
			t.Errorf(
				"%s: delivered twice: %s (%s) by %s, was %s (%s) by %s",
				in.Name,
				got.Label,
				got.Confidence,
				got.Rule,
				want.Label,
				want.Confidence,
				want.Rule,
			)
		}
		for range 3 {
			random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			if got := judge(b, list, in); !sameVerdict(got, want) {
				t.Errorf(
					"%s: shuffled: %s (%s) by %s, was %s (%s) by %s",
					in.Name,
					got.Label,
					got.Confidence,
					got.Rule,
					want.Label,
					want.Confidence,
					want.Rule,
				)
			}
		}
	}
}

// Taking a source or a document away gives the same verdict or an honest loss
// of confidence, never another verdict that is confirmed.
func TestLessEvidenceIsNeverWrongAndConfirmed(t *testing.T) {
	b := loadBook(t)
	for _, in := range incidents(t) {
		list := entries(in)
		docs := map[string]bool{}
		for _, e := range list {
			docs[e.Doc] = true
		}
		without := func(what string, gone func(*ingest.Entry) bool) {
			less := slices.DeleteFunc(slices.Clone(list), func(e ingest.Entry) bool { return gone(&e) })
			v := judge(b, less, in)
			if v.Confidence == rules.Confirmed && string(v.Label) != in.Want.Verdict {
				t.Errorf("%s without %s: %s is confirmed by %s, truth is %s", in.Name, what, v.Label, v.Rule,
					in.Want.Verdict)
			}
		}
		for _, s := range ingest.Sources {
			without(string(s), func(e *ingest.Entry) bool { return e.Source == s })
		}
		for d := range docs {
			without(d, func(e *ingest.Entry) bool { return e.Doc == d })
		}
	}
}
