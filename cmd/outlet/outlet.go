// Package outlet has the flags of what coroner serve sends verdicts to, and makes the tasks that
// do so; only Loki's is elsewhere.
//
// Invariant: nothing is sent anywhere unless a flag asks for it.
//
// Crash behaviour: it keeps no state; the ledger knows what is still to be sent.
package outlet

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"coroner/classify/annotate"
	"coroner/classify/deliver"
	"coroner/classify/inquiry"
	"coroner/classify/ledger"
	"coroner/classify/notify"
	"coroner/classify/otlp"
	"coroner/classify/rerun"
	"coroner/cmd/daemon"
	"coroner/deploy/chart"
	"coroner/ingest"
	"coroner/ingest/forge"
	"coroner/ingest/github"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"
)

// Outlets are the flags.
type Outlets struct {
	Pages     string `name:"web.external-url" help:"${serve_web_external_url}" placeholder:"URL"`
	Notify    string `name:"notify.config-file" help:"${serve_notify_config_file}" placeholder:"FILE"`
	OTLP      string `name:"otlp.logs-url" help:"${serve_otlp_logs_url}" placeholder:"URL"`
	OTLPToken string `name:"otlp.token-file" help:"File with the token for the collector." placeholder:"FILE"`
	GitHub
	GitLab
}

// GitHub says what is done at GitHub: nothing by default.
type GitHub struct {
	Annotate     string   `name:"github.annotate" help:"${github_annotate}" enum:",log,check,status,comment" default:""`
	Scope        []string `name:"github.scope" help:"${github_scope}" placeholder:"OWNER/NAME"`
	Rerun        bool     `name:"github.rerun" help:"${github_rerun}"`
	PerHour      int      `name:"github.reruns-per-hour" help:"${github_reruns_per_hour}" default:"10"`
	App          string   `name:"github.app-id" help:"${github_app_id}" placeholder:"ID"`
	Installation string   `name:"github.app-installation" help:"The App's installation." placeholder:"ID"`
	Key          string   `name:"github.app-key-file" help:"File with the App's private key, PEM." placeholder:"FILE"`
}

// GitLab says what is done at GitLab: nothing by default.
type GitLab struct {
	LabAnnotate string   `name:"gitlab.annotate" help:"${serve_gitlab_annotate}" enum:",log,comment" default:""`
	LabURL      string   `name:"gitlab.url" help:"${serve_gitlab_url}" default:"https://gitlab.com" placeholder:"URL"`
	LabToken    string   `name:"gitlab.token-file" help:"${serve_gitlab_token_file}" placeholder:"FILE"`
	LabScope    []string `name:"gitlab.scope" help:"${serve_gitlab_scope}" placeholder:"GROUP"`
}

func (g *GitLab) check() error {
	switch {
	case g.LabAnnotate == "":
		return nil
	case g.LabToken == "":
		return daemon.Wrong("gitlab.annotate", "give --gitlab.token-file, a token with the scope api")
	case len(g.LabScope) == 0:
		return daemon.Wrong("gitlab.annotate",
			"say for which groups or projects it is with --gitlab.scope, GROUP or GROUP/PROJECT")
	}
	if err := annotate.Groups(g.LabScope).Check(); err != nil {
		return daemon.Wrong("gitlab.scope", "%w", err)
	}
	return errors.Join(daemon.CheckPage("gitlab.url", g.LabURL, "https://HOST"),
		daemon.CheckToken("gitlab.token-file", g.LabToken))
}

// requestsAMinute bounds what is asked of GitLab, which by default allows a user many more.
const requestsAMinute = 120

func (o *Outlets) addGitLab(p Parts, add addFunc) {
	if o.LabAnnotate == "" {
		return
	}
	pace := paced{rate.NewLimiter(requestsAMinute/60, 1)}
	g := &annotate.GitLab{
		Dry: o.LabAnnotate == "log",
		API: forge.New(forge.Options{
			Name: "GitLab", URL: strings.TrimRight(o.LabURL, "/") + "/api/v4", Token: daemon.Token(o.LabToken),
			HTTP: &http.Client{Timeout: time.Minute, Transport: pace}, Prefix: "RateLimit-", Now: p.Now,
		}),
		Ledger: p.Ledger, Book: p.Book, Scope: o.LabScope, Pages: o.Pages, Log: p.Log,
	}
	add("gitlab-"+o.LabAnnotate, g.Send, 0)
}

