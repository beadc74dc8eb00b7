package classify

// What the tests need to see of the inside.

import (
	"iter"
	"slices"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// Check replays entries and evaluates every expression of the rulebook on
// every case, for tests: see rules.Rulebook.Verify.
func Check(entries iter.Seq[ingest.Entry], book *rules.Rulebook, o Options) (bad []error) {
	files := assemble(Collect(entries, book).viewFor(o), o)
	for _, c := range append(files.named, files.unnamed...) {
		bad = append(bad, book.Verify(c)...)
	}
	return bad
}

// Assembled returns the cases that entries make, for benchmarks of the judgement.
func Assembled(entries []ingest.Entry, book *rules.Rulebook, o Options) []*casefile.Case {
	files := assemble(Collect(slices.Values(entries), book).viewFor(o), o)
	return append(files.named, files.unnamed...)
}

// PackAll makes records pack every quiet signal and leave out every pod that they
// can, and returns what undoes it.
func PackAll() (undo func()) {
	wasLoose, wasFew := loose, few
	loose, few = 0, 2
	return func() { loose, few = wasLoose, wasFew }
}

// Packed says how many of the entries' signals a record packs, and how many of
// those it leaves out.
func Packed(entries []ingest.Entry, book *rules.Rulebook, o Options) (lines, left int) {
	r := Collect(slices.Values(entries), book)
	given := 0
	r.quiet.Choose(r.Signals, o.question()).Each(func(*signal.Signal) { given++ })
	return r.quiet.Len(), r.quiet.Len() - given
}

// Seen are the signals that verdicts are made from, in their order.
func (r *Record) Seen() []*signal.Signal { return r.viewFor(Options{}).Signals }

// Collect is the record of entries that were taken in one part.
func Collect(entries iter.Seq[ingest.Entry], book *rules.Rulebook) *Record {
	return Join([]*Part{Take(entries, book)})
}
