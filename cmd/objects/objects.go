// Package objects writes values for programs: JSON, an object a line, or YAML, a document
// each, with the same names in the same order.
//
// Invariant: both forms of a value say the same.
//
// Crash behaviour: it only writes; a write error ends it.
package objects

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// JSON writes an object a line.
func JSON[T any](w io.Writer, all []T) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// YAML writes a document each, with the names and the order of the JSON.
func YAML[T any](w io.Writer, all []T) error {
	for i := range all {
		var text bytes.Buffer
		if err := JSON(&text, all[i:i+1]); err != nil {
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
