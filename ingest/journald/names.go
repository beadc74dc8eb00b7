package journald

import "coroner/ingest/logtext"

// Names keeps one copy of the strings that repeat in every record.
type Names map[string]string

func (n *Names) keepText(v logtext.Value) string {
	if v.Kind != '"' && v.Kind != 'x' {
		return logtext.Brief(v.Text(), 512)
	}
	if s, ok := (*n)[string(v.Raw)]; ok {
		return s
	}
	if *n == nil || len(*n) > 4096 {
		*n = make(Names)
	}
	s := logtext.Brief(v.Text(), 512)
	(*n)[string(v.Raw)] = s
	return s
}
