package daemon

import (
	"net/http"

	"coroner/rules"
)

// RulebookPath is where a server gives its agents the rulebook.
const RulebookPath = "/api/v1/rulebook"

// Rulebook serves the files of the rulebook in force as one txtar archive,
// with its hash as the ETag.
func Rulebook(book func() *rules.Rulebook) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b := book()
		tag := `"` + b.Hash + `"`
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write(b.Source()) // the agent has gone
	})
}
