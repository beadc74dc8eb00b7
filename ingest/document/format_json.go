package document

import "coroner/ingest/logtext"

// jsonLine reads a line that is one JSON object of a kind that wraps a log
// line. Any other JSON is the program's own text: false.
func (f *recordLines) jsonLine(b []byte) bool {
	o, ok := logtext.ScanObject(b)
	if !ok {
		return false
	}
	return f.readObject(&o) && f.jsonRecord(o.Torn, b)
}

// jsonRecord decides what kind of line r.records.rec is.
func (f *recordLines) jsonRecord(torn bool, b []byte) bool {
	c := &f.rec
	switch {
	case c.log.Kind == '"' && (c.stdstream || c.stamp.Kind == '"'):
		f.dockerLine()
	case f.r.isClosed():
		return false
	case c.Known >= 2 || c.Known == 1 && c.Message.Kind != 0:
		f.yieldRecord()
	case c.line.Kind == '"' && (c.labels.Kind == '{' || c.stamp.Kind != 0):
		f.r.loki.yieldRecord()
	case c.audit:
		return f.bareAudit(b, torn)
	case torn && f.openPretty(b):
	default:
		return false
	}
	return true
}
