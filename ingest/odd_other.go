//go:build !amd64

package ingest

// oddBlock is oddAt, but it may stop before the end of b, or some bytes before the
// first odd one.
func oddBlock(b []byte) int { return oddWords(b) }
