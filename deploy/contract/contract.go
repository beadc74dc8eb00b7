// Package contract says what programs read and editors check: the HTTP API as OpenAPI, and
// JSON Schemas of a verdict, of what a webhook is sent, of a line of coroner signals and of a
// rulebook file.
//
// Invariant: what is described here is what there is, both ways. Tests hold every answer
// of the API, every field of those types, every key that the rulebook's reader knows and
// every file of the built-in rulebook to it.
//
// Crash behaviour: none, the package is data.
package contract

import (
	"embed"
	"io/fs"
	"net/http"
	"strings"
)

// Files are openapi.yaml and the folder schemas.
//
//go:embed openapi.yaml schemas/*.json
var Files embed.FS

// Register serves the files at /api/openapi.yaml and /api/schemas/NAME.json. Nothing in them is
// a secret, and editors cannot send a token, so nobody is kept out here.
func Register(mux *http.ServeMux) {
	mux.HandleFunc("GET /api/openapi.yaml", serve)
	mux.HandleFunc("GET /api/schemas/{name}", serve)
}

func serve(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/api/")
	data, err := fs.ReadFile(Files, name)
	if err != nil {
		http.Error(w, "no such schema; there are verdict.json, message.json, signal.json and rulebook.json",
			http.StatusNotFound)
		return
	}
	kind := "application/schema+json"
	if strings.HasSuffix(name, ".yaml") {
		kind = "application/yaml"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = w.Write(data) // the client has gone
}
