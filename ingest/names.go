package ingest

// names keeps one copy of the strings that repeat in every record.
type names map[string]string

func (n *names) keep(v value) string {
	if v.kind != '"' && v.kind != 'x' {
		return brief(v.text(), 512)
	}
	if s, ok := (*n)[string(v.raw)]; ok {
		return s
	}
	if *n == nil || len(*n) > 4096 {
		*n = make(names)
	}
	s := brief(v.text(), 512)
	(*n)[string(v.raw)] = s
	return s
}
