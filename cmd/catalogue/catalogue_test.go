package catalogue

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"coroner/fixtures/shipped"
)

// Of a list the templates are counted, not its head and not its broken rows; a placeholder
// stands for any value, and what nobody is warned by counts only if it is asked for.
func TestTake(t *testing.T) {
	b := shipped.Rulebook(t)
	list := strings.Join([]string{
		"version\tfile\tkind\tlevel\ttext",
		"v1\tkubelet\tevent\tinfo\tEvicted | the node was low on %s",
		"v1\trunner\tline\tinfo\tRunner listener exit with %d return code",
		"v1\tmoon\tline\terror\tthe moon of {planet} is full",
		"v1\tmoon\tline\tinfo\tthe moon rises",
		"v1\tmoon\treason\tinfo\tMoonInWrongPhase",
		"v1\tmoon/orbit\terror\terror\tthe moon of %s is out of its orbit",
		"a row of one column",
	}, "\n")
	plumbing, err := ReadPlumbing(fstest.MapFS{"plumbing/moon.yaml": &fstest.MapFile{Data: []byte(`
plumbing:
  - {why: the sky's, files: moon/*}
  - {why: it is known, templates: '^Evicted'}
`)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		alert     bool
		want      Count
		undecided []string
	}{
		{false, Count{2, 1, 3}, []string{"the moon of {planet} is full", "the moon rises", "MoonInWrongPhase"}},
		{true, Count{1, 1, 2}, []string{"the moon of {planet} is full", "MoonInWrongPhase"}},
	} {
		var undecided []string
		n, err := Take(strings.NewReader(list), b, plumbing.Of("lists/moon.tsv"), c.alert, func(row string) {
			undecided = append(undecided, row[strings.LastIndex(row, "\t")+1:])
		})
		if err != nil || n != c.want || !slices.Equal(undecided, c.undecided) {
			t.Errorf("alert %v: %+v, undecided %q, %v", c.alert, n, undecided, err)
		}
	}
	if idle := plumbing["moon"].Idle(); len(idle) != 1 || !strings.Contains(idle[0], "^Evicted") {
		t.Errorf("idle: %q, want the entry of what the rulebook knows", idle)
	}
	n, err := Take(strings.NewReader(list), b, plumbing.Of("lists/sun.tsv"), true, func(string) {})
	if err != nil || n != (Count{1, 0, 3}) {
		t.Errorf("of a program without plumbing: %+v, %v", n, err)
	}
}

// The share is of what is no plumbing, and whole where nothing else is there.
func TestPercent(t *testing.T) {
	for n, want := range map[Count]float64{{3, 5, 1}: 75, {0, 7, 0}: 100, {0, 0, 2}: 0} {
		if got := n.Percent(); got != want {
			t.Errorf("%+v: %v, want %v", n, got, want)
		}
	}
}

// A mistake in a file of plumbing is told with its place.
func TestPlumbingMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"plumbing: [{files: a}]":                     "plumbing/moon.yaml:1:12: say why",
		"plumbing: [{why: a}]":                       "name files or templates",
		"plumbing: [{why: a, file: b}]":              `unknown key "file" in plumbing (did you mean files?)`,
		"plumbing: [{why: a, templates: '(b'}]":      "plumbing/moon.yaml:1:33: error parsing regexp",
		"plumbing: [{why: a, templates: 'b|'}]":      "fits everything",
		"plumbing: [{why: a, files: '*'}]":           "fits everything",
		"harmless: [{why: a, lines: 'b'}]":           `unknown key "harmless" in file of plumbing`,
		"plumbing:\n  - why: a\n    templates: '.+'": "plumbing/moon.yaml:3:17: fits everything",
	} {
		_, err := ReadPlumbing(fstest.MapFS{"plumbing/moon.yaml": &fstest.MapFile{Data: []byte(text + "\n")}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// An entry that names files and templates takes what fits both, and those of several
// folders count together.
func TestPlumbingOfBoth(t *testing.T) {
	all, err := ReadPlumbing(
		fstest.MapFS{"plumbing/moon.yaml": &fstest.MapFile{
			Data: []byte("plumbing: [{why: a, files: [sea.go, sea/*], templates: [^tide, ^wave]}]\n")}},
		fstest.MapFS{"plumbing/moon.yaml": &fstest.MapFile{Data: []byte("plumbing: [{why: a, files: dust.go}]\n")}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		file, text string
		want       bool
	}{
		{"sea.go", "tide is high", true},
		{"sea/deep/a.go", "wave %d", true},
		{"sea.go", "the tide", false},
		{"a/sea.go", "tide", false},
		{"seaxgo", "tide", false},
		{"dust.go", "anything", true},
	} {
		if got := all["moon"].takes(template{file: c.file, text: c.text}); got != c.want {
			t.Errorf("%s %q: %v", c.file, c.text, got)
		}
	}
	if idle := all["moon"].Idle(); len(idle) != 0 {
		t.Errorf("idle: %q", idle)
	}
}

// No placeholder of any program's language is left in a template.
func TestPlaceholdersGetValues(t *testing.T) {
	for text, want := range map[string]string{
		"killed %d of %s":          "killed 1 of name",
		"took %.2f s for %q":       `took 1.0 s for "name"`,
		"job ${id} on {node.name}": "job name on name",
		"at 0x%08x: %+v":           "at 0x1: name",
		"100% done":                "100% done",
		"steps {nameof(Runner)}":   "steps Runner",
		// as the kernel and systemd, which are written in C, have them
		"pid %{PID_FMT}: %m":          "pid name: name",
		"%lukB of %llu at %pS, %hd":   "1kB of 1 at name, 1",
		"order:%u, mode:%#x(%pGg)":    "order:1, mode:0x1(name)",
		"signal %i, cgroup %%{U}, %s": "signal 1, cgroup name, name",
	} {
		if got := values[0].in(text); got != want {
			t.Errorf("%s", fmt.Sprintf("%q: %q, want %q", text, got, want))
		}
	}
}

// A list's line has its counts; what is undecided, and what took nothing, is printed as asked.
func TestReport(t *testing.T) {
	list := filepath.Join(t.TempDir(), "moon.tsv")
	rows := "v1\tmoon.go\tlog\terror\tthe moon is full\nv1\tsea.go\tlog\terror\tthe tide is high\n"
	if err := os.WriteFile(list, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	plumbing, err := ReadPlumbing(fstest.MapFS{"plumbing/moon.yaml": &fstest.MapFile{
		Data: []byte("plumbing: [{why: a, files: [sea.go, dust.go]}]\n")}})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := Report{Rulebook: shipped.Rulebook(t), Plumbing: plumbing, Alert: true, Unknown: true}
	if err := r.Print(&out, []string{list}); err != nil {
		t.Error(err)
	}
	want := "v1\tmoon.go\tlog\terror\tthe moon is full\n" +
		"moon.tsv                             0 known,    1 unknown on purpose,    1 undecided,   0.0 %\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	out.Reset()
	r.Unknown, r.Stale = false, true
	if err := r.Print(&out, []string{list}); err == nil || !strings.Contains(out.String(), ": dust.go\n") {
		t.Errorf("stale: %v, %q", err, out.String())
	}
	if err := r.Print(&out, []string{list + "x"}); err == nil {
		t.Error("a list that is not there is no error")
	}
}
