package journald

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// record is one with these fields, NAME=value each.
func record(names *Names, fields ...string) *Record {
	var c Record
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		c.Set(names, []byte(name), logtext.Raw([]byte(value)))
	}
	return &c
}

// Who wrote a record journald tells, not the record: a name that a client gave itself
// proves nothing where unit, command, user or transport say something else.
func TestWriter(t *testing.T) {
	for _, c := range []struct {
		fields string
		source ingest.Source
		trust  ingest.Trust
	}{
		{"_TRANSPORT=kernel", ingest.Kernel, ingest.Attested},
		{"_TRANSPORT=kernel SYSLOG_FACILITY=0 SYSLOG_IDENTIFIER=kernel", ingest.Kernel, ingest.Attested},
		{"_TRANSPORT=kernel SYSLOG_FACILITY=1 SYSLOG_IDENTIFIER=kernel", ingest.Job, ingest.Claimed}, // /dev/kmsg
		{"_TRANSPORT=kernel SYSLOG_FACILITY=3 SYSLOG_IDENTIFIER=systemd", ingest.Systemd, ingest.Claimed},
		{"_TRANSPORT=driver", ingest.Systemd, ingest.Attested},
		{"_TRANSPORT=stdout SYSLOG_IDENTIFIER=kubelet _SYSTEMD_UNIT=kubelet.service", ingest.Kubelet, ingest.Attested},
		{"_TRANSPORT=stdout SYSLOG_IDENTIFIER=kubelet _SYSTEMD_UNIT=evil.service", ingest.Kubelet, ingest.Claimed},
		{"_TRANSPORT=journal SYSLOG_IDENTIFIER=kubelet _COMM=kubelet _UID=0", ingest.Kubelet, ingest.Attested},
		{"_TRANSPORT=journal SYSLOG_IDENTIFIER=kubelet _COMM=kubelet _UID=1000", ingest.Kubelet, ingest.Claimed},
		{"_TRANSPORT=journal SYSLOG_IDENTIFIER=kubelet _COMM=sh _UID=0", ingest.Kubelet, ingest.Claimed},
		{"_TRANSPORT=journal SYSLOG_IDENTIFIER=kata _SYSTEMD_UNIT=containerd.service", ingest.Containerd,
			ingest.Attested},
		{"_TRANSPORT=syslog SYSLOG_IDENTIFIER=sshd", ingest.Unknown, ingest.Claimed},
		{"_TRANSPORT=syslog SYSLOG_IDENTIFIER=kernel _UID=0", ingest.Unknown, ingest.Claimed},
		{"SYSLOG_IDENTIFIER=kernel", ingest.Kernel, ingest.Claimed}, // an export that lost its transport
		{"CONTAINER_ID_FULL=ab SYSLOG_IDENTIFIER=kubelet _COMM=dockerd _UID=0", ingest.Job, ingest.Claimed},
		{"CONTAINER_TAG=x _TRANSPORT=kernel", ingest.Job, ingest.Claimed},
	} {
		var names Names
		source, trust := record(&names, strings.Fields(c.fields)...).Writer()
		if source != c.source || trust != c.trust {
			t.Errorf("%s: %s %v, want %s %v", c.fields, source, trust, c.source, c.trust)
		}
	}
}

// A record's head says of its writer and time what the record does, whatever stands in it.
func TestAHeadSaysWhatTheRecordDoes(t *testing.T) {
	place := func(name string) int {
		for i, f := range Fields {
			if f.Name == name {
				return i
			}
		}
		t.Fatalf("no field %s", name)
		return 0
	}
	var authors Authors
	var names Names
	for _, fields := range [][]string{
		{"_TRANSPORT=stdout", "SYSLOG_IDENTIFIER=kubelet", "_SYSTEMD_UNIT=kubelet.service"},
		{"_TRANSPORT=stdout", "SYSLOG_IDENTIFIER=kubelet", "_SYSTEMD_UNIT=evil.service"},
		{"_TRANSPORT=kernel"},
		{"_TRANSPORT=syslog", "SYSLOG_IDENTIFIER=x\x03\x07\x00_TRANSPORT=kernel"}, // a value that looks like fields
		{"_TRANSPORT=syslog", "SYSLOG_IDENTIFIER=" + strings.Repeat("y", 300)},
	} {
		var head RecordHead
		for _, f := range fields {
			name, value, _ := strings.Cut(f, "=")
			head.Who = append(head.Who, byte(place(name)), byte(len(value)), byte(len(value)>>8))
			head.Who = append(head.Who, value...)
		}
		source, trust := record(&names, fields...).Writer()
		if source == ingest.Unknown {
			trust = ingest.Claimed
		}
		for range 2 { // worked out, and remembered
			if w := authors.Of(&head, &names); w.Source != source || w.Trust != trust {
				t.Errorf("%q: %s %v, want %s %v", fields, w.Source, w.Trust, source, trust)
			}
		}
	}
}

// A job can make up names without end; what is remembered of them is bounded.
func TestMemoryIsBounded(t *testing.T) {
	var authors Authors
	var names Names
	for i := range 10_000 {
		value := strings.Repeat("z", i%50) + time.Duration(i).String()
		head := RecordHead{Who: append([]byte{4, byte(len(value)), 0}, value...)}
		authors.Of(&head, &names)
		if len(authors) > maxWriters || len(names) > 4097 {
			t.Fatalf("%d writers, %d names after %d", len(authors), len(names), i)
		}
	}
	c := &Record{}
	for i := range 100 {
		c.Set(&names, []byte("FIELD_"+strings.Repeat("A", i)), logtext.Raw([]byte(strings.Repeat("v", 5000))))
	}
	if len(c.Fields) != 40 {
		t.Errorf("%d fields of a client", len(c.Fields))
	}
	for name, value := range c.Fields {
		if len(name) > 64 || len(value) > 1<<10 {
			t.Errorf("a field of %d and %d bytes", len(name), len(value))
		}
	}
}

// When a record was written: by the source's own clock, where it has one, and for the
// kernel, which knows only the time since the boot, reckoned from journald's two.
func TestTime(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	stored := "__REALTIME_TIMESTAMP=" + micros(at)
	for _, c := range []struct {
		fields []string
		want   time.Time
		mono   time.Duration
	}{
		{[]string{stored, "__MONOTONIC_TIMESTAMP=7000000"}, at, 7 * time.Second},
		{[]string{stored, "_SOURCE_REALTIME_TIMESTAMP=" + micros(at.Add(-time.Second))}, at.Add(-time.Second), 0},
		{[]string{stored, "__MONOTONIC_TIMESTAMP=7000000", "_SOURCE_MONOTONIC_TIMESTAMP=4000000"},
			at.Add(-3 * time.Second), 4 * time.Second},
		{[]string{stored, "__MONOTONIC_TIMESTAMP=7000000", "_SOURCE_MONOTONIC_TIMESTAMP=9000000"}, at, 9 * time.Second},
		{[]string{"MESSAGE=x"}, time.Time{}, 0},
	} {
		var names Names
		got, mono := record(&names, c.fields...).Time()
		if !got.Equal(c.want) || mono != c.mono {
			t.Errorf("%v: %s %s, want %s %s", c.fields, got, mono, c.want, c.mono)
		}
	}
}

func micros(at time.Time) string { return strconv.FormatInt(at.UnixMicro(), 10) }
