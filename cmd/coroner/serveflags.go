package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/docket"
	"coroner/cmd/daemon"
	"coroner/cmd/kubeflags"
	"coroner/cmd/outlet"
	"coroner/cmd/pushers"
	"coroner/cmd/site"
	"coroner/cmd/units"
	"coroner/ingest/push"

	"github.com/alecthomas/kong"
)

type serveCmd struct {
	daemon.Flags
	Rules       string `help:"${serve_rules}" placeholder:"DIR"`
	Ledger      string `name:"ledger" help:"${serve_ledger}" default:"coroner.db" placeholder:"FILE"`
	MemoryLimit int64  `name:"memory-limit" type:"size" help:"${serve_memory_limit}" placeholder:"SIZE"`
	pushers.Tokens
	caseFlags
	retentionFlags
	publishFlags
	Cluster string `name:"cluster" help:"${serve_cluster}" placeholder:"NAME"`
	pushers.Access
	kubeflags.Watch
	githubFlags
	outlet.Outlets
	site.Links
}

// caseFlags say which pods are runners, and when a case is judged.
type caseFlags struct {
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

// retentionFlags say how much is kept.
type retentionFlags struct {
	Verdicts  time.Duration `name:"retention.verdicts" help:"How long verdicts are kept." default:"${keep_verdicts}"`
	Evidence  time.Duration `name:"retention.evidence" help:"How long evidence is kept." default:"${keep_evidence}"`
	Completed time.Duration `name:"retention.completed" help:"${serve_retention_completed}" default:"${keep_completed}"`
	Bytes     int64         `name:"retention.bytes" type:"size" help:"${serve_retention_bytes}" default:"${keep_bytes}"`
}

// defaultFlags are the defaults of flags whose home is elsewhere: those that the docket obeys,
// and how much is taken at once.
func defaultFlags() kong.Vars {
	d := docket.Defaults()
	all := kong.Vars{
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
	maps.Copy(all, pushers.Vars)
	return all
}

// publishFlags say which Loki gets the verdicts.
type publishFlags struct {
	Loki       string        `name:"loki.url" help:"${serve_loki_url}" placeholder:"URL"`
	LokiTenant string        `name:"loki.tenant" help:"X-Scope-OrgID." placeholder:"ID"`
	LokiUser   string        `name:"loki.user" help:"${serve_loki_user}" placeholder:"NAME"`
	LokiToken  string        `name:"loki.token-file" help:"File with the token for Loki." placeholder:"FILE"`
	LokiWindow time.Duration `name:"loki.out-of-order-window" help:"${serve_loki_window}" default:"${loki_window}"`
}

// Help is shown by coroner serve --help.
func (serveCmd) Help() string {
	return `Agents (coroner-agent) and any shipper that speaks the Loki push protocol send to
http://HOST:9095/loki/api/v1/push. Verdicts: coroner lookup NAME, GET /api/v1/verdicts,
GET /api/v1/runners/NAME, /metrics, and Loki with --loki.url.

With --push.agent-account the Kubernetes API reviews agents' tokens; it says on which node
an agent runs and about which pods it may report. With --push.client-node=san the node is
taken from the client certificates that --web.config.file asks for. Without a credential
pushes are accepted from this machine only, unless --push.open is given. docs/access.md
explains who may do what.`
}

// checkFlags refuses values that no run could use.
func (c *serveCmd) checkFlags() error {
	if c.MaxBusy < 0 || c.MaxBody < 0 || c.Bytes < 0 || c.MaxOpen < 0 || c.MemoryLimit < 0 || c.MaxConns < 0 {
		return usage("--push.max-concurrent, --push.max-body-bytes, --retention.bytes, --max-open-cases, " +
			"--memory-limit and --web.max-connections cannot be below zero")
	}
	err := errors.Join(c.caseFlags.checkCases(), c.retentionFlags.checkRetention(), c.Access.Check(),
		c.checkKube(),
		c.githubFlags.checkGitHub(c.Outlets.Acts()), c.Outlets.Check(c.GitHubToken),
		c.publishFlags.checkPublishing(), c.Tokens.Check(), c.Links.Check())
	if token := daemon.Token(c.WebToken); token != nil {
		_, bad := token()
		err = errors.Join(err, bad)
	}
	if err != nil {
		return usage("%w", err)
	}
	return nil
}

// above refuses times that are not above zero.
func above(times map[string]time.Duration) error {
	for flag, d := range times {
		if d <= 0 {
			return fmt.Errorf("--%s %s: want a time above zero", flag, d)
		}
	}
	return nil
}

func (f *caseFlags) checkCases() error {
	for _, glob := range append(slices.Clone(f.Runner), f.Controller...) {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("--runner, --controller %s: not a glob: %w", glob, err)
		}
	}
	return above(map[string]time.Duration{
		"settle-after":      f.Settle,
		"settle-deadline":   f.Deadline,
		"node-silent-after": f.NodeSilent,
		"job.wait":          f.JobWait,
		"job.wait.most":     f.JobMost,
		"pool.silent-after": f.PoolSilent,
	})
}

func (f *retentionFlags) checkRetention() error {
	return above(map[string]time.Duration{
		"retention.verdicts":  f.Verdicts,
		"retention.evidence":  f.Evidence,
		"retention.completed": f.Completed,
	})
}

func (f *publishFlags) checkPublishing() error {
	if u, err := url.Parse(f.Loki); f.Loki != "" && (err != nil || !isHTTP(u)) {
		return fmt.Errorf("--loki.url %s: want http://HOST:PORT", f.Loki)
	}
	if token := daemon.Token(f.LokiToken); token != nil {
		_, err := token()
		return err
	}
	return nil
}

// isHTTP says whether an address names a server that speaks HTTP.
func isHTTP(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" }

// lokiSender sends verdicts to the Loki.
func (f *publishFlags) lokiSender() *push.Sender {
	return &push.Sender{
		URL:    strings.TrimRight(f.Loki, "/") + push.Path,
		Tenant: f.LokiTenant,
		User:   f.LokiUser,
		Token:  daemon.Token(f.LokiToken),
		Client: &http.Client{Timeout: 30 * time.Second},
	}
}
