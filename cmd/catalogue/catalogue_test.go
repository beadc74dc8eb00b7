package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"coroner/fixtures/shipped"
)

// Of a list the templates are counted, not its head and not its broken rows; a placeholder
// stands for any value, and what nobody is warned by counts only if it is asked for.
func TestShare(t *testing.T) {
	b := shipped.Rulebook(t)
	list := strings.Join([]string{
		"version\tprogram\tkind\tlevel\ttext",
		"v1\tkubelet\tevent\tinfo\tEvicted | the node was low on %s",
		"v1\trunner\tline\tinfo\tRunner listener exit with %d return code",
		"v1\tmoon\tline\terror\tthe moon of {planet} is full",
		"v1\tmoon\tline\tinfo\tthe moon rises",
		"v1\tmoon\treason\tinfo\tMoonInWrongPhase",
		"a row of one column",
	}, "\n")
	for _, c := range []struct {
		alert   bool
		known   int
		all     int
		unknown []string
	}{
		{false, 2, 5, []string{"the moon of {planet} is full", "the moon rises", "MoonInWrongPhase"}},
		{true, 1, 3, []string{"the moon of {planet} is full", "MoonInWrongPhase"}},
	} {
		var unknown []string
		known, all, err := Share(strings.NewReader(list), b, c.alert, func(_, _, text string) {
			unknown = append(unknown, text)
		})
		if err != nil || known != c.known || all != c.all || !slices.Equal(unknown, c.unknown) {
			t.Errorf("alert %v: %d of %d, unknown %q, %v", c.alert, known, all, unknown, err)
		}
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
