// Package chart knows the version of coroner. It stands in one place, in the
// Helm chart's Chart.yaml: the programs print it, and the images and the release
// are named after it.
//
// Invariant: Version is the chart's appVersion, as it was when the program was
// built.
//
// Crash behaviour: none, the package is data.
package chart

import (
	_ "embed"
	"runtime/debug"
	"strings"
)

//go:embed coroner/Chart.yaml
var file string

// Version is coroner's version, such as 0.2.0.
var Version = chartField("appVersion")

// chartField is a top-level value of Chart.yaml. A daemon that only wants its own
// version should not have to start a YAML parser for it.
func chartField(name string) string {
	_, rest, _ := strings.Cut("\n"+file, "\n"+name+": ")
	value, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(strings.TrimSpace(value), `"`)
}

// Build is the version, with the commit where the build knows it.
func Build() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return Version + " (" + s.Value[:min(len(s.Value), 12)] + ")"
			}
		}
	}
	return Version
}
