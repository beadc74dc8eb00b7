package daemon

import (
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// The parser's own words for a mistake are none that a person has to see.
func TestPlainMistake(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--name"}, "--name: a value is missing"},
		{[]string{"--wait", "-3s"}, `--wait: a value is missing; "-3s" reads as a flag`},
		{[]string{"--name", "--wait=3s"}, `--name: a value is missing; "--wait=3s" reads as a flag`},
		{[]string{"--host"}, "--host: a value is missing"},
		{[]string{"--most", "x"}, `--most: want a number, not "x"`},
		{[]string{"--form", "pdf"}, `--form must be one of "text","json" but got "pdf"`},
		{[]string{"--nonsense"}, "unknown flag --nonsense"},
	} {
		var flags struct {
			Name string
			Wait time.Duration
			Host []string
			Most int
			Form string `enum:"text,json," default:""`
		}
		p, err := kong.New(&flags)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Parse(c.args); err == nil || PlainMistake(err) != c.want {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
			if err != nil {
				t.Log(PlainMistake(err))
			}
		}
	}
}
