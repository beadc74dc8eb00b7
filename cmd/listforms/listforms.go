// Package listforms writes a list of verdicts in the forms that kubectl has: a wide table, names,
// and what a JSONPath picks.
//
// Invariant: everything that came from a log is data. No control character of it reaches the
// terminal, and a name that a shell would not take for one word is not printed as a name.
//
// Crash behaviour: it only writes; a write error ends it.
package listforms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"text/tabwriter"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules/casefile"

	"k8s.io/client-go/util/jsonpath"
)

// The forms beside text, json, yaml and markdown.
const (
	Wide = "wide"
	Name = "name"
	Path = "jsonpath="
)

// Forms are what can stand after -o of a list, for completion.
var Forms = []string{"text", "json", "yaml", "markdown", Wide, Name, Path}

// Form is a form of this package with what it needs.
type Form struct {
	name     string
	template *jsonpath.JSONPath
	whole    bool // the template picks from the list and not from each verdict
}

// Parse reads what stands after -o; ok is false for what is no form of this package.
func Parse(text string) (f Form, ok bool, err error) {
	expression, isPath := strings.CutPrefix(text, Path)
	switch {
	case text == Wide || text == Name:
		return Form{name: text}, true, nil
	case !isPath:
		return f, false, nil
	case strings.TrimSpace(expression) == "":
		return f, true, fmt.Errorf("-o jsonpath= has no template; want one like jsonpath='{.runner}'")
	}
	if !strings.Contains(expression, "{") {
		expression = "{." + strings.TrimPrefix(expression, ".") + "}"
	}
	f = Form{Path, jsonpath.New("list").AllowMissingKeys(true), strings.Contains(expression, ".items")}
	if err := f.template.Parse(expression); err != nil {
		return f, true, fmt.Errorf("-o %s: %w", text, err)
	}
	return f, true, nil
}

// Write writes the verdicts.
func (f Form) Write(w io.Writer, all []lookup.Recorded) error {
	switch f.name {
	case Wide:
		return wide(w, all)
	case Name:
		return names(w, all)
	}
	return f.paths(w, all)
}

// wide is a table with nothing cut.
func wide(w io.Writer, all []lookup.Recorded) error {
	out := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	row := func(cells ...string) {
		for i := range cells {
			if cells[i] = postmortem.Clean(cells[i]); cells[i] == "" {
				cells[i] = "-"
			}
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
	row(
		"VERDICT",
		"CONFIDENCE",
		"DIED AT",
		"EXIT",
		"BY",
		"RETRY",
		"CLUSTER",
		"NODE",
		"POOL",
		"RUNNER",
		"JOB",
		"SUMMARY",
	)
	for i := range all {
		v := &all[i].Verdict
		died, exit := "", ""
		if v.DiedAt != nil {
			died = v.DiedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		if v.Exit.Code != nil {
			exit = fmt.Sprint(*v.Exit.Code)
		}
		row(string(v.Label), string(v.Confidence), died, exit, v.Initiator, v.Retry, v.Cluster, v.Node, v.Pool,
			nameOf(&all[i]), v.Job.Name, v.Summary)
	}
	return out.Flush()
}

// names is a name a line, as coroner lookup takes it.
func names(w io.Writer, all []lookup.Recorded) error {
	for i := range all {
		name := nameOf(&all[i])
		if strings.ContainsFunc(name, needsQuotes) || strings.HasPrefix(name, "-") {
			name = all[i].PodUID
		}
		if name == "" || strings.ContainsFunc(name, needsQuotes) {
			continue
		}
		if _, err := fmt.Fprintln(w, name); err != nil {
			return err
		}
	}
	return nil
}

// nameOf is whom a verdict is about, with its kind where it is no runner.
func nameOf(r *lookup.Recorded) string {
	v := &r.Verdict
	switch {
	case v.Kind != casefile.OfRunner:
		return v.Kind.Word() + "/" + v.About()
	case v.Runner != "":
		return strings.TrimPrefix(v.Namespace+"/"+v.Runner, "/")
	}
	return v.PodUID
}

func needsQuotes(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-._/:", c))
}

// paths is what the template picks: of each verdict a line, or of the list, whose verdicts
// are its items as kubectl has them.
func (f Form) paths(w io.Writer, all []lookup.Recorded) error {
	items := []any{}
	for i := range all {
		data, err := json.Marshal(&all[i])
		if err != nil {
			return err
		}
		var item any
		if err := json.Unmarshal(data, &item); err != nil {
			return err
		}
		items = append(items, harmless(item))
	}
	if f.whole {
		return f.line(w, map[string]any{"items": items})
	}
	for _, item := range items {
		if err := f.line(w, item); err != nil {
			return err
		}
	}
	return nil
}

func (f Form) line(w io.Writer, from any) error {
	var text bytes.Buffer
	if err := f.template.Execute(&text, from); err != nil {
		return fmt.Errorf("-o jsonpath: %w", err)
	}
	if !bytes.HasSuffix(text.Bytes(), []byte("\n")) {
		text.WriteByte('\n')
	}
	_, err := w.Write(text.Bytes())
	return err
}

// harmless is a value with its texts cleaned, and its whole numbers whole.
func harmless(v any) any {
	switch v := v.(type) {
	case string:
		return postmortem.Clean(v)
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v)
		}
	case []any:
		for i := range v {
			v[i] = harmless(v[i])
		}
	case map[string]any:
		for k := range v {
			if v[k] = harmless(v[k]); v[k] == nil {
				delete(v, k) // what has no value prints nothing, and equals nothing
			}
		}
	}
	return v
}
