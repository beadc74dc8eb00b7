package main

import (
	"context"
	"errors"
	"net/http"
	"time"

	"coroner/classify/docket"
	"coroner/classify/guide"
	"coroner/classify/intake"
	"coroner/classify/ledger"
	"coroner/classify/ledger/database"
	"coroner/classify/lookup"
	"coroner/classify/mcp"
	"coroner/classify/publish"
	"coroner/classify/web"
	"coroner/cmd/daemon"
	"coroner/cmd/outlet"
	"coroner/cmd/site"
	"coroner/deploy/chart"
	"coroner/deploy/contract"
	"coroner/ingest"
	"coroner/ingest/kubewatch"
	"coroner/ingest/push"
	"coroner/ingest/relay"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// server is everything that coroner serve runs.
type server struct {
	cmd    *serveCmd
	daemon *daemon.Daemon
	ledger *ledger.Ledger
	docket *docket.Docket
	loki   *publish.Loki
	more   []func(context.Context) error // other tasks that were asked for
	intake *intake.Intake
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
	daemon.CollectAt(garbage)
	limit := daemon.LimitMemory(c.MemoryLimit, usualMemory)
	log := c.Logger(p.err, p.tty(p.err))
	s, err := c.open(log, p.now)
	if err != nil {
		return err
	}
	log.Info().Int64("bytes", limit).Msg("memory limit")
	return s.runParts(context.Background())
}

// open checks and opens everything, so that a mistake is told at once.
func (c *serveCmd) open(log zerolog.Logger, now func() time.Time) (*server, error) {
	if err := c.checkFlags(); err != nil {
		return nil, err
	}
	book, err := loadBook(c.Rules)
	if err != nil {
		return nil, err
	}
	s := &server{cmd: c, daemon: daemon.New(&c.Flags, log)}
	if err := s.daemon.Open(); err != nil {
		return nil, usage("%w", err)
	}
	if s.ledger, err = ledger.Open(c.Ledger); err != nil {
		return nil, usage("%w", daemon.Wrong("ledger", "%w", err))
	}
	if err := s.adoptCluster(); err != nil {
		return nil, err
	}
	s.daemon.Check, now = s.ledger.Ping, s.ledger.NewClock(now).Now
	reg := s.daemon.Registry
	s.docket = docket.New(s.ledger, book, c.docketOptions(), docket.NewMetrics(reg), log, now)
	s.intake = &intake.Intake{
		Docket: s.docket,
		Ledger: s.ledger,
		Places: map[string]*kubewatch.Places{},
		Began:  time.Now(),
	}
	reg.MustRegister(docket.NewState(s.ledger, now))
	if c.Loki != "" {
		s.loki = &publish.Loki{Ledger: s.ledger, Sender: c.Publish.Sender(), Log: log, Now: now,
			Metrics: publish.NewMetrics(reg)}
	}
	s.addRoutes(reg, now)
	s.connectGitHub(now)
	work, err := c.Outlets.Work(outlet.Parts{
		Ledger: s.ledger, Gather: s.docket.Gather, Book: s.docket.Book, Registry: reg, Log: log, Now: now,
		GitHubURL: c.GitHubURL, GitHubToken: c.GitHubToken, GitHubPace: c.GitHubPace,
	})
	if err != nil {
		return nil, err
	}
	s.more = append(s.more, work.Tasks...)
	s.daemon.Reload = func() error { return errors.Join(s.reloadBook(), work.Reload()) }
	s.daemon.Content = func() (string, error) { return work.Content(daemon.RulebookContent(c.Rules)) }
	return s, errors.Join(s.guardDoor(now), s.watchKube(now))
}

// docketOptions are the flags that the docket obeys.
func (c *serveCmd) docketOptions() docket.Options {
	return docket.Options{
		Cluster:     c.Cluster,
		Runners:     c.Runner,
		Controllers: c.Controller,
		Settle:      c.Settle,
		Deadline:    c.Deadline,
		Silent:      c.NodeSilent,
		JobWait:     c.JobWait,
		JobWaitMost: c.JobMost,
		PoolSilent:  c.PoolSilent,
		MaxOpen:     c.MaxOpen,
		Keep:        docket.Keep(c.Retention),
		LokiWindow:  c.LokiWindow,
		Publish:     c.Loki != "",
	}
}

// adoptCluster gives what was recorded without a cluster the server's own.
func (s *server) adoptCluster() error {
	done, err := s.ledger.Adopt(context.Background(), s.cmd.Cluster)
	if err == nil && !done && s.cmd.Cluster != "" {
		s.daemon.Log.Info().Str("cluster", s.cmd.Cluster).
			Msg("the ledger already holds records of this cluster, or gave its records without a cluster to another: " +
				"no record is changed")
	}
	return err
}

func (s *server) reloadBook() error {
	book, err := loadBook(s.cmd.Rules)
	if err == nil {
		s.docket.SetBook(book)
	}
	return err
}

func (s *server) bookHash() string { return s.docket.Book().Hash }

func (s *server) addRoutes(reg *prometheus.Registry, now func() time.Time) {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "coroner_pushes_refused_total",
		Help: "Pushes that were not taken, by reason.",
	}, []string{"reason"})
	refuse := func(reason string) { refused.WithLabelValues(reason).Inc() }
	limits := push.Limits{Body: s.cmd.MaxBody, Busy: s.cmd.MaxBusy}
	handler := push.NewHandler(limits, ingest.PodGlobs(s.cmd.Controller).Name, s.intake.Receive, refuse)
	reg.MustRegister(refused, prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "coroner_unfinished_lines_total",
		Help: "Split lines of plain streams that were taken without their end, which did not come.",
	}, func() float64 { return float64(handler.Unfinished()) }))
	mux, door, inner := s.daemon.Mux, s.daemon.Door, http.NewServeMux()
	door.Refused = refuse
	mux.Handle("POST "+push.Path, door.Push(push.Paced(push.FiledBy(handler, s.bookHash), s.docket.Pace)))
	mux.Handle("GET "+relay.LivingPath, door.Push(relay.Living(s.intake.LivingOf(s.cmd.Cluster))))
	mux.Handle("GET "+daemon.RulebookPath, door.Fetch(daemon.Rulebook(s.docket.Book)))
	d := s.docket
	api := &lookup.API{Source: s.ledger, Opinion: d.Opinion, Gather: d.Gather, Book: d.Book, Now: now}
	api.Register(inner)
	contract.Register(mux)
	mcp.Register(mux, door.Read, inner, chart.Build())
	notes := site.Notes{Kube: func() map[string]*kubewatch.Metrics { return s.kube }, Door: door}
	s.daemon.Notes = notes.Kinds
	pages := &web.Pages{API: api, Charts: s.ledger, Manual: site.Labels(d.Book), Log: s.daemon.Log, Now: now,
		Links: s.cmd.Links.To(s.cmd.GitHubURL), Notes: notes.Texts, LocalOnly: door.LocalOnly}
	pages.Register(inner, mux)
	door.Page = pages.Refuse
	inner.Handle("GET "+guide.Prefix, guide.Handler(site.Docs("/")))
	mux.Handle("GET /", door.Read(inner))
}

func (s *server) runParts(ctx context.Context) error {
	defer s.ledger.Close()
	tasks := append([]func(context.Context) error{s.docket.Run}, s.more...)
	if s.loki != nil {
		tasks = append(tasks, s.loki.Run)
	}
	s.daemon.Log.Info().Str("address", s.daemon.Addr()).Str("ledger", database.Redacted(s.cmd.Ledger)).
		Str("rulebook", s.docket.Book().Hash).Msg("coroner serves")
	s.warnOfOpenDoors()
	s.daemon.Ready()
	err := s.daemon.Run(ctx, tasks...)
	s.daemon.Log.Info().Msg("coroner stopped")
	return err
}
