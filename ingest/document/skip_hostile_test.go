package document

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coroner/ingest/prefilter"
)

// sips gives at most so much at a time.
type sips struct {
	io.Reader
	most int
}

func (s sips) Read(p []byte) (int, error) { return s.Reader.Read(p[:min(len(p), s.most)]) }

// hostile makes up a log whose lines change their form, their writers and their
// time now and then.
type hostile struct {
	*rand.Rand
	now  time.Time
	form string
}

// seldom is true once in n times.
func (h *hostile) seldom(n int) bool { return h.IntN(n) == 0 }

func pick[T any](h *hostile, from ...T) T { return from[h.IntN(len(from))] }

func (h *hostile) log(lines int) []byte {
	var b bytes.Buffer
	for range lines {
		h.turn()
		line := h.line()
		if h.seldom(60) {
			line = h.stranger()
		}
		b.WriteString(line + pick(h, "\n", "\n", "\n", "\n", "\n", "\n", "\n", "\r\n"))
	}
	return b.Bytes()
}

// turn moves the clock and changes the form of the lines, mostly little.
func (h *hostile) turn() {
	h.now = h.now.Add(time.Duration(h.IntN(900_000)) * time.Microsecond)
	if h.seldom(20) {
		h.now = h.now.Add(
			pick(h, -3*time.Second, -time.Minute, 30*time.Second, time.Minute, time.Hour, 24*time.Hour, -25*time.Hour),
		)
	}
	if h.form == "" || h.seldom(150) {
		h.form = pick(
			h,
			"2006-01-02T15:04:05.000000-0700",
			"2006-01-02T15:04:05-0700",
			"2006-01-02T15:04:05.000000-07:00",
			"Jan 02 15:04:05",
			"Jan 02 15:04:05.000000",
			"2006-01-02T15:04:05Z",
			"2006-01-02 15:04:05",
			"2006-01-02T15:04:05.000-0700",
		)
		h.now = h.now.In(pick(h, time.UTC, time.FixedZone("", 7200)))
	}
}

// line is one of a program of the host.
func (h *hostile) line() string {
	stamp := h.now.Format(h.form)
	if h.seldom(200) {
		stamp = strings.Replace(stamp, ":59", ":60", 1)
	}
	node := pick(h, "node-1", "node-1", "node-1", "node-1", "n", "ip-10-0-12-34.eu-central-1.compute.internal")
	who := pick(
		h,
		"kubelet[812]",
		"kubelet[812]",
		"kernel",
		"kernel",
		"sshd[%d]",
		"CRON[%d]",
		"systemd[1]",
		"containerd[640]",
		"systemd-journald[300]",
		"a-program-with-a-name-that-is-long[%d]",
		"kernel[%d]",
		"x[]",
		"y[12345678901]",
		"chronyd[%d]:",
	)
	if strings.Contains(who, "%d") {
		who = fmt.Sprintf(who, h.IntN(1<<uint(h.IntN(30))))
	}
	return stamp + " " + node + " " + who + ": " + h.text()
}

func (h *hostile) text() string {
	if h.seldom(40) {
		return pick(
			h,
			needle,
			"a line with "+needle+" in it",
			"\tgoes on",
			" >",
			"",
			"x",
			"#033[1m"+needle,
			"täglich",
			"\x1b[1mred",
			"Suppressed 3 messages from kubelet.service",
			"Missed 2 kernel messages", "** 2 printk messages dropped **", "imklog: lost 2 messages",
			"2026-05-04T10:00:00.0000000Z ",
			"2026-05-04 10:00:0Z a runner",
			`{"a":1}`,
			"[   12.000001",
			"[  x] ",
			`time="2026-05-04T07:00:00Z" msg=x`,
		)
	}
	return pick(
		h,
		"short",
		"I0504 10:00:00.000001     812 kubelet.go:1] \"a line like any other\"",
		"[   12.000001] eth0: link becomes ready",
		"a line that is about as long as one that a mail program would break off",
		`time="2026-05-04T08:00:00Z" level=info msg="nothing"`,
		strings.Repeat("a line that is longer than a mail's ", 5),
		"level=info msg=x source=virtcontainers",
	)
}

// stranger is a line that is no host's, or not all of one.
func (h *hostile) stranger() string {
	line := h.line()
	return pick(
		h,
		line[:h.IntN(len(line))],
		line[:h.IntN(min(40, len(line)))],
		"",
		"and the rest of it",
		"-- Reboot --",
		"-- Boot 8a6f --",
		"-- No entries --",
		"what nobody said",
		`{"MESSAGE":"x"}`,
		"   ",
		needle,
		"and the rest, with "+needle,
		"##[error]Process completed with exit code 1.",
		"2026-05-04T10:00:00.000000001Z stdout F x",
		strings.Repeat(
			"x",
			1+h.IntN(2000),
		),
		h.line()+strings.Repeat(" so on", h.IntN(3)*prefilter.BufferSize/6),
		h.line()+strings.Repeat("é", 100),
	)
}

func newHostile(seed uint64) *hostile {
	return &hostile{Rand: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 5, 4, 23, 50, 0, 0, time.UTC)}
}

// Whatever stands between uninteresting lines, skipping those changes nothing.
func TestHostileLogsArePassedOverLikeOthers(t *testing.T) {
	skipped := 0
	for seed := range uint64(150) {
		h := newHostile(seed)
		skipped += sameWhenSkipping(t, seedDocuments()[seed%3], h.log(20+h.IntN(400)))
	}
	if skipped < 5000 {
		t.Errorf("only %d lines were passed over", skipped)
	}
}

// The same where lines lie over the borders of the buffer.
func TestLinesAtTheBuffersBorders(t *testing.T) {
	const line = "2026-05-04T10:00:%02d.%06d+0200 node-1 kubelet[812]: one of many lines of a log, %s\n"
	for shift := range 60 {
		var b strings.Builder
		b.WriteString(strings.Repeat("x", 2*shift) + "\n")
		for n := 0; b.Len() < 3*prefilter.BufferSize; n++ {
			what := "nothing"
			if b.Len()%prefilter.BufferSize > prefilter.BufferSize-200 || n%500 == shift {
				what = needle
			}
			if n == 300 || n == 900 {
				what = strings.Repeat("y", prefilter.BufferSize-70+shift)
			}
			fmt.Fprintf(&b, line, n/100, n, what)
		}
		sameWhenSkipping(t, Document{Name: "journal.log"}, []byte(b.String()))
	}
}
