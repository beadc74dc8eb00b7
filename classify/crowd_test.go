package classify_test

import (
	"slices"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/fixtures"
	"coroner/ingest/bundle"
	"coroner/rules"

	"golang.org/x/tools/txtar"
)

// Where every pod of several lives, the verdict speaks of them: it does not say that
// no line was about anything.
func TestSeveralPodsLive(t *testing.T) {
	var log strings.Builder
	for _, pod := range []string{"looms/weft-1", "looms/weft-2", "shop/till-1"} {
		log.WriteString(
			`2026-06-03T09:00:01+00:00 weir-2 kubelet[812]: I0603 09:00:01.000000     812 kubelet.go:2515] ` +
				`"SyncLoop ADD" source="api" pods=["` + pod + `"]` + "\n",
		)
	}
	in := fixtures.Incident{Name: "crowd", Files: []txtar.File{{Name: "node.log", Data: []byte(log.String())}}}
	entries := bundle.Bytes("crowd.txtar", in.Archive(), bundle.Options{}).Entries(nil)
	all := classify.Replay(slices.Values(slices.Collect(entries)), loadBook(t), classify.Options{})
	if len(all) != 1 {
		t.Fatalf("%d verdicts, want one", len(all))
	}
	if v := all[0]; v.Label != rules.None || v.Rule != "none-nothing" || v.Runner != "" ||
		!strings.HasPrefix(v.Summary, "Nothing died") {
		t.Errorf("%s by %s for %q: %s", v.Label, v.Rule, v.Runner, v.Summary)
	}
}
