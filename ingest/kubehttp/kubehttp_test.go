package kubehttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// The client shows the configuration's token to the address that it names.
func TestClientHasTheCredentials(t *testing.T) {
	token := ""
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
	}))
	defer s.Close()
	client, base, err := New(&rest.Config{Host: s.URL + "/behind", BearerToken: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	if got := base.JoinPath("/api").String(); got != s.URL+"/behind/api" {
		t.Errorf("the address is %s", got)
	}
	res, err := client.Get(base.String())
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if token != "Bearer secret" {
		t.Errorf("the API server is shown %q", token)
	}
}

// A configuration that cannot be used says which part of it is wrong.
func TestBadConfiguration(t *testing.T) {
	for want, c := range map[string]*rest.Config{
		"the API server's configuration: ": {Host: "h", TLSClientConfig: rest.TLSClientConfig{CAFile: "/nowhere"}},
		"the API server's address: ":       {Host: "http://%"},
	} {
		if _, _, err := New(c); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
