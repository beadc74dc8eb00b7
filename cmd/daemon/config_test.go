package daemon

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"
)

// alone is a program that is a daemon and nothing else, as the agent is.
type alone struct {
	Flags
	URL      string        `name:"loki.url"`
	Token    string        `name:"loki.token-file"`
	Globs    []string      `name:"follow" default:"x,y"`
	Deadline time.Duration `name:"settle-deadline" default:"1m"`
	Bytes    int64         `name:"retention.bytes" default:"8"`
}

// several is a program with a daemon among its commands.
type several struct {
	Serve   alone `cmd:""`
	Explain struct {
		Follow string `name:"follow"`
		Server string `name:"server" env:"CORONER_SERVER"`
		Only   string `name:"only"`
	} `cmd:""`
	Color string `name:"color"`
}

// parse parses arguments with a configuration file of that text; FILE in an
// argument or a variable is its path.
func parse(t *testing.T, into any, text string, env map[string]string, args ...string) (path string, err error) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "coroner.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, value := range env {
		old, had := os.LookupEnv(name)
		_ = os.Setenv(name, strings.ReplaceAll(value, "FILE", path))
		defer func() {
			_ = os.Unsetenv(name)
			if had {
				_ = os.Setenv(name, old)
			}
		}()
	}
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "FILE", path)
	}
	var origins Origins
	k, err := kong.New(into, kong.Writers(io.Discard, io.Discard),
		kong.Exit(func(int) { t.Error("it ended the program") }), &origins, Vars, kong.Vars{"listen": ":9095"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = k.Parse(args); err != nil {
		err = errors.New(origins.Explain(err))
	}
	return path, err
}

// defaults is what the flags are when nothing is said.
func defaults(path string) alone {
	return alone{Flags: Flags{
		Config:    kong.ConfigFlag(path),
		Listen:    ":9095",
		MaxConns:  1024,
		LogLevel:  "info",
		LogFormat: "auto",
		Stop:      20 * time.Second,
	},
		Globs: []string{"x", "y"}, Deadline: time.Minute, Bytes: 8}
}

// The file says what flags say, flat or nested, and what it does not say stays.
func TestConfigFile(t *testing.T) {
	for _, tt := range []struct {
		what, text string
		want       func(*alone)
	}{
		{"empty", "", func(*alone) {}},
		{"all commented out", "# loki.url: x\n", func(*alone) {}},
		{"all commented out of a document", "---\n# loki.url: x\n", func(*alone) {}},
		{
			"flat", "loki.url: http://l\nweb.listen-address: :1\nsettle-deadline: 2m\nretention.bytes: 99\n",
			func(a *alone) { a.URL, a.Listen, a.Deadline, a.Bytes = "http://l", ":1", 2*time.Minute, 99 },
		},
		{
			"nested", "loki:\n  url: http://l\n  token-file: f\nweb: {listen-address: ':1', enable-pprof: true}\n",
			func(a *alone) { a.URL, a.Token, a.Listen, a.Pprof = "http://l", "f", ":1", true },
		},
		{
			"nested twice", "loki: {url: x}\nlog.level: debug\nloki: {token-file: f}\n",
			func(a *alone) { a.URL, a.Token, a.LogLevel = "x", "f", "debug" },
		},
		{
			"mixed", "web.config: {file: w}\nlog: {level: warn}\nlog.format: console\n",
			func(a *alone) { a.WebConfig, a.LogLevel, a.LogFormat = "w", "warn", "console" },
		},
		{"off", "web.enable-pprof: false\n", func(*alone) {}},
		{"a list", "follow:\n  - a\n  - 'b,c'\n", func(a *alone) { a.Globs = []string{"a", "b,c"} }},
		{"a list in a line", "follow: [a]\n", func(a *alone) { a.Globs = []string{"a"} }},
		{"a list as on the command line", "follow: a,b\n", func(a *alone) { a.Globs = []string{"a", "b"} }},
		{"an empty list", "follow: []\n", func(a *alone) { a.Globs = []string{} }},
		{"an empty text", "web.listen-address: ''\n", func(a *alone) { a.Listen = "" }},
		{"a text that looks like a number", "loki.url: 0123\n", func(a *alone) { a.URL = "0123" }},
		{"JSON", `{"loki": {"url": "x"}, "retention.bytes": 9}`, func(a *alone) { a.URL, a.Bytes = "x", 9 }},
	} {
		var got alone
		path, err := parse(t, &got, tt.text, nil, "--config.file=FILE")
		want := defaults(path)
		tt.want(&want)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tt.what, err, diff)
		}
	}
}