// Parts are what the tasks work with.
type Parts struct {
	Ledger      *ledger.Ledger
	Gather      func(context.Context, ledger.Case) ([]ingest.Entry, error)
	Book        func() *rules.Rulebook
	Registry    prometheus.Registerer
	Log         zerolog.Logger
	Now         func() time.Time
	GitHubURL   string
	GitHubToken string // file
	GitHubPace  int    // requests in a minute
}

// Check refuses values that no run could use; token is --github.token-file.
func (o *Outlets) Check(token string) error {
	wrong := []error{daemon.CheckToken("otlp.token-file", o.OTLPToken), o.GitHub.check(token), o.GitLab.check()}
	if o.Pages != "" {
		wrong = append(wrong, daemon.CheckPage("web.external-url", o.Pages, "https://HOST"))
	}
	if o.OTLP != "" {
		wrong = append(wrong, checkCollector(o.OTLP))
	}
	if o.Notify != "" {
		if _, err := notify.Load(o.Notify); err != nil {
			wrong = append(wrong, daemon.Wrong("notify.config-file", "%w", err))
		}
	}
	return errors.Join(wrong...)
}

// checkCollector refuses an address without a path, too: collectors take logs at one.
func checkCollector(address string) error {
	const want = "http://HOST:4318/v1/logs"
	if u, err := url.Parse(address); err == nil && u.Path == "" {
		return daemon.WrongValue("otlp.logs-url", u.Redacted(), "want %s", want)
	}
	return daemon.CheckURL("otlp.logs-url", address, want)
}

func (g *GitHub) check(token string) error {
	app := g.App != "" || g.Installation != "" || g.Key != ""
	if err := g.checkApp(); err != nil {
		return err
	}
	if err := annotate.Scope(g.Scope).Check(); err != nil {
		return daemon.Wrong("github.scope", "%w", err)
	}
	acting := "github.annotate"
	if g.Annotate == "" {
		acting = "github.rerun"
	}
	switch {
	case g.Acts() && len(g.Scope) == 0:
		return daemon.Wrong(acting, "say for which repositories it is with --github.scope, OWNER/NAME or OWNER/*")
	case g.Annotate == string(annotate.Check) && !app:
		return daemon.WrongValue("github.annotate", g.Annotate, "only a GitHub App can make check runs: give "+
			"--github.app-id, --github.app-installation and --github.app-key-file, or use status")
	case g.Acts() && !app && token == "":
		return daemon.Wrong(acting, "give --github.token-file or a GitHub App")
	case g.Rerun && g.PerHour == 0:
		return daemon.WrongValue("github.reruns-per-hour", "0", "want a number above zero")
	}
	return daemon.CheckNumber("github.reruns-per-hour", g.PerHour)
}

// checkApp refuses what is no whole GitHub App.
func (g *GitHub) checkApp() error {
	given := [][2]string{{"github.app-id", g.App}, {"github.app-installation", g.Installation},
		{"github.app-key-file", g.Key}}
	missing := slices.DeleteFunc(slices.Clone(given), func(f [2]string) bool { return f[1] != "" })
	there := slices.DeleteFunc(given, func(f [2]string) bool { return f[1] == "" })
	switch {
	case len(there) == 0:
		return nil
	case g.App != "" && !isNumber(g.App):
		return daemon.WrongValue("github.app-id", g.App, "want a number")
	case g.Installation != "" && !isNumber(g.Installation):
		return daemon.WrongValue("github.app-installation", g.Installation, "want a number")
	case len(missing) > 0:
		return daemon.Wrong(there[0][0], "an App is an id, an installation and a key: give --%s, too", missing[0][0])
	}
	if err := (&github.App{Key: daemon.Token(g.Key), Now: time.Now}).Check(); err != nil {
		return daemon.Wrong("github.app-key-file", "%w", err)
	}
	return nil
}

// Acts says whether anything is done at GitHub.
func (g *GitHub) Acts() bool { return g.Annotate != "" || g.Rerun }

