package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"coroner/classify/docket"
	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/publish"
	"coroner/classify/web"
	"coroner/cmd/daemon"
	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"
	"coroner/rules"
	"coroner/rules/manual"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

type serveCmd struct {
	daemon.Flags
	Rules  string `help:"Folder of rulebook files (*.yaml) that extend or replace entries of the built-in one. Read again on SIGHUP and POST /-/reload." placeholder:"DIR"`
	Ledger string `name:"ledger" help:"The ledger's file." default:"coroner.db" placeholder:"FILE"`

	MemoryLimit int64 `name:"memory-limit" help:"Bytes of memory that the server is to stay under. Default: what its container may have, else 512 MiB." placeholder:"BYTES"`

	pushFlags
	MaxBody int64 `name:"push.max-body-bytes" help:"Largest body of one push." default:"8388608"`
	MaxBusy int   `name:"push.max-concurrent" help:"Pushes handled at one time; others are told to come again." default:"32"`

	Runner     []string      `name:"runner" help:"Glob NAMESPACE/POD of the pods that are runners; may be given several times. Default: pods that print a runner's lines, that a controller speaks of, or with -runner- in their name." placeholder:"GLOB"`
	Controller []string      `name:"controller" help:"Glob NAMESPACE/POD of the controllers' and listeners' pods; may be given several times. What other pods print in a controller's words proves nothing. One that says more of the pod than * makes a controller of what it fits, whatever it is called." default:"arc-systems/*,actions-runner-system/*" placeholder:"GLOB"`
	Settle     time.Duration `name:"settle-after" help:"Evidence must be complete so long past a death before it is judged." default:"5s"`
	Deadline   time.Duration `name:"settle-deadline" help:"A death is judged after this time whatever is missing." default:"1m"`
	NodeSilent time.Duration `name:"node-silent-after" help:"A node whose agent is not heard of so long has vanished, its runners with it." default:"2m"`
	MaxOpen    int           `name:"max-open-cases" help:"Beyond, the oldest are judged as they are." default:"200000"`

	KeepVerdicts time.Duration `name:"retention.verdicts" help:"How long verdicts are kept." default:"2160h"`
	KeepEvidence time.Duration `name:"retention.evidence" help:"How long evidence is kept." default:"48h"`
	KeepBytes    int64         `name:"retention.bytes" help:"Beyond this size of the ledger the oldest evidence goes." default:"8589934592"`

	Loki       string        `name:"loki.url" help:"Loki that gets the verdicts, http://HOST:PORT. Default: none." placeholder:"URL"`
	LokiTenant string        `name:"loki.tenant" help:"X-Scope-OrgID." placeholder:"ID"`
	LokiUser   string        `name:"loki.user" help:"User for basic authentication; the token file holds the password." placeholder:"NAME"`
	LokiToken  string        `name:"loki.token-file" help:"File with the token for Loki." placeholder:"FILE"`
	LokiWindow time.Duration `name:"loki.out-of-order-window" help:"A verdict whose death is longer ago is stamped with the time of the verdict; keep it under half of Loki's max_chunk_age." default:"50m"`
	Cluster    string        `name:"cluster" help:"The cluster of every record that names none; label cluster of the verdicts in Loki. Agents and shippers of other clusters name theirs." placeholder:"NAME"`

	accessFlags
	kubeFlags
	githubFlags
}

// Help is shown by coroner serve --help.
func (serveCmd) Help() string {
	return `Agents (coroner-agent) and any shipper that speaks the Loki push protocol send to
http://HOST:9095/loki/api/v1/push. Verdicts: coroner lookup NAME, GET /api/v1/verdicts,
GET /api/v1/runners/NAME, /metrics, and Loki with --loki.url.

--push.agent-account has the Kubernetes API review agents' tokens, and say which node and
which pods each may speak of; --push.client-node=san takes the node from the client
certificates that --web.config.file asks for. Without a credential pushes are taken from
this machine only, unless --push.open is given. docs/access.md says who may say what.`
}

