package document

import (
	"encoding/binary"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
)

func TestJournalJSON(t *testing.T) {
	stamp := `"__REALTIME_TIMESTAMP":"1777888800000100","__CURSOR":"s=1;i=2","_BOOT_ID":"b1","_HOSTNAME":"node-a",`
	checkLines(t, "journal.jsonl", []wanted{
		{line: `{` + stamp + `"_TRANSPORT":"kernel","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"hello"}`,
			src: ingest.Kernel, trust: ingest.Attested, at: "2026-05-04T10:00:00.0001Z", node: "node-a", text: "hello"},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"kernel","__MONOTONIC_TIMESTAMP":"5000100","_SOURCE_MONOTONIC_TIMESTAMP":"5000000",` +
				`"MESSAGE":"early"}`,
			src:   ingest.Kernel,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
			text:  "early",
		},
		// a process that writes to /dev/kmsg gets another facility
		{
			line: `{` + stamp +
				`"_TRANSPORT":"kernel","SYSLOG_FACILITY":"1","SYSLOG_IDENTIFIER":"kernel","MESSAGE":"oom"}`,
			src: ingest.Job,
		},
		{line: `{` + stamp + `"_TRANSPORT":"kernel","SYSLOG_FACILITY":"1","MESSAGE":"oom"}`, src: ingest.Job},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"kernel","SYSLOG_FACILITY":"3","SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"x"}`,
			src: ingest.Job,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"kernel","SYSLOG_FACILITY":"3","SYSLOG_IDENTIFIER":"systemd","MESSAGE":"x"}`,
			src:   ingest.Systemd,
			trust: ingest.Claimed,
		},
		{
			line: `{` + stamp + `"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"kernel","_UID":"1000","MESSAGE":"oom"}`,
			src:  ingest.Unknown,
		},
		{
			line:  `{` + stamp + `"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"x"}`,
			src:   ingest.Kubelet,
			trust: ingest.Attested,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"kubelet","_SYSTEMD_UNIT":"kubelet.service",` +
				`"_COMM":"hyperkube","MESSAGE":"x"}`,
			src:   ingest.Kubelet,
			trust: ingest.Attested,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"kubelet","_SYSTEMD_UNIT":"evil.service","MESSAGE":"x"}`,
			src:   ingest.Kubelet,
			trust: ingest.Claimed,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"syslog","SYSLOG_IDENTIFIER":"kubelet","_COMM":"logger","_UID":"1000","MESSAGE":"x"}`,
			src:   ingest.Kubelet,
			trust: ingest.Claimed,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"containerd","_SYSTEMD_UNIT":"containerd.service",` +
				`"MESSAGE":"time=\"2026-05-04T10:00:00Z\" level=warning msg=\"gone\" source=virtcontainers"}`,
			src:   ingest.Kata,
			trust: ingest.Attested,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"journal","SYSLOG_IDENTIFIER":"kata","_SYSTEMD_UNIT":"containerd.service","_UID":"0",` +
				`"MESSAGE":"no agent","SOURCE":"sid","SUBSYSTEM":"vm"}`,
			src:    ingest.Kata,
			trust:  ingest.Attested,
			fields: map[string]string{"SOURCE": "sid", "SUBSYSTEM": "vm"},
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"journal","SYSLOG_IDENTIFIER":"systemd","_SYSTEMD_UNIT":"init.scope","_UID":"0",` +
				`"UNIT":"a.scope","MESSAGE":"x"}`,
			src:   ingest.Systemd,
			trust: ingest.Attested,
		},
		// docker's log driver: the engine's unit, a container's text
		{
			line: `{` + stamp +
				`"_TRANSPORT":"journal","SYSLOG_IDENTIFIER":"dockerd","_COMM":"dockerd",` +
				`"_SYSTEMD_UNIT":"docker.service","CONTAINER_ID_FULL":"c1","MESSAGE":"oom"}`,
			src: ingest.Job,
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"runsvc.sh",` +
				`"_SYSTEMD_UNIT":"actions.runner.acme.r1.service","MESSAGE":"2026-05-04 10:00:01Z: Running job: ` +
				`build"}`,
			src:  ingest.Runner,
			text: "Running job: build",
			at:   "2026-05-04T10:00:00.0001Z",
		},
		{
			line: `{` + stamp +
				`"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"sshd","MESSAGE":[104,105,27,91,51,49,109,33]}`,
			src:  ingest.Unknown,
			text: "hi!",
		},
		{
			line: `{` + stamp + `"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"sshd","MESSAGE":null}`,
			src:  ingest.Unknown,
			text: "-",
		},
		{
			line:  `{` + stamp + `"MESSAGE":["a","b"],"SYSLOG_IDENTIFIER":"kernel"}`,
			src:   ingest.Kernel,
			trust: ingest.Claimed,
			text:  "b",
		},
		{
			line: "{\n\t\"__REALTIME_TIMESTAMP\" : \"1777888800000000\",\n\t\"_TRANSPORT\" : \"kernel\",\n" +
				"\t\"MESSAGE\" : \"pretty\"\n}\n",
			src:   ingest.Kernel,
			trust: ingest.Attested,
			text:  "pretty",
		},
		{
			line:  `{` + stamp + `"_TRANSPORT":"kernel","MESSAGE":"cut of`,
			src:   ingest.Kernel,
			trust: ingest.Attested,
			text:  "cut of",
		},
	})
}

