package chart

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// What is read without a parser is what a parser reads.
func TestVersionIsTheCharts(t *testing.T) {
	var c struct {
		Version    string `yaml:"version"`
		AppVersion string `yaml:"appVersion"`
	}
	if err := yaml.Unmarshal([]byte(file), &c); err != nil {
		t.Fatal(err)
	}
	if c.AppVersion != Version || c.Version != Version || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(Version) {
		t.Errorf("Version is %q; Chart.yaml has version %q and appVersion %q", Version, c.Version, c.AppVersion)
	}
	if !strings.HasPrefix(Build(), Version) {
		t.Errorf("Build is %q", Build())
	}
}

// The files that are made from the version, or written for it, have it.
func TestVersionIsEverywhere(t *testing.T) {
	for path, want := range map[string]string{
		"../manifests/coroner.yaml": "image: coroner:" + Version + "\n",
		"../../CHANGELOG.md":        "## " + Version + "\n",
		"../../docs/install.md":     "coroner-agent:" + Version + "\n",
	} {
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: no %q (%v)", path, want, err)
		}
	}
}
