package document

import (
	"encoding/csv"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// lokiLines reads what logcli and Grafana save of a Loki, and what comes with the
// labels of a stream.
type lokiLines struct {
	r      *reader
	common logtext.Labels // labels that logcli gave once for all lines
	csv    csvHead
	export export
}

// peelLoki: `2026-05-04T10:00:00Z {unit="kubelet.service"} text` of logcli, its
// `Common labels:` header, and Grafana's text download, `1777888800000<TAB>
// 2026-05-04T10:00:00.000Z<TAB>text`.
func peelLoki(r *reader, d *draft, s string) (string, bool) {
	if s[0] == '{' {
		return r.loki.labelled(d, s)
	}
	if st, ok := logtext.EpochStamp(s); ok && st.Size < len(s) && s[st.Size] == '\t' {
		iso, text, _ := strings.Cut(s[st.Size+1:], "\t")
		if _, ok := logtext.ISOStamp(iso); !ok {
			return s, false
		}
		r.account.clock.Set(&d.Entry, st)
		r.loki.setLabels(d, nil)
		return text, true
	}
	st, ok := logtext.ISOStamp(s)
	if !ok || st.Zone == nil || !strings.HasPrefix(s[st.Size:], " {") {
		return s, false
	}
	text, ok := r.loki.labelled(d, s[st.Size+1:])
	if ok {
		r.account.clock.Set(&d.Entry, st)
	}
	return text, ok
}

// labelled reads `{a="b", c="d"} text`.
func (f *lokiLines) labelled(d *draft, s string) (string, bool) {
	set, text, ok := logtext.CutLabels(s)
	if !ok {
		return s, false
	}
	f.setLabels(d, set)
	return strings.TrimLeft(text, " "), true
}

// takeHeader takes the lines that logcli and Grafana print once for all.
func (f *lokiLines) takeHeader(s string) bool {
	if rest, ok := strings.CutPrefix(s, "Common labels: "); ok {
		if set, _, ok := logtext.CutLabels(rest); ok {
			f.common = set
			return true
		}
	}
	address := s // logcli has its own time in front: 2026/05/04 10:00:00 http://…
	if n := len("2026/05/04 10:00:00 "); len(s) > n && s[4] == '/' {
		address = s[n:]
	}
	return strings.HasPrefix(address, "http") && strings.Contains(address, "/loki/api/v1/") ||
		strings.HasPrefix(s, "Line limit: ") || strings.HasPrefix(s, "Total bytes processed: ")
}

// export is whether the document is a log store's: then its labels name clusters.
// What begins otherwise is not: a job can print a line with labels, and a name in
// it must not keep the job's records apart from others of the same runner.
type export struct {
	prompts int // lines at its beginning that are none of its records
	yes     bool
}

// notePrompt takes note of a line before the first record: what people type, and the
// brackets around a list.
func (x *export) notePrompt(seen int, s string) {
	if seen == x.prompts+1 && (logtext.IsDecoration(s) || strings.Trim(s, "[]{}, ") == "") {
		x.prompts++
	}
}

// exported says, at a line with labels, whether the document is an export. A feed
// has nothing but such lines.
func (f *lokiLines) exported() bool {
	f.export.yes = f.export.yes || f.r.account.fed || f.r.account.lines <= f.export.prompts+1
	return f.export.yes
}

// setLabels ties a line to the stream that its labels name: a container, or a
// unit of a node's journal.
func (f *lokiLines) setLabels(d *draft, l logtext.Labels) {
	all := logtext.Labels{}
	for _, set := range []logtext.Labels{f.common, l} {
		for k, v := range set {
			all[k] = v
		}
	}
	d.Node = all.First("node", "nodename", "node_name", "hostname", "host", "instance", "_HOSTNAME")
	if i := strings.LastIndexByte(d.Node, ':'); i > 0 {
		d.Node = d.Node[:i]
	}
	if strings.IndexByte(d.Node, '/') >= 0 {
		d.Node = "" // instance="NAMESPACE/POD:CONTAINER" of a pod's stream
	}
	d.Boot = all.First("boot_id", "_BOOT_ID")
	if f.exported() {
		d.Cluster = logtext.ClusterOf(all)
	}
	k := ingest.Container{Cluster: d.Cluster, Namespace: all.Namespace(), Pod: all.Pod(), UID: all.PodUID(),
		Name: all.Container()}
	if k.Pod != "" {
		d.stream = f.r.containers.streamOf(k)
		return
	}
	d.Unit = all.First("unit", "systemd_unit", "_SYSTEMD_UNIT", "syslog_identifier")
	switch {
	case all.Containers(): // some container's output, whatever its other labels say
		d.Source, d.Trust = ingest.Job, ingest.Claimed
	case !all.Journals():
		d.unidentified = true
	case all.OfKernel():
		d.Source, d.Trust, d.Unit = ingest.Kernel, ingest.Attested, ""
	case ingest.ProgramSource(all.Unit()) != ingest.Unknown:
		d.Source, d.Trust = ingest.ProgramSource(all.Unit()), ingest.Attested
		d.unidentified = engines[all.Unit()]
	default: // the kernel's lines have no unit; what else has none names itself
		d.unidentified = true
	}
}

// engines are the units through which docker and podman can send what
// containers print to the journal.
var engines = map[string]bool{"docker.service": true, "podman.service": true}

// yieldRecord reads one line of logcli -o jsonl or one object of Grafana's JSON
// download.
func (f *lokiLines) yieldRecord() {
	c := &f.r.records.rec
	d := draft{Entry: ingest.Entry{Line: f.r.n, Cut: f.r.in.Cut}, wraps: shipped}
	set := logtext.LabelsOfJSON(string(c.labels.Raw))
	text := logtext.Cleaned(logtext.TrimNewline(c.line.Text()))
	stamp := c.stamp.Text()
	f.shippedLine(&d, stamp, set, text)
}

// shippedLine yields a line that came with its labels.
func (f *lokiLines) shippedLine(d *draft, stamp string, set logtext.Labels, text string) {
	at := time.Time{}
	if st, ok := logtext.ISOStamp(stamp); ok {
		at, _ = f.r.account.clock.Resolve(st)
	} else if st, ok := logtext.EpochStamp(stamp); ok {
		at, _ = f.r.account.clock.Resolve(st)
	}
	f.shippedAt(d, at, set, text)
}

// shippedAt is the same with a time that is known.
func (f *lokiLines) shippedAt(d *draft, at time.Time, set logtext.Labels, text string) {
	if !at.IsZero() {
		d.At, d.Clock = at, ingest.WallClock
		f.r.account.clock.Saw(at)
	}
	f.r.account.lines++
	f.setLabels(d, set)
	if f.shippedAudit(d, set, text) {
		return
	}
	allowed := anything &^ shipped
	if d.stream != nil || d.Source != ingest.Unknown {
		allowed = stamped | running | criLine
	}
	text = f.r.peelInner(d, text, allowed)
	if !d.incomplete {
		f.r.attribute(d, text, text)
	}
}

// csvHead says which columns of Grafana's CSV download are which.
type csvHead struct {
	on                 bool
	time, line, labels int
}

// csvLine reads a row of Grafana's CSV download, whose head names a time and a
// column `Line`.
func (f *lokiLines) csvLine(s string) bool {
	h := &f.csv
	if !h.on && f.r.account.lines > 3 || f.r.isClosed() || strings.IndexByte(s, ',') < 0 {
		return false
	}
	if !h.on {
		return h.readHead(s)
	}
	row, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil || len(row) <= max(h.time, h.line) {
		return false
	}
	d := draft{Entry: ingest.Entry{Line: f.r.n, Cut: f.r.in.Cut}, wraps: shipped}
	set := logtext.Labels{}
	if h.labels >= 0 && h.labels < len(row) {
		set = logtext.LabelsOfJSON(row[h.labels])
	}
	f.shippedLine(&d, row[h.time], set, row[h.line])
	return true
}

func (h *csvHead) readHead(s string) bool {
	if !strings.Contains(s, "Line") && !strings.Contains(s, "Time") && !strings.Contains(s, "line") {
		return false
	}
	row, err := csv.NewReader(strings.NewReader(s)).Read()
	if err != nil {
		return false
	}
	*h = csvHead{time: -1, line: -1, labels: -1}
	for i, name := range row {
		switch strings.ToLower(name) {
		case "tsns", "timestamp", "time", "date":
			if h.time < 0 || strings.EqualFold(name, "tsNs") {
				h.time = i
			}
		case "line", "body", "message":
			h.line = i
		case "labels":
			h.labels = i
		}
	}
	h.on = h.time >= 0 && h.line >= 0
	return h.on
}
