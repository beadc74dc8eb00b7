package contract_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
	"testing"

	"coroner/deploy/contract"

	"github.com/getkin/kin-openapi/openapi3"
)

// readOpenAPI reads a text as the API's document, whose schemas are those of this package, and
// says what is wrong with it by OpenAPI 3.1.
func readOpenAPI(text string) error {
	loader := openapi3.NewLoader()
	loader.IsExternalRefsAllowed = true
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, at *url.URL) ([]byte, error) {
		return fs.ReadFile(contract.Files, path.Clean(at.Path))
	}
	doc, err := loader.LoadFromDataWithPath([]byte(text), &url.URL{Path: "openapi.yaml"})
	if err != nil {
		return err
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") {
		return fmt.Errorf("it is of version %q", doc.OpenAPI)
	}
	return errors.Join(doc.Validate(context.Background()))
}

// The document is one by OpenAPI 3.1: every field is known, every reference leads somewhere, every
// parameter of a path is declared. A mistake in it is found.
func TestOpenAPI(t *testing.T) {
	data, err := fs.ReadFile(contract.Files, "openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	if err := readOpenAPI(good); err != nil {
		t.Error(err)
	}
	for _, c := range []struct{ from, to string }{
		{"operationId: search", "operationId: findRunners"},
		{"      responses:\n", "      responces:\n"},
		{"summary: The latest", "sumary: The latest"},
		{"#/components/responses/Error", "#/components/responses/Fehler"},
		{"$ref: schemas/verdict.json", "$ref: schemas/verdicts.json"},
		{"in: query", "in: kwery"},
		{"{name: label, in: path, required: true", "{name: label, in: path, required: false"},
		{"{name: id, in: path", "{name: number, in: path"},
		{"type: http, scheme: bearer", "type: http"},
		{"type: object", "type: thing"},
		{"- token: []", "- tokens: []"},
		{"openapi: 3.1.0", "openapi: 3.0.3"},
		{"  title: coroner\n", ""},
	} {
		if bad := strings.Replace(good, c.from, c.to, 1); bad == good {
			t.Errorf("the document has no %q", c.from)
		} else if err := readOpenAPI(bad); err == nil {
			t.Errorf("%q for %q is taken", c.to, c.from)
		}
	}
}
