package main

import (
	"reflect"
	"strings"
	"testing"

	"coroner/classify/docket"
	"coroner/cmd/units"

	"github.com/alecthomas/kong"
)

// parsedServe is coroner serve with these arguments.
func parsedServe(t *testing.T, args ...string) serveCmd {
	t.Helper()
	var c serveCmd
	p, err := kong.New(&c, flagVars(":0"), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse(args); err != nil {
		t.Fatal(err)
	}
	return c
}

// A default stands once: without flags the docket has its own defaults, and no flag that it
// obeys has one beside them.
func TestDefaultsStandOnce(t *testing.T) {
	c := parsedServe(t)
	got, want := c.docketOptions(), docket.Defaults()
	got.LastLines = want.LastLines // no flag
	if !reflect.DeepEqual(got, want) {
		t.Errorf("without flags the docket is given %+v, its defaults are %+v", got, want)
	}
	obeyed := 0
	eachFlag(reflect.ValueOf(&c).Elem(), func(f reflect.StructField, v reflect.Value) {
		before, was := c.docketOptions(), reflect.New(v.Type()).Elem()
		was.Set(v)
		change(v)
		if !reflect.DeepEqual(before, c.docketOptions()) {
			obeyed++
			if value := f.Tag.Get("default"); value != "" && !strings.HasPrefix(value, "${") {
				t.Errorf("--%s has the default %s of its own; the docket has its too", f.Tag.Get("name"), value)
			}
		}
		v.Set(was)
	})
	if obeyed < 12 {
		t.Errorf("only %d flags were found that the docket obeys", obeyed)
	}
}

// eachFlag visits the flags of a struct and of those that it embeds.
func eachFlag(s reflect.Value, visit func(reflect.StructField, reflect.Value)) {
	for i := range s.NumField() {
		f, v := s.Type().Field(i), s.Field(i)
		switch {
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			eachFlag(v, visit)
		case f.IsExported():
			visit(f, v)
		}
	}
}

// change gives a flag another value.
func change(v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(v.Int() + 7)
	case v.Kind() == reflect.String:
		v.SetString(v.String() + "x")
	case v.Kind() == reflect.Bool:
		v.SetBool(!v.Bool())
	case v.Type() == reflect.TypeFor[[]string]():
		v.Set(reflect.ValueOf([]string{"x/y"}))
	}
}
