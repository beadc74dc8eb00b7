package forward

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/portforward"

	"k8s.io/client-go/rest"
)

// to makes an API server that forwards port 9095 of one pod to an address, and a client through it.
func to(t *testing.T, address string) *http.Client {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/namespaces/coroner/pods/coroner-0/portforward" ||
			r.Header.Get("Authorization") != "Bearer kube" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		portforward.Serve(w, r, func(port string) (net.Conn, error) {
			if port != "9095" {
				return nil, errors.New("nobody listens at " + port)
			}
			return net.Dial("tcp", address)
		})
	}))
	t.Cleanup(api.Close)
	return through(api.URL, Pod{"coroner", "coroner-0", 9095})
}

func through(api string, pod Pod) *http.Client {
	config := &rest.Config{Host: api, BearerToken: "kube", TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	return &http.Client{Transport: &http.Transport{DialContext: Dialer(config, api, pod)}, Timeout: 20 * time.Second}
}

// What is asked through the API server arrives at the pod, whole, one request after the other and
// several at once; of the kubeconfig's credentials the pod hears nothing.
func TestThroughTheAPIServer(t *testing.T) {
	large := strings.Repeat("a line of a verdict\n", 100_000)
	pod := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer own" {
			t.Errorf("the pod is shown %q", got)
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = io.WriteString(w, r.Host+r.URL.Path+string(body)+large)
	}))
	defer pod.Close()
	client := to(t, pod.Listener.Addr().String())
	ask := func(path string) {
		req, _ := http.NewRequest(http.MethodPost, "http://coroner.coroner"+path, strings.NewReader(large))
		req.Header.Set("Authorization", "Bearer own")
		res, err := client.Do(req)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if got, err := io.ReadAll(res.Body); string(got) != "coroner.coroner"+path+large+large || err != nil {
			t.Errorf("%s: %d bytes, %v", path, len(got), err)
		}
	}
	ask("/one")
	ask("/two")
	done := make(chan bool)
	for range 4 {
		go func() { ask("/many"); done <- true }()
	}
	for range 4 {
		<-done
	}
}

// Who is refused, or where nobody listens, is told why.
func TestRefused(t *testing.T) {
	nowhere, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nowhere.Addr().String()
	_ = nowhere.Close()
	_, err = to(t, address).Get("http://x/")
	if err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("nobody listens: %v", err)
	}
	api := httptest.NewTLSServer(http.NotFoundHandler())
	defer api.Close()
	_, err = through(api.URL, Pod{"coroner", "coroner-1", 9095}).Get("http://x/")
	if err == nil || !strings.Contains(err.Error(), "forwards nothing to the pod coroner/coroner-1") {
		t.Errorf("no such pod: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	config := &rest.Config{Host: api.URL}
	if c, err := Dialer(config, api.URL, Pod{})(ctx, "", ""); err == nil {
		t.Error("it connects though it is stopped", c.Close())
	}
}
