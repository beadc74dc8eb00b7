package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/deploy/contract"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What coroner signals prints is what its schema says, field for field.
func TestSignalSchema(t *testing.T) {
	data, err := fs.ReadFile(contract.Files, "schemas/signal.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("https://coroner.test/signal.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("https://coroner.test/signal.json")
	if err != nil {
		t.Fatal(err)
	}
	var out, said bytes.Buffer
	p := &program{in: strings.NewReader(""), out: &out, err: &said, now: time.Now, tty: func(any) bool { return false }}
	if code := p.runCommand([]string{"signals", "../../fixtures/incidents"}); code != exitOK {
		t.Fatal(&said)
	}
	lines := 0
	for line := range strings.Lines(out.String()) {
		lines++
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
	}
	if lines < 1000 {
		t.Errorf("only %d lines were looked at", lines)
	}
	var described struct{ Properties map[string]any }
	if err := json.Unmarshal(data, &described); err != nil {
		t.Fatal(err)
	}
	var fields []string
	for f := range reflect.TypeFor[signalLine]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, name)
	}
	if slices.Sort(fields); !slices.Equal(fields, slices.Sorted(maps.Keys(described.Properties))) {
		t.Errorf("a line has %q, its schema %q", fields, slices.Sorted(maps.Keys(described.Properties)))
	}
}
