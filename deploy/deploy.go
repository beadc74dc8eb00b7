// Package deploy holds what is installed beside the programs: alert rules, and
// what Grafana shows.
//
// Invariant: every alert has a severity, a summary, a section in docs/alerts.md
// and a link to the filtered list; every alert of Prometheus has tests that
// notice when it is broken. Every query of a dashboard is run by fixtures/e2e.
//
// Crash behaviour: none, the package is data.
package deploy

import "embed"

// Files are the alert rules, for Prometheus and for Loki's ruler, Grafana's
// dashboards and its data sources.
//
//go:embed alerts/*.yaml dashboards/*.json grafana/*.yaml
var Files embed.FS
