// Package daemon is what coroner's two long-running programs share: flags and
// their file, the log, the operations endpoints, a graceful stop.
//
// Invariant: configuration is strict, so a mistake in it ends the program at
// its start with one clear line; a running program never stops because of an
// endpoint's client.
//
// Crash behaviour: it keeps no state.
package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"coroner/ingest/access"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
)

// Flags are the flags of every daemon.
type Flags struct {
	Config    kong.ConfigFlag `name:"config.file" help:"${daemon_config}" placeholder:"FILE"`
	Listen    string          `name:"web.listen-address" help:"Address of the HTTP endpoints." default:"${listen}"`
	WebConfig string          `name:"web.config.file" help:"${daemon_web_config}" placeholder:"FILE"`
	MaxConns  int             `name:"web.max-connections" help:"${daemon_connections}" default:"1024"`
	Operator  string          `name:"web.operator-token-file" help:"${daemon_operator}" placeholder:"FILE"`
	Pprof     bool            `name:"web.enable-pprof" help:"Serve /debug/pprof to operators."`
	LogLevel  string          `name:"log.level" help:"${daemon_level}" enum:"debug,info,warn,error" default:"info"`
	LogFormat string          `name:"log.format" help:"${daemon_format}" enum:"auto,json,console" default:"auto"`
	Stop      time.Duration   `name:"stop-timeout" help:"How long a graceful stop may take." default:"20s"`
}

// Vars are the texts of the flags that are too long for their tags.
var Vars = kong.Vars{
	"daemon_config": "YAML file with flags: the same names without the dashes before them. Flags and " +
		"environment variables win over it.",
	"daemon_web_config": "TLS, client certificates and basic authentication, in the Prometheus " +
		"exporter-toolkit's form.",
	"daemon_connections": "Connections that are open at one time; beyond, the one that was idle or slow for the " +
		"longest is closed.",
	"daemon_operator": "File with the token for reloads and profiles.",
	"daemon_level":    "debug, info, warn or error.",
	"daemon_format":   "json, console (for people), or auto: console on a terminal, else json.",
}

// Daemon runs tasks beside an HTTP server.
type Daemon struct {
	Flags    *Flags
	Log      zerolog.Logger
	Registry *prometheus.Registry
	Mux      *http.ServeMux
	Door     *access.Door // who may operate the program; the rest is the program's
	Reload   func() error // for SIGHUP and POST /-/reload; nil = nothing to reload

	// Content names what Reload reads, by its content: the same is not read again,
	// and what changed not more often than each ReloadEvery. nil = it is not known.
	Content func() (string, error)

	// Check says what is amiss with what the program cannot do without; nil = it needs nothing.
	Check func(context.Context) error

	// Notes is what the program does without, of what it was told to use, in words that
	// anybody may read; nil = nothing is known of that. It is ready all the same.
	Notes func() []string

	reloads    reloads
	state      atomic.Int32 // starting, ready, stopping: never back
	listener   net.Listener
	reloaded   prometheus.Gauge
	reloadTime prometheus.Gauge
}

// A daemon's states, in their order.
const (
	starting = iota
	ready
	stopping
)

// Ready says that the program serves its purpose now. A daemon that was told to
// stop never becomes ready again, however late a task says so.
func (d *Daemon) Ready() { d.state.CompareAndSwap(starting, ready) }

// New returns a daemon with the operations endpoints on its mux. Nothing runs
// yet.
func New(f *Flags, log zerolog.Logger) *Daemon {
	d := &Daemon{
		Flags:    f,
		Log:      log,
		Registry: prometheus.NewRegistry(),
		Mux:      http.NewServeMux(),
		Door:     &access.Door{Operate: Token(f.Operator), Web: f.webAuth},
		reloaded: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "coroner_config_last_reload_successful",
			Help: "1 when the last reload found no mistake in the rulebook and the notify configuration.",
		}),
		reloadTime: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "coroner_config_last_reload_success_timestamp_seconds",
			Help: "When the rulebook was last loaded.",
		}),
	}
	process := collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})
	d.Registry.MustRegister(collectors.NewGoCollector(), process, d.reloaded, d.reloadTime)
	d.reloaded.Set(1)
	d.reloadTime.SetToCurrentTime()
	d.endpoints()
	return d
}

