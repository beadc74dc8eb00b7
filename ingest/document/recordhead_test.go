package document

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
	"coroner/ingest/journald"
	"coroner/ingest/logtext"
)

// member is a field of a journald record.
type member struct{ name, val string }

// pair is one feed that reads every record and one that passes by what it can.
type pair struct {
	all, some *Feed
	passed    int
}

func newPair() *pair {
	return &pair{all: Document{Name: "journal"}.Feed(), some: Document{Name: "journal"}.Feed()}
}

// glanceOf is what package journal gathers of a record while it is fetched.
func glanceOf(real, mono uint64, fields []member) journald.RecordHead {
	g := journald.RecordHead{Real: real, Mono: mono}
	for _, f := range fields {
		i := slices.IndexFunc(journald.Fields[:], func(j journald.Field) bool { return j.Name == f.name })
		if i < 0 {
			continue
		}
		val := []byte(f.val)
		switch journald.Fields[i].Use {
		case journald.AsMessage:
			g.Message = val
		case journald.AsSourceReal:
			g.SourceReal = val
		case journald.AsSourceMono:
			g.SourceMono = val
		case journald.Writer:
			g.Who = append(append(g.Who, byte(i), byte(len(val)), byte(len(val)>>8)), val...)
		case journald.WriterHas:
			g.Who = append(g.Who, byte(i), 0, 0)
		case journald.Rare:
			g.Rare = true
		}
	}
	g.Rare = g.Rare || len(g.Who) > 1<<10
	return g
}

// read gives a record to both feeds and says where they differ. A record is
// passed by wherever it can be, so that the next ones show what that changed.
func (p *pair) read(real, mono uint64, fields []member) string {
	each := func(yield func(name, val []byte) bool) {
		for _, f := range append([]member{{"__REALTIME_TIMESTAMP", fmt.Sprint(real)},
			{"__MONOTONIC_TIMESTAMP", fmt.Sprint(mono)}, {"__CURSOR", "s=1"}}, fields...) {
			if !yield([]byte(f.name), []byte(f.val)) {
				return
			}
		}
	}
	want := p.all.Journal(each)
	glance := glanceOf(real, mono, fields)
	seen, ok := p.some.Classify(&glance)
	if !ok {
		return cmp.Diff(want, p.some.Journal(each))
	}
	p.some.SkipRecord(seen)
	p.passed++
	if len(want) != 1 || want[0].Mark != nil {
		return fmt.Sprintf("passed by what gives %+v", want)
	}
	e := want[0]
	if text := string(glance.Message); !strings.Contains(text, e.Text) {
		return fmt.Sprintf("text %q of message %q", e.Text, text)
	}
	return cmp.Diff(Seen{e.Source, e.Trust, e.At}, seen)
}

var (
	glanceNames = []string{
		"",
		"kernel",
		"kubelet",
		"containerd",
		"kata",
		"dockerd",
		"systemd",
		"systemd-journald",
		"init.scope",
		"sshd",
		"Runner.Worker",
		"kubelet.service",
		"containerd.service",
		"ssh.service",
		"docker.service",
		"actions.runner.x.service",
		"kata-monitor",
		"k3s",
		"a\x00\x01\x03\x00_UID0",
		"\x1b[1mkubelet",
	}
	glanceFields = map[string][]string{
		"_TRANSPORT":                  {"kernel", "driver", "stdout", "journal", "syslog", "audit"},
		"SYSLOG_IDENTIFIER":           glanceNames,
		"_SYSTEMD_UNIT":               glanceNames,
		"_COMM":                       glanceNames,
		"_UID":                        {"0", "1000"},
		"SYSLOG_FACILITY":             {"0", "3", "10"},
		"_PID":                        {"1", "812"},
		"SYSLOG_PID":                  {"7"},
		"UNIT":                        {"x.service"},
		"JOB":                         {"1"},
		"_HOSTNAME":                   {"node-a"},
		"_BOOT_ID":                    {"0123456789abcdef0123456789abcdef"},
		"CONTAINER_ID_FULL":           {"", strings.Repeat("0123456789abcdef", 4)},
		"CONTAINER_TAG":               {"x"},
		"_SOURCE_REALTIME_TIMESTAMP":  {"1777888799999000", "0", "nonsense", "99999999999999999999"},
		"_SOURCE_MONOTONIC_TIMESTAMP": {"4000000", "999999999999"},
	}
	glanceTexts = []string{
		"", "plain", "  indented", "\tquoted by klog", " > end", " >", "ends with blanks  ",
		"[   12.345678] a stamp of its own", "[nonsense] x",
		"Suppressed 12 messages from kubelet.service", "Suppressed 3 messages from /system.slice/containerd.service",
		"Suppressed nothing", "Missed 7 kernel messages",
		`time="2026-05-04T10:00:00Z" level=info msg="x" source=containerd-kata-shim-v2 sandbox=1`,
		`level=info msg=x source="virtcontainers" y=1`, "x source=other",
		`I0504 10:00:00.000001     777 x.go:1] "Started" pod="a/b"`, "umlaut äöü", "broken \xff UTF-8", "two\nlines",
		"\x1b[31mred\x1b[0m", "#033[31mred", "number #12", "bell\a", "del\x7f", "\u202eturned",
		"Running with gitlab-runner 17.0", "√ Connected to GitHub", "2026-05-04 10:00:00Z: Listening for Jobs",
		"[WORKER 2026-05-04 10:00:00Z INFO Worker] x", "{\"level\":\"info\"}",
		strings.Repeat("long ", ingest.MaxText/5+9), strings.Repeat("ä", ingest.MaxText),
		"-- Boot 0123 --", "-- Reboot --",
	}
)

