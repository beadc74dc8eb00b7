// Package deploy holds what is installed beside the programs: alert rules.
//
// Invariant: every alert has a severity, a summary, a section in docs/alerts.md
// and a link to the filtered list; every alert of Prometheus has a test.
//
// Crash behaviour: none, the package is data.
package deploy

import "embed"

// Alerts are the alert rules, for Prometheus and for Loki's ruler.
//
//go:embed alerts/*.yaml
var Alerts embed.FS
