package document

import (
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// peelCRI: `2026-05-04T10:00:00.123456789Z stdout F text`, the log files of
// containerd and CRI-O. A line that the runtime split has P until its end.
func peelCRI(r *reader, d *draft, s string) (string, bool) {
	st, ok := logtext.ISOStamp(s)
	if !ok || len(s) < st.Size+10 || !strings.HasPrefix(s[st.Size:], " std") || st.Zone == nil {
		return s, false
	}
	rest := s[st.Size+1:]
	if !strings.HasPrefix(rest, "stdout ") && !strings.HasPrefix(rest, "stderr ") {
		return s, false
	}
	tag, i := logtext.NextWord(rest, 7)
	full := tag == "F" || strings.HasPrefix(tag, "F:")
	if !full && tag != "P" && !strings.HasPrefix(tag, "P:") {
		return s, false
	}
	r.account.clock.Set(&d.Entry, st)
	if d.stream == nil {
		d.stream = r.containers.main
	}
	if d.stream == nil {
		d.stream = r.containers.streamOf(ingest.Container{})
	}
	output := 0
	if rest[3] == 'e' { // stderr: the runtime interleaves the two
		output = 1
	}
	return r.containers.joinParts(d, output, strings.TrimPrefix(rest[i:], " "), full), true
}

// joinParts collects the parts of a split line of one output.
func (c *containers) joinParts(d *draft, output int, text string, full bool) string {
	p := &d.stream.parts[output]
	if full && len(p.text) == 0 {
		return text
	}
	if len(p.text) == 0 {
		p.at = *d
	}
	room := min(len(text), maxJoined-len(p.text))
	p.text = append(p.text, text[:room]...)
	p.cut += len(text) - room
	if !full {
		d.incomplete = true
		return ""
	}
	text = string(p.text)
	d.Cut += p.cut
	p.text, p.cut = p.text[:0], 0
	if cap(p.text) > 4*ingest.MaxText {
		p.text = nil
	}
	return text
}

// flushParts yields the lines whose ends never came.
func (c *containers) flushParts(s *stream) {
	for i := range s.parts {
		p := &s.parts[i]
		if len(p.text) == 0 {
			continue
		}
		d := p.at
		d.Cut += p.cut
		text := logtext.Cleaned(logtext.TrimNewline(string(p.text)))
		p.text = nil
		c.yieldLine(&d, text)
	}
}

// dockerLine: `{"log":"text\n","stream":"stdout","time":"…"}`, docker's json-file
// driver. A line that it split has no newline at its end. Without the stream it is no line of docker's.
func (f *recordLines) dockerLine() {
	c := &f.rec
	f.r.account.lines++
	d := draft{Entry: ingest.Entry{Line: f.r.n, Cut: f.r.in.Cut}, stream: f.r.containers.main, wraps: criLine}
	if d.stream == nil {
		d.stream = f.r.containers.streamOf(ingest.Container{})
	}
	if st, ok := logtext.ISOStamp(c.stamp.Text()); ok {
		f.r.account.clock.Set(&d.Entry, st)
	}
	text := c.log.Text()
	full := !c.stdstream || len(text) > 0 && text[len(text)-1] == '\n'
	if text = f.r.containers.joinParts(&d, 0, text, full); d.incomplete {
		return
	}
	text = logtext.Cleaned(logtext.TrimNewline(text))
	f.r.containers.yieldLine(&d, f.r.peelInner(&d, text, stamped|running))
}