// Whatever a record says of its writer, and in whatever company it comes: one
// that can be passed by leaves no trace but those that reading it would leave.
func TestPassedByLikeRead(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	p, real, n := newPair(), uint64(1777888800000000), 30000
	for range n {
		var fields []member
		for name, vals := range glanceFields {
			often := 70
			if strings.HasPrefix(name, "CONTAINER") {
				often = 4
			}
			for dice.IntN(100) < often && len(fields) < 60 {
				fields = append(fields, member{name, vals[dice.IntN(len(vals))]})
				often /= 8
			}
		}
		if dice.IntN(50) > 0 {
			fields = append(fields, member{"MESSAGE", glanceTexts[dice.IntN(len(glanceTexts))]})
		}
		if dice.IntN(2000) == 0 {
			fields = append(fields, member{"SYSLOG_IDENTIFIER", strings.Repeat("x", 4<<10)})
		}
		real += uint64(dice.IntN(3)) * 1000
		if diff := p.read(real*uint64(min(1, dice.IntN(500))), uint64(dice.IntN(10000000)), fields); diff != "" {
			t.Fatalf("%q: %s", fields, diff)
		}
	}
	if p.passed < n/4 || p.passed > n*3/4 {
		t.Errorf("%d of %d records were passed by", p.passed, n)
	}
}

// Random text is plain exactly if nothing of it would be cleaned away.
func TestIsPlain(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 4))
	plain := 0
	for range 200000 {
		b := make([]byte, dice.IntN(40))
		for i := range b {
			b[i] = byte(' ' + dice.IntN(95))
		}
		if len(b) > 0 && dice.IntN(2) == 0 {
			b[dice.IntN(len(b))] = byte(dice.Uint32())
		}
		if dice.IntN(4) == 0 {
			b = append(b, "#033[1m"...)
		}
		if logtext.Clean(b) != (logtext.Cleaned(string(b)) == string(b)) {
			t.Fatalf("%q", b)
		}
		if logtext.Clean(b) {
			plain++
		}
	}
	if plain < 50000 || plain > 190000 {
		t.Errorf("%d are plain", plain)
	}
}

// FuzzRecordHead takes lines NAME=value, an empty line between records.
func FuzzRecordHead(f *testing.F) {
	f.Add(
		"_TRANSPORT=stdout\nSYSLOG_IDENTIFIER=kubelet\n_SYSTEMD_UNIT=kubelet.service\nMESSAGE=x\n\n" +
			"_TRANSPORT=driver\nMESSAGE=Suppressed 1 messages from kubelet.service",
	)
	f.Add(
		"_TRANSPORT=stdout\n_SYSTEMD_UNIT=containerd.service\nMESSAGE=x source=virtcontainers\n\n_TRANSPORT=kernel\n" +
			"MESSAGE=[ 1.000] x",
	)
	f.Fuzz(func(t *testing.T, s string) {
		p := newPair()
		for i, record := range strings.Split(s, "\n\n") {
			var fields []member
			for line := range strings.SplitSeq(record, "\n") {
				if name, val, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(name, "__") {
					fields = append(fields, member{name, val})
				}
			}
			if diff := p.read(1777888800000000+uint64(i)*1000, uint64(i)*1000, fields); diff != "" {
				t.Fatalf("%q: %s", fields, diff)
			}
		}
	})
}
