// Package docs holds the documentation, so that a server can show it and coroner docs can
// write it as web pages. Everything here but this file is for people.
//
// Invariant: what is embedded is what stands in this folder.
//
// Crash behaviour: none, the package is data.
package docs

import "embed"

// Files are the pages, as Markdown, and their pictures.
//
//go:embed *.md *.png verdicts/*.md
var Files embed.FS
