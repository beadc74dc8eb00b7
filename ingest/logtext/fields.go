package logtext

import (
	"slices"
	"strings"
)

// Fields are the named values of a structured text, in its order. Of several
// with one name the last counts. A line has few, so a list is looked through
// sooner than a map is made.
type Fields []Field

// Field is one of them.
type Field struct{ Name, Value string }

// MaxFields bounds what one line can make of itself.
const MaxFields = 200

// Get returns the value of the field called name, "" if there is none.
func (f Fields) Get(name string) string {
	v, _ := f.Lookup(name)
	return v
}

// Lookup is Get, and says whether there is one.
func (f Fields) Lookup(name string) (value string, ok bool) {
	for i := len(f) - 1; i >= 0; i-- {
		if f[i].Name == name {
			return f[i].Value, true
		}
	}
	return "", false
}

// Map returns the fields by name.
func (f Fields) Map() map[string]string {
	m := make(map[string]string, len(f))
	for _, field := range f {
		m[field.Name] = field.Value
	}
	return m
}

func (f Fields) hasField(name string) bool {
	_, ok := f.Lookup(name)
	return ok
}

// severalNames says whether the fields have more than one name.
func (f Fields) severalNames() bool {
	return slices.ContainsFunc(f, func(field Field) bool { return field.Name != f[0].Name })
}

// withoutName drops the fields called name.
func (f Fields) withoutName(name string) Fields {
	return slices.DeleteFunc(f, func(field Field) bool { return field.Name == name })
}

// addJSON adds the members of s that do not hide what is already known.
func (f Fields) addJSON(s string) Fields {
	known := len(f)
	o, _ := ScanObject(BytesOf(s))
	all := f.flattenInto("", &o, 0)
	more := slices.DeleteFunc(all[known:], func(field Field) bool { return all[:known].hasField(field.Name) })
	return all[:known+len(more)]
}

// addText adds the members of `{"ID":…}` or of Go's `&{ID:… Type:…}` as
// key.ID, key.Type.
func (f Fields) addText(key, val string) Fields {
	if val[0] == '{' {
		o, _ := ScanObject(BytesOf(val))
		return f.flattenInto(key+".", &o, 0)
	}
	for part := range strings.FieldsSeq(strings.TrimSuffix(val[2:], "}")) {
		if k, v, ok := strings.Cut(part, ":"); ok && len(f) < MaxFields {
			f = append(f, Field{key + "." + k, v})
		}
	}
	return f
}

// flattenInto adds the members of o with their names dotted; o lies in memory that
// nobody writes to again, and what needs no unescaping stays there. Arrays stay
// as they were written. An object of a name and a namespace is a reference and
// is also given whole, `namespace/name`, as klog's text form has it.
func (f Fields) flattenInto(prefix string, o *Object, depth int) Fields {
	for len(f) < MaxFields {
		k, v, ok := o.Next()
		if !ok {
			break
		}
		key := Value{k, '"'}.sharedText()
		if prefix != "" {
			key = prefix + key
		}
		inner, isObject := ScanObject(v.Raw)
		if v.Kind != '{' || !isObject || depth > 4 {
			f = append(f, Field{key, v.sharedText()})
			continue
		}
		begin := len(f)
		f = f.flattenInto(key+".", &inner, depth+1)
		if ref := f[begin:].reference(key); ref != "" {
			f = append(f, Field{key, ref})
		}
	}
	return f
}

func (f Fields) reference(key string) string {
	name, ns := f.Get(key+".name"), f.Get(key+".namespace")
	if name == "" || ns == "" {
		return name
	}
	return ns + "/" + name
}
