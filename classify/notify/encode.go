package notify

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"

	"coroner/rules"
)

// parseTemplate reads a receiver's template; "" is none. json writes a value as JSON, so that
// a template's text is what it is meant to be whatever a log says.
func parseTemplate(text string) (*template.Template, error) {
	if text == "" {
		return nil, nil
	}
	functions := template.FuncMap{"json": func(v any) (string, error) {
		data, err := json.Marshal(v)
		return string(data), err
	}}
	t, err := template.New("template").Funcs(functions).Option("missingkey=error").Parse(text)
	if err == nil { // a field that there is none of is told at the start
		err = t.Execute(&bytes.Buffer{}, &Message{Verdict: rules.Verdict{}})
	}
	return t, err
}

// encode makes a message's body in the receiver's form.
func (r *Receiver) encode(m *Message, now time.Time) (body []byte, kind string, err error) {
	said := ""
	if r.text != nil {
		var b strings.Builder
		if err := r.text.Execute(&b, m); err != nil {
			return nil, "", err
		}
		said = b.String()
	}
	var value any
	kind = "application/json"
	switch r.Kind {
	case "slack":
		value = map[string]string{"text": orText(said, slackText(m))}
	case "teams":
		value = teamsCard(m, said)
	case "alertmanager":
		value = []any{alert(m, now)}
	case "cloudevents":
		kind, value = "application/cloudevents+json", event(m)
	default:
		if said != "" {
			return []byte(said), kind, nil
		}
		value = plainMessage(m)
	}
	body, err = json.Marshal(value)
	return body, kind, err
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// plainMessage is what a webhook without a template gets. Fields are added, never renamed.
func plainMessage(m *Message) any {
	return map[string]any{
		"case": m.Case, "revision": m.Verdict.Revision, "title": m.Title, "text": m.Text, "page": m.Page,
		"new": m.New, "alike": m.Alike, "alike_key": m.AlikeKey, "count": m.Count, "over": m.Over,
		"verdict": &m.Verdict,
	}
}

// slackText is the message as Slack marks text up: three characters mean something there.
func slackText(m *Message) string {
	escape := strings.NewReplacer(
		"&",
		"&amp;",
		"<",
		"&lt;",
		">",
		"&gt;",
		"*",
		"∗",
		"_",
		"＿",
		"`",
		"ˋ",
		"~",
		"∼",
	).Replace
	out := "*" + escape(m.Title) + "*\n" + escape(m.Text)
	if m.Verdict.Advice != "" && !m.Over {
		out += "\n" + escape(m.Verdict.Advice)
	}
	if m.Page != "" {
		out += "\n<" + m.Page + "|The whole post-mortem>"
	}
	return out
}

// teamsCard is an Adaptive Card in the envelope of a Teams workflow. Its texts are runs, which
// no mark-up is read in.
func teamsCard(m *Message, said string) any {
	line := func(text string, bold bool) any {
		run := map[string]any{"type": "TextRun", "text": text}
		if bold {
			run["weight"] = "Bolder"
		}
		return map[string]any{"type": "RichTextBlock", "inlines": []any{run}}
	}
	body := []any{line(m.Title, true), line(m.Text, false)}
	if said != "" {
		body = []any{line(said, false)}
	}
	card := map[string]any{"type": "AdaptiveCard", "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
		"version": "1.4", "body": body}
	if m.Page != "" {
		card["actions"] = []any{
			map[string]any{"type": "Action.OpenUrl", "title": "The whole post-mortem", "url": m.Page},
		}
	}
	return map[string]any{"type": "message", "attachments": []any{map[string]any{
		"contentType": "application/vnd.microsoft.card.adaptive", "content": card,
	}}}
}

// How long an alert stands in an Alertmanager: a death is told of once, what lasts until its end.
const (
	deathStands   = time.Hour
	lastingStands = 7 * 24 * time.Hour
)

// alert is one as an Alertmanager's API takes it. Its labels are those of all revisions in a row
// of a case whose label is the same, so that what is over ends the alert that began it.
func alert(m *Message, now time.Time) any {
	v := &m.Verdict
	labels := map[string]string{"alertname": "CoronerVerdict", "case": m.Case, "verdict": string(told(v)),
		"alike": m.began}
	for name, value := range map[string]string{
		"cluster": v.Cluster, "namespace": v.Namespace, "pool": v.Pool, "runner": v.Runner,
	} {
		if value != "" {
			labels[name] = value
		}
	}
	begins, ends := m.recorded, m.recorded.Add(deathStands)
	switch {
	case m.Over:
		ends = now
	case v.Label.Lasting():
		ends = m.recorded.Add(lastingStands)
	}
	if v.Since != nil {
		begins = *v.Since
	}
	out := map[string]any{
		"labels":   labels,
		"startsAt": begins.UTC().Format(time.RFC3339Nano),
		"endsAt":   ends.UTC().Format(time.RFC3339Nano),
		"annotations": map[string]string{"summary": m.Title, "description": m.Text, "advice": v.Advice,
			"node": v.Node, "domain": v.Domain, "confidence": string(v.Confidence)},
	}
	if m.Page != "" {
		out["generatorURL"] = m.Page
	}
	return out
}

// event is a CloudEvent, version 1.0, in structured mode.
func event(m *Message) any {
	v := &m.Verdict
	kind := "coroner.verdict.v1"
	if m.Over {
		kind = "coroner.verdict.over.v1"
	}
	out := map[string]any{
		"specversion": "1.0", "id": m.Case + "/" + strconv.Itoa(v.Revision), "type": kind,
		"source": "/coroner", "time": m.recorded.UTC().Format(time.RFC3339Nano),
		"subject":         fmt.Sprintf("%s/%s", v.Kind.Word(), v.About()),
		"datacontenttype": "application/json", "alikekey": m.AlikeKey, "data": plainMessage(m),
	}
	if v.Cluster != "" {
		out["source"] = "/coroner/" + v.Cluster
	}
	return out
}
