package podlog

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"coroner/ingest/podlog/header"
)

// head is the first bytes of a file, up to headBytes. They tell it from other
// files of the container: its first line begins with a time in nanoseconds.
type head struct {
	text   []byte
	print  string // fingerprint of the first bytes
	hashed int    // how many bytes that are
}

// extendWith adds what was read at an offset, where it is part of the head.
func (h *head) extendWith(b []byte, offset int64) {
	known := int64(len(h.text))
	if known < headBytes && offset <= known && known < offset+int64(len(b)) {
		h.text = append(h.text, b[known-offset:min(int64(len(b)), headBytes-offset)]...)
	}
}

// fingerprint is the hash of the head, and of how many bytes it is.
func (h *head) fingerprint() (print string, hashed int) {
	if len(h.text) != h.hashed {
		h.print, h.hashed = fingerprint(h.text), len(h.text)
	}
	return h.print, h.hashed
}

// firstTime is the time of the file's first line, zero if it has none.
func (h *head) firstTime() time.Time { return header.FirstTime(h.text) }

func fingerprint(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