// A mistake in the file ends the program at its start with one line that says
// where it is; @ stands for the file's path.
func TestConfigFileMistakes(t *testing.T) {
	for _, tt := range []struct{ what, text, says string }{
		{"unknown key", "loki.url: x\n\nloki.ulr: x\n", `@:3: unknown key "loki.ulr"`},
		{"unknown nested key", "loki:\n  url: x\n  ulr: x\n", `@:3: unknown key "loki.ulr"`},
		{"half a key", "loki: x\n", `@:1: unknown key "loki"`},
		{"the start of a key", "loki.u: x\n", `@:1: unknown key "loki.u"`},
		{"dashes", "--loki.url: x\n", `@:1: unknown key "--loki.url"`},
		{"a variable's name", "CORONER_LOKI_URL: x\n", `@:1: unknown key "CORONER_LOKI_URL"`},
		{"another file", "config.file: x\n", `@:1: unknown key "config.file"`},
		{"help", "help: true\n", `@:1: unknown key "help"`},
		{"twice", "loki.url: x\nlog.level: info\nloki.url: x\n", "@:3: loki.url is given twice"},
		{"twice, nested", "loki: {url: x}\nloki.url: x\n", "@:2: loki.url is given twice"},
		{"two documents", "loki.url: x\n---\nlog.level: warn\n", "@:2: a second document; want one"},
		{"a list of lines", "- loki.url: x\n", "@:1: want `flag: value` lines"},
		{"a word", "loki.url\n", "@:1: want `flag: value` lines"},
		{"no value", "follow:\n#  - a\nloki.url: x\n", "@:1: follow has no value"},
		{"no value in a list", "follow:\n  - a\n  -\n", "@:3: want a plain value"},
		{"a list in a list", "follow:\n  - [a]\n", "@:2: want a plain value"},
		{"a mapping in a list", "follow:\n  - {a: b}\n", "@:2: want a plain value"},
		{"an alias", "loki.url: &a x\nloki.token-file: *a\n", "@:2: want a value or a list of values"},
		{"a list where one value is wanted", "log.level: info\nloki.url: [a, b]\n", "@:2: loki.url: takes one value"},
		{"a mapping where a value is wanted", "settle-deadline: {x: 1}\n", `@:1: unknown key "settle-deadline.x"`},
		{"not a duration", "settle-deadline: 5\n", `@:1: settle-deadline: expected duration but got "5"`},
		{"not a number", "loki.url: x\nretention.bytes: 8GiB\n",
			`@:2: retention.bytes: expected a valid 64 bit int but got "8GiB"`},
		{"not a yes or no", "web.enable-pprof: maybe\n", `@:1: web.enable-pprof: bool value must be`},
		{
			"not one of the choices", "log.level: loud\n",
			`@:1: log.level: must be one of debug, info, warn, error, not "loud"`,
		},
		{"broken", "loki.url: x\nfollow: [a\n", "@: yaml: "},
		{"a tab", "loki:\n\turl: x\n", "@: yaml: line 2"},
		{"broken further down", "loki.url: x\n---\n[\n", "@: yaml: "},
	} {
		var got alone
		path, err := parse(t, &got, tt.text, nil, "--config.file=FILE")
		if want := strings.ReplaceAll(tt.says, "@", path); err == nil || !strings.HasPrefix(err.Error(), want) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want …%s", tt.what, err, want)
		}
	}
	var got alone
	if _, err := parse(t, &got, "", nil, "--config.file=FILE.gone"); err == nil ||
		!strings.Contains(err.Error(), "coroner.yaml.gone: no such file") {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := (&Origins{}).readFile(strings.NewReader("- x")); err == nil ||
		!strings.HasPrefix(err.Error(), "config file:1: ") {
		t.Errorf("a reader without a name: %v", err)
	}
}

// A flag wins over the environment, that over the file, that over the default.
func TestWhatWins(t *testing.T) {
	const text = "settle-deadline: 2m\nloki.url: file\nfollow: [file]\n"
	for _, tt := range []struct {
		what string
		env  map[string]string
		args []string
		want func(*alone)
	}{
		{
			"the file", nil, []string{"--config.file=FILE"},
			func(a *alone) { a.Deadline, a.URL, a.Globs = 2*time.Minute, "file", []string{"file"} },
		},
		{"the environment", map[string]string{"CORONER_SETTLE_DEADLINE": "3m", "CORONER_FOLLOW": "a,b"},
			[]string{"--config.file=FILE"},
			func(a *alone) { a.Deadline, a.URL, a.Globs = 3*time.Minute, "file", []string{"a", "b"} }},
		{"the flag", map[string]string{"CORONER_SETTLE_DEADLINE": "3m"},
			[]string{"--settle-deadline=4m", "--follow=c", "--config.file=FILE", "--follow=d"},
			func(a *alone) { a.Deadline, a.URL, a.Globs = 4*time.Minute, "file", []string{"c", "d"} }},
		{"a variable that says nothing", map[string]string{"CORONER_LOKI_URL": ""}, []string{"--config.file=FILE"},
			func(a *alone) { a.Deadline, a.Globs = 2*time.Minute, []string{"file"} }},
		{"a variable that names the file", map[string]string{"CORONER_CONFIG_FILE": "FILE", "CORONER_LOKI_URL": "env"},
			nil,
			func(a *alone) { a.Deadline, a.URL, a.Globs = 2*time.Minute, "env", []string{"file"} }},
	} {
		var got alone
		path, err := parse(t, &got, text, tt.env, tt.args...)
		want := defaults(path)
		tt.want(&want)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", tt.what, err, diff)
		}
	}
	var got alone
	if _, err := parse(t, &got, text, map[string]string{"CORONER_SETTLE_DEADLINE": "x"},
		"--config.file=FILE"); err == nil ||
		!strings.HasPrefix(err.Error(), "CORONER_SETTLE_DEADLINE: expected duration") {
		t.Errorf("a variable that is wrong: %v", err)
	}
}

