package document

import (
	"bytes"
	"io"

	"coroner/ingest/logtext"
)

// isExportStart says whether a line begins a record of journalctl -o export.
func isExportStart(b []byte) bool {
	return len(b) > 12 && b[0] == '_' &&
		(bytes.HasPrefix(b, []byte("__CURSOR=s=")) || bytes.HasPrefix(b, []byte("__REALTIME_TIMESTAMP=")))
}

// exportRecord reads the fields up to the next empty line: `NAME=text`, or a
// name alone, and then the size and the bytes of what is no plain text.
func (f *recordLines) exportRecord(b []byte) error {
	f.beginRecord()
	for lines := 0; len(b) > 0 && lines < 4096; lines++ {
		if err := f.exportField(b); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return err
		}
		var err error
		if b, err = f.r.in.Next(); err == io.EOF {
			break
		} else if err != nil {
			return err
		}
	}
	f.yieldRecord()
	return nil
}

func (f *recordLines) exportField(b []byte) error {
	key, val, ok := bytes.Cut(b, []byte("="))
	if ok {
		f.addField(key, bytes.Clone(val))
		return nil
	}
	key = bytes.Clone(b)
	if !isFieldName(key) {
		return nil
	}
	data, err := f.r.in.Sized()
	f.r.in.Number += bytes.Count(data, []byte("\n")) + 1
	f.addField(key, data)
	return err
}

// isFieldName keeps a torn export from being read as a size.
func isFieldName(b []byte) bool {
	for _, c := range b {
		if c != '_' && (c < 'A' || c > 'Z') && !logtext.IsDigit(c) {
			return false
		}
	}
	return len(b) <= 64
}
