// Package site has what a server's pages need of its command line: the flags of where they
// lead, what they say of labels, and what keeps the server from its sources.
//
// Invariant: without a flag no page leads anywhere but to coroner itself and to GitHub.
//
// Crash behaviour: it keeps no state.
package site

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"coroner/classify/guide"
	"coroner/classify/web"
	"coroner/cmd/daemon"
	"coroner/docs"
	"coroner/fixtures"
	"coroner/ingest/access"
	"coroner/ingest/kubewatch"
	"coroner/rules"
	"coroner/rules/manual"
)

// Links say where a post-mortem leads.
type Links struct {
	Grafana    string `name:"web.grafana-url" help:"${serve_web_grafana_url}" placeholder:"URL"`
	DataSource string `name:"web.grafana-datasource" help:"${serve_web_grafana_datasource}" placeholder:"UID"`
}

// Check refuses values that no page could use.
func (f *Links) Check() error {
	switch {
	case f.Grafana == "" && f.DataSource == "":
		return nil
	case f.Grafana == "":
		return daemon.Wrong("web.grafana-datasource", "say in which Grafana it is with --web.grafana-url URL")
	case f.DataSource == "":
		return daemon.Wrong("web.grafana-url", "say which data source is the Loki with --web.grafana-datasource UID")
	}
	if u, err := url.Parse(f.Grafana); err == nil && u.RawQuery != "" {
		return daemon.WrongValue("web.grafana-url", u.Redacted(), "want https://HOST, without a question mark")
	}
	return daemon.CheckPage("web.grafana-url", f.Grafana, "https://HOST")
}

// To are the links of the pages; api is --github.url.
func (f *Links) To(api string) web.Links {
	return web.Links{GitHub: gitHubPages(api), Grafana: f.Grafana, DataSource: f.DataSource}
}

// gitHubPages is where people look at what an API of GitHub has.
func gitHubPages(api string) string {
	u, err := url.Parse(api)
	switch {
	case err != nil || u.Host == "":
		return ""
	case u.Host == "api.github.com":
		return "https://github.com"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/v3")
	return strings.TrimRight(u.String(), "/")
}

// Notes say what keeps a server from what it was told to read.
type Notes struct {
	Kube func() map[string]*kubewatch.Metrics // by cluster
	Door *access.Door
}

// unguarded is told where no credential is configured.
const unguarded = "no credential is configured: only this machine can push"

// Kinds are for everybody: they name nothing.
func (n Notes) Kinds() (out []string) {
	for _, t := range n.troubles() {
		if !slices.Contains(out, t.Kind) {
			out = append(out, t.Kind)
		}
	}
	if n.Door.LocalOnly() {
		out = append(out, unguarded)
	}
	return out
}

// Texts say what is wrong and what to do, for who may read the pages.
func (n Notes) Texts() (out []string) {
	for _, t := range n.troubles() {
		out = append(out, t.Text)
	}
	return out
}

// troubles are those of all clusters.
func (n Notes) troubles() (out []kubewatch.Trouble) {
	all := n.Kube()
	for _, cluster := range slices.Sorted(maps.Keys(all)) {
		for _, t := range all[cluster].Trouble() {
			if len(all) > 1 {
				t.Text = "cluster " + cmp.Or(cluster, "without a name") + ": " + t.Text
			}
			out = append(out, t)
		}
	}
	return out
}

// Docs are the documentation's pages of this version, beside those of the server at home.
func Docs(home string) guide.Sources {
	return guide.Sources{Docs: docs.Files, Incidents: fixtures.Files(), Home: home}
}

// Labels says what the rulebook in force has on a label.
func Labels(book func() *rules.Rulebook) func(rules.Label) (manual.Page, bool) {
	incidents, err := fixtures.All()
	if err != nil { // they are part of the program
		panic(err)
	}
	return func(l rules.Label) (manual.Page, bool) { return manual.PageOf(book(), l, incidents) }
}
