package access

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"coroner/ingest/push"
)

func token(text string) Token { return func() (string, error) { return text, nil } }

// reviewer knows one token of an agent on n1, and one of somebody else.
type reviewer struct{ cluster string }

func (r reviewer) Review(_ context.Context, token string) (push.Identity, error) {
	switch token {
	case "n1's":
		return push.Identity{Cluster: r.cluster, Node: "n1", Agent: true}, nil
	case "no agent's":
		return push.Identity{}, Forbidden{"credential", "not an agent"}
	case "later":
		return push.Identity{}, errors.New("the API server is away")
	}
	return push.Identity{}, Denied{"unknown"}
}

// request is one from this machine; header is name, value …
func request(header ...string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, push.Path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost:9095"
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// with adds to a request what is not a header.
func with(r *http.Request, f func(*http.Request)) *http.Request {
	f(r)
	return r
}

func bearer(token string, header ...string) *http.Request {
	return request(append([]string{"Authorization", "Bearer " + token}, header...)...)
}

func from(address string, header ...string) *http.Request {
	return with(request(header...), func(r *http.Request) { r.RemoteAddr = address })
}

// shows is a request with a verified client certificate.
func shows(leaf x509.Certificate, header ...string) *http.Request {
	return with(request(header...), func(r *http.Request) {
		r.TLS = &tls.ConnectionState{VerifiedChains: [][]*x509.Certificate{{&leaf}}}
	})
}

const agent = push.AgentHeader

// pushed is "ok", as whom, or the status and what was counted.
func pushed(d Door, w *httptest.ResponseRecorder, r *http.Request) (got string) {
	d.Refused = func(reason string) { got = fmt.Sprint(w.Code, " ", reason) }
	d.Push(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id, _ := push.IdentityFrom(r.Context())
		words := []string{"ok", id.Cluster}
		if id.Agent || id.Node != "" {
			words = append(words, "agent of", id.Node)
		}
		if id.Relay {
			words = append(words, "relay")
		}
		got = strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
	})).ServeHTTP(w, r)
	return got
}

