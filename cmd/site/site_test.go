package site

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coroner/fixtures/shipped"
	"coroner/ingest/access"
	"coroner/ingest/kubewatch"
	"coroner/rules"

	"github.com/prometheus/client_golang/prometheus"
)

// Flags that no page could use are refused before anything listens.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ url, uid, want string }{
		{"", "", ""}, {"https://g.example", "loki", ""}, {"http://g.example:3000/sub", "loki", ""},
		{"https://g.example", "", "--web.grafana-datasource"}, {"", "loki", "--web.grafana-url"},
		{"javascript:alert(1)", "loki", "--web.grafana-url"}, {"https://me:pw@g.example", "loki", "--web.grafana-url"},
		{"g.example", "loki", "--web.grafana-url"},
	} {
		err := (&Links{c.url, c.uid}).Check()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.url, c.uid, err)
		}
	}
}

// A job's page is on the GitHub whose API is asked.
func TestGitHubPages(t *testing.T) {
	for api, want := range map[string]string{
		"https://api.github.com": "https://github.com", "https://ghe.example/api/v3": "https://ghe.example",
		"https://ghe.example/api/v3/": "https://ghe.example", "": "", "nonsense": "",
		"https://user:pw@ghe.example/api/v3": "https://ghe.example",
	} {
		if got := (&Links{}).To(api).GitHub; got != want {
			t.Errorf("%s: %s, want %s", api, got, want)
		}
	}
}

// The pages of labels are those of the rulebook in force.
func TestLabels(t *testing.T) {
	b := shipped.Rulebook(t)
	page, ok := Labels(func() *rules.Rulebook { return b })(rules.CgroupOOM)
	if !ok || page.Meaning == "" {
		t.Error("no page of cgroup-OOM")
	}
}

// What everybody may read names nothing; what the pages say does, and which cluster's it is.
func TestNotes(t *testing.T) {
	all := map[string]*kubewatch.Metrics{"": kubewatch.NewMetrics(prometheus.NewRegistry())}
	n := Notes{Kube: func() map[string]*kubewatch.Metrics { return all }, Door: &access.Door{}}
	if got := n.Kinds(); len(got) != 1 || got[0] != unguarded || len(n.Texts()) != 0 {
		t.Errorf("%v %v", got, n.Texts())
	}
	n.Door.Open = true
	if got := n.Kinds(); len(got) != 0 {
		t.Errorf("%v", got)
	}
	gone := kubewatch.Trouble{Kind: "a namespace is not there", Text: "namespace arc is not there: make it"}
	all[""].Note("arc", gone)
	all["east"] = kubewatch.NewMetrics(prometheus.NewRegistry())
	all["east"].Note("ci", gone)
	if kinds, texts := n.Kinds(), n.Texts(); len(kinds) != 1 || kinds[0] != gone.Kind || len(texts) != 2 ||
		texts[1] != "cluster east: "+gone.Text || !strings.HasPrefix(texts[0], "cluster without a name: ") {
		t.Errorf("%q %q", kinds, texts)
	}
}

// The documentation of this version is written whole, with its folders, and what stands in
// the way is named.
func TestDocsAreWritten(t *testing.T) {
	dir := t.TempDir()
	count, err := WriteDocs(filepath.Join(dir, "docs"))
	if err != nil {
		t.Fatal(err)
	}
	there := 0
	_ = fs.WalkDir(os.DirFS(dir), ".", func(_ string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			there++
		}
		return nil
	})
	if there != count || there < 400 {
		t.Errorf("%d files are there of %d", there, count)
	}
	if _, err := WriteDocs(filepath.Join(dir, "docs", "index.html")); err == nil ||
		!strings.Contains(err.Error(), "index.html") {
		t.Error(err)
	}
}