func (d *Daemon) endpoints() {
	d.Mux.Handle("GET /metrics", promhttp.HandlerFor(d.Registry, promhttp.HandlerOpts{}))
	d.Mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "healthy") })
	d.Mux.HandleFunc("GET /-/ready", func(w http.ResponseWriter, r *http.Request) {
		if err := d.check(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
		if d.Notes != nil {
			for _, note := range d.Notes() {
				fmt.Fprintln(w, "attention:", note)
			}
		}
	})
	d.addOperatorEndpoint("POST /-/reload", d.serveReload)
	if d.Flags.Pprof {
		d.addOperatorEndpoint("/debug/pprof/", pprof.Index)
		d.addOperatorEndpoint("/debug/pprof/profile", pprof.Profile)
		d.addOperatorEndpoint("/debug/pprof/trace", pprof.Trace)
	}
}

// checkFor is how long the answer whether the program is ready may take.
const checkFor = 2 * time.Second

// check says why the program is not ready. Who asks need not be known, so it says no more
// than what kind of thing it is; the log has the rest.
func (d *Daemon) check(ctx context.Context) error {
	if d.state.Load() != ready {
		return errors.New("not ready")
	}
	if d.Check == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkFor)
	defer cancel()
	if err := d.Check(ctx); err != nil {
		d.Log.Warn().Err(err).Msg("not ready")
		return errors.New("not ready: the ledger cannot be reached")
	}
	return nil
}

// addOperatorEndpoint adds an endpoint for operators.
func (d *Daemon) addOperatorEndpoint(pattern string, f http.HandlerFunc) {
	d.Mux.Handle(pattern, d.Door.Operator(f))
}

// Open listens, so that a taken port is told before anything runs.
func (d *Daemon) Open() (err error) {
	if err := d.Flags.check(); err != nil {
		return err
	}
	d.listener, err = net.Listen("tcp", d.Flags.Listen)
	if err != nil {
		return WrongValue("web.listen-address", d.Flags.Listen, "%w", err)
	}
	return nil
}

// check refuses values that no run could use.
func (f *Flags) check() error {
	if f.WebConfig != "" {
		if err := web.Validate(f.WebConfig); err != nil {
			return WrongValue("web.config.file", f.WebConfig, "%w", err)
		}
	}
	return errors.Join(CheckToken("web.operator-token-file", f.Operator),
		CheckNumber("web.max-connections", f.MaxConns), CheckNumber("stop-timeout", f.Stop))
}

// Addr is the address that Open took.
func (d *Daemon) Addr() string { return d.listener.Addr().String() }

// What a client's connection may take, in time and memory.
const (
	answered  = 2 * time.Minute // from a request's begin to the end of its answer
	idle      = 2 * time.Minute // between two requests
	maxHeader = 32 << 10        // bytes
)

// Run runs the tasks until one fails or the program is told to stop (SIGINT,
// SIGTERM, or ctx). Then requests under way get their answer while the tasks
// finish, and new ones are not taken.
func (d *Daemon) Run(ctx context.Context, tasks ...func(context.Context) error) error {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	open := &connections{most: d.Flags.MaxConns, all: map[net.Conn]phase{}}
	server := &http.Server{
		Handler:           d.Mux,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		WriteTimeout:      answered,
		IdleTimeout:       idle,
		MaxHeaderBytes:    maxHeader,
		ConnState:         open.noteState,
		ErrorLog:          slog.NewLogLogger(d.warnings(), slog.LevelWarn),
	}
	g.Go(func() error { return d.serveUntilStopped(server) })
	g.Go(func() error {
		<-ctx.Done()
		d.state.Store(stopping)
		stop, done := context.WithTimeout(context.Background(), d.Flags.Stop)
		defer done()
		return server.Shutdown(stop)
	})
	g.Go(func() error { return d.reloadOnHangup(ctx) })
	for _, task := range tasks {
		g.Go(func() error { return task(ctx) })
	}
	return g.Wait()
}

func (d *Daemon) serveUntilStopped(server *http.Server) error {
	noSystemd := false
	flags := &web.FlagConfig{
		WebListenAddresses: &[]string{d.Flags.Listen},
		WebSystemdSocket:   &noSystemd,
		WebConfigFile:      &d.Flags.WebConfig,
	}
	if err := web.Serve(d.listener, server, flags, slog.New(d.warnings())); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// warnings is the log for what net/http and the exporter-toolkit have to say.
func (d *Daemon) warnings() slog.Handler {
	return zerolog.NewSlogHandler(d.Log.Level(max(zerolog.WarnLevel, d.Log.GetLevel())))
}

// Token returns a function that reads a token from a file at each use, so that
// it can be changed; "" gives none.
func Token(path string) func() (string, error) {
	if path == "" {
		return nil
	}
	return func() (string, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("token file: %w", err)
		}
		return strings.TrimSpace(string(data)), nil
	}
}
