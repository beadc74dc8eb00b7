package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// receivers is what a user adds to the file.
const receivers = "receivers: [{name: responders}]\n"

var alertName = regexp.MustCompile(`Coroner\w+`)

// The file speaks of alerts that there are, and the page of every one that it speaks of.
func TestInhibitionNamesAlerts(t *testing.T) {
	known := map[string]bool{}
	for _, name := range []string{"prometheus.yaml", "loki.yaml"} {
		for _, r := range alerts(t, name) {
			known[r.Alert] = true
		}
	}
	var config struct {
		InhibitRules []struct {
			Source []string `yaml:"source_matchers"`
			Target []string `yaml:"target_matchers"`
			Equal  []string
		} `yaml:"inhibit_rules"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "alertmanager.yaml")), &config); err != nil ||
		len(config.InhibitRules) == 0 {
		t.Fatal(config, err)
	}
	_, page, _ := strings.Cut(docs(t, "alerts.md"), "## Grouping in Alertmanager")
	for _, r := range config.InhibitRules {
		all := alertName.FindAllString(strings.Join(append(r.Source, r.Target...), " "), -1)
		for _, name := range all {
			if !known[name] || !strings.Contains(page, name) {
				t.Errorf("%s is no alert, or docs/alerts.md does not say what it keeps still", name)
			}
		}
		if len(all) < 2 || len(r.Equal) == 0 || r.Equal[0] != "cluster" {
			t.Errorf("%+v: want alerts on both sides, of one cluster", r)
		}
	}
}

// labels are those of an alert: its name, and more as name=value.
func labels(alert string, more ...string) map[string]string {
	out := map[string]string{"alertname": alert}
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		out[name] = value
	}
	return out
}

// inhibition is what is posted, and which of it is kept still.
var inhibition = []struct {
	what  string
	fires []map[string]string
	still []map[string]string
}{
	{"several pools at a time", []map[string]string{labels("CoronerHostTeardownFleet")},
		[]map[string]string{labels("CoronerHostTeardownSpike", "pool=a"), labels("CoronerHostTeardownInPool", "pool=b"),
			labels("CoronerHostTeardownOnNode", "node=n"), labels("CoronerHostTeardownInPools")}},
	{"jobs of several pools", []map[string]string{labels("CoronerCgroupOOMFleet"),
		labels("CoronerHostTeardownSpike", "pool=a")},
		[]map[string]string{labels("CoronerCgroupOOMSpike", "pool=a"), labels("CoronerCgroupOOMInPools")}},
	{"a crash, by pool", []map[string]string{labels("CoronerNodeCrash", "pool=a"),
		labels("CoronerHostTeardownSpike", "pool=b"),
		labels("CoronerHostTeardownOnNode", "node=n")},
		[]map[string]string{labels("CoronerHostTeardownSpike", "pool=a"), labels("CoronerHostTeardownInPool",
			"pool=a")}},
	{"a crash, by node", []map[string]string{labels("CoronerNodeCrashed", "node=n"),
		labels("CoronerHostTeardownOnNode", "node=m"),
		labels("CoronerHostTeardownSpike", "pool=a")},
		[]map[string]string{labels("CoronerHostTeardownOnNode", "node=n"), labels("CoronerAgentDown", "node=n"),
			labels("CoronerNodeSilent", "node=n"), labels("CoronerNodeOutOfMemory", "node=n")}},
	{"another cluster", []map[string]string{labels("CoronerHostTeardownFleet", "cluster=x"),
		labels("CoronerHostTeardownSpike", "cluster=y", "pool=a"), labels("CoronerNodeCrash", "cluster=x", "pool=a"),
		labels("CoronerHostTeardownInPool", "cluster=y", "pool=b")},
		[]map[string]string{labels("CoronerHostTeardownSpike", "cluster=x", "pool=a")}},
	{"one pool in both files", []map[string]string{labels("CoronerHostTeardownSpike", "pool=a"),
		labels("CoronerHostTeardownInPool", "pool=b"), labels("CoronerUnknownShare")},
		[]map[string]string{labels("CoronerHostTeardownInPool", "pool=a"), labels("CoronerManyUnknown")}},
	{"a pool is down", []map[string]string{labels("CoronerPoolDown", "pool=a"),
		labels("CoronerRateLimited", "pool=b"), labels("CoronerHostTeardownSpike", "pool=a")},
		[]map[string]string{labels("CoronerRunnersDoNotStart", "pool=a"), labels("CoronerRegistrationRefused",
			"pool=a"), labels("CoronerRateLimited", "pool=a")}},
	{"evidence is lost", []map[string]string{labels("CoronerCoverageLost", "source=kernel"),
		labels("CoronerNodeCrash", "pool=a")},
		[]map[string]string{labels("CoronerUnknownShare")}},
}

// A real Alertmanager takes the file, and keeps still what another alert explains and
// nothing else.
func TestInhibition(t *testing.T) {
	for _, p := range []string{"amtool", "prometheus-alertmanager"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("not shown: what is inhibited (%s, of the package prometheus-alertmanager, is not installed)", p)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "alertmanager.yaml")
	if err := os.WriteFile(file, []byte(text(t, "alertmanager.yaml")+receivers), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("amtool", "check-config", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i, c := range inhibition {
		t.Run(c.what, func(t *testing.T) {
			am := alertmanager(t, file, filepath.Join(dir, fmt.Sprint(i)))
			still := inhibited(t, am, append(c.still, c.fires...), len(c.still))
			for _, l := range c.fires {
				if still[fmt.Sprint(l)] {
					t.Errorf("%v is kept still", l)
				}
			}
			for _, l := range c.still {
				if !still[fmt.Sprint(l)] {
					t.Errorf("%v is not kept still", l)
				}
			}
		})
	}
}

// alertmanager runs a real one and returns its address.
func alertmanager(t *testing.T, config, storage string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command("prometheus-alertmanager", "--config.file="+config, "--storage.path="+storage,
		"--web.listen-address="+addr, "--cluster.listen-address=", "--log.level=error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	ticker, end := time.NewTicker(50*time.Millisecond), time.After(30*time.Second)
	defer ticker.Stop()
	for {
		if res, err := http.Get("http://" + addr + "/-/ready"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return "http://" + addr
			}
		}
		select {
		case <-ticker.C:
		case <-end:
			t.Fatal("Alertmanager is not ready within half a minute")
		}
	}
}

// inhibited posts alerts and returns, by their labels, which are kept still once so
// many are, or after half a minute.
func inhibited(t *testing.T, am string, all []map[string]string, want int) map[string]bool {
	t.Helper()
	var posted []any
	for _, l := range all {
		posted = append(posted, map[string]any{"labels": l})
	}
	body, err := json.Marshal(posted)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(am+"/api/v2/alerts", "application/json", bytes.NewReader(body))
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	_ = res.Body.Close()
	ticker, end := time.NewTicker(50*time.Millisecond), time.After(30*time.Second)
	defer ticker.Stop()
	for {
		res, err := http.Get(am + "/api/v2/alerts")
		var got []struct {
			Labels map[string]string
			Status struct{ InhibitedBy []string }
		}
		if err == nil {
			err = json.NewDecoder(res.Body).Decode(&got)
			_ = res.Body.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		out, still := map[string]bool{}, 0
		for _, a := range got {
			out[fmt.Sprint(a.Labels)] = len(a.Status.InhibitedBy) > 0
			still += min(1, len(a.Status.InhibitedBy))
		}
		if len(out) == len(all) && still >= want {
			return out
		}
		select {
		case <-ticker.C:
		case <-end:
			return out
		}
	}
}
