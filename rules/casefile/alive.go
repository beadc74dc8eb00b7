package casefile

import "slices"

// LivedAfter says whether one of the signs of life is this runner's, or in text that names no
// pod nobody else's, and was surely written after all of some lines.
func LivedAfter(c *Case, signs, lines []*Evidence) bool {
	return len(lines) > 0 && slices.ContainsFunc(signs, func(life *Evidence) bool {
		before := func(e *Evidence) bool { return !life.comesAfter(e) }
		return (life.Mine || c.Nobody() && !life.Others) && !slices.ContainsFunc(lines, before)
	})
}

// comesAfter says whether a line was surely written after another one: it stands below it in
// the same document, or is so much later that what was printed before cannot still be on its way.
func (e *Evidence) comesAfter(than *Evidence) bool {
	timed := !e.At.IsZero() && !than.At.IsZero()
	if e.Doc == than.Doc && e.Line*than.Line > 0 && !(timed && e.At.Before(than.At)) {
		return e.Line > than.Line
	}
	return timed && e.At.Sub(than.At) > spokeOn
}

// AlarmLines are the lines for which a case is alarmed.
func AlarmLines(c *Case) (out []*Evidence) {
	for i := range c.Evidence {
		if e := &c.Evidence[i]; raisesAlarm(c, e) {
			out = append(out, e)
		}
	}
	return out
}