// Every flag of a daemon has a variable: CORONER_, capitals, _ for . and -. A
// command that is no daemon keeps to the variables that it names itself.
func TestEnvironmentNames(t *testing.T) {
	names := func(into any, command string) map[string][]string {
		k, err := kong.New(into, &Origins{}, Vars, kong.Vars{"listen": ""})
		if err != nil {
			t.Fatal(err)
		}
		node := k.Model.Node
		for _, n := range k.Model.Children {
			if n.Name == command {
				node = n
			}
		}
		out := map[string][]string{}
		for _, f := range node.Flags {
			if len(f.Envs) > 0 {
				out[f.Name] = f.Envs
			}
		}
		return out
	}
	want := map[string][]string{
		"config.file": {"CORONER_CONFIG_FILE"}, "web.listen-address": {"CORONER_WEB_LISTEN_ADDRESS"},
		"web.config.file":     {"CORONER_WEB_CONFIG_FILE"},
		"web.max-connections": {"CORONER_WEB_MAX_CONNECTIONS"},
		"web.enable-pprof":    {"CORONER_WEB_ENABLE_PPROF"}, "log.level": {"CORONER_LOG_LEVEL"},
		"log.format": {"CORONER_LOG_FORMAT"}, "stop-timeout": {"CORONER_STOP_TIMEOUT"},
		"loki.url": {"CORONER_LOKI_URL"}, "loki.token-file": {"CORONER_LOKI_TOKEN_FILE"}, "follow": {"CORONER_FOLLOW"},
		"settle-deadline": {"CORONER_SETTLE_DEADLINE"}, "retention.bytes": {"CORONER_RETENTION_BYTES"},
		"web.operator-token-file": {"CORONER_WEB_OPERATOR_TOKEN_FILE"},
	}
	for what, got := range map[string]map[string][]string{
		"alone": names(&alone{}, ""), "serve": names(&several{}, "serve"),
	} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	if diff := cmp.Diff(map[string][]string{"server": {"CORONER_SERVER"}}, names(&several{}, "explain")); diff != "" {
		t.Errorf("explain: %s", diff)
	}
	if got := names(&several{}, ""); len(got) != 0 {
		t.Errorf("the program's own flags: %v", got)
	}
}

// In a program with several commands the file and the variables are the
// daemon's: another command's flag of the same name is not meant.
func TestOtherCommandsAreLeftAlone(t *testing.T) {
	const text = "follow: [a, b]\nloki.url: x\n"
	var serve several
	if _, err := parse(t, &serve, text, nil, "serve", "--config.file=FILE"); err != nil || serve.Serve.URL != "x" ||
		!cmp.Equal(serve.Serve.Globs, []string{"a", "b"}) {
		t.Errorf("serve: %+v %v", serve.Serve, err)
	}
	var explain several
	env := map[string]string{"CORONER_CONFIG_FILE": "FILE", "CORONER_FOLLOW": "c", "CORONER_ONLY": "d"}
	if _, err := parse(t, &explain, text, env, "explain"); err != nil || explain.Explain.Follow != "" ||
		explain.Explain.Only != "" {
		t.Errorf("explain beside a daemon's configuration: %+v %v", explain.Explain, err)
	}
	for text, says := range map[string]string{
		"only: x\n": `unknown key "only"`, "color: x\n": `unknown key "color"`,
		"serve: {loki.url: x}\n": `unknown key "serve.loki.url"`,
	} {
		if _, err := parse(t, &several{}, text, nil, "serve", "--config.file=FILE"); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzConfig: no file makes the reader panic.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		"", "---\n", "a: b\n", "a: {b: [c, d]}\n", "a: *x\n", "? [a]\n: b\n", "<<: {a: b}\n", "a: b\n---\nc: d\n",
		"&a [*a]", "a:\n- b:\n  - c", "!!set {a}", "\xff\xfea",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = (&Origins{}).readFile(strings.NewReader(text))
	})
}
