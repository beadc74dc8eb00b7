package deploy

import (
	"encoding/json"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

type source struct{ Type, UID string }

type dataLink struct{ URL string }

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               source
	Targets                  []struct {
		RefID, Expr string
		Datasource  source
	}
	GridPos     struct{ X, Y, W, H int }
	FieldConfig struct {
		Defaults  struct{ Links []dataLink }
		Overrides []struct {
			Matcher    struct{ Options string }
			Properties []struct {
				ID    string
				Value json.RawMessage
			}
		}
	}
}

// links are those of the panel's fields, by the field's name; "" are all.
func (p *panel) links(t *testing.T) map[string][]dataLink {
	t.Helper()
	out := map[string][]dataLink{"": p.FieldConfig.Defaults.Links}
	for _, o := range p.FieldConfig.Overrides {
		for _, x := range o.Properties {
			var links []dataLink
			if x.ID != "links" {
				continue
			}
			if err := json.Unmarshal(x.Value, &links); err != nil {
				t.Fatal(err)
			}
			out[o.Matcher.Options] = links
		}
	}
	return out
}

type dashboard struct {
	UID, Title, Description string
	Tags                    []string
	SchemaVersion           int
	ID                      *int
	Panels                  []panel
	Templating              struct {
		List []struct{ Name, Type, Query string }
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	names, err := fs.Glob(Files, "dashboards/*.json")
	if err != nil || len(names) == 0 {
		t.Fatal("no dashboards", err)
	}
	out := map[string]dashboard{}
	for _, name := range names {
		data, err := Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		// A query may be an object: only what is a text is read.
		data = regexp.MustCompile(`"query": \{[^}]*\}`).ReplaceAll(data, []byte(`"query": ""`))
		var d dashboard
		if err := json.Unmarshal(data, &d); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out[name] = d
	}
	return out
}

// A dashboard can be imported anywhere: it names no data source of one
// installation, and its address stays the same.
func TestDashboardsCanBeImported(t *testing.T) {
	uids := map[string]bool{}
	for name, d := range dashboards(t) {
		if d.UID == "" || uids[d.UID] || d.Title == "" || d.Description == "" || d.ID != nil || d.SchemaVersion < 37 ||
			!slices.Contains(d.Tags, "coroner") {
			t.Errorf("%s: %+v", name, d)
		}
		uids[d.UID] = true
		types := map[string]string{}
		for _, v := range d.Templating.List {
			types[v.Name] = v.Type + " " + v.Query
		}
		for variable, want := range map[string]string{"prometheus": "datasource prometheus", "loki": "datasource loki",
			"coroner": "textbox http://coroner:9095"} {
			if types[variable] != want {
				t.Errorf("%s: the variable %s is %q, want %q", name, variable, types[variable], want)
			}
		}
		for _, p := range d.Panels {
			for _, x := range p.Targets {
				if x.Datasource.UID != "${"+x.Datasource.Type+"}" || p.Datasource != x.Datasource {
					t.Errorf("%s: %s asks %v", name, p.Title, x.Datasource)
				}
			}
		}
	}
}

// Every panel shows something, says what to do with it, and lies beside the
// others.
func TestPanelsAreExplained(t *testing.T) {
	for name, d := range dashboards(t) {
		ids, taken := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if p.Title == "" || ids[p.ID] || p.Type != "row" && (len(p.Targets) == 0 || len(p.Description) < 40) {
				t.Errorf(
					"%s: panel %d %q: %d queries, described as %q",
					name,
					p.ID,
					p.Title,
					len(p.Targets),
					p.Description,
				)
			}
			ids[p.ID] = true
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					if over := taken[[2]int{x, y}]; over != "" || x >= 24 {
						t.Fatalf("%s: %s lies over %q or outside", name, p.Title, over)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

var linked = regexp.MustCompile(
	`^\$\{coroner\}/(runners/\$\{__value\.raw\}|\?((verdict|node|pool|repository)=(\$\{__field\.labels\.(verdict|` +
		`node|pool|repository)\}|\$\{__value\.raw\}|[\w,-]+)&)*(state=open&)?since=\$\{__from:date:iso\})$`,
)

// From a bar to the list, from a runner to its post-mortem: every link is one
// that coroner's page understands, and those that matter are there.
func TestPanelsLinkToCoroner(t *testing.T) {
	seen := map[string]bool{}
	for name, d := range dashboards(t) {
		for _, p := range d.Panels {
			for field, links := range p.links(t) {
				for _, l := range links {
					seen[field+" "+l.URL] = true
					if !linked.MatchString(l.URL) {
						t.Errorf("%s: %s: %s", name, p.Title, l.URL)
					}
					if label := regexp.MustCompile(`labels\.(\w+)`).FindStringSubmatch(l.URL); label != nil &&
						!regexp.MustCompile(`\b`+label[1]+`\b`).MatchString(p.Targets[0].Expr) {
						t.Errorf(
							"%s: %s links by %s, which its series do not have: %s",
							name,
							p.Title,
							label[1],
							p.Targets[0].Expr,
						)
					}
				}
			}
		}
	}
	for _, want := range []string{"runner ${coroner}/runners/${__value.raw}",
		" ${coroner}/?verdict=${__field.labels.verdict}&pool=${__field.labels.pool}&since=${__from:date:iso}"} {
		if !seen[want] {
			t.Errorf("nowhere is%s", want)
		}
	}
}

// provisioned reads a file as Grafana does: with its environment put in.
func provisioned(t *testing.T) (fields []struct{ Name, MatcherType, MatcherRegex, URL string }) {
	t.Helper()
	data, err := Files.ReadFile("grafana/datasource.yaml")
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(data), "$$")
	for i := range parts {
		parts[i] = os.Expand(
			parts[i],
			func(name string) string { return "https://" + strings.ToLower(name) + ".example" },
		)
	}
	var file struct {
		Datasources []struct {
			JSONData struct {
				DerivedFields []struct {
					Name         string
					MatcherType  string `yaml:"matcherType"`
					MatcherRegex string `yaml:"matcherRegex"`
					URL          string
				} `yaml:"derivedFields"`
			} `yaml:"jsonData"`
		}
	}
	if err := yaml.Unmarshal([]byte(strings.Join(parts, "$")), &file); err != nil {
		t.Fatal(err)
	}
	for _, f := range file.Datasources[0].JSONData.DerivedFields {
		fields = append(
			fields,
			struct{ Name, MatcherType, MatcherRegex, URL string }{f.Name, f.MatcherType, f.MatcherRegex, f.URL},
		)
	}
	return fields
}

// A runner's name is a link to its post-mortem wherever it is read: as
// structured metadata of a verdict, and in lines of others.
func TestRunnersAreLinksInLoki(t *testing.T) {
	page, labels := docs(t, "grafana.md"), map[string]bool{}
	var inLine *regexp.Regexp
	for _, f := range provisioned(t) {
		if f.URL != "https://coroner_url.example/runners/${__value.raw}" {
			t.Errorf("%s links to %s", f.Name, f.URL)
		}
		if !strings.Contains(page, f.Name) || !strings.Contains(page, "`"+f.MatcherRegex+"`") {
			t.Errorf("docs/grafana.md does not tell of %s with %s", f.Name, f.MatcherRegex)
		}
		if f.MatcherType == "label" {
			labels[f.MatcherRegex] = true
		} else {
			inLine = regexp.MustCompile(f.MatcherRegex)
		}
	}
	if !labels["runner"] || inLine == nil {
		t.Fatal("no derived field for the label runner, or none for lines")
	}
	for line, want := range map[string]string{
		`INFO runner pod terminated pod=linux-x64-7hq2p-runner-bk7n5 phase=Failed`: "linux-x64-7hq2p-runner-bk7n5",
		`"SyncLoop DELETE" source="api" pods=["ci/amber-runner-4kx2p"]`:            "amber-runner-4kx2p",
		`time="…" msg="the runner-service restarted"`:                              "",
		`a-runner-that-ran`: "",
	} {
		got := ""
		if m := inLine.FindStringSubmatch(line); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%s: links %q, want %q", line, got, want)
		}
	}
}
