package kube

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// maxYAML is the largest single object that is parsed as YAML: the library
// needs some hundred bytes a node, and etcd takes no object above 1.5 MB.
const maxYAML = 4 << 20

// maxNodes bounds what the aliases of one YAML object may expand to.
const maxNodes = 1 << 20

// readYAML reads a stream of YAML documents, and the items of a list one by
// one, so that memory stays small and a cut item costs only itself.
func (r *reader) readYAML(start int) error {
	for start < len(r.data) {
		end, next := documentEnd(r.data, start)
		if err := r.yamlDocument(start, end); errors.Is(err, errStopped) {
			return nil
		} else if err != nil {
			return err
		}
		if next <= end && end < len(r.data) {
			return r.tailError(end, errors.New("text after the YAML"))
		}
		start = next
	}
	return nil
}

// documentEnd finds where the YAML document at start ends and where the next
// one starts. A line at the left margin that no Kubernetes object has there
// ends it, too, and then next is end.
func documentEnd(data []byte, start int) (end, next int) {
	for at := start; at < len(data); {
		line, after := lineAt(data, at)
		switch {
		case string(line) == "---" || bytes.HasPrefix(line, []byte("--- ")) || string(line) == "...":
			return at, after
		case !marginal(line):
			return at, at
		}
		at = after
	}
	return len(data), len(data)
}

// lineAt is the line at an offset, without its end, and the offset after it.
func lineAt(data []byte, at int) (line []byte, after int) {
	after = len(data)
	line = data[at:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line, after = line[:i], at+i+1
	}
	return bytes.TrimRight(line, " \t\r"), after
}

// marginal says whether a line may stand in a block mapping whose keys are at
// the left margin: indented, empty, a comment, an item, or `lowerCamel:`.
func marginal(line []byte) bool {
	if len(line) == 0 || strings.IndexByte(" #-%", line[0]) >= 0 {
		return true
	}
	key, value, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(value) > 0 && value[0] != ' ' {
		return false
	}
	for i, c := range key {
		upper := c >= 'A' && c <= 'Z'
		if c < 'a' && !upper || c > 'z' || upper && i == 0 {
			return false
		}
	}
	return true
}

// yamlDocument reads the document in data[start:end].
func (r *reader) yamlDocument(start, end int) error {
	doc := r.data[start:end]
	if blankYAML(doc) {
		return nil
	}
	items := splitItems(doc)
	if items == nil {
		return r.yamlObjects(start, doc, "")
	}
	r.lists++
	kind := listKind(doc)
	for _, it := range items {
		if err := r.yamlObjects(start+it[0], withoutDash(doc[it[0]:it[1]]), kind); err != nil {
			return err
		}
	}
	return nil
}

// withoutDash makes an item of a list a document of its own.
func withoutDash(item []byte) []byte {
	at := bytes.IndexByte(item, '-')
	return append(append(item[:at:at], ' '), item[at+1:]...)
}

// blankYAML says whether a document holds nothing but comments.
func blankYAML(doc []byte) bool {
	for at := 0; at < len(doc); {
		line, after := lineAt(doc, at)
		if l := bytes.TrimSpace(line); len(l) > 0 && l[0] != '#' {
			return false
		}
		at = after
	}
	return true
}

// yamlObjects reads the document or item doc that starts at offset start: one
// object, or a small list in a style that splitItems does not know.
func (r *reader) yamlObjects(start int, doc []byte, kind string) error {
	objects, err := parseYAML(doc)
	if err != nil {
		return r.tailError(start, err)
	}
	r.seekLine(start)
	for _, o := range objects {
		if o == nil {
			continue
		}
		if o.Kind == "" {
			o.Kind = text(kind)
		}
		if !r.readObject(o) {
			return r.tailError(start, errors.New("a YAML value that is no kubernetes object"))
		}
		if r.stopped {
			return errStopped
		}
	}
	if len(objects) == 0 {
		r.lists++
	}
	return nil
}

// parseYAML makes objects of one YAML document by way of JSON, with every
// scalar as the string that was written: YAML's own guesses (a time, an octal
// number, `no`) are not wanted.
func parseYAML(doc []byte) ([]*object, error) {
	if len(doc) > maxYAML {
		return nil, fmt.Errorf("one YAML object of more than %d MB", maxYAML>>20)
	}
	var root yaml.Node
	if err := yaml.Load(doc, &root); err != nil {
		return nil, err
	}
	c := converter{budget: maxNodes}
	if err := c.addNode(&root, 0); err != nil {
		return nil, err
	}
	return decodeAll(c.out.Bytes())
}

// decodeAll makes objects of an object, a list or an array.
func decodeAll(data []byte) ([]*object, error) {
	if bytes.HasPrefix(data, []byte("[")) {
		var all []*object
		err := unmarshal(data, &all)
		return all, err
	}
	var list struct {
		Items *[]*object `json:"items"`
	}
	if err := unmarshal(data, &list); err == nil && list.Items != nil {
		return *list.Items, nil
	}
	o := new(object)
	return []*object{o}, unmarshal(data, o)
}

// unmarshal is json.Unmarshal that leaves a field of the wrong type empty.
func unmarshal(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if typ := (*json.UnmarshalTypeError)(nil); errors.As(err, &typ) {
		return nil
	}
	return err
}

// converter writes YAML nodes as JSON. Every node costs one of the budget, an
// alias as often as it is used.
type converter struct {
	out    bytes.Buffer
	budget int
}

func (c *converter) addNode(n *yaml.Node, depth int) error {
	if c.budget--; c.budget < 0 || depth > 200 || c.out.Len() > 4*maxYAML {
		return errors.New("the YAML expands too far")
	}
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 1 {
			return c.addNode(n.Content[0], depth+1)
		}
	case yaml.AliasNode:
		return c.addNode(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.addMapping(n, depth)
	case yaml.SequenceNode:
		return c.sequence(n, depth)
	case yaml.ScalarNode:
		if n.ShortTag() != "!!null" {
			return c.addText(n.Value)
		}
	}
	c.out.WriteString("null")
	return nil
}

// addMapping leaves out managedFields, which is often most of an object.
func (c *converter) addMapping(n *yaml.Node, depth int) error {
	sep := byte('{')
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode || key.Value == "managedFields" {
			continue
		}
		c.out.WriteByte(sep)
		sep = ','
		if err := c.addText(key.Value); err != nil {
			return err
		}
		c.out.WriteByte(':')
		if err := c.addNode(n.Content[i+1], depth+1); err != nil {
			return err
		}
	}
	if sep == '{' {
		c.out.WriteByte(sep)
	}
	c.out.WriteByte('}')
	return nil
}

func (c *converter) sequence(n *yaml.Node, depth int) error {
	c.out.WriteByte('[')
	for i, item := range n.Content {
		if i > 0 {
			c.out.WriteByte(',')
		}
		if err := c.addNode(item, depth+1); err != nil {
			return err
		}
	}
	c.out.WriteByte(']')
	return nil
}

func (c *converter) addText(s string) error {
	b, err := json.Marshal(s)
	c.out.Write(b)
	return err
}
