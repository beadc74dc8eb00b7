package kube

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// objectKeys are keys of objects and of pieces that people cut out of them.
var objectKeys = []string{
	"apiVersion", "kind", "metadata", "status", "items", "involvedObject", "regarding", "conditions", "state",
	"lastState", "terminated", "waiting", "running", "exitCode", "containerStatuses", "initContainerStatuses",
	"containerID", "reason", "podUID", "deletionTimestamp", "nodeName", "phase", "events", "log", "logs", "output",
}

// setting is the name of one; what begins a line of a log holds more signs.
var setting = regexp.MustCompile(`^[A-Za-z_][\w.-]*$`)

// Config says whether a text is whole YAML that holds nothing of an object and no
// text of several lines: somebody's settings, or a workflow.
// Unless the file is named as YAML, a part of it must be of several levels with names as
// settings have them: a line of a log can be a key and a value.
func Config(text []byte, named bool) bool {
	var doc yaml.Node
	if len(text) > maxYAML || yaml.Unmarshal(text, &doc) != nil || len(doc.Content) != 1 {
		return false
	}
	top := doc.Content[0]
	if top.Kind == yaml.SequenceNode && len(top.Content) > 0 {
		top = top.Content[0]
	}
	return top.Kind == yaml.MappingNode && !holdsObject(doc.Content[0]) && (named || hasLevels(top))
}

// hasLevels says whether a mapping of several names, none of which begins with a capital
// letter, has another mapping in it.
func hasLevels(top *yaml.Node) bool {
	deep := false
	for i := 0; i < len(top.Content); i += 2 {
		if first := top.Content[i].Value[:1]; first != strings.ToLower(first) {
			return false
		}
		deep = deep || top.Content[i+1].Kind == yaml.MappingNode
	}
	return deep && len(top.Content) > 2
}

func holdsObject(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode {
		return strings.Contains(strings.TrimSpace(n.Value), "\n")
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; !setting.MatchString(key) || slices.Contains(objectKeys, key) {
			return true
		}
	}
	return slices.ContainsFunc(n.Content, holdsObject)
}
