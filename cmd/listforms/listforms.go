// Package listforms has the flags that say in which form verdicts are written, and writes them
// for programs and as kubectl does: JSON, YAML, a wide table, names, and what a JSONPath picks.
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
	"slices"
	"strings"
	"text/tabwriter"

	"coroner/classify/postmortem"
	"coroner/cmd/objects"
	"coroner/rules"
	"coroner/rules/casefile"

	"k8s.io/client-go/util/jsonpath"
)

// The forms of an answer.
const (
	Text     = "text"
	JSON     = "json"
	YAML     = "yaml"
	Markdown = "markdown"
	Wide     = "wide"
	Name     = "name"
	Path     = "jsonpath="
)

// What can stand after -o, of a command that shows post-mortems and of one that lists.
var (
	OfPages = []string{Text, JSON, YAML, Markdown, Name, Path}
	OfLists = []string{Text, JSON, YAML, Markdown, Wide, Name, Path}
)

// Pages are the flags of a command that shows post-mortems.
type Pages struct {
	Output string `short:"o" help:"${output_output}" default:"text" placeholder:"FORM" complete:"page-forms"`
	JSON   bool   `name:"json" help:"Short for -o json."`
}

// Form is the form that is asked for.
func (f *Pages) Form() (Form, error) { return Parse(f.Output, f.JSON, OfPages) }

// Lists are the flags of a command that lists verdicts.
type Lists struct {
	Output string `short:"o" help:"${list_output}" default:"text" placeholder:"FORM" complete:"list-forms"`
	JSON   bool   `name:"json" help:"Short for -o json."`
}

// Form is the form that is asked for.
func (f *Lists) Form() (Form, error) { return Parse(f.Output, f.JSON, OfLists) }

// Form is a form with what it needs.
type Form struct {
	Name     string
	template *jsonpath.JSONPath
	whole    bool // the template picks from the list and not from each verdict
}

// Parse reads what stands after -o, one of the forms or nothing; short says that --json is there.
func Parse(output string, short bool, forms []string) (Form, error) {
	expression, isPath := strings.CutPrefix(output, Path)
	switch {
	case short && output != "" && output != Text && output != JSON:
		return Form{}, fmt.Errorf("--json and -o %s at one time; give one of them", output)
	case short:
		return Form{Name: JSON}, nil
	case output == "":
		return Form{Name: Text}, nil
	case isPath:
		return parsePath(expression)
	case slices.Contains(forms, output):
		return Form{Name: output}, nil
	}
	return Form{}, fmt.Errorf("-o %s: want one of %s", output, strings.Join(forms, ", "))
}

func parsePath(expression string) (Form, error) {
	if strings.TrimSpace(expression) == "" {
		return Form{}, fmt.Errorf("-o jsonpath= has no template; want one like jsonpath='{.runner}'")
	}
	if !strings.Contains(expression, "{") {
		expression = "{." + strings.TrimPrefix(expression, ".") + "}"
	}
	f := Form{Path, jsonpath.New("list").AllowMissingKeys(true), strings.Contains(expression, ".items")}
	if err := f.template.Parse(expression); err != nil {
		return Form{}, fmt.Errorf("-o %s%s: %w", Path, expression, err)
	}
	return f, nil
}

// ForPeople says whether a person reads the form: text, and Markdown in a ticket.
func (f Form) ForPeople() bool { return f.Name == Text || f.Name == Markdown }

// Item is a verdict, and all that the answer has of it.
type Item struct {
	Verdict *rules.Verdict
	All     any
}

// Items are the items of an answer, in which of finds the verdict of each.
func Items[T any](all []T, of func(*T) *rules.Verdict) (items []Item) {
	for i := range all {
		items = append(items, Item{of(&all[i]), &all[i]})
	}
	return items
}

// Write writes the verdicts, in a form that is not for people.
func (f Form) Write(w io.Writer, items []Item) error {
	var all []any
	for _, it := range items {
		all = append(all, it.All)
	}
	switch f.Name {
	case JSON:
		return objects.JSON(w, all)
	case YAML:
		return objects.YAML(w, all)
	case Wide:
		return wide(w, items)
	case Name:
		return names(w, items)
	}
	return f.paths(w, all)
}

// wide is a table with nothing cut.
func wide(w io.Writer, items []Item) error {
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
	for _, it := range items {
		v := it.Verdict
		died, exit := "", ""
		if v.DiedAt != nil {
			died = v.DiedAt.UTC().Format("2006-01-02 15:04:05Z")
		}
		if v.Exit.Code != nil {
			exit = fmt.Sprint(*v.Exit.Code)
		}
		row(string(v.Label), string(v.Confidence), died, exit, v.Initiator, v.Retry, v.Cluster, v.Node, v.Pool,
			nameOf(v), v.Job.Name, v.Summary)
	}
	return out.Flush()
}

// names is a name a line, as coroner lookup takes it.
func names(w io.Writer, items []Item) error {
	for _, it := range items {
		name := nameOf(it.Verdict)
		if strings.ContainsFunc(name, needsQuotes) || strings.HasPrefix(name, "-") {
			name = it.Verdict.PodUID
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
func nameOf(v *rules.Verdict) string {
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

// paths is what the template picks: of each verdict that has something of it a line, or of the
// list, whose verdicts are its items as kubectl has them.
func (f Form) paths(w io.Writer, all []any) error {
	items := []any{}
	for i := range all {
		data, err := json.Marshal(all[i])
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
	if len(bytes.TrimSpace(text.Bytes())) == 0 {
		return nil
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
