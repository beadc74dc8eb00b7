package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
)

// The parser's own words for a mistake are none that a person has to see.
func TestPlainWords(t *testing.T) {
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
		{[]string{"--say", "x"}, `--say must be one of "log","check" but got "x"`},
		{[]string{"--nonsense"}, "unknown flag --nonsense"},
	} {
		var flags struct {
			Name string
			Wait time.Duration
			Host []string
			Most int
			Form string `enum:"text,json," default:""`
			Say  string `enum:",log,check" default:""`
		}
		var origins Origins
		p, err := kong.New(&flags, &origins)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Parse(c.args); err == nil || origins.Explain(err) != c.want {
			t.Errorf("%q: %v, want %s", c.args, err, c.want)
		}
	}
}

// A value is shown as it was typed, and quoted where it would be misread.
func TestShownValues(t *testing.T) {
	for value, want := range map[string]string{
		"a/b":     "--f a/b: no",
		"":        `--f "": no`,
		"::":      `--f "::": no`,
		"a b":     `--f "a b": no`,
		"x\x1b[m": `--f "x\x1b[m": no`,
		`"x"`:     `--f "\"x\"": no`,
		"-5s":     "--f -5s: no",
	} {
		if got := WrongValue("f", value, "no").Error(); got != want {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
	const secret = "https://me:secret@host"
	if err := CheckPage("f", secret, "https://HOST"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a password is shown: %v", err)
	}
	if err := CheckURL("f", "https://me:secret%ss@host", "https://HOST"); err == nil || // no URL, for its %
		strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "host") {
		t.Errorf("a password is shown where the address cannot be read: %v", err)
	}
	if err := CheckURL("f", secret, "https://HOST"); err != nil {
		t.Errorf("a user is refused: %v", err)
	}
}
