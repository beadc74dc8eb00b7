package ingest

import "strings"

// maxFields bounds what one line can make of itself.
const maxFields = 200

// pairs reads the `key=value` pairs that s starts with into fields and returns
// what is left. Values are bare words, Go-quoted strings, and klog's
// `{…}`, `[…]`, `&{…}` texts.
func pairs(s string, fields map[string]string) (rest string) {
	for len(fields) < maxFields {
		s = strings.TrimLeft(s, " \t")
		n := keySize(s)
		if n == 0 {
			return s
		}
		key := s[:n]
		val, rest := pairValue(s[n+1:])
		s = rest
		if val != "" && (val[0] == '{' || strings.HasPrefix(val, "&{")) {
			flattenText(key, val, fields)
		}
		fields[key] = val
	}
	return s
}

// keySize is the length of the key that s starts with, 0 if it is none.
func keySize(s string) int {
	for i := 0; i < len(s) && i < 100; i++ {
		switch c := s[i]; {
		case c == '=':
			return i
		case c <= ' ', c == '"', c == '{', c == '(', c == ')', c == ',', c == ';', c == ':', c >= 0x7f:
			return 0
		}
	}
	return 0
}

// pairValue reads one value and returns what follows it.
func pairValue(s string) (val, rest string) {
	switch {
	case s == "":
		return "", ""
	case s[0] == '"':
		return unquote(s)
	case s[0] == '{' || s[0] == '[' || strings.HasPrefix(s, "&{"):
		if n := nested(s); n > 0 {
			return s[:n], s[n:]
		}
	}
	i := 0
	for i < len(s) && s[i] != ' ' && s[i] != '\t' {
		i++
	}
	return s[:i], s[i:]
}

// nested is the length of the bracketed text that s starts with; 0 if it does
// not end soon.
func nested(s string) int {
	depth, quoted := 0, false
	for i := 0; i < min(len(s), 8<<10); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// unquote reads the Go-quoted string that s starts with. A string that was cut
// off ends with the text.
func unquote(s string) (val, rest string) {
	escaped := false
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i, escaped = i+1, true
		case s[i] == '"' && escaped:
			return unescape([]byte(s[1:i])), s[i+1:]
		case s[i] == '"':
			return s[1:i], s[i+1:]
		}
	}
	return unescape([]byte(s[1:])), ""
}

// flattenText adds the members of `{"ID":…}` or of Go's `&{ID:… Type:…}` as
// key.ID, key.Type.
func flattenText(key, val string, fields map[string]string) {
	if val[0] == '{' {
		if o, ok := scanObject([]byte(val)); ok {
			flatten(key+".", &o, fields, 0)
		}
		return
	}
	for _, part := range strings.Fields(strings.TrimSuffix(val[2:], "}")) {
		if k, v, ok := strings.Cut(part, ":"); ok && len(fields) < maxFields {
			fields[key+"."+k] = v
		}
	}
}

// flatten adds the members of o with their names dotted. Arrays stay as they
// were written. An object of a name and a namespace is a reference and is also
// given whole, `namespace/name`, as klog's text form has it.
func flatten(prefix string, o *object, fields map[string]string, depth int) {
	for len(fields) < maxFields {
		k, v, ok := o.next()
		if !ok {
			return
		}
		key := prefix + unescape(k)
		inner, isObject := scanObject(v.raw)
		if v.kind != '{' || !isObject || depth > 4 {
			fields[key] = v.fieldText()
			continue
		}
		flatten(key+".", &inner, fields, depth+1)
		if ref := reference(key, fields); ref != "" {
			fields[key] = ref
		}
	}
}

// fieldText is the text of a value, arrays as they were written.
func (v value) fieldText() string {
	if v.kind == '[' || v.kind == '{' {
		return string(v.raw)
	}
	return v.text()
}

func reference(key string, fields map[string]string) string {
	name, ns := fields[key+".name"], fields[key+".namespace"]
	if name == "" || ns == "" {
		return name
	}
	return ns + "/" + name
}
