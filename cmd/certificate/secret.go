package certificate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"coroner/ingest/kubehttp"

	"k8s.io/client-go/rest"
)

// Secret keeps a pair in a Secret of the type kubernetes.io/tls, as cert-manager
// does: tls.crt, tls.key and ca.crt.
type Secret struct {
	client    *http.Client
	all, name string // the address of the namespace's Secrets, and its name
	found     object
}

// object is a Secret as the API server has it.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]any    `json:"metadata"`
	Type       string            `json:"type"`
	Data       map[string][]byte `json:"data"`
}

// madeBy is the annotation of the Secrets that this package made.
const madeBy = "coroner/certificate"

// NewSecret returns the Secret of that name; it asks nothing yet.
func NewSecret(config *rest.Config, namespace, name string) (*Secret, error) {
	client, base, err := kubehttp.New(config)
	if err != nil {
		return nil, err
	}
	all := base.JoinPath("/api/v1/namespaces", namespace, "secrets").String()
	return &Secret{client: client, all: all, name: name}, nil
}

var errMissing = errors.New("there is none")

// Load implements Store.
func (s *Secret) Load(ctx context.Context) (p Pair, err error) {
	s.found = object{}
	err = s.do(ctx, http.MethodGet, s.all+"/"+s.name, nil, &s.found)
	if errors.Is(err, errMissing) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	notes, _ := s.found.Metadata["annotations"].(map[string]any)
	if notes[madeBy] == nil {
		return p, fmt.Errorf("the Secret %s is there and was not made by coroner: "+
			"use it as tls.existingSecret, or take it away", s.name)
	}
	d := s.found.Data
	return Pair{CA: d["ca.crt"], Cert: d["tls.crt"], Key: d["tls.key"]}, nil
}

// Save implements Store. What changed since Load is not written over.
func (s *Secret) Save(ctx context.Context, p Pair) error {
	o := object{APIVersion: "v1", Kind: "Secret", Type: "kubernetes.io/tls", Metadata: s.found.Metadata,
		Data: map[string][]byte{"ca.crt": p.CA, "tls.crt": p.Cert, "tls.key": p.Key}}
	if o.Metadata != nil {
		return s.do(ctx, http.MethodPut, s.all+"/"+s.name, &o, nil)
	}
	o.Metadata = map[string]any{"name": s.name, "annotations": map[string]string{madeBy: "self-made"}}
	return s.do(ctx, http.MethodPost, s.all, &o, nil)
}

// do sends a request; into is what is answered, nil if that is of no interest.
func (s *Secret) do(ctx context.Context, method, url string, o, into *object) error {
	body, err := json.Marshal(o)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, 4<<20))
	switch {
	case err != nil:
		return err
	case res.StatusCode == http.StatusNotFound && method == http.MethodGet:
		return errMissing
	case res.StatusCode/100 != 2:
		return fmt.Errorf("%s the Secret %s: the API server answers %s: %.300s", method, s.name, res.Status, data)
	case into == nil:
		return nil
	}
	return json.Unmarshal(data, into)
}
