package lookup

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	openapi "coroner/deploy/contract"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

// described is the API as openapi.yaml has it.
type described struct {
	Paths map[string]map[string]operation
	refs  map[string]parameter
}

type operation struct {
	Parameters []parameter
	Responses  map[string]any
}

type parameter struct {
	Ref      string `json:"$ref"`
	Name, In string
}

const (
	contractURL  = "https://coroner.test/api/openapi.yaml"
	schemaFolder = "https://coroner.test/api/schemas/"
)

// contractDoc reads the contract once, and a compiler that knows its schemas.
var contractDoc = sync.OnceValues(func() (described, *jsonschema.Compiler) {
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	var whole any
	text, err := fs.ReadFile(openapi.Files, "openapi.yaml")
	must(err)
	must(yaml.Unmarshal(text, &whole))
	data, err := json.Marshal(whole)
	must(err)
	var doc struct {
		described
		Components struct{ Parameters map[string]parameter }
	}
	must(json.Unmarshal(data, &doc))
	doc.refs = doc.Components.Parameters
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	must(err)
	must(c.AddResource(contractURL, parsed))
	verdict, err := fs.ReadFile(openapi.Files, "schemas/verdict.json")
	must(err)
	parsed, err = jsonschema.UnmarshalJSON(bytes.NewReader(verdict))
	must(err)
	delete(parsed.(map[string]any), "$id") // it has the address under which it is served
	must(c.AddResource(schemaFolder+"verdict.json", parsed))
	return doc.described, c
})

// parametersOf are the names of an operation's parameters at a place.
func (d *described) parametersOf(o operation, in string) (names []string) {
	for _, p := range o.Parameters {
		if p.Ref != "" {
			p = d.refs[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
		}
		if p.In == in {
			names = append(names, p.Name)
		}
	}
	return names
}

// held holds every answer of a handler to the contract.
func held(t testing.TB, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := httptest.NewRecorder()
		h.ServeHTTP(out, r)
		holdAnswer(t, r, out)
		for name, values := range out.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes())
	})
}

func holdAnswer(t testing.TB, r *http.Request, out *httptest.ResponseRecorder) {
	t.Helper()
	doc, compiler := contractDoc()
	path, op, ok := doc.operation(r)
	if r.Method != http.MethodGet && out.Code == http.StatusMethodNotAllowed {
		return // nothing was asked for
	}
	if !ok {
		t.Errorf("%s %s is not in the contract", r.Method, r.URL.Path)
		return
	}
	if out.Code != http.StatusBadRequest {
		for name := range r.URL.Query() {
			if !slices.Contains(doc.parametersOf(op, "query"), name) {
				t.Errorf("%s: parameter %s was taken, and is not in the contract", path, name)
			}
		}
	}
	answer, ok := op.Responses[strconv.Itoa(out.Code)].(map[string]any)
	if !ok {
		t.Errorf("%s: the answer %d is not in the contract", r.URL, out.Code)
		return
	}
	place := "#/paths/" + strings.ReplaceAll(path, "/", "~1") + "/get/responses/" + strconv.Itoa(out.Code)
	if ref, is := answer["$ref"].(string); is {
		place, answer = ref, map[string]any{"content": map[string]any{"application/json": nil}}
	}
	kind, _, _ := mime.ParseMediaType(out.Header().Get("Content-Type"))
	if _, has := answer["content"].(map[string]any)[kind]; !has {
		t.Errorf("%s: the answer is %s, which is not in the contract", r.URL, kind)
	}
	if kind != "application/json" {
		return
	}
	place = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(place)
	schema, err := compiler.Compile(contractURL + place + "/content/application~1json/schema")
	if err != nil {
		t.Fatal(err)
	}
	body, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Body.Bytes()))
	if err == nil {
		err = schema.Validate(body)
	}
	if err != nil {
		t.Errorf("%s: the answer is not that of the contract: %v", r.URL, err)
	}
}

// operation finds what a request asks for.
func (d *described) operation(r *http.Request) (path string, op operation, ok bool) {
	for path, methods := range d.Paths {
		form := regexp.MustCompile(`\{name\}`).ReplaceAllString(path, ".*")
		form = regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(form, "[^/]+")
		if op, has := methods[strings.ToLower(r.Method)]; has &&
			regexp.MustCompile("^"+form+"$").MatchString(r.URL.Path) {
			return path, op, true
		}
	}
	return "", op, false
}

// What is registered is described, and what is described is registered; and so are the
// parameters that each reads.
func TestContractIsWhole(t *testing.T) {
	doc, _ := contractDoc()
	source, err := os.ReadFile("lookup.go")
	if err != nil {
		t.Fatal(err)
	}
	var registered []string
	routes := regexp.MustCompile(`mux\.HandleFunc\("GET (/api/[^"]+)"`)
	for _, m := range routes.FindAllStringSubmatch(string(source), -1) {
		registered = append(registered, strings.ReplaceAll(m[1], "...}", "}"))
	}
	var paths []string
	for path := range doc.Paths {
		paths = append(paths, path)
	}
	slices.Sort(registered)
	if slices.Sort(paths); !slices.Equal(paths, registered) || len(paths) < 6 {
		t.Errorf("described are %q, registered %q", paths, registered)
	}
	want := map[string][]string{"/api/v1/verdicts": slices.Sorted(slices.Values(parameters)),
		"/api/v1/runners/{name}": {"cluster"}, "/api/v1/search": {"cluster", "q"}}
	for path, methods := range doc.Paths {
		got := slices.Sorted(slices.Values(doc.parametersOf(methods["get"], "query")))
		if !slices.Equal(got, want[path]) {
			t.Errorf("%s: described are %q, read %q", path, got, want[path])
		}
		inPath := regexp.MustCompile(`\{([a-z]+)\}`).FindAllStringSubmatch(path, -1)
		if n := len(doc.parametersOf(methods["get"], "path")); n != len(inPath) || len(methods) != 1 {
			t.Errorf("%s: %d parameters of the path, %d methods", path, n, len(methods))
		}
	}
}
