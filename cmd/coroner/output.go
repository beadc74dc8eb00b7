package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules"

	"go.yaml.in/yaml/v4"
)

// outputFlags say in which form the answer is written.
type outputFlags struct {
	Output string `short:"o" help:"${output_output}" enum:"text,json,yaml,markdown," default:"" placeholder:"FORM"`
	JSON   bool   `name:"json" help:"Short for -o json."`
}

// The forms of an answer.
const (
	asText, asJSON, asYAML, asMarkdown = "text", "json", "yaml", "markdown"
)

func (o *outputFlags) outputForm() (string, error) {
	switch {
	case o.JSON && o.Output != "" && o.Output != asJSON:
		return "", usage("--json and -o %s at one time; give one of them", o.Output)
	case o.JSON:
		return asJSON, nil
	case o.Output == "":
		return asText, nil
	}
	return o.Output, nil
}

// verdicts writes post-mortems in one form. The first own of them are about whom was
// asked for; 0 where nobody was.
func (p *program) verdicts(form string, all []rules.Verdict, own int, whole bool) error {
	switch form {
	case asJSON:
		return writeJSON(p.out, all)
	case asYAML:
		return writeYAML(p.out, all)
	case asMarkdown:
		return p.tickets(all)
	}
	return postmortem.Pages(p.out, all, own, postmortem.Style{Color: p.color, Width: terminalWidth(p.out), All: whole})
}

// tickets writes post-mortems as Markdown, with a rule between them.
func (p *program) tickets(all []rules.Verdict) error {
	for i := range all {
		if i > 0 {
			fmt.Fprint(p.out, "\n---\n\n")
		}
		if err := postmortem.Markdown(p.out, &all[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeJSON writes an object a line.
func writeJSON[T any](w io.Writer, all []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// writeYAML writes a document each, with the names and the order of the JSON.
func writeYAML[T any](w io.Writer, all []T) error {
	for i := range all {
		var text bytes.Buffer
		if err := writeJSON(&text, all[i:i+1]); err != nil {
			return err
		}
		dec := json.NewDecoder(&text)
		dec.UseNumber()
		node, err := yamlNode(dec)
		if err != nil {
			return err
		}
		doc, err := yaml.Dump(node, yaml.WithIndent(2), yaml.WithLineWidth(-1))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "---\n%s", doc); err != nil {
			return err
		}
	}
	return nil
}

// yamlNode reads a value of JSON. It is not read as YAML, which knows fewer
// characters than JSON and than the logs have.
func yamlNode(dec *json.Decoder) (*yaml.Node, error) {
	t, err := dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		node := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		if t == '{' {
			node = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		}
		for dec.More() {
			part, err := yamlNode(dec)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, part)
		}
		_, err := dec.Token()
		return node, err
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(t)}, nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: t.String()}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: t.(string)}, nil
}

// plainVerdicts are the verdicts without the API's own fields.
func plainVerdicts(all []lookup.Recorded) []rules.Verdict {
	var out []rules.Verdict
	for i := range all {
		out = append(out, all[i].Verdict)
	}
	return out
}
