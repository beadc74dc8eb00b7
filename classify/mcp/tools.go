package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"coroner/classify/lookup"
	"coroner/rules"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools asks a server for what its tools answer with.
type tools struct{ client *lookup.Client }

func addTools(s *mcp.Server, client *lookup.Client) {
	t := tools{client}
	addTool(s, "explain_death", "Why one CI runner or job died: cause, whose business it is, whether a retry helps, "+
		"the lines that decide, what was ruled out, who else died on the node.", t.explain)
	addTool(s, "list_deaths", "The latest deaths of CI runners, and what is wrong with pools now, the latest first. "+
		"All filters are optional.", t.list)
	addTool(s, "node_deaths", "Which runners died on a node; with a time, those within 10 minutes of it.", t.node)
	addTool(
		s,
		"get_incident",
		"The records from which the verdict of one case was judged, as one file. Long ones are cut; "+
			"`coroner lookup NAME --incident` has all of it.",
		t.incident,
	)
	addTool(s, "describe_label", "What a verdict means: its cause, whose business it is, what decides it, what it is "+
		"confused with, what to do.", t.label)
}

// addTool adds a tool that reads and whose answer is one text.
func addTool[In any](
	s *mcp.Server,
	name, doc string,
	answer func(context.Context, In, *page) (more string, err error),
) {
	closed := false
	about := &mcp.Tool{Name: name, Description: doc,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: &closed}}
	mcp.AddTool(s, about, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		p := newPage()
		more, err := answer(ctx, in, p)
		failed := err != nil
		if failed { // a server's error can hold what was asked for
			p = newPage()
			p.say("This could not be answered.")
			p.quote(err.Error())
		}
		text := &mcp.TextContent{Text: p.end(more)}
		return &mcp.CallToolResult{Content: []mcp.Content{text}, IsError: failed}, nil, nil
	})
}

// deathQuestion asks for one death.
type deathQuestion struct {
	Name    string `json:"name" jsonschema:"[namespace/]name, start of one, pod UID, or address of a job"`
	Cluster string `json:"cluster,omitempty" jsonschema:"only in this cluster"`
}

// explained is how many runners are told in full.
const explained = 3

func (t tools) explain(ctx context.Context, q deathQuestion, p *page) (string, error) {
	found, err := t.client.Search(ctx, q.Cluster, q.Name)
	if err != nil {
		return "", err
	}
	if len(found.Runners) == 0 {
		p.say("Nothing is known of that name. list_deaths shows the latest deaths.")
		return "", nil
	}
	if !found.Exact {
		p.say("That name is not known as such; these may be meant.")
	}
	for i := range found.Runners {
		r := &found.Runners[i]
		switch v := r.Says(); {
		case v == nil:
			p.say("\n%s: no verdict; state %s, last heard of %s", name(r.Name()), name(r.State), clock(&r.Heard))
		case i < explained:
			writeDeath(p, r, v)
		default:
			p.say("\n%s", brief(v))
		}
	}
	return "Ask for one name, or with cluster.", nil
}

func clock(at *time.Time) string {
	if at == nil {
		return "at a time that is not known"
	}
	return at.UTC().Format(time.RFC3339)
}

// brief is a verdict on one line, without what others wrote.
func brief(v *lookup.Recorded) string {
	line := fmt.Sprintf("%s %s (%s) %s, node %s, pool %s, domain %s, retry %s, case %s", clock(v.DiedAt),
		name(string(v.Label)), name(string(v.Confidence)), name(v.About()), name(v.Node), name(v.Pool),
		name(v.Domain), name(v.Retry), name(v.ID))
	if v.State != "" {
		line += ", " + name(string(v.State))
	}
	if v.Cluster != "" {
		line += ", cluster " + name(v.Cluster)
	}
	return line
}

