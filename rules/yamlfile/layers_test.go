package yamlfile

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"go.yaml.in/yaml/v4"
)

func layersOf(t *testing.T, systems ...fs.FS) Layers {
	t.Helper()
	l, err := ReadLayers(systems)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func folder(files ...string) fstest.MapFS {
	m := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		m[files[i]] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return m
}

// What an agent is given is what the server read: the same files in the same layers,
// under the same hash. Every byte counts for it.
func TestSourceRoundTrip(t *testing.T) {
	l := layersOf(t, folder("b.yaml", "x: 1\n", "a.yaml", "y: 2", "note.txt", "no rule"), folder("a.yaml", "z: 3\n"))
	if len(l) != 2 || len(l[0]) != 2 || l[0][0].Name != "a.yaml" || string(l[0][0].Data) != "y: 2\n" {
		t.Fatalf("%+v", l)
	}
	systems, err := SplitSource(l.Source())
	if err != nil {
		t.Fatal(err)
	}
	again := layersOf(t, systems...)
	if again.Hash() != l.Hash() || len(again) != 2 || string(again[1][0].Data) != "z: 3\n" {
		t.Errorf("%s is %s after its way", l.Hash(), again.Hash())
	}
	if other := layersOf(t, folder("a.yaml", "y: 3", "b.yaml", "x: 1\n")); other.Hash() == l.Hash() ||
		len(l.Hash()) != 12 {
		t.Errorf("two rulebooks have the hash %s", l.Hash())
	}
	if _, err := ReadLayers([]fs.FS{folder("readme.md", "")}); err == nil {
		t.Error("a folder without rules is read without a word")
	}
}

// A file of tests is told by its name and its section. It is not of the rulebook: another test
// makes no other rulebook, and no agent is given one. With no such section it is one, as before.
func TestFilesOfTests(t *testing.T) {
	own := folder("a.yaml", "x: 1\n", "a_test.yaml", "# of a\ntests:\n  x: []", "b_test.yaml", "y: 2\n",
		"c.yaml", "tests: []\n")
	l := layersOf(t, own)
	var names []string
	for _, f := range l[0] {
		names = append(names, f.Name)
	}
	if want := []string{"a.yaml", "b_test.yaml", "c.yaml"}; !slices.Equal(names, want) {
		t.Errorf("the rulebook is %q, want %q", names, want)
	}
	tests, err := ReadTests(own)
	if err != nil || len(tests) != 1 || tests[0].Name != "a_test.yaml" {
		t.Errorf("tests: %v, %v", tests, err)
	}
	own["a_test.yaml"] = &fstest.MapFile{Data: []byte("tests:\n  x: [{want: 1}]\n")}
	if again := layersOf(t, own); again.Hash() != l.Hash() {
		t.Error("another test makes another rulebook")
	}
	delete(own, "a.yaml")
	delete(own, "b_test.yaml")
	delete(own, "c.yaml")
	if _, err := ReadLayers([]fs.FS{own}); err == nil {
		t.Error("a folder of tests alone is a rulebook")
	}
}

// All mistakes of a file are told at once, each with its place and the line; a key that
// nobody asked for is one, with what may be meant.
func TestMistakes(t *testing.T) {
	var name, kind Text
	var count int
	var on bool
	err := read(t, "nmae: x\nkind: [a]\ncount: many\non: maybe\ncount: 2\n",
		func(r *Reader) map[string]func(*yaml.Node) {
			return map[string]func(*yaml.Node){
				"name": r.Text(&name), "kind": r.Text(&kind), "count": r.Int(&count), "on": r.Bool(&on),
			}
		})
	if err == nil {
		t.Fatal("no mistake")
	}
	want := []string{
		`a.yaml:1:1: unknown key "nmae" in rulebook (did you mean name?)`, "  nmae: x", "  ^",
		"a.yaml:2:7: must be text", "  kind: [a]", "        ^",
		"a.yaml:3:8: must be a whole number", "  count: many", "         ^",
		"a.yaml:4:5: must be true or false", "  on: maybe", "      ^",
		`a.yaml:5:1: key "count" is given twice in rulebook`, "  count: 2", "  ^",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
	err = read(t, "a: 1\nb: [\n", func(*Reader) map[string]func(*yaml.Node) { return nil })
	if err == nil || !strings.HasPrefix(err.Error(), "a.yaml:") {
		t.Errorf("broken YAML: %v", err)
	}
}

// What a later layer names again takes the place of the earlier one, and keeps it; what is
// new comes behind. The same name twice in one layer is a mistake.
func TestOverlay(t *testing.T) {
	type item struct{ name, from string }
	name := func(x item) Text { return Text{Value: x.name} }
	var mistakes Errors
	all := []item{{"a", "below"}, {"b", "below"}}
	Overlay(&mistakes, &all, []item{{"c", "above"}, {"a", "above"}}, name)
	if want := []item{{"a", "above"}, {"b", "below"}, {"c", "above"}}; !slices.Equal(all, want) || mistakes != nil {
		t.Errorf("%v %v", all, mistakes)
	}
	Overlay(&mistakes, &all, []item{{"d", "1"}, {"d", "2"}, {"", "3"}}, name)
	if len(mistakes) != 2 {
		t.Errorf("%v %v", all, mistakes)
	}
}