// server is everything that coroner serve runs.
type server struct {
	cmd    *serveCmd
	daemon *daemon.Daemon
	ledger *ledger.Ledger
	docket *docket.Docket
	loki   *publish.Loki
	more   []func(context.Context) error // other tasks that were asked for
	began  time.Time
	places map[string]*kubewatch.Places  // cluster -> where its pods are; of those whose agents prove their node
	kube   map[string]*kubewatch.Metrics // cluster -> what is counted of its API
}

// garbage is how much memory may pile up before it is collected, in percent of
// what is in use: a server makes much of it and keeps little. usualMemory bounds it,
// in bytes, where nothing else is said; what one request may take is far below it.
const (
	garbage     = 200
	usualMemory = 512 << 20
)

// Run serves until it is told to stop.
func (c *serveCmd) Run(p *program) error {
	debug.SetGCPercent(garbage)
	limit := daemon.LimitMemory(c.MemoryLimit, usualMemory)
	log := c.Logger(p.err)
	s, err := c.open(log, p.now)
	if err != nil {
		return err
	}
	log.Info().Int64("bytes", limit).Msg("memory limit")
	return s.run(context.Background())
}

// open checks and opens everything, so that a mistake is told at once.
func (c *serveCmd) open(log zerolog.Logger, now func() time.Time) (*server, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	book, err := loadBook(c.Rules)
	if err != nil {
		return nil, err
	}
	s := &server{cmd: c, daemon: daemon.New(&c.Flags, log), began: time.Now()}
	if err := s.daemon.Open(); err != nil {
		return nil, usage("%w", err)
	}
	if s.ledger, err = ledger.Open(c.Ledger); err != nil {
		return nil, usage("%w", err)
	}
	if err := s.adopt(); err != nil {
		return nil, err
	}
	o := docket.Options{Cluster: c.Cluster, Runners: c.Runner, Controllers: c.Controller,
		Settle: c.Settle, Deadline: c.Deadline, Silent: c.NodeSilent, MaxOpen: c.MaxOpen,
		KeepVerdicts: c.KeepVerdicts, KeepEvidence: c.KeepEvidence, MaxBytes: c.KeepBytes, LokiWindow: c.LokiWindow, Publish: c.Loki != ""}
	reg := s.daemon.Registry
	s.docket = docket.New(s.ledger, book, o, docket.NewMetrics(reg), log, now)
	reg.MustRegister(docket.NewState(s.ledger, now))
	s.daemon.Reload, s.daemon.Content = s.reload, func() (string, error) { return bookContent(c.Rules) }
	if c.Loki != "" {
		s.loki = &publish.Loki{Ledger: s.ledger, Sender: c.lokiSender(), Log: log, Now: now, Metrics: publish.NewMetrics(reg)}
	}
	s.routes(reg, now)
	return s, errors.Join(s.guard(now), s.watchKube(now), s.askGitHub(now))
}

// check refuses values that no run could use.
func (c *serveCmd) check() error {
	for flag, d := range map[string]time.Duration{"settle-after": c.Settle, "settle-deadline": c.Deadline, "node-silent-after": c.NodeSilent,
		"retention.verdicts": c.KeepVerdicts, "retention.evidence": c.KeepEvidence} {
		if d <= 0 {
			return usage("--%s %s: want a time above zero", flag, d)
		}
	}
	if c.MaxBusy < 0 || c.MaxBody < 0 || c.KeepBytes < 0 || c.MaxOpen < 0 || c.MemoryLimit < 0 || c.MaxConns < 0 {
		return usage("--push.max-concurrent, --push.max-body-bytes, --retention.bytes, --max-open-cases, --memory-limit and " +
			"--web.max-connections cannot be below zero")
	}
	if err := errors.Join(c.accessFlags.check(), c.checkKube(), c.githubFlags.check()); err != nil {
		return usage("%w", err)
	}
	for _, glob := range append(slices.Clone(c.Runner), c.Controller...) {
		if _, err := path.Match(glob, ""); err != nil {
			return usage("--runner, --controller %s: not a glob: %w", glob, err)
		}
	}
	if u, err := url.Parse(c.Loki); c.Loki != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return usage("--loki.url %s: want http://HOST:PORT", c.Loki)
	}
	if err := c.pushFlags.check(); err != nil {
		return usage("%w", err)
	}
	for _, token := range []func() (string, error){daemon.Token(c.LokiToken), daemon.Token(c.WebToken)} {
		if token != nil {
			if _, err := token(); err != nil {
				return usage("%w", err)
			}
		}
	}
	return nil
}