// writeDeath writes one verdict: what coroner says, then what it is made of.
func writeDeath(p *page, r *lookup.Runner, v *lookup.Recorded) {
	p.say("\n%s", brief(v))
	if r.Verdict == nil {
		p.say("This is what it looks like so far; the evidence is still coming in.")
	}
	p.say("rule %s, initiator %s, revision %d, page %s", name(v.Rule), name(v.Initiator), v.Revision, v.Page())
	if r.Siblings != nil {
		p.say("%s.", r.Siblings.Sentence(r.ID))
	}
	p.quote("in one sentence: " + v.Summary)
	if v.Advice != "" {
		p.quote("advice: " + v.Advice)
	}
	writeJob(p, &v.Job)
	writeLines(p, &v.Verdict)
	for _, o := range v.RuledOut {
		p.quote("ruled out: " + string(o.Label) + ": " + o.Because)
	}
	for _, o := range v.Open {
		p.quote("open: " + string(o.Label) + ": needs " + o.Needs)
	}
	for _, m := range v.Missing {
		p.quote("not read: " + m)
	}
}

// writeJob quotes what is known of the job.
func writeJob(p *page, j *rules.Job) {
	var known []string
	for _, f := range []struct{ name, value string }{
		{"", j.Name}, {"of ", j.Repository}, {"id ", j.ID}, {"run ", j.RunID}, {"step ", j.Step},
	} {
		if f.value != "" {
			known = append(known, f.name+f.value)
		}
	}
	if len(known) == 0 {
		return
	}
	if j.Claimed {
		known = append(known, "by its own output, which a job can print")
	}
	p.quote("job " + strings.Join(known, ", "))
}

// writeLines quotes the lines that decide, then the last ones that do not.
func writeLines(p *page, v *rules.Verdict) {
	for _, e := range v.Evidence {
		if e.Decisive {
			p.quote("decides: " + lineText(&e))
		}
	}
	rest := slices.DeleteFunc(
		slices.Clone(v.Evidence),
		func(e rules.EvidenceLine) bool { return e.Decisive || !e.Mine },
	)
	for _, e := range rest[max(0, len(rest)-contextLines):] {
		p.quote("context: " + lineText(&e))
	}
}

// contextLines is how many lines of a runner are shown beside those that decide.
const contextLines = 8

// lineText is a line of evidence with its source, and how far that can be trusted.
func lineText(e *rules.EvidenceLine) string {
	return fmt.Sprintf("%s [source %s, %s] %s", clock(e.At), e.Source, trustOf(e.Source), e.Text)
}

// deathsQuestion asks for many.
type deathsQuestion struct {
	Since      string `json:"since,omitempty" jsonschema:"90m, 7d or a time (RFC 3339); default 24h"`
	Verdict    string `json:"verdict,omitempty" jsonschema:"labels with commas between; default all deaths"`
	Pool       string `json:"pool,omitempty"`
	Node       string `json:"node,omitempty"`
	Repository string `json:"repository,omitempty" jsonschema:"owner/name"`
	Cluster    string `json:"cluster,omitempty"`
	Limit      int    `json:"limit,omitempty" jsonschema:"at most so many, default 50"`
}

func (t tools) list(ctx context.Context, in deathsQuestion, p *page) (string, error) {
	if in.Verdict == "" {
		labels, err := t.client.Labels(ctx)
		if err != nil {
			return "", err
		}
		in.Verdict = wrongOnes(labels)
	}
	q := url.Values{}
	for key, value := range map[string]string{
		"since": or(in.Since, "24h"), "verdict": in.Verdict, "pool": in.Pool, "node": in.Node,
		"repository": in.Repository, "cluster": in.Cluster, "limit": strconv.Itoa(limit(in.Limit)),
	} {
		if value != "" {
			q.Set(key, value)
		}
	}
	found, err := t.client.Verdicts(ctx, q)
	if err != nil {
		return "", err
	}
	writeList(p, found.Verdicts)
	return "Ask with a shorter since, a verdict, a pool, a node or a limit.", nil
}

