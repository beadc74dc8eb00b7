// Package book is the default rulebook: the signals and verdict rules that
// coroner ships with, one file per family of log lines or causes. The facts of
// NAME.yaml are tested in NAME_test.yaml.
//
// Invariant: the files compile (a test loads them), every verdict rule has an
// incident that it wins and a near miss that it loses. Crash behaviour: none,
// the package is data.
package book

import "embed"

// Files holds the rulebook's YAML files. Of names that end with a t each is written out, so that the
// tests stay outside.
//
//go:embed *[^t].yaml agent.yaml guest.yaml kubelet.yaml start.yaml
var Files embed.FS

// Tests holds the files of tests. Only what runs them carries them.
//
//go:embed *_test.yaml
var Tests embed.FS

// Plumbing holds, for the lists of programs' messages, what stays unknown on purpose. It is no
// part of the rulebook: only coroner rules catalogue reads it.
//
//go:embed plumbing
var Plumbing embed.FS