// adopt gives what was recorded without a cluster the server's own.
func (s *server) adopt() error {
	done, err := s.ledger.Adopt(context.Background(), s.cmd.Cluster)
	if err == nil && !done && s.cmd.Cluster != "" {
		s.daemon.Log.Info().Str("cluster", s.cmd.Cluster).
			Msg("the ledger has records of this cluster beside some without one, or of another before: all stay as they are")
	}
	return err
}

func (c *serveCmd) lokiSender() *push.Sender {
	return &push.Sender{URL: strings.TrimRight(c.Loki, "/") + push.Path, Tenant: c.LokiTenant, User: c.LokiUser, Token: daemon.Token(c.LokiToken),
		Client: &http.Client{Timeout: 30 * time.Second}}
}

func (s *server) reload() error {
	book, err := loadBook(s.cmd.Rules)
	if err == nil {
		s.docket.SetBook(book)
	}
	return err
}

func (s *server) routes(reg *prometheus.Registry, now func() time.Time) {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "coroner_pushes_refused_total", Help: "Pushes that were not taken, by reason."}, []string{"reason"})
	handler := push.NewHandler(push.Limits{Body: s.cmd.MaxBody, Busy: s.cmd.MaxBusy}, ingest.PodGlobs(s.cmd.Controller).Name,
		s.receive, func(reason string) { refused.WithLabelValues(reason).Inc() })
	reg.MustRegister(refused, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "coroner_unfinished_lines_total",
		Help: "Split lines of plain streams that were taken without their end, which did not come."},
		func() float64 { return float64(handler.Unfinished()) }))
	mux, door, inner := s.daemon.Mux, s.daemon.Door, http.NewServeMux()
	door.Refused = func(reason string) { refused.WithLabelValues(reason).Inc() }
	mux.Handle("POST "+push.Path, door.Push(handler))
	mux.Handle("GET "+daemon.RulebookPath, door.Fetch(daemon.Rulebook(s.docket.Book)))
	api := &lookup.API{Source: s.ledger, Opinion: s.docket.Opinion, Gather: s.docket.Gather, Now: now}
	api.Register(inner)
	pages := &web.Pages{API: api, Charts: s.ledger, Manual: s.manual(), Log: s.daemon.Log, Now: now}
	pages.Register(inner)
	mux.Handle("GET /", door.Read(inner))
}

// manual says what the rulebook in force has on a label.
func (s *server) manual() func(rules.Label) (manual.Page, bool) {
	incidents, err := fixtures.All()
	if err != nil { // they are part of the program
		panic(err)
	}
	return func(l rules.Label) (manual.Page, bool) { return manual.PageOf(s.docket.Book(), l, incidents) }
}

func (s *server) run(ctx context.Context) error {
	defer s.ledger.Close()
	tasks := append([]func(context.Context) error{s.docket.Run}, s.more...)
	if s.loki != nil {
		tasks = append(tasks, s.loki.Run)
	}
	s.daemon.Log.Info().Str("address", s.daemon.Addr()).Str("ledger", s.cmd.Ledger).Str("rulebook", s.docket.Book().Hash).Msg("coroner serves")
	s.warn()
	s.daemon.Ready()
	err := s.daemon.Run(ctx, tasks...)
	s.daemon.Log.Info().Msg("coroner stopped")
	return err
}