func isNumber(s string) bool {
	for _, c := range s {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// Work is what runs beside the server.
type Work struct {
	Tasks []func(context.Context) error // each until its context is done

	notices *notices
}

// Reload reads the notify configuration again. Where it has mistakes the one before stays in force.
func (w *Work) Reload() error { return w.notices.load() }

// Content is the content of all that a reload reads: of, and that of the notify configuration.
func (w *Work) Content(of string, err error) (string, error) { return of + w.notices.content(), err }

// Work makes the tasks that the flags ask for.
func (o *Outlets) Work(p Parts) (*Work, error) {
	metrics, reruns := deliver.NewMetrics(p.Registry), rerun.NewMetrics(p.Registry)
	loop := func(receiver string, send deliver.Send, age time.Duration) *deliver.Loop {
		return &deliver.Loop{Receiver: receiver, List: p.Ledger.Deliveries(receiver), Send: send, Age: age,
			Log: p.Log, Now: p.Now, Metrics: metrics}
	}
	w := &Work{}
	add := func(receiver string, send deliver.Send, age time.Duration) {
		w.Tasks = append(w.Tasks, loop(receiver, send, age).Run)
	}
	if o.Acts() {
		o.addGitHub(p, reruns, add)
	}
	o.addGitLab(p, add)
	if err := o.addOTLP(add); err != nil {
		return nil, err
	}
	client := notify.NewClient()
	w.notices = &notices{file: o.Notify, changed: make(chan *notify.Config, 1), log: p.Log}
	w.notices.loop = func(c *notify.Config, r notify.Receiver) *deliver.Loop {
		s := &notify.Sender{Receiver: r, Routes: c.To(r.Name), Ledger: p.Ledger, Pages: o.Pages, HTTP: client,
			Now: p.Now}
		return loop("notify-"+r.Name, s.Send, 0)
	}
	if o.Notify != "" {
		w.Tasks = append(w.Tasks, w.notices.run)
	}
	return w, w.notices.load()
}

// paced sends requests no faster than it may.
type paced struct{ limit *rate.Limiter }

// RoundTrip sends a request when its time has come.
func (p paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := p.limit.Wait(r.Context()); err != nil {
		return nil, err
	}
	return http.DefaultTransport.RoundTrip(r)
}

// addFunc adds a receiver.
type addFunc func(receiver string, send deliver.Send, age time.Duration)

func (o *Outlets) addOTLP(add addFunc) error {
	if o.OTLP == "" {
		return nil
	}
	e, err := otlp.New(o.OTLP, daemon.Token(o.OTLPToken), chart.Build(), o.Pages)
	if err == nil {
		add("otlp", e.Send, 0)
	}
	return err
}

func (o *Outlets) addGitHub(p Parts, reruns *rerun.Metrics, add addFunc) {
	pace := paced{rate.NewLimiter(rate.Limit(float64(p.GitHubPace)/60), 1)}
	token, web := daemon.Token(p.GitHubToken), &http.Client{Timeout: time.Minute, Transport: pace}
	if o.App != "" {
		app := &github.App{
			URL:          p.GitHubURL,
			ID:           o.App,
			Installation: o.Installation,
			Key:          daemon.Token(o.Key),
			HTTP:         web,
			Now:          p.Now,
		}
		token = app.Token
	}
	client := github.NewClient(p.GitHubURL, token, web, p.Now)
	where := &inquiry.Inquiry{Ledger: p.Ledger, Gather: p.Gather, Book: p.Book}
	if o.Annotate != "" {
		a := &annotate.Annotator{
			Mode:   annotate.Mode(o.Annotate),
			GitHub: client,
			App:    o.App,
			Locate: where.Question,
			Ledger: p.Ledger,
			Book:   p.Book,
			Scope:  o.Scope,
			Pages:  o.Pages,
			Log:    p.Log,
		}
		add("github-"+o.Annotate, a.Send, 0)
	}
	if o.Rerun {
		r := &rerun.Rerunner{
			GitHub:  client,
			Locate:  where.Question,
			Ledger:  p.Ledger,
			Scope:   o.Scope,
			PerHour: o.PerHour,
			Log:     p.Log,
			Now:     p.Now,
			Metrics: reruns,
		}
		add(rerun.Receiver, r.Send, rerun.Age)
	}
}