// limit is how many verdicts are asked for.
func limit(n int) int {
	if n <= 0 || n > 200 {
		return 50
	}
	return n
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// wrongOnes are the labels of deaths and of what lasts.
func wrongOnes(labels []rules.Label) string {
	var out []string
	for _, l := range labels {
		if l.Death() || l.Lasting() {
			out = append(out, string(l))
		}
	}
	return strings.Join(out, ",")
}

// writeList writes how many there are of each label, and each on a line.
func writeList(p *page, all []lookup.Recorded) {
	all = slices.DeleteFunc(slices.Clone(all), func(v lookup.Recorded) bool { return v.NoDeath })
	if len(all) == 0 {
		p.say("None is recorded.")
		return
	}
	verdicts := "verdicts"
	if len(all) == 1 {
		verdicts = "verdict"
	}
	p.say("%d %s: %s", len(all), verdicts, counted(all))
	for i := range all {
		p.say("%s", brief(&all[i]))
	}
}

// counted says how many verdicts have which label, the most first.
func counted(all []lookup.Recorded) string {
	count, labels := map[string]int{}, []string{}
	for i := range all {
		label := name(string(all[i].Label))
		if count[label]++; count[label] == 1 {
			labels = append(labels, label)
		}
	}
	slices.SortStableFunc(labels, func(a, b string) int { return count[b] - count[a] })
	for i, l := range labels {
		labels[i] = fmt.Sprintf("%d %s", count[l], l)
	}
	return strings.Join(labels, ", ")
}

// nodeQuestion asks who died on a node.
type nodeQuestion struct {
	Node    string `json:"node" jsonschema:"the node's name"`
	At      string `json:"at,omitempty" jsonschema:"15:04 (UTC) or RFC 3339; default the last 24 hours"`
	Cluster string `json:"cluster,omitempty" jsonschema:"only in this cluster"`
}

func (t tools) node(ctx context.Context, in nodeQuestion, p *page) (string, error) {
	if strings.TrimSpace(in.Node) == "" {
		return "", errors.New("node: want a node's name")
	}
	if in.At == "" {
		return t.list(ctx, deathsQuestion{Node: in.Node, Cluster: in.Cluster}, p)
	}
	found, err := t.client.Search(ctx, in.Cluster, in.Node+" "+in.At)
	if err != nil {
		return "", err
	}
	var all []lookup.Recorded
	for i := range found.Runners {
		if v := found.Runners[i].Verdict; v != nil && v.Node == in.Node {
			all = append(all, *v)
		}
	}
	writeList(p, all)
	return "Ask with a cluster.", nil
}

// caseQuestion asks for the records of one case.
type caseQuestion struct {
	Case string `json:"case" jsonschema:"the case, as the other tools name it"`
}

func (t tools) incident(ctx context.Context, in caseQuestion, p *page) (string, error) {
	data, err := t.client.Incident(ctx, in.Case)
	if err != nil {
		return "", err
	}
	p.say("The incident file of case %s.", name(in.Case))
	p.quoteLines(string(data))
	return "`coroner lookup NAME --incident` writes all of it.", nil
}

// labelQuestion asks what a label means.
type labelQuestion struct {
	Label string `json:"label" jsonschema:"the label, such as host-teardown"`
}

func (t tools) label(ctx context.Context, in labelQuestion, p *page) (string, error) {
	l, near, ok := t.client.LabelNamed(ctx, in.Label)
	if !ok && near != "" {
		p.say("There is no such label; did you mean %s?", name(string(near)))
		return "", nil
	} else if !ok {
		p.say("There is no such label; list_deaths shows those that are used.")
		return "", nil
	}
	d, err := t.client.Label(ctx, l)
	if err != nil {
		return "", err
	}
	writeLabel(p, &d)
	return "`coroner rules describe LABEL` has all of it.", nil
}

// writeLabel writes what the rulebook says of a label: its authors are the operators.
func writeLabel(p *page, d *lookup.LabelPage) {
	p.say("%s: %s", d.Label, d.Meaning)
	p.say("domain %s, retry %s", d.Domain, d.Retry)
	if d.Advice != "" {
		p.say("advice: %s", d.Advice)
	}
	for _, c := range d.Confused {
		p.say("confused with %s: %s", c.Label, c.Apart)
	}
	for _, r := range d.Rules {
		p.say("rule %s (at most %s): %s", r.ID, r.AtMost, r.Doc)
	}
}
