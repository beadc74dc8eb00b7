package book_test

import (
	"testing"

	"coroner/rules"
	"coroner/rules/book"
)

// The default rulebook compiles: every signal, field, label and expression in
// it exists.
func TestBookCompiles(t *testing.T) {
	b, err := rules.Load(book.Files)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range rules.Labels {
		if b.Labels[l] == nil {
			t.Errorf("label %s has no entry", l)
		}
	}
}
