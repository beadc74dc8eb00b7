package document

import "coroner/ingest"

// Mail programs break long lines. A line of a known writer that is about as
// long as a mail's lines are is held until the next one is seen.
const (
	shortWrap = 50
	longWrap  = 100
	maxWraps  = 20
)

// pendingLine is a record that may go on in the next line.
type pendingLine struct {
	draft draft
	text  string
	rows  int // 0: nothing is held
}

// keepBack keeps d back if its line can have been broken by a mail program.
func (p *pendingLine) keepBack(d *draft, text string) bool {
	if d.size < shortWrap || d.size > longWrap || d.stream != nil || d.Source == ingest.Unknown ||
		d.Source == ingest.Kube || d.wraps&(shipped|jobbed) != 0 {
		return false
	}
	*p = pendingLine{draft: *d, text: text, rows: 1}
	return true
}

// continueWith appends a bare line of nobody to the line before, if it reads like
// the rest of it.
func (p *pendingLine) continueWith(d *draft, text string) bool {
	if p.rows == 0 || p.rows > maxWraps || d.wraps&^quoted != 0 || d.Line != p.draft.Line+p.rows ||
		p.draft.size < shortWrap || !midSentence(text[0]) {
		return false
	}
	p.text += " " + text
	p.draft.size = d.size // a short line is the last one
	p.rows++
	return true
}

// midSentence says whether a line that starts with c can go on with the one
// before it.
func midSentence(c byte) bool {
	return c >= 'a' && c <= 'z' || c == '"' || c == '(' || c == '/' || c == '\''
}

// flushPending yields the line that was pending.
func (r *reader) flushPending() {
	if r.pending.rows == 0 {
		return
	}
	h := r.pending
	r.pending = pendingLine{}
	r.deliverDraft(&h.draft, h.text)
}
