//go:build !linux || !cgo || nojournal

package journal

import (
	"strings"
	"testing"
)

func TestNoJournalSupport(t *testing.T) {
	err := New(Config{}).Run(t.Context(), func(Batch) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "no journal support (needs Linux and cgo)") {
		t.Errorf("Run: %v", err)
	}
}
