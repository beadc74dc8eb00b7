package logtext

import "bytes"

// Stripped is a line without what some formats put around it: the record separator
// of json-seq, the event marker of json-sse, the difference in short-delta's
// `[ 123.456789 <    0.000123 >]`.
func Stripped(b []byte) []byte {
	switch {
	case len(b) > 1 && b[0] == 0x1e:
		return b[1:]
	case bytes.HasPrefix(b, []byte("data: {")):
		return b[len("data: "):]
	case len(b) > 20 && b[0] == '[':
		open := bytes.Index(b[:min(len(b), 40)], []byte(" <"))
		shut := bytes.Index(b[:min(len(b), 60)], []byte(">]"))
		if open > 0 && shut > open {
			return append(append([]byte{}, b[:open]...), b[shut+1:]...)
		}
	}
	return b
}
