package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/rules"

	"github.com/alecthomas/kong"
)

// completeCommand is what the shells' scripts call with the words up to the cursor.
const completeCommand = "__complete"

// candidate is what may stand in place of a word, and what it is.
type candidate struct{ text, means string }

// complete prints the candidates for the last word. It is silent about
// mistakes: the command line is not finished.
func (p *program) complete(app *kong.Node, words []string) {
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	t := &typed{node: app, values: map[string]string{}, word: words[last]}
	if p.plugin && last > 0 && child(app, words[0]) == nil && !strings.HasPrefix(words[0], "-") {
		t.node = child(app, "lookup")
	}
	for _, w := range words[:last] {
		t.read(w)
	}
	found, files := t.candidates()
	if p.plugin && last == 0 && !strings.HasPrefix(t.word, "-") {
		t.node = child(app, "lookup") // its flags say which server
		found = append(found, t.runners()...)
	}
	for _, c := range found {
		if strings.HasPrefix(c.text, t.word) {
			fmt.Fprintf(p.out, "%s\t%s\n", c.text, c.means)
		}
	}
	fmt.Fprintln(p.out, map[bool]string{true: ":0", false: ":4"}[files])
}

// typed is what of a command line is there.
type typed struct {
	node   *kong.Node        // the command so far
	args   int               // how many of its arguments are there
	flag   *kong.Flag        // the next word is its value
	values map[string]string // of flags
	word   string            // is to be completed
}

// read goes one word further.
func (t *typed) read(word string) {
	name, value, given := strings.Cut(word, "=")
	switch flag := t.flagNamed(name); {
	case t.flag != nil:
		t.values[t.flag.Name], t.flag = word, nil
	case flag != nil && given:
		t.values[flag.Name] = value
	case flag != nil && !flag.IsBool():
		t.flag = flag
	case strings.HasPrefix(word, "-") && word != "-":
	case child(t.node, word) != nil:
		t.node = child(t.node, word)
	default:
		t.args++
	}
}

func child(n *kong.Node, name string) *kong.Node {
	if i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == name }); i >= 0 {
		return n.Children[i]
	}
	return nil
}

func (t *typed) flags() []*kong.Flag { return slices.Concat(t.node.AllFlags(true)...) }

func (t *typed) flagNamed(name string) *kong.Flag {
	for _, f := range t.flags() {
		if name == "--"+f.Name || f.Short != 0 && name == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// candidates are what the command line may go on with; files says that it may
// be a file's name, too.
func (t *typed) candidates() (out []candidate, files bool) {
	name, value, given := strings.Cut(t.word, "=")
	if flag := t.flagNamed(name); flag != nil && given {
		all, files := t.valuesOf(flag.Value, flag.PlaceHolder, value)
		return prefixed(name+"=", all), files
	}
	switch {
	case t.flag != nil:
		return t.valuesOf(t.flag.Value, t.flag.PlaceHolder, t.word)
	case strings.HasPrefix(t.word, "-"):
		for _, f := range t.flags() {
			out = append(out, candidate{"--" + f.Name, firstSentence(f.Help)})
		}
		return out, false
	case len(t.node.Children) > 0:
		for _, c := range t.node.Children {
			out = append(out, candidate{c.Name, firstSentence(c.Help)})
		}
		return out, false
	case len(t.node.Positional) > 0:
		arg := t.node.Positional[min(t.args, len(t.node.Positional)-1)]
		if t.args == 0 || arg.IsCumulative() {
			return t.valuesOf(arg, "", t.word)
		}
	}
	return nil, false
}

func firstSentence(s string) string {
	s, _, _ = strings.Cut(s, ". ")
	return strings.TrimSuffix(s, ".")
}

// valuesOf are the values that a flag or an argument takes.
func (t *typed) valuesOf(v *kong.Value, placeholder, begun string) (out []candidate, files bool) {
	switch v.Tag.Get("complete") {
	case "labels":
		list := begun[:strings.LastIndexByte(begun, ',')+1] // what of the list is there
		return prefixed(list, labelCandidates()), false
	case "clusters":
		return t.clusters(), false
	case "nodes":
		return t.nodes(), false
	case "runners":
		return t.runners(), false
	}
	for _, e := range v.EnumSlice() {
		if e != "" {
			out = append(out, candidate{e, ""})
		}
	}
	return out, len(out) == 0 && (v.Name == "path" || placeholder == "FILE" || placeholder == "DIR")
}

func prefixed(with string, all []candidate) []candidate {
	for i := range all {
		all[i].text = with + all[i].text
	}
	return all
}

func labelCandidates() (out []candidate) {
	book, err := loadBook("")
	for _, l := range rules.Labels {
		c := candidate{text: string(l)}
		if err == nil && book.Labels[l] != nil {
			c.means = firstSentence(book.Labels[l].Doc)
		}
		out = append(out, c)
	}
	return out
}

// impatience is how long a person who pressed Tab waits for a server.
const impatience = time.Second

// latest asks the server for verdicts; none if it does not answer at once.
func (t *typed) latest(q url.Values) []lookup.Recorded {
	f := serverFlags{Server: t.value("server"), TokenFile: t.value("token-file"), Timeout: impatience}
	client, err := f.client()
	if err != nil {
		return nil
	}
	q.Set("limit", "100")
	found, err := client.Verdicts(context.Background(), q)
	if err != nil {
		return nil
	}
	return found.Verdicts
}

// harmless is a name that no shell reads anything into: names come from logs.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)?$`)

// runners are those whose names begin as the word does.
func (t *typed) runners() (out []candidate) {
	q := url.Values{"runner": {t.word}}
	if space := strings.Index(t.word, "/") + 1; len(t.word)-space < ledger.ShortestPrefix { // the server looks for no less; the latest may have it
		q.Set("runner", t.word[:space])
	}
	for _, v := range t.latest(q) {
		name := v.Runner
		if strings.Contains(t.word, "/") {
			name = v.Namespace + "/" + v.Runner
		}
		means := string(v.Label)
		if v.DiedAt != nil {
			means += " " + v.DiedAt.UTC().Format("2006-01-02 15:04Z")
		}
		out = distinct(out, name, means)
	}
	return out
}

// clusters are those of the latest verdicts.
func (t *typed) clusters() (out []candidate) {
	for _, v := range t.latest(url.Values{}) {
		out = distinct(out, v.Cluster, "")
	}
	return out
}

// nodes are those of the latest verdicts.
func (t *typed) nodes() (out []candidate) {
	for _, v := range t.latest(url.Values{}) {
		out = distinct(out, v.Node, "")
	}
	return out
}

func distinct(out []candidate, name, means string) []candidate {
	if !harmless.MatchString(name) || slices.ContainsFunc(out, func(c candidate) bool { return c.text == name }) {
		return out
	}
	return append(out, candidate{name, means})
}

// value is what a flag has, from the command line, the environment or by default.
func (t *typed) value(name string) string {
	if v, ok := t.values[name]; ok {
		return v
	}
	for _, f := range slices.Concat(t.node.AllFlags(false)...) {
		if f.Name != name {
			continue
		}
		for _, env := range f.Envs {
			if v, ok := os.LookupEnv(env); ok {
				return v
			}
		}
		return f.Default
	}
	return ""
}
