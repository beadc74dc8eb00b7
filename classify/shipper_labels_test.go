package classify_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"strconv"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/rules"
)

// chartLabels are the labels that Grafana's k8s-monitoring chart gives a journal's lines, beside
// the node's name: of a unit's lines (UNIT stands for its name) and of the kernel's.
var chartLabels = []struct {
	chart        string
	unit, kernel map[string]string
}{
	{"4, with journalLabels",
		map[string]string{"job": "integrations/kubernetes/journal", "source": "journal", "level": "INFO",
			"priority_keyword": "INFO", "unit": "UNIT", "service_name": "UNIT", "transport": "stdout"},
		map[string]string{"job": "integrations/kubernetes/journal", "source": "journal", "level": "CRIT",
			"priority_keyword": "CRIT", "service_name": "integrations/kubernetes/journal", "transport": "kernel"}},
	{"4 with Alloy 1.19, which names the job itself",
		map[string]string{"job": "loki.source.journal.worker", "source": "journal", "level": "INFO",
			"unit": "UNIT", "service_name": "UNIT", "transport": "stdout"},
		map[string]string{"job": "loki.source.journal.worker", "source": "journal", "level": "UNKNOWN",
			"service_name": "loki.source.journal.worker", "transport": "kernel"}},
	{"3, where transport is kept",
		map[string]string{"job": "integrations/kubernetes/journal", "source": "journal", "level": "unknown",
			"unit": "UNIT", "service_name": "UNIT", "transport": "stdout"},
		map[string]string{"job": "integrations/kubernetes/journal", "source": "journal", "level": "unknown",
			"service_name": "kernel", "transport": "kernel"}},
}

// shippedLine is a line of journalctl -o json as logcli -o jsonl prints it of a Loki; "" for any
// other line.
func shippedLine(line string, unit, kernel map[string]string) string {
	var r map[string]string
	if json.Unmarshal([]byte(line), &r) != nil || r["__REALTIME_TIMESTAMP"] == "" || r["_TRANSPORT"] == "" {
		return ""
	}
	labels := maps.Clone(unit)
	switch {
	case r["_TRANSPORT"] == "kernel":
		labels = maps.Clone(kernel)
	case r["_SYSTEMD_UNIT"] == "":
		delete(labels, "unit")
		labels["service_name"] = labels["job"]
	}
	for k, v := range labels {
		if v == "UNIT" {
			labels[k] = r["_SYSTEMD_UNIT"]
		}
	}
	labels["instance"] = r["_HOSTNAME"]
	micro, _ := strconv.ParseInt(r["__REALTIME_TIMESTAMP"], 10, 64)
	out, _ := json.Marshal(map[string]any{"labels": labels, "line": r["MESSAGE"],
		"timestamp": time.UnixMicro(micro).UTC().Format(time.RFC3339Nano)})
	return string(out)
}

// silent are the incidents whose verdicts rest on what the journal does not say: nobody vouches
// for a journal that comes line by line, so they are less sure.
var silent = map[string]string{
	"SIGTERM-drain-asked":                "SIGTERM-drain probable",
	"evicted-kubelet~storage-limit":      "evicted probable",
	"host-teardown-killed~deleted-after": "unknown suspected",
	"host-teardown-killed~pids-before":   "unknown suspected",
	"host-teardown-shim":                 "host-teardown probable",
	"host-teardown-vm":                   "host-teardown probable",
	"node-crash-panic":                   "node-crash probable",
}

// throughLoki judges an incident with its journal from a Loki; false where it has no journal.
func throughLoki(b *rules.Rulebook, in fixtures.Incident, unit, kernel map[string]string) (rules.Verdict, bool) {
	found := false
	in.Files = eachLine(func(_ string, _ int, line string) string {
		if l := shippedLine(line, unit, kernel); l != "" {
			found, line = true, l
		}
		return line
	})(in.Files)
	if !found {
		return rules.Verdict{}, false
	}
	return judge(b, entries(in), in), true
}

// The same incident has the same verdict from journalctl and from a Loki.
func TestJournalThroughLoki(t *testing.T) {
	b, same := loadBook(t), 0
	for _, in := range incidents(t) {
		want := cmp.Or(silent[in.Name], in.Want.Verdict+" "+in.Want.Confidence)
		for _, labels := range chartLabels {
			v, found := throughLoki(b, in, labels.unit, labels.kernel)
			if got := string(v.Label) + " " + string(v.Confidence); found && got != want {
				t.Errorf("%s, chart %s: %s, want %s", in.Name, labels.chart, got, want)
			} else if found && silent[in.Name] == "" {
				same++
			}
		}
	}
	if same < 26*len(chartLabels) {
		t.Errorf("only %d verdicts are the same", same)
	}
}

// Without the transport nobody knows the kernel's lines: an OOM kill that they tell is not
// confirmed by them, and service_name="kernel" alone is some container's name.
func TestJournalWithoutTransport(t *testing.T) {
	b, seen := loadBook(t), 0
	for _, in := range incidents(t) {
		if in.Want.Rule != "cgroup-OOM-kernel-kill" || in.Want.Confidence != "confirmed" {
			continue
		}
		for _, labels := range chartLabels {
			kernel := maps.Clone(labels.kernel)
			delete(kernel, "transport")
			v, found := throughLoki(b, in, labels.unit, kernel)
			if !found {
				continue
			}
			if seen++; v.Confidence == rules.Confirmed {
				t.Errorf("%s, chart %s: %s is %s", in.Name, labels.chart, v.Label, v.Confidence)
			}
		}
	}
	if seen < 2*len(chartLabels) {
		t.Errorf("only %d incidents", seen)
	}
}
