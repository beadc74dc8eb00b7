package scans

import (
	"strings"
	"testing"

	"coroner/classify"
	"coroner/ingest"
)

// What is remembered of records is bounded in bytes.
func TestScansAreBounded(t *testing.T) {
	s := New()
	for i := range int64(10_000) {
		s.Add(Key{ID: i}, &classify.Scanned{Entry: ingest.Entry{Text: strings.Repeat("x", ingest.MaxText)}})
		s.Add(Key{ID: i}, &classify.Scanned{Entry: ingest.Entry{Text: strings.Repeat("x", ingest.MaxText)}})
	}
	if _, ok := s.Get(Key{ID: 9_999}); !ok || s.size > maxSize || s.size < maxSize/2 {
		t.Errorf("%d bytes, the last one is there: %v", s.size, ok)
	}
	if s.Purge(); s.size != 0 {
		t.Errorf("%d bytes of nothing", s.size)
	}
}
