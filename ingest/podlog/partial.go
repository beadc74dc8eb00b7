package podlog

import "bytes"

// partialLine is the beginning of a line whose end was not read yet.
type partialLine struct {
	text []byte
	cut  int // bytes that were dropped after text
}

// takeLine is told of a complete line, how many bytes of it were dropped, and how
// many bytes it takes in the file. line is valid during the call.
type takeLine func(line []byte, cut int, size int64)

func (p *partialLine) isEmpty() bool { return len(p.text) == 0 && p.cut == 0 }

// byteSize is how many bytes of the file it is.
func (p *partialLine) byteSize() int { return len(p.text) + p.cut }

func (p *partialLine) resetText() { p.text, p.cut = p.text[:0], 0 }

// splitLines gives the complete lines of chunk to take and keeps the rest, up to limit
// bytes.
func (p *partialLine) splitLines(chunk []byte, limit int, take takeLine) {
	for len(chunk) > 0 {
		chunk = p.nextLine(chunk, limit, take)
	}
}

// nextLine is splitLines for one line. It returns what comes after it.
func (p *partialLine) nextLine(chunk []byte, limit int, take takeLine) []byte {
	i := bytes.IndexByte(chunk, '\n')
	if i < 0 {
		p.keepPart(chunk, limit)
		return nil
	}
	line := chunk[:i]
	if !p.isEmpty() {
		p.keepPart(line, limit)
		line = p.text
	}
	cut := p.cut
	p.resetText()
	take(line, cut, int64(len(line)+cut+1))
	if cap(p.text) > chunkSize {
		p.text = nil
	}
	return chunk[i+1:]
}

// keepPart holds the beginning of a line until its end comes.
func (p *partialLine) keepPart(b []byte, limit int) {
	room := max(0, min(len(b), limit-len(p.text)))
	p.text = append(p.text, b[:room]...)
	p.cut += len(b) - room
}

// giveRest gives the bytes after the last newline to take, where no more will come.
func (p *partialLine) giveRest(take takeLine) {
	if !p.isEmpty() {
		line, cut := p.text, p.cut
		*p = partialLine{}
		take(line, cut, int64(len(line)+cut))
	}
}
