// Package site has the flags of where the pages lead, and makes the pages.
//
// Invariant: without a flag no page leads anywhere but to coroner itself and to GitHub.
//
// Crash behaviour: it keeps no state.
package site

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"coroner/classify/web"
	"coroner/fixtures"
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
	if f.Grafana == "" && f.DataSource == "" {
		return nil
	}
	u, err := url.Parse(f.Grafana)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("--web.grafana-url %s: want https://HOST, without a user", f.Grafana)
	}
	if f.DataSource == "" {
		return errors.New("--web.grafana-url: say which data source is the Loki with --web.grafana-datasource UID")
	}
	return nil
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

// Labels says what the rulebook in force has on a label.
func Labels(book func() *rules.Rulebook) func(rules.Label) (manual.Page, bool) {
	incidents, err := fixtures.All()
	if err != nil { // they are part of the program
		panic(err)
	}
	return func(l rules.Label) (manual.Page, bool) { return manual.PageOf(book(), l, incidents) }
}
