package logtext

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// Value is one member's value, still as it was written. kind is its first
// byte in JSON (`"`, `{`, `[`, or `0` for a number, true, false and null), or
// 'x' for the raw bytes of a journal export field.
type Value struct {
	Raw  []byte
	Kind byte
}

// Raw is a value of a journal export field.
func Raw(b []byte) Value { return Value{b, 'x'} }

// Object scans the members of one JSON object without building anything: a
// journal is a million of them, and most members are never looked at.
type Object struct {
	b    []byte
	i    int
	Torn bool // the object ended before its closing brace
}

// ScanObject starts at the first brace of b.
func ScanObject(b []byte) (Object, bool) {
	i := SkipSpace(b, 0)
	return Object{b: b, i: i + 1}, i < len(b) && b[i] == '{'
}

// Next returns the next member. ok is false at the end.
func (o *Object) Next() (key []byte, v Value, ok bool) {
	i := SkipSpace(o.b, o.i)
	if i < len(o.b) && o.b[i] == ',' {
		i = SkipSpace(o.b, i+1)
	}
	if i >= len(o.b) || o.b[i] != '"' {
		o.Torn = o.Torn || i >= len(o.b) || o.b[i] != '}'
		o.i = min(i+1, len(o.b))
		return nil, v, false
	}
	end := stringEnd(o.b, i+1)
	if end < 0 {
		return o.tornOff()
	}
	key = o.b[i+1 : end]
	i = SkipSpace(o.b, end+1)
	if i >= len(o.b) || o.b[i] != ':' {
		return o.tornOff()
	}
	v, o.i = scanValue(o.b, SkipSpace(o.b, i+1))
	o.Torn = o.Torn || o.i >= len(o.b)
	return key, v, v.Kind != 0
}

func (o *Object) tornOff() ([]byte, Value, bool) {
	o.Torn, o.i = true, len(o.b)
	return nil, Value{}, false
}

// scanValue returns the value at i and where it ends. A torn value is what is
// there.
func scanValue(b []byte, i int) (Value, int) {
	if i >= len(b) {
		return Value{}, len(b)
	}
	switch b[i] {
	case '"':
		end := stringEnd(b, i+1)
		if end < 0 {
			return Value{b[i+1:], '"'}, len(b)
		}
		return Value{b[i+1 : end], '"'}, end + 1
	case '{', '[':
		end := nestedEnd(b, i)
		return Value{b[i:end], b[i]}, end
	}
	end := i
	for end < len(b) && b[end] != ',' && b[end] != '}' && b[end] != ']' && b[end] > ' ' {
		end++
	}
	if end == i {
		return Value{}, i
	}
	return Value{b[i:end], '0'}, end
}

func SkipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// stringEnd is the index of the quote that ends the string whose text starts
// at i, or -1.
func stringEnd(b []byte, i int) int {
	for start := i; ; {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return -1
		}
		i += j
		slashes := i
		for slashes > start && b[slashes-1] == '\\' {
			slashes--
		}
		if (i-slashes)%2 == 0 {
			return i
		}
		i++
	}
}

// nestedEnd is the index behind the object or array at i.
func nestedEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			if i = stringEnd(b, i+1); i < 0 {
				return len(b)
			}
		}
	}
	return len(b)
}

// Text is the value as a string: unescaped, null as nothing, an array of
// bytes (how journald writes what is not UTF-8) as those bytes, an array of
// strings (a field that was given twice) as its last one.
func (v Value) Text() string {
	switch {
	case v.Kind == '"':
		return unescape(v.Raw)
	case v.Kind == '[':
		return arrayText(v.Raw)
	case v.Kind == '0' && string(v.Raw) == "null":
		return ""
	}
	return string(v.Raw)
}

// sharedText is text without a copy, of a value in memory that nobody writes to again,
// and arrays and objects as they were written.
func (v Value) sharedText() string {
	switch {
	case v.Kind == '"' && bytes.IndexByte(v.Raw, '\\') < 0 || v.Kind == '[' || v.Kind == '{':
		return unsafe.String(unsafe.SliceData(v.Raw), len(v.Raw))
	}
	return v.Text()
}

// Member is the member of an object that has one of these names, the first one, or none.
func (v Value) Member(names ...string) Value {
	o, ok := ScanObject(v.Raw)
	for ok {
		var key []byte
		var inner Value
		if key, inner, ok = o.Next(); ok && slices.Contains(names, string(key)) {
			return inner
		}
	}
	return Value{}
}

// BytesOf is s as bytes that are only read.
func BytesOf(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }

// Int is the value as a number, quoted or not; 0 where it is none.
func (v Value) Int() int64 {
	var n int64
	for _, c := range v.Raw {
		if c < '0' || c > '9' || n > (1<<63-10)/10 {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return n
}

func arrayText(b []byte) string {
	var out []byte
	for i := SkipSpace(b, 1); i < len(b) && b[i] != ']'; i = SkipSpace(b, i) {
		if b[i] == ',' {
			i++
			continue
		}
		v, end := scanValue(b, i)
		if end <= i {
			break
		}
		i = end
		if v.Kind == '"' {
			out = append(out[:0], unescape(v.Raw)...)
		} else if n := v.Int(); n < 256 {
			out = append(out, byte(n))
		}
	}
	return string(out)
}

// unescape decodes the inside of a JSON string. What is no escape stays.
func unescape(b []byte) string {
	i := bytes.IndexByte(b, '\\')
	if i < 0 {
		return string(b)
	}
	out := make([]byte, 0, len(b))
	for i >= 0 {
		out = append(out, b[:i]...)
		b = b[i:]
		var n int
		out, n = unescapeOne(out, b)
		b = b[n:]
		i = bytes.IndexByte(b, '\\')
	}
	return string(append(out, b...))
}

var simpleEscapes = [256]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f', '"': '"', '\\': '\\', '/': '/',
	'\'': '\'', 'a': '\a', 'v': '\v'}

// unescapeOne decodes the escape that b starts with, of JSON and of Go.
func unescapeOne(out, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return append(out, b...), len(b)
	}
	switch c := b[1]; {
	case simpleEscapes[c] != 0:
		return append(out, simpleEscapes[c]), 2
	case c == 'x' && len(b) >= 4:
		if n, err := strconv.ParseUint(string(b[2:4]), 16, 8); err == nil {
			return append(out, byte(n)), 4
		}
	case c == 'u' && len(b) >= 6:
		return unescapeRune(out, b)
	}
	return append(out, b[0]), 1
}

func unescapeRune(out, b []byte) ([]byte, int) {
	c, ok := hex4(b[2:6])
	if !ok {
		return append(out, b[0]), 1
	}
	if utf16.IsSurrogate(c) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
		if low, ok := hex4(b[8:12]); ok {
			return utf8.AppendRune(out, utf16.DecodeRune(c, low)), 12
		}
	}
	return utf8.AppendRune(out, c), 6
}

func hex4(b []byte) (rune, bool) {
	n, err := strconv.ParseUint(string(b), 16, 32)
	return rune(n), err == nil
}