// Who is let in to push, and as whom; who is not gets an answer that says what to do.
func TestPush(t *testing.T) {
	named := func(n string) x509.Certificate { return x509.Certificate{Subject: pkix.Name{CommonName: n}} }
	dns := func(common string, names ...string) x509.Certificate {
		c := named(common)
		c.DNSNames = names
		return c
	}
	uri := func(c x509.Certificate, text string) x509.Certificate {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		c.URIs = append(c.URIs, u)
		return c
	}
	shared := []Shared{{Token: token("s3cret")}, {Cluster: "blue", Token: token("bl00")}}
	shared = append(shared, Shared{Cluster: "red", Token: token("r3d")},
		Shared{Cluster: "blue", Token: token("r3lay"), Relay: true})
	reviewed := map[string]Reviewer{"": reviewer{}, "blue": reviewer{"blue"}}
	certs := func() Web { return Web{Certs: true} }
	san := Door{SAN: true, Web: certs}
	sanBlue := Door{SAN: true, Web: certs, Cluster: "blue"}
	sanShared, reviews := Door{SAN: true, Web: certs, Shared: shared}, Door{Agents: reviewed}
	both := Door{Agents: reviewed, Shared: shared}
	passwords := Door{Web: func() Web { return Web{Passwords: true} }}
	elsewhere := func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }
	renamed := func(r *http.Request) { r.Host = "evil.example:9095" }
	gone := []Shared{{Token: func() (string, error) { return "", errors.New("gone") }}}
	for _, tt := range []struct {
		what string
		door Door
		r    *http.Request
		want string
	}{
		{"nothing configured, this machine", Door{}, request(), "ok"},
		{"its IPv6", Door{}, from("[::1]:1"), "ok"},
		{"its IPv4 in IPv6", Door{}, from("[::ffff:127.0.0.1]:1"), "ok"},
		{"another machine", Door{}, from("192.0.2.7:1"), "403 no-credential"},
		{"another that says it is this", Door{}, from("192.0.2.7:1", "X-Forwarded-For", "127.0.0.1"),
			"403 no-credential"},
		{"a proxy on this machine", Door{}, request("X-Forwarded-For", "192.0.2.7"), "403 no-credential"},
		{"a proxy that says what it is", Door{}, request("Forwarded", "for=127.0.0.1"), "403 no-credential"},
		{"a proxy that says nothing of whom", Door{}, request("X-Real-IP", ""), "403 no-credential"},
		{"a page, by another name of this machine", Door{}, with(request(), renamed), "403 no-credential"},
		{"an address like the loopback's", Door{}, from("127.0.0.1.evil:1"), "403 no-credential"},
		{"no address", Door{}, from("@"), "403 no-credential"},
		{"a page of another site", Door{}, request("Origin", "http://evil.example"), "403 origin"},
		{"a page without an origin", Door{}, request("Origin", "null"), "403 origin"},
		{"a page of another port", Door{}, request("Origin", "http://localhost:8080"), "403 origin"},
		{"a page, says the browser", Door{}, request("Sec-Fetch-Site", "cross-site"), "403 origin"},
		{"a person, says the browser", Door{}, request("Sec-Fetch-Site", "none"), "ok"},
		{"open", Door{Open: true}, from("192.0.2.7:1"), "ok"},
		{"open, a page of another site", Door{Open: true}, request("Origin", "http://evil.example"), "403 origin"},
		{"open, but a token is configured", Door{Open: true, Shared: shared}, request(), "401 credential"},
		{"a token for the pages", Door{Reader: token("r")}, request(), "ok"},

		{"the shared token", Door{Shared: shared}, bearer("s3cret", agent, "n9"), "ok"},
		{"the second", Door{Shared: shared}, bearer("bl00"), "ok blue"},
		{"from elsewhere", Door{Shared: shared}, with(bearer("s3cret"), elsewhere), "ok"},
		{"none, from this machine", Door{Shared: shared}, request(), "401 credential"},
		{"a part of it", Door{Shared: shared}, bearer("s3cre"), "401 credential"},
		{"more than it", Door{Shared: shared}, bearer("s3cret!"), "401 credential"},
		{"an empty one", Door{Shared: []Shared{{Token: token("")}}}, bearer(""), "401 credential"},
		{"one that cannot be read", Door{Shared: gone}, bearer("x"), "401 credential"},
		{"a relay's", Door{Shared: shared}, bearer("r3lay"), "ok blue relay"},
		{"a relay's where agents prove their node", both, bearer("r3lay"), "ok blue relay"},
		{"as a password", Door{Shared: shared}, request("Authorization", "Basic s3cret"), "401 credential"},
		{"in small letters", Door{Shared: shared}, request("Authorization", "bearer s3cret"), "ok"},

		{"an agent's", reviews, bearer("n1's", agent, "n1"), "ok agent of n1"},
		{"an agent's elsewhere", reviews, bearer("n1's", agent, "n1", push.ClusterHeader, "blue"),
			"ok blue agent of n1"},
		{"of a cluster that nobody knows", reviews, bearer("n1's", agent, "n1", push.ClusterHeader, "red"),
			"401 credential"},
		{"somebody else's", reviews, bearer("no agent's", agent, "n1"), "403 credential"},
		{"nobody's", reviews, bearer("x", agent, "n1"), "401 credential"},
		{"the API server is away", reviews, bearer("later", agent, "n1"), "503 review"},
		{"none", reviews, request(agent, "n1"), "401 credential"},
		{"a shipper's beside it", both, bearer("s3cret"), "ok"},
		{"an agent with a shipper's", both, bearer("s3cret", agent, "n1"), "403 node"},

		{"an agent with the token of its reviewed cluster", both, bearer("bl00", agent, "n1"), "403 node"},
		{"an agent of a cluster that nobody reviews", both, bearer("r3d", agent, "n1"), "ok red"},

		{"a certificate's common name", san, shows(named("n1"), agent, "n1"), "ok agent of n1"},
		{"of a server that names its cluster", sanBlue, shows(named("n1"), agent, "n1"), "ok blue agent of n1"},
		{"its DNS name", san, shows(dns("x", "n0", "n1"), agent, "n1"), "ok agent of n1"},
		{"its URI", san, shows(uri(named("x"), "node:n1"), agent, "n1"), "ok agent of n1"},
		{"another node's", san, shows(named("n2"), agent, "n1"), "403 node"},
		{"a longer name", san, shows(named("n1.evil"), agent, "n1"), "403 node"},
		{"any name", san, shows(dns("x", "*"), agent, "n1"), "403 node"},
		{"the common name beside DNS names", san, shows(dns("n1", "n2"), agent, "n1"), "403 node"},
		{"a DNS name beside a URI", san, shows(uri(dns("x", "n1"), "node:n2"), agent, "n1"), "403 node"},
		{"a URI of another kind", san, shows(uri(x509.Certificate{}, "spiffe://n1"), agent, "n1"), "403 node"},
		{"no name", san, shows(x509.Certificate{}, agent, ""), "401 credential"},
		{"a node's, as a shipper", san, shows(named("n1")), "401 credential"},
		{"one that was not verified", san, with(request(agent, "n1"), func(r *http.Request) {
			leaf := named("n1")
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{&leaf}}
		}), "401 credential"},
		{"the header alone", san, request(agent, "n1"), "401 credential"},
		{"a shipper's token beside it", sanShared, bearer("s3cret"), "ok"},
		{"an agent with that", sanShared, bearer("s3cret", agent, "n1"), "403 node"},
		{"an agent of another cluster with its own", sanShared, bearer("r3d", agent, "n1"), "ok red"},

		{"a certificate that names nobody", Door{Web: certs}, shows(named("x"), agent, "n1"), "ok"},
		{"none where one is asked for", Door{Web: certs}, request(), "401 credential"},
		{"a password", passwords, from("192.0.2.7:1"), "ok"},
		{"a password, another site's page", passwords, request("Origin", "http://evil.example"), "403 origin"},
	} {
		w := httptest.NewRecorder()
		if got := pushed(tt.door, w, tt.r); got != tt.want {
			t.Errorf("%s: %s, want %s: %s", tt.what, got, tt.want, w.Body)
		}
		if again := w.Header().Get("Retry-After") != ""; again != (w.Code == 503) {
			t.Errorf("%s: Retry-After is %q", tt.what, w.Header().Get("Retry-After"))
		}
		if text := strings.TrimSpace(w.Body.String()); w.Code != 200 && (text == "" || strings.Contains(text, "\n")) {
			t.Errorf("%s: %q is not one line", tt.what, text)
		}
	}
}

