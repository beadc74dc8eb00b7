// Package caseflags has the flags that say which pods are runners, when a case is judged and
// how long what is known of it is kept.
//
// Invariant: their defaults are those of package docket, and a value that no run could use is
// an error before anything runs.
//
// Crash behaviour: it keeps no state.
package caseflags

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"coroner/classify/docket"
	"coroner/cmd/daemon"
	"coroner/cmd/units"

	"github.com/alecthomas/kong"
)

// Cases say which pods are runners, and when a case is judged.
type Cases struct {
	Runner     []string      `name:"runner" help:"${serve_runner}" placeholder:"GLOB"`
	Controller []string      `name:"controller" help:"${serve_controller}" default:"${controllers}" placeholder:"GLOB"`
	Settle     time.Duration `name:"settle-after" help:"${serve_settle_after}" default:"${settle_after}"`
	Deadline   time.Duration `name:"settle-deadline" help:"${serve_settle_deadline}" default:"${settle_deadline}"`
	NodeSilent time.Duration `name:"node-silent-after" help:"${serve_node_silent_after}" default:"${node_silent_after}"`
	JobWait    time.Duration `name:"job.wait" help:"${serve_job_wait}" default:"${job_wait}"`
	JobMost    time.Duration `name:"job.wait.most" help:"${serve_job_wait_most}" default:"${job_wait_most}"`
	PoolSilent time.Duration `name:"pool.silent-after" help:"${serve_pool_silent_after}" default:"${pool_silent_after}"`
	MaxOpen    int           `name:"max-open-cases" help:"${serve_max_open_cases}" default:"${max_open_cases}"`
}

// Retention says how much is kept.
type Retention struct {
	Verdicts  time.Duration `name:"retention.verdicts" help:"How long verdicts are kept." default:"${keep_verdicts}"`
	Evidence  time.Duration `name:"retention.evidence" help:"How long evidence is kept." default:"${keep_evidence}"`
	Completed time.Duration `name:"retention.completed" help:"${serve_retention_completed}" default:"${keep_completed}"`
	Bytes     int64         `name:"retention.bytes" type:"size" help:"${serve_retention_bytes}" default:"${keep_bytes}"`
}

// Vars are the defaults: what the docket obeys without flags.
func Vars() kong.Vars {
	d := docket.Defaults()
	return kong.Vars{
		"controllers":       strings.Join(d.Controllers, ","),
		"settle_after":      units.Text(d.Settle),
		"settle_deadline":   units.Text(d.Deadline),
		"node_silent_after": units.Text(d.Silent),
		"job_wait":          units.Text(d.JobWait),
		"job_wait_most":     units.Text(d.JobWaitMost),
		"pool_silent_after": units.Text(d.PoolSilent),
		"max_open_cases":    strconv.Itoa(d.MaxOpen),
		"keep_verdicts":     units.Text(d.Keep.Verdicts),
		"keep_evidence":     units.Text(d.Keep.Evidence),
		"keep_completed":    units.Text(d.Keep.Completed),
		"keep_bytes":        units.SizeText(d.Keep.Bytes),
		"loki_window":       units.Text(d.LokiWindow),
	}
}

// Check refuses values that no run could use.
func (f *Cases) Check() error {
	return errors.Join(
		daemon.CheckGlobs("runner", f.Runner),
		daemon.CheckGlobs("controller", f.Controller),
		daemon.CheckAbove("settle-after", f.Settle),
		daemon.CheckAbove("settle-deadline", f.Deadline),
		daemon.CheckAbove("node-silent-after", f.NodeSilent),
		daemon.CheckAbove("job.wait", f.JobWait),
		daemon.CheckAbove("job.wait.most", f.JobMost),
		daemon.CheckAbove("pool.silent-after", f.PoolSilent),
		daemon.CheckNumber("max-open-cases", f.MaxOpen),
	)
}

// Check refuses values that no run could use.
func (f *Retention) Check() error {
	return errors.Join(
		daemon.CheckAbove("retention.verdicts", f.Verdicts),
		daemon.CheckAbove("retention.evidence", f.Evidence),
		daemon.CheckAbove("retention.completed", f.Completed),
		daemon.CheckNumber("retention.bytes", f.Bytes),
	)
}
