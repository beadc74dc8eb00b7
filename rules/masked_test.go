package rules_test

import (
	"strings"
	"testing"

	"coroner/ingest"
)

// A masked id is no id: the line still says what happened.
func TestMaskedIDs(t *testing.T) {
	b := builtIn(t)
	for _, id := range []string{"{container-id}", "<container id>", "[REDACTED]", "****", "xxxxxxxx", "1a2b3c4d5e6f", "1a2b3c…", "..."} {
		e := said(ingest.Containerd, `time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"`+id+`\" with timeout 30 (s)"`)
		found := b.Scan(&e)
		if len(found) != 1 || found[0].Def.Name != "containerd.stop-asked" || !found[0].Masked || len(found[0].Identities()) != 0 {
			t.Errorf("%s: %v", id, found)
		}
	}
	for _, text := range []string{
		`time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"web\" with timeout 30 (s)"`,
		`time="2026-03-01T10:00:00Z" level=info msg="StopContainer for \"` + strings.Repeat("1", 64) + `\" with timeout x"`,
	} {
		e := said(ingest.Containerd, text)
		for _, s := range b.Scan(&e) {
			if s.Masked {
				t.Errorf("%s: %s by a mask that is none", text, s.Def.Name)
			}
		}
	}
}
