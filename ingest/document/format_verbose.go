package document

import (
	"bytes"
	"strconv"

	"coroner/ingest/logtext"
)

// verboseLine reads journalctl -o verbose: a line of time and cursor, then the
// fields, one on a line, indented by four blanks. Printed since systemd 38.
func (f *recordLines) verboseLine(b []byte) bool {
	if cursor := verboseHeader(b); cursor != nil && !f.r.isClosed() {
		f.endVerbose()
		f.beginRecord()
		f.verbose = true
		f.verboseCursor(cursor)
		return true
	}
	if !f.verbose {
		return false
	}
	field, indented := bytes.CutPrefix(b, []byte("    "))
	key, val, isField := bytes.Cut(field, []byte("="))
	if indented && isField && isFieldName(key) {
		f.addField(bytes.Clone(key), bytes.Clone(val))
		return true
	}
	f.endVerbose()
	return false
}

func (f *recordLines) endVerbose() {
	if f.verbose {
		f.verbose = false
		f.yieldRecord()
	}
}

// verboseHeader returns the cursor in `Tue 2026-03-03 10:00:00.123456 CET [s=…;i=…]`.
func verboseHeader(b []byte) []byte {
	if len(b) < 40 || b[len(b)-1] != ']' || b[3] != ' ' || !logtext.IsDigit(b[4]) {
		return nil
	}
	i := bytes.Index(b[:min(len(b), 60)], []byte(" [s="))
	if i < 0 || !bytes.Contains(b[i:], []byte(";i=")) {
		return nil
	}
	return b[i+2 : len(b)-1]
}

// verboseCursor takes time and boot from the cursor, which has them exactly.
func (f *recordLines) verboseCursor(cursor []byte) {
	set := func(key, val string) { f.addField([]byte(key), []byte(val)) }
	set("__CURSOR", string(cursor))
	for part := range bytes.SplitSeq(cursor, []byte(";")) {
		key, val, _ := bytes.Cut(part, []byte("="))
		switch string(key) {
		case "b":
			set("_BOOT_ID", string(val))
		case "t", "m":
			if n, err := strconv.ParseInt(string(val), 16, 64); err == nil && (key[0] == 'm' || n > 1e15) {
				set(map[string]string{"t": "__REALTIME_TIMESTAMP", "m": "__MONOTONIC_TIMESTAMP"}[string(key)],
					strconv.FormatInt(n, 10))
			}
		}
	}
}
