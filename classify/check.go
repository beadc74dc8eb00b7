package classify

import (
	"iter"

	"coroner/ingest"
	"coroner/rules"
)

// Check replays entries and evaluates every expression of the rulebook on
// every case, for tests: see rules.Rulebook.Verify.
func Check(entries iter.Seq[ingest.Entry], book *rules.Rulebook, o Options) (bad []error) {
	files := assemble(Collect(entries, book), o)
	for _, c := range append(files.named, files.unnamed) {
		bad = append(bad, book.Verify(c)...)
	}
	return bad
}
