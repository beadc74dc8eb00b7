package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// What a run finds wrong is told by where each value came from, however it is wrapped; what is
// no flag's mistake is told as it is. @ is the file.
func TestExplain(t *testing.T) {
	address := func(a *alone) error { return CheckURL("loki.url", a.URL, "http://HOST") }
	wait := func(a *alone) error { return CheckAbove("settle-deadline", a.Deadline) }
	for _, tt := range []struct {
		what, file string
		env, args  []string
		check      func(*alone) error
		want       string
	}{
		{"the flag", "", nil, []string{"--loki.url=::"}, address, `--loki.url "::": want http://HOST`},
		{"the file", "# no\nloki.url: '::'\n", nil, nil, address, `@:2: loki.url: "::": want http://HOST`},
		{"the file, nested", "loki:\n  url: x\n", nil, nil, address, `@:2: loki.url: x: want http://HOST`},
		{"the variable", "", []string{"LOKI_URL", "x"}, nil, address, `CORONER_LOKI_URL=x: want http://HOST`},
		{
			"the variable over the file", "loki.url: y\n", []string{"LOKI_URL", "x"}, nil, address,
			`CORONER_LOKI_URL=x: want http://HOST`,
		},
		{
			"the flag over both", "loki.url: y\n", []string{"LOKI_URL", "z"}, []string{"--loki.url=x"}, address,
			`--loki.url x: want http://HOST`,
		},
		{"without a value", "loki.url: y\n", nil, nil, func(*alone) error {
			return Wrong("loki.url", "say why with --loki.url-too")
		}, "@:1: loki.url: say why with --loki.url-too"},
		{"the default", "loki.url: y\n", nil, nil, func(*alone) error {
			return Wrong("settle-deadline", "too short")
		}, "--settle-deadline: too short"},
		{"two from two places", "settle-deadline: -5s\n", nil, []string{"--loki.url=x"}, func(a *alone) error {
			return fmt.Errorf("at the start: %w", errors.Join(address(a), wait(a)))
		}, "at the start: --loki.url x: want http://HOST\n@:1: settle-deadline: -5s: want a time above zero"},
		{"no flag's", "loki.url: y\n", nil, nil, func(*alone) error { return errors.New("--loki.url: no") },
			"--loki.url: no"},
	} {
		path := filepath.Join(t.TempDir(), "coroner.yaml")
		if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		t.Run(tt.what, func(t *testing.T) {
			if len(tt.env) > 0 {
				t.Setenv("CORONER_"+tt.env[0], tt.env[1])
			}
			var a alone
			var origins Origins
			k, err := kong.New(&a, kong.Writers(io.Discard, io.Discard), &origins, Vars, kong.Vars{"listen": ":0"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := k.Parse(append(tt.args, "--config.file="+path)); err != nil {
				t.Fatal(origins.Explain(err))
			}
			err = tt.check(&a)
			if want := strings.ReplaceAll(tt.want, "@", path); err == nil || origins.Explain(err) != want {
				t.Errorf("%s, want %s", origins.Explain(err), want)
			}
		})
	}
}
