package classify

// What the tests need to see of the inside.

import (
	"iter"
	"slices"

	"coroner/ingest"
	"coroner/rules"
)

// Check replays entries and evaluates every expression of the rulebook on
// every case, for tests: see rules.Rulebook.Verify.
func Check(entries iter.Seq[ingest.Entry], book *rules.Rulebook, o Options) (bad []error) {
	files := assemble(Collect(entries, book), o)
	for _, c := range append(files.named, files.unnamed...) {
		bad = append(bad, book.Verify(c)...)
	}
	return bad
}

// Cases returns the cases that entries make, for benchmarks of the judgement.
func Cases(entries []ingest.Entry, book *rules.Rulebook, o Options) []*rules.Case {
	files := assemble(Collect(slices.Values(entries), book), o)
	return append(files.named, files.unnamed...)
}
