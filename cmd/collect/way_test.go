package collect_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coroner/cmd/collect"
	"coroner/fixtures/portforward"
)

const (
	inCoroner = "/api/v1/namespaces/coroner/"
	proxied   = inCoroner + "services/https:coroner:http/proxy/"
	slicesOf  = "/apis/discovery.k8s.io/v1/namespaces/coroner/endpointslices"
	theServer = `{"items":[{"metadata":{"name":"coroner","namespace":"coroner"},
"spec":{"ports":[{"name":"metrics"},{"name":"http","appProtocol":"https"}]}}]}`
	thePods = `{"items":[{"ports":[{"name":"http","port":9095}],"endpoints":[
{"conditions":{"ready":false},"targetRef":{"kind":"Pod","namespace":"coroner","name":"coroner-1"}},
{"conditions":{"ready":true},"targetRef":{"kind":"Pod","namespace":"coroner","name":"coroner-0"}}]}]}`
)

// server finds coroner serve by an API server that answers so; that forwards ports to a pod where
// it may, and says what it was asked.
func server(
	t *testing.T, answers map[string]string, forwards bool,
) (address string, c *http.Client, asked *[]string) {
	t.Helper()
	pod := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "the pod at "+r.URL.RequestURI()+" "+r.Header.Get("Authorization"))
	}))
	t.Cleanup(pod.Close)
	asked = new([]string)
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*asked = append(*asked, r.URL.Path)
		if got := r.Header.Get("Authorization"); got != "Bearer kube" {
			t.Errorf("%s: the API server is shown %q", r.URL, got)
		}
		switch text, ok := answers[r.URL.Path]; {
		case forwards && r.URL.Path == inCoroner+"pods/coroner-0/portforward":
			portforward.Serve(w, r, func(string) (net.Conn, error) {
				return net.Dial("tcp", pod.Listener.Addr().String())
			})
		case ok:
			_, _ = io.WriteString(w, text)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(api.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(`{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "`+api.URL+`", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {token: kube}}],
contexts: [{name: x, context: {cluster: c, user: u}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	kube, err := collect.Cluster{Kubeconfig: path}.Connect()
	if err != nil {
		t.Fatal(err)
	}
	address, c, err = kube.Server(t.Context())
	if err != nil || address != api.URL+strings.TrimSuffix(proxied, "/") {
		t.Fatalf("%q %v", address, err)
	}
	return address, c, asked
}

// The server is asked through the API server's proxy; by a forwarded port of a pod that is ready
// where that is refused, or where the request has a token, which the API server never sees.
func TestWays(t *testing.T) {
	const services = "/api/v1/services"
	for name, tt := range map[string]struct {
		answers  map[string]string
		forwards bool
		token    string
		want     string // of the answer, or of the error
		without  string // what is not asked for
	}{
		"the proxy": {map[string]string{proxied + "x": "the proxy"}, true, "", "the proxy", "portforward"},
		"the proxy is refused": {map[string]string{slicesOf: thePods}, true, "",
			"the pod at /x?q=1 ", "coroner-1/portforward"},
		"a token": {map[string]string{proxied + "x": "the proxy", slicesOf: thePods}, true, "Bearer own",
			"the pod at /x?q=1 Bearer own", "proxy"},
		"both are refused": {map[string]string{slicesOf: thePods}, false, "",
			"through services/proxy: you may not read it (403)", ""},
		"a token, and no port": {map[string]string{slicesOf: thePods}, false, "Bearer own",
			"forwards nothing to the pod coroner/coroner-0", "proxy"},
		"pods may not be read": {nil, true, "Bearer own", "the pods of coroner serve: you may not read it", "proxy"},
		"no pod is ready": {map[string]string{slicesOf: `{"items":[]}`}, true, "Bearer own",
			"no pod of coroner serve is ready", "portforward"},
	} {
		if tt.answers == nil {
			tt.answers = map[string]string{}
		}
		tt.answers[services] = theServer
		address, c, asked := server(t, tt.answers, tt.forwards)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/x?q=1", nil)
		if tt.token != "" {
			req.Header.Set("Authorization", tt.token)
		}
		got := ""
		res, err := c.Do(req)
		if err != nil {
			got = err.Error()
		} else {
			data, _ := io.ReadAll(res.Body)
			got = string(data)
			_ = res.Body.Close()
		}
		all := strings.Join(*asked, " ")
		if !strings.Contains(got, tt.want) || tt.without != "" && strings.Contains(all, tt.without) {
			t.Errorf("%s: %q, want %q; asked for %q", name, got, tt.want, *asked)
		}
	}
}
