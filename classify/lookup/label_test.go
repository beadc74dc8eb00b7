package lookup

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"coroner/classify/ledger"
	"coroner/fixtures/shipped"
	"coroner/rules"
	"coroner/rules/book"
)

// The labels are the built-in ones, those of the rulebook in force, and those that only
// the ledger still has; what the rulebook takes for no death is none.
func TestLabelsOfARulebook(t *testing.T) {
	own := fstest.MapFS{"own.yaml": {Data: []byte(`labels:
  - {name: fire-drill, doc: d, domain: none, death: false}
  - {name: flood, doc: d, domain: platform, advice: a}
`)}}
	b, err := rules.Load(book.Files, own)
	if err != nil {
		t.Fatal(err)
	}
	a, mux := serveFake(t, &fake{})
	a.Book = func() *rules.Rulebook { return b }
	want := slices.Concat(rules.Labels, []rules.Label{"fire-drill", "flood", "rack-fire"})
	if all, err := a.Labels(t.Context()); err != nil || !slices.Equal(all, want) {
		t.Errorf("%v %v, want %v", all, err, want)
	}
	none := []rules.Label{
		rules.Zombie,
		rules.Stranded,
		rules.PoolBlocked,
		rules.ListenerDown,
		rules.IdleRemoved,
		rules.RunnerUpdated,
		rules.Completed,
		rules.None,
		"fire-drill",
	}
	if got := a.NoDeaths(); !slices.Equal(got, none) {
		t.Errorf("no deaths: %v, want %v", got, none)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/labels", nil))
	if !strings.Contains(w.Body.String(), `"none","fire-drill","flood","rack-fire"]}`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The rulebook's word on a label is there for programs, under its name in whatever case.
func TestLabelPage(t *testing.T) {
	a, h := serve(t, func(func(time.Time, func(*ledger.Tx) error)) {})
	if code, body := ask(t, h, "/api/v1/labels/node-OOM"); code != 404 {
		t.Errorf("without a rulebook: %d %s", code, body)
	}
	rulebook := shipped.Rulebook(t)
	a.Book = func() *rules.Rulebook { return rulebook }
	for _, l := range rulebook.LabelOrder() {
		code, body := ask(t, h, "/api/v1/labels/"+strings.ToUpper(string(l)))
		if code != 200 || !strings.HasPrefix(body, `{"label":"`+string(l)+`","meaning":"`) {
			t.Errorf("%s: %d %s", l, code, body)
		}
	}
	if code, body := ask(t, h, "/api/v1/labels/node-OOMs"); code != 404 || !strings.Contains(body, "no such label") {
		t.Errorf("%d %s", code, body)
	}
}
