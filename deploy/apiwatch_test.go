package deploy

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"testing"

	"coroner/ingest/kubewatch"

	"go.yaml.in/yaml/v4"
)

// What the watch may read in a namespace is what stands in testdata/apiwatch.yaml, which people
// reviewed, and that is no kind more or less than it watches.
func TestWatchRole(t *testing.T) {
	data, err := os.ReadFile("testdata/apiwatch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	if err := yaml.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	const watch = "apiWatch: {namespaces: [arc-runners], ephemeralRunners: true}\n"
	other := func(o thing) bool { return str(o, "metadata", "namespace") != "arc-runners" }
	roles := slices.DeleteFunc(of(rendered(t, watch), "Role"), other)
	if len(roles) != 1 || !reflect.DeepEqual(list(roles[0], "rules"), want) {
		t.Fatalf("the roles are %v, want %v", roles, want)
	}
	watched := kubewatch.Resources()
	for _, r := range want {
		var names []string
		for _, name := range list(r, "resources") {
			names = append(names, fmt.Sprint(name))
		}
		group := fmt.Sprint(list(r, "apiGroups")[0])
		if slices.Equal(names, []string{"namespaces"}) {
			continue // each about itself, to see that it is there
		}
		if !slices.Equal(names, watched[group]) {
			t.Errorf("of the group %q %q are allowed, and %q are watched", group, names, watched[group])
		}
		delete(watched, group)
	}
	if len(watched) > 0 {
		t.Errorf("not allowed: %v", watched)
	}
}

// Who does not ask for the objects of actions-runner-controller gives no right to them: a Runner's
// status has its registration token.
func TestWatchRoleOfPodsOnly(t *testing.T) {
	const podsOnly = "apiWatch: {namespaces: [arc-runners]}\ntls: {enabled: false}\n"
	for _, o := range of(rendered(t, podsOnly), "Role") {
		for _, r := range list(o, "rules") {
			if groups := list(r, "apiGroups"); len(groups) != 1 || groups[0] != "" {
				t.Errorf("it allows %v", r)
			}
		}
	}
}
