package web

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules"
)

// Links are the addresses of what a post-mortem leads to. An empty one gives no link.
type Links struct {
	GitHub     string // where jobs are looked at, as https://github.com
	Grafana    string // whose Explore shows a runner's logs
	DataSource string // the uid of its Loki
}

// link is a way out of a page.
type link struct{ Text, Address string }

// A repository and a number as GitHub has them: what a job printed goes into no address.
var (
	repository = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9-]{0,38}/[A-Za-z0-9._-]{1,100}$`)
	number     = regexp.MustCompile(`^[0-9]{1,20}$`)
)

// job is the page of a job at GitHub, or of its run where the job's number is not known.
func (l *Links) job(j *rules.Job) string {
	if l.GitHub == "" || !repository.MatchString(j.Repository) || !number.MatchString(j.RunID) {
		return ""
	}
	at := strings.TrimRight(l.GitHub, "/") + "/" + j.Repository + "/actions/runs/" + j.RunID
	if number.MatchString(j.ID) {
		at += "/job/" + j.ID
	}
	return at
}

// How much before and after a death the logs are shown.
const (
	logsBefore = 15 * time.Minute
	logsAfter  = 5 * time.Minute
)

// logs lead to the lines of a runner and its node around its death.
func (l *Links) logs(r *lookup.Recorded) (out []link) {
	if l.Grafana == "" {
		return nil
	}
	at := r.Recorded
	if r.DiedAt != nil {
		at = *r.DiedAt
	}
	for _, query := range postmortem.Queries(&r.Verdict) {
		name := "The node's journal"
		switch {
		case strings.HasPrefix(query, `{job="coroner"`):
			continue // the page says what is there
		case strings.Contains(query, "} | pod="):
			name = "The runner's log"
		}
		out = append(out, link{name + " in Grafana", l.explore(query, at.Add(-logsBefore), at.Add(logsAfter))})
	}
	return out
}

// explore is the address of Grafana's Explore with a query.
func (l *Links) explore(query string, from, to time.Time) string {
	type source struct {
		Type string `json:"type"`
		UID  string `json:"uid"`
	}
	type ask struct {
		Ref    string `json:"refId"`
		Query  string `json:"expr"`
		Source source `json:"datasource"`
	}
	type span struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	type pane struct {
		Source  string `json:"datasource"`
		Queries []ask  `json:"queries"`
		Range   span   `json:"range"`
	}
	millis := func(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
	panes, _ := json.Marshal(map[string]pane{"logs": { // texts only: it never fails
		l.DataSource, []ask{{"A", query, source{"loki", l.DataSource}}}, span{millis(from), millis(to)}}})
	return strings.TrimRight(l.Grafana, "/") + "/explore?" +
		url.Values{"schemaVersion": {"1"}, "panes": {string(panes)}}.Encode()
}
