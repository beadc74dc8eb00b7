package contract_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"coroner/classify"
	"coroner/deploy/contract"
	"coroner/fixtures"
	"coroner/fixtures/shipped"
	"coroner/ingest/bundle"
	"coroner/rules"
	"coroner/rules/book"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// schema compiles one of the schemas, formats included.
func schema(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	data, err := fs.ReadFile(contract.Files, "schemas/"+name+".json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("https://coroner.test/api/schemas/"+name+".json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("https://coroner.test/api/schemas/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parsed is a value as JSON has it.
func parsed(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The verdict of every incident is one by the schema.
func TestVerdicts(t *testing.T) {
	s := schema(t, "verdict")
	rulebook := shipped.Rulebook(t)
	all, err := fixtures.All()
	if err != nil {
		t.Fatal(err)
	}
	verdicts := 0
	for _, in := range all {
		for _, v := range verdictsOf(t, rulebook, in) {
			verdicts++
			if err := s.Validate(parsed(t, v)); err != nil {
				t.Errorf("%s: %v", in.Name, err)
			}
		}
	}
	if verdicts < len(all) {
		t.Errorf("%d verdicts of %d incidents", verdicts, len(all))
	}
	for _, wrong := range []func(*rules.Verdict){
		func(v *rules.Verdict) { v.Confidence = "certain" }, func(v *rules.Verdict) { v.Label = "no label" },
		func(v *rules.Verdict) { v.Domain = "nobody" }, func(v *rules.Verdict) { v.Evidence = nil },
	} {
		v := verdictsOf(t, rulebook, all[0])[0]
		wrong(&v)
		if s.Validate(parsed(t, v)) == nil {
			t.Errorf("a verdict that is none is taken: %+v", v)
		}
	}
}

func verdictsOf(t *testing.T, rulebook *rules.Rulebook, in fixtures.Incident) []rules.Verdict {
	t.Helper()
	entries := bundle.Bytes(in.Name+".txtar", in.Archive(), bundle.Options{}).Entries(nil)
	return classify.Replay(entries, rulebook, classify.Options{})
}

// The schema has each field of a verdict, and no other.
func TestFields(t *testing.T) {
	compare(t, "verdict", reflect.TypeFor[rules.Verdict](), properties(t, "verdict", "properties"))
	compare(t, "evidence", reflect.TypeFor[rules.EvidenceLine](),
		properties(t, "verdict", "properties", "evidence", "items", "properties"))
	compare(t, "job", reflect.TypeFor[rules.Job](), properties(t, "verdict", "properties", "job", "properties"))
	compare(t, "runner_verdict", reflect.TypeFor[rules.RunnerVerdict](),
		properties(t, "verdict", "properties", "runner_verdict", "properties"))
	compare(t, "not_understood", reflect.TypeFor[rules.UnknownLine](),
		properties(t, "verdict", "properties", "not_understood", "items", "properties"))
}

func compare(t *testing.T, what string, of reflect.Type, described []string) {
	t.Helper()
	if fields := slices.Sorted(slices.Values(jsonFields(of))); !slices.Equal(fields, described) {
		t.Errorf("%s has %q, its schema %q", what, fields, described)
	}
}

func jsonFields(of reflect.Type) (out []string) {
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, jsonFields(f.Type)...)
		case name != "" && name != "-":
			out = append(out, name)
		}
	}
	return out
}

// properties are the keys at a place of a schema.
func properties(t *testing.T, name string, path ...string) (keys []string) {
	t.Helper()
	data, err := fs.ReadFile(contract.Files, "schemas/"+name+".json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, p := range path {
		doc, _ = doc[p].(map[string]any)
	}
	for k := range doc {
		keys = append(keys, k)
	}
	return slices.Sorted(slices.Values(keys))
}

