package ingest

// odd32 is where the first odd byte of b stands, its length if there is none. The
// length is a multiple of 32.
//
//go:noescape
func odd32(b []byte) int

// avx2 says whether odd32 can run here.
func avx2() bool

var hasAVX2 = avx2()

// oddBlock is oddAt, but it may stop before the end of b, or some bytes before the
// first odd one.
func oddBlock(b []byte) int {
	if n := len(b) &^ 31; hasAVX2 && n > 0 {
		return odd32(b[:n])
	}
	return oddWords(b)
}