// What is left open is said, and what shuts everybody out.
func TestWarnings(t *testing.T) {
	web := func(w Web) func() Web { return func() Web { return w } }
	token := []Shared{{Token: token("s3cret")}}
	for _, tt := range []struct {
		door Door
		want []string
	}{
		{Door{}, []string{"accepted from this machine only"}},
		{Door{Open: true}, []string{"(--push.open)"}},
		{Door{Shared: token}, []string{"do not prove which node"}},
		{Door{Shared: token, Agents: map[string]Reviewer{"": reviewer{}}}, nil},
		{Door{SAN: true, Web: web(Web{Certs: true})}, nil},
		{Door{Shared: token, Web: web(Web{Passwords: true})}, []string{"do not prove", "cannot carry a token too"}},
	} {
		got := tt.door.Warnings()
		fits := len(got) == len(tt.want)
		for i := range tt.want {
			fits = fits && strings.Contains(got[i], tt.want[i])
		}
		if !fits {
			t.Errorf("%+v: %q, want %q", tt.door, got, tt.want)
		}
	}
}

// The pages ask for the token where there is one; the rulebook goes to agents too.
func TestReadAndFetch(t *testing.T) {
	asks := Door{Reader: token("r"), Operate: token("o"), Shared: []Shared{{Token: token("s")}}}
	asks.Agents = map[string]Reviewer{"": reviewer{}}
	for _, tt := range []struct {
		door        Door
		token       string
		read, fetch int
	}{
		{Door{}, "", 200, 200},
		{Door{Shared: asks.Shared, Operate: token("o")}, "", 200, 200},
		{asks, "", 401, 401},
		{asks, "x", 401, 401},
		{asks, "r", 200, 200},
		{asks, "o", 200, 200},
		{asks, "s", 401, 200},
		{asks, "n1's", 401, 200},
		{asks, "no agent's", 401, 401},
		{Door{Reader: token("r")}, "", 401, 200}, // whoever may push may have the rules
	} {
		for way, code := range map[string]int{"read": tt.read, "fetch": tt.fetch} {
			h := map[string]func(http.Handler) http.Handler{"read": tt.door.Read, "fetch": tt.door.Fetch}[way]
			w := httptest.NewRecorder()
			h(http.NotFoundHandler()).ServeHTTP(w, bearer(tt.token))
			if got := map[bool]int{true: 200, false: w.Code}[w.Code == 404]; got != code {
				t.Errorf("%s with %q: %d, want %d", way, tt.token, got, code)
			}
		}
	}
}