func TestJournalUnit(t *testing.T) {
	e := one(
		t,
		"j",
		`{"_BOOT_ID":"b","_TRANSPORT":"journal","SYSLOG_IDENTIFIER":"systemd","_SYSTEMD_UNIT":"init.scope",`+
			`"UNIT":"cri-containerd-1.scope","MESSAGE":"x","__CURSOR":"s=1"}`,
	)
	if e.Unit != "cri-containerd-1.scope" || e.Boot != "b" || e.Cursor != "s=1" {
		t.Errorf("unit %q boot %q cursor %q", e.Unit, e.Boot, e.Cursor)
	}
}

// TestOtherJSON: an object of another kind is the text of whoever wrote it.
func TestOtherJSON(t *testing.T) {
	checkLines(t, "x", []wanted{
		{line: `{"a":1}`, src: ingest.Unknown, text: `{"a":1}`},
		{line: `{"MESSAGE":"alone"}`, src: ingest.Unknown, text: "alone"},
		{line: `{"line":"x"}`, src: ingest.Unknown, text: `{"line":"x"}`},
		{
			line: `{"severity":"info","ts":"2026-05-04T10:00:00Z","logger":"EphemeralRunner","message":"m"}`,
			src:  ingest.Controller,
			at:   "2026-05-04T10:00:00Z",
		},
		{
			line:  `{"ts":1777888800000,"caller":"a.go:1","msg":"m","v":0}`,
			src:   ingest.Kubelet,
			trust: ingest.Attested,
			at:    "2026-05-04T10:00:00Z",
		},
	})
}

func exported(fields ...string) string {
	var b strings.Builder
	for _, f := range fields {
		name, val, _ := strings.Cut(f, "=")
		if !strings.Contains(val, "\n") {
			b.WriteString(f + "\n")
			continue
		}
		b.WriteString(name + "\n")
		var size [8]byte
		binary.LittleEndian.PutUint64(size[:], uint64(len(val)))
		b.Write(size[:])
		b.WriteString(val + "\n")
	}
	return b.String() + "\n"
}

func TestJournalExport(t *testing.T) {
	doc := exported(
		"__CURSOR=s=1;i=1",
		"__REALTIME_TIMESTAMP=1777888800000000",
		"_HOSTNAME=node-a",
		"_TRANSPORT=kernel",
		"MESSAGE=one",
	) +
		exported(
			"__CURSOR=s=1;i=2",
			"__REALTIME_TIMESTAMP=1777888801000000",
			"_HOSTNAME=node-a",
			"_TRANSPORT=stdout",
			"SYSLOG_IDENTIFIER=kubelet",
			"MESSAGE=two\nlines",
		) +
		exported(
			"__CURSOR=s=1;i=3",
			"__REALTIME_TIMESTAMP=1777888802000000",
			"UNIT=app-a\\x2db.scope",
			"_TRANSPORT=driver",
			"MESSAGE=three",
		)
	entries, marks := readAll(t, Document{Name: "j.export"}, doc)
	if len(entries) != 3 {
		t.Fatalf("%d entries: %+v", len(entries), entries)
	}
	wanted{
		src:   ingest.Kernel,
		trust: ingest.Attested,
		node:  "node-a",
		text:  "one",
		at:    "2026-05-04T10:00:00Z",
	}.check(
		t,
		entries[0],
	)
	wanted{src: ingest.Kubelet, trust: ingest.Attested, text: "two lines"}.check(t, entries[1])
	wanted{src: ingest.Systemd, trust: ingest.Attested, text: "three"}.check(t, entries[2])
	if entries[2].Unit != `app-a\x2db.scope` {
		t.Errorf("unit %q", entries[2].Unit)
	}
	if c := has(marks, ingest.Covered, ingest.Kernel); c == nil || !c.Mark.To.Equal(at("2026-05-04T10:00:01Z")) {
		t.Errorf("kernel coverage: %+v", c)
	}
}

func TestJournalMarks(t *testing.T) {
	line := func(sec int, rest string) string {
		return `{"__REALTIME_TIMESTAMP":"` + itoa(
			1777888800+sec,
		) + `000000","_HOSTNAME":"n","_BOOT_ID":"b1",` + rest + "}\n"
	}
	doc := line(0, `"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"sshd","MESSAGE":"first"`) +
		line(5, `"_TRANSPORT":"kernel","MESSAGE":"mid"`) +
		line(
			7,
			`"_TRANSPORT":"driver","SYSLOG_IDENTIFIER":"systemd-journald",`+
				`"MESSAGE":"Suppressed 12 messages from kubelet.service"`,
		) +
		line(8, `"_TRANSPORT":"driver","SYSLOG_IDENTIFIER":"systemd-journald","MESSAGE":"Missed 3 kernel messages"`) +
		line(9, `"_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"sshd","MESSAGE":"last"`)
	entries, marks := readAll(t, Document{Name: "j"}, doc)
	if len(entries) != 5 {
		t.Fatalf("%d entries", len(entries))
	}
	c := has(marks, ingest.Covered, ingest.Kernel)
	if c == nil || c.Mark.To.Sub(c.Mark.From) != 9*time.Second || c.Node != "n" || c.Boot != "b1" ||
		c.Trust != ingest.Attested {
		t.Errorf("kernel covered: %+v", c)
	}
	if g := has(marks, ingest.Gap, ingest.Kubelet); g == nil || !g.Mark.From.Equal(entries[1].At) ||
		!g.Mark.To.Equal(entries[2].At) {
		t.Errorf("kubelet gap: %+v", g)
	}
	if g := has(marks, ingest.Gap, ingest.Kernel); g == nil {
		t.Error("no kernel gap")
	}
	if has(marks, ingest.Mixed, ingest.Unknown) != nil || has(marks, ingest.Covered, ingest.Kubelet) != nil {
		t.Errorf("marks that should not be: %+v", marks)
	}
}
