package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"

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

// RulebookContent names the files of a folder of rulebook files by their content; "" is
// no folder.
func RulebookContent(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	h, files := sha256.New(), os.DirFS(dir)
	names, err := fs.Glob(files, "*.yaml")
	for _, name := range names {
		data, bad := fs.ReadFile(files, name)
		err = errors.Join(err, bad)
		fmt.Fprintf(h, "%q %d ", name, len(data))
		h.Write(data)
	}
	if err != nil {
		return "", WrongValue("rules", dir, "%w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