// Every file of the built-in rulebook and of its tests is one by the schema, and what the reader
// refuses the schema refuses.
func TestRulebooks(t *testing.T) {
	s := schema(t, "rulebook")
	for _, folder := range []fs.FS{book.Files, book.Tests} {
		names, err := fs.Glob(folder, "*.yaml")
		if err != nil || len(names) < 15 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(folder, name)
			if err == nil {
				err = s.Validate(fromYAML(t, string(data)))
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, wrong := range []string{
		"verdict: []", "verdicts: [{id: a, when: [], verdict: b}]", "labels: [{name: a, domain: nobody}]",
		"signals: [{name: a.b, mesage: x}]", "signals: [{name: a.b, source: printer}]",
		"secrets: [{name: a, least: much}]",
		"verdicts: [{id: a, confidence: certain}]",
		"facts: [{name: a, tests: [{files: {a: b}}]}]", "tests: {a: [{files: {a: b}}]}",
		"tests: {a: [{want: 1, verdict: none}]}", "{tests: {a: [{want: 1}]}, facts: []}",
		"order: [{family: a, at: first}]", "harmless: [{lines: a}]",
	} {
		if s.Validate(fromYAML(t, wrong)) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	var doc any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return parsed(t, doc)
}

// The schema knows each key that the reader of rulebooks does, and no other.
func TestKeys(t *testing.T) {
	defs := map[string]string{
		"fact": "fact", "fact test": "fact_test", "family of the order": "family", "verdict rule": "verdict",
		"verdict test": "verdict_test",
		"label":        "label", "ruled_out": "ruled_out", "advice_by_line": "advice_by_line", "harmless": "harmless",
		"signal": "signal", "shape": "shape", "signal test": "signal_test", "words": "words", "symptom": "symptom",
		"secret": "secret", "secret test": "secret_test",
	}
	read := readerKeys(t)
	for what, keys := range read {
		def, known := defs[what]
		if !known {
			t.Errorf("the reader reads a %s, which is not compared here", what)
			continue
		}
		if want := properties(t, "rulebook", "$defs", def, "properties"); !slices.Equal(keys, want) {
			t.Errorf("%s: the reader knows %q, the schema %q", what, keys, want)
		}
	}
	if len(read) != len(defs) {
		t.Errorf("the reader's calls were found for %d of %d", len(read), len(defs))
	}
}

// readerKeys are the keys of each mapping that is read strictly: what is called
// r.Object(n, "what", map[string]func(*yaml.Node){"key": …}).
func readerKeys(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for _, dir := range []string{"../../rules", "../../rules/inline", "../../rules/signal"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if what, keys, ok := objectCall(n); ok && !strings.HasSuffix(file, "_test.go") {
					out[what] = keys
				}
				return true
			})
		}
	}
	return out
}

func objectCall(n ast.Node) (what string, keys []string, ok bool) {
	call, is := n.(*ast.CallExpr)
	if !is || len(call.Args) != 3 {
		return "", nil, false
	}
	f, named := call.Fun.(*ast.SelectorExpr)
	text, said := call.Args[1].(*ast.BasicLit)
	fields, literal := call.Args[2].(*ast.CompositeLit)
	if !named || f.Sel.Name != "Object" || !said || !literal {
		return "", nil, false
	}
	for _, e := range fields.Elts {
		if pair, is := e.(*ast.KeyValueExpr); is {
			key, _ := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
			keys = append(keys, key)
		}
	}
	what, _ = strconv.Unquote(text.Value)
	return what, slices.Sorted(slices.Values(keys)), true
}

// The files are served, and nothing else is.
func TestServed(t *testing.T) {
	mux := http.NewServeMux()
	contract.Register(mux)
	for path, want := range map[string]string{
		"/api/openapi.yaml": "application/yaml", "/api/schemas/verdict.json": "application/schema+json",
		"/api/schemas/signal.json": "application/schema+json", "/api/schemas/rulebook.json": "application/schema+json",
		"/api/schemas/message.json": "application/schema+json",
		"/api/schemas/other.json":   "", "/api/schemas/..%2fcontract.go": "",
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		if got := w.Header().Get("Content-Type"); want == "" && w.Code != http.StatusNotFound ||
			want != "" && got != want {
			t.Errorf("%s: %d %s", path, w.Code, got)
		}
	}
}