// A browser that may not read is shown a page; programs, scripts of pages and who asks the API
// are sent a line of text. Each is told what to send.
func TestRefusedReaderSeesAPage(t *testing.T) {
	door := Door{Reader: token("r"), Page: func(w http.ResponseWriter, _ *http.Request, text string, code int) {
		w.WriteHeader(code)
		fmt.Fprint(w, "<p>", text)
	}}
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for _, c := range []struct {
		path, accept, token string
		code                int
		page                bool
	}{
		{"/", browser, "", 401, true}, {"/runners/ci/x", browser, "wrong", 401, true},
		{"/docs/", browser, "", 401, true}, {"/", browser, "r", 404, false}, {"/", "", "", 401, false},
		{"/suggest", "*/*", "", 401, false},
		{"/api/v1/verdicts", browser, "", 401, false}, {"/apiary", browser, "", 401, true},
	} {
		r, w := httptest.NewRequest(http.MethodGet, c.path, nil), httptest.NewRecorder()
		r.Header.Set("Accept", c.accept)
		r.Header.Set("Authorization", "Bearer "+c.token)
		door.Read(http.NotFoundHandler()).ServeHTTP(w, r)
		body := w.Body.String()
		if w.Code != c.code || strings.HasPrefix(body, "<p>") != c.page ||
			strings.Contains(body, "--web.token-file") != (w.Header().Get("WWW-Authenticate") == "Bearer") ||
			c.code == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%+v: %d %v %s", c, w.Code, w.Header(), body)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept", browser)
	(&Door{Reader: token("r")}).Read(http.NotFoundHandler()).ServeHTTP(w, r)
	if w.Code != 401 || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("without a page: %d %v", w.Code, w.Header())
	}
}

// Who may operate: nobody by what an agent or a shipper has.
func TestOperator(t *testing.T) {
	leaf := x509.Certificate{Subject: pkix.Name{CommonName: "n1"}}
	certs := func() Web { return Web{Certs: true} }
	operate := Door{Operate: token("o"), Reader: token("r"), Shared: []Shared{{Token: token("s")}}}
	elsewhere := func(r *http.Request) { r.RemoteAddr = "192.0.2.7:1" }
	for _, tt := range []struct {
		what string
		door Door
		r    *http.Request
		code int
	}{
		{"nothing configured, this machine", Door{}, request(), 200},
		{"nothing configured, another", Door{}, from("192.0.2.7:1"), 403},
		{"open to pushes, another", Door{Open: true}, from("192.0.2.7:1"), 403},
		{"open to pushes, this machine", Door{Open: true}, request(), 200},
		{"a push token is configured", Door{Shared: operate.Shared}, request(), 403},
		{"it is given", Door{Shared: operate.Shared}, bearer("s"), 403},
		{"tokens are reviewed", Door{Agents: map[string]Reviewer{"": reviewer{}}}, bearer("n1's", agent, "n1"), 403},
		{"the readers' is configured", Door{Reader: token("r")}, bearer("r"), 403},
		{"the operator's", operate, bearer("o"), 200},
		{"the operator's, from elsewhere", operate, with(bearer("o"), elsewhere), 200},
		{"the readers'", operate, bearer("r"), 401},
		{"the shippers'", operate, bearer("s"), 401},
		{"none, from this machine", operate, request(), 401},
		{"a certificate", Door{Web: certs}, shows(leaf), 200},
		{"a certificate where an operator's token is", Door{Web: certs, Operate: token("o")}, shows(leaf), 401},
		{"a node's certificate", Door{Web: certs, SAN: true}, shows(leaf, agent, "n1"), 403},
		{"no certificate, this machine", Door{Web: certs}, request(), 403},
		{"another site", operate, bearer("o", "Origin", "https://localhost.evil:9095"), 403},
		{"the same site", operate, bearer("o", "Origin", "https://localhost:9095"), 200},
	} {
		w := httptest.NewRecorder()
		tt.door.Operator(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, tt.r)
		if w.Code != tt.code {
			t.Errorf("%s: %d, want %d: %s", tt.what, w.Code, tt.code, w.Body)
		}
	}
}
