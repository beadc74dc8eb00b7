package reference

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/prometheus/client_golang/prometheus"
)

// A part of the page is held to what it should be, rewritten where that is asked for, and
// never where the page has no such part; what stands around it stays.
func TestHold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const page = "before\n<!-- flags -->\nold\n<!-- end of flags -->\nafter\n"
	write(page)
	if err := Hold(path, "flags", "old\n", false); err != nil {
		t.Errorf("the same: %v", err)
	}
	if err := Hold(path, "flags", "new\n", false); err == nil || !strings.Contains(err.Error(), "make reference") {
		t.Errorf("not up to date: %v", err)
	}
	if err := Hold(path, "metrics", "new\n", true); err == nil {
		t.Error("a part that the page does not have is rewritten")
	}
	if data, _ := os.ReadFile(path); string(data) != page {
		t.Errorf("the page was changed: %s", data)
	}
	if err := Hold(path, "flags", "new\n", true); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != strings.Replace(page, "old", "new", 1) {
		t.Errorf("rewritten: %s", data)
	}
	if err := Hold(filepath.Join(t.TempDir(), "none"), "flags", "", true); err == nil {
		t.Error("a page that is not there is held")
	}
}

// Every flag and argument that a person can use is listed, hidden ones are not, and no
// text breaks the table.
func TestFlags(t *testing.T) {
	var c struct {
		Send struct {
			Files  []string `arg:"" help:"What to send."`
			Rate   int      `name:"rate" short:"r" default:"7" env:"RATE" placeholder:"N" help:"How <fast> | often."`
			Force  bool     `name:"force" help:"Do it."`
			Secret string   `name:"secret" hidden:"" help:"Nobody's."`
		} `cmd:"" help:"Send it."`
		Old struct{} `cmd:"" hidden:""`
	}
	p, err := kong.New(&c, kong.Name("app"))
	if err != nil {
		t.Fatal(err)
	}
	got := Flags(p.Model.Node)
	for _, want := range []string{
		"### app send\n\nSend it.\n\n    app send <files> ...\n",
		"| `-r, --rate N` | `7` | `RATE` | How \\<fast> \\| often. |\n",
		"| `--force` |  |  | Do it. |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "secret") || strings.Contains(got, "app old") {
		t.Errorf("what is hidden is listed:\n%s", got)
	}
}

// coroner's own metrics are listed by name, once each, with their labels.
func TestMetrics(t *testing.T) {
	r := prometheus.NewRegistry()
	r.MustRegister(
		prometheus.NewCounterVec(prometheus.CounterOpts{Name: "coroner_b_total", Help: "All | of it."},
			[]string{"verdict", "pool"}),
		prometheus.NewGauge(prometheus.GaugeOpts{Name: "coroner_a", Help: "One."}),
		prometheus.NewGauge(prometheus.GaugeOpts{Name: "go_other", Help: "Not ours."}),
	)
	const want = "| metric | labels | what it says |\n|---|---|---|\n" +
		"| `coroner_a` |  | One. |\n| `coroner_b_total` | verdict, pool | All \\| of it. |\n"
	if got := Metrics(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
