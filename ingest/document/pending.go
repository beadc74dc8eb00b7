package document

import "coroner/ingest"

// Mail programs break long lines. A line of a known writer that is about as
// long as a mail's lines are is held until the next one is seen.
const (
	shortWrap = 50
	longWrap  = 100
	maxWraps  = 20
)

// heldLine is a record that may go on in the next line.
type heldLine struct {
	draft draft
	text  string
	rows  int // 0: nothing is held
}

// hold keeps d back if its line can have been broken by a mail program.
func (r *reader) hold(d *draft, text string) bool {
	if d.size < shortWrap || d.size > longWrap || d.stream != nil || d.Source == ingest.Unknown || d.Source == ingest.Kube || d.wraps&(shipped|jobbed) != 0 {
		return false
	}
	r.held = heldLine{draft: *d, text: text, rows: 1}
	return true
}

// continues appends a bare line of nobody to the line before, if it reads like
// the rest of it.
func (r *reader) continues(d *draft, text string) bool {
	h := &r.held
	if h.rows == 0 || h.rows > maxWraps || d.wraps&^quoted != 0 || d.Line != h.draft.Line+h.rows || h.draft.size < shortWrap || !midSentence(text[0]) {
		return false
	}
	h.text += " " + text
	h.draft.size = d.size // a short line is the last one
	h.rows++
	return true
}

// midSentence says whether a line that starts with c can go on with the one
// before it.
func midSentence(c byte) bool {
	return c >= 'a' && c <= 'z' || c == '"' || c == '(' || c == '/' || c == '\''
}

// letGo yields the line that was held.
func (r *reader) letGo() {
	if r.held.rows == 0 {
		return
	}
	h := r.held
	r.held = heldLine{}
	r.deliver(&h.draft, h.text)
}
