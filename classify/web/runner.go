package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules"
	"coroner/rules/casefile"
)

// autopsy is the data of a runner's page.
type autopsy struct {
	addresses
	Runner  lookup.Runner
	Name    string           // with its namespace, where that is known
	Several bool             // more than one cluster is known
	Still   bool             // the page does not ask again by itself
	Says    *lookup.Recorded // the verdict, or the opinion while there is none
	Rows    []row
	Left    int // rows that the telling part leaves out
	All     string
	Lanes   lanes
	Copies  []copyable
	Exit    string
	Sick    bool // what killed it strikes more than one
	Proof   proof
}

// proof is what decides, to be seen at once, and where to look further.
type proof struct {
	Lines []row
	More  int    // lines that decide, too
	Job   string // address at GitHub
	Logs  []link
	Alike link // how many of its pool died so before
}

// addresses are where more about the runner is.
type addresses struct {
	Permalink string
	JSON      string // of the same as JSON
	Incident  string // of the incident file
	Near      string // of the list of the node's deaths around this one
}

// copyable is a text with a button that copies it.
type copyable struct{ ID, Name, Text string }

// again is how often the page of a case that is being judged asks again.
const again = 5 // s

// runnerView is the post-mortem of one runner, or the choice between those of a name.
func (p *Pages) runnerView(w http.ResponseWriter, r *http.Request) (view, error) {
	name, id := r.PathValue("name"), r.URL.Query().Get("case")
	if name == "" && id == "" || len(name)+len(id) > lookup.MaxName {
		return view{}, problem{http.StatusBadRequest,
			"An address of a runner is /runners/NAMESPACE/NAME, /runners/NAME or /runners/POD-UID."}
	}
	find := p.API.Find
	for _, kind := range []casefile.Kind{casefile.OfPool, casefile.OfJob} {
		if strings.HasPrefix(r.URL.Path, "/"+kind.Word()+"s/") {
			find = p.API.FindStanding(kind)
		}
	}
	ask := func() (lookup.Answer, error) { return find(r.Context(), r.URL.Query().Get("cluster"), name) }
	if id != "" {
		ask = func() (lookup.Answer, error) { return p.API.Named(r.Context(), id) }
	}
	a, err := ask()
	if err != nil {
		return view{}, err
	}
	if len(a.Runners) != 1 || !a.Exact {
		return p.answerView(&found{Text: name, Meaning: a.Meaning, Runners: a.Runners})
	}
	one := a.Runners[0]
	if home := one.Page(); id != "" && !sameRunner(r.URL, home) {
		http.Redirect(w, r, home, http.StatusSeeOther)
		return view{}, nil
	}
	data := autopsy{
		Runner: one,
		Name:   nameOf(&one.Subject),
		Says:   one.Says(),
		addresses: addresses{
			Permalink: one.Page(),
			JSON: "/api/v1/runners/" + url.PathEscape(cmp.Or(one.PodUID, one.Name())) +
				inCluster("?", one.Cluster),
			Incident: "/api/v1/incidents/" + url.PathEscape(one.ID),
		},
	}
	v := view{template: "runner", Title: data.Name}
	data.Still = r.URL.Query().Has("still")
	several, err := p.clusters(r.Context())
	if err != nil {
		return view{}, err
	}
	data.Several = len(several) > 0
	if one.State == "ending" && !data.Still {
		v.Refresh = again
	}
	if data.Says != nil {
		data.fillExplanation(r)
		data.Proof.Job, data.Proof.Logs = p.Links.job(&data.Says.Job), p.Links.logs(data.Says)
		alike := &data.Proof.Alike
		if alike.Text, alike.Address, err = p.others(r.Context(), data.Says); err != nil {
			return view{}, err
		}
		v.Title = fmt.Sprintf("%s: %s", v.Title, data.Says.Label)
	}
	v.Data = data
	return v, nil
}

// nameOf is what a page is called.
func nameOf(a *lookup.Subject) string {
	if a.Kind != casefile.OfRunner {
		return a.Kind.Word() + " " + a.Name()
	}
	return strings.TrimPrefix(a.Namespace+"/"+a.Runner, "/")
}

// inCluster is the parameter that names a cluster, after what comes before it.
func inCluster(before, cluster string) string {
	if cluster == "" {
		return ""
	}
	return before + url.Values{"cluster": {cluster}}.Encode()
}

// sameRunner says whether an address names the runner of the page home: one
// must not name a runner and show another.
func sameRunner(asked *url.URL, home string) bool {
	h, err := url.Parse(home)
	return err == nil && strings.TrimSuffix(asked.Path, "/") == h.Path
}

// fillExplanation fills in what is said of a verdict.
func (a *autopsy) fillExplanation(r *http.Request) {
	v := &a.Says.Verdict
	a.Rows, a.Left = timeline(v, r.URL.Query().Has("all"))
	a.All = a.Permalink + "&all=1#timeline"
	a.Lanes = newLanes(v, a.Rows, a.zoom(r))
	a.Proof.Lines, a.Proof.More = deciding(v)
	a.Exit = exitText(v.Exit)
	a.Copies = copyableTexts(v, a.textBelow(r))
	a.Sick = a.Runner.Siblings != nil && len(a.Runner.Siblings.Died) > 1 && v.Domain == "platform"
	if v.Node != "" && v.DiedAt != nil {
		since, until := v.DiedAt.Add(-15*time.Minute), v.DiedAt.Add(time.Hour)
		near := url.Values{"node": {v.Node}, "verdict": {everyEnd},
			"since": {timeForPrograms(since)}, "until": {timeForPrograms(until)}}
		a.Near = "/?" + near.Encode() + inCluster("&", v.Cluster)
	}
}

func exitText(e rules.Exit) string {
	if e.Code == nil {
		return "no exit record"
	}
	text := strings.TrimSpace(fmt.Sprintf("%d %s", *e.Code, e.Reason))
	if e.Signal > 0 {
		text += fmt.Sprintf(", signal %d", e.Signal)
	}
	return text
}

// host is a host that a link may name; a request can claim any.
var host = regexp.MustCompile(`^[A-Za-z0-9.-]+(:\d{1,5})?$`)

// textBelow is what the Markdown says beside the verdict: who else died, and where
// the page is, as far as the request tells.
func (a *autopsy) textBelow(r *http.Request) string {
	text := ""
	if a.Runner.Siblings != nil {
		text = "\n" + a.Runner.Siblings.Sentence(a.Runner.ID) + ".\n"
	}
	if host.MatchString(r.Host) {
		scheme := "http"
		if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
			scheme = "https"
		}
		text += fmt.Sprintf("\n<%s://%s%s>\n", scheme, r.Host, a.Permalink)
	}
	return text
}

// copyableTexts are the texts for elsewhere: an incident's channel, Grafana, a shell.
func copyableTexts(v *rules.Verdict, below string) (out []copyable) {
	add := func(id, name, text string) {
		if text != "" {
			out = append(out, copyable{id, name, text})
		}
	}
	var b bytes.Buffer
	_ = postmortem.Markdown(&b, v) // a buffer takes everything
	b.WriteString(below)
	add("markdown", "Markdown", b.String())
	add("logql", "LogQL", strings.Join(postmortem.Queries(v), "\n"))
	add("shell", "kubectl", strings.Join(postmortem.Commands(v), "\n"))
	return out
}
