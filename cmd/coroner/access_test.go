package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
	"coroner/fixtures/gate"
	"coroner/ingest"
	"coroner/ingest/push"
)

// cluster is a real API server with nodes, pods and the accounts of a server and its
// agents. Nothing in it runs.
type cluster struct {
	*apiserver.Server
	t   *testing.T
	dir string
}

func newCluster(t *testing.T, what string) *cluster {
	t.Helper()
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: %s: %v", what, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	k, err := apiserver.Start(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Stop)
	c := &cluster{k, t, dir}
	for _, ns := range []string{"coroner", "ci"} {
		c.do("POST", "/api/v1/namespaces", `{"metadata":{"name":"`+ns+`"}}`)
	}
	for _, account := range []string{"coroner-agent", "other"} {
		c.do("POST", "/api/v1/namespaces/coroner/serviceaccounts", `{"metadata":{"name":"`+account+`"}}`)
	}
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	c.do("POST", rbac+"clusterroles", `{"metadata":{"name":"coroner"},"rules":[
		{"apiGroups":["authentication.k8s.io"],"resources":["tokenreviews"],"verbs":["create"]},
		{"apiGroups":[""],"resources":["pods"],"verbs":["list","watch"]}]}`)
	c.do("POST", rbac+"clusterrolebindings", `{"metadata":{"name":"coroner"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"coroner"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"viewer"}]}`)
	return c
}

func (c *cluster) do(method, path, body string) string {
	c.t.Helper()
	out, err := c.Do(method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return out
}

// pod makes a pod on a node and returns its UID.
func (c *cluster) pod(namespace, name, node, account string) string {
	c.t.Helper()
	var made struct{ Metadata struct{ UID string } }
	out := c.do("POST", "/api/v1/namespaces/"+namespace+"/pods", fmt.Sprintf(`{"metadata":{"name":%q},"spec":{
		"nodeName":%q,"serviceAccountName":%q,"containers":[{"name":"runner","image":"x"}]}}`, name, node, account))
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		c.t.Fatal(err)
	}
	return made.Metadata.UID
}

// token is one of an account in the namespace coroner, bound to a pod if one is named.
func (c *cluster) token(account, audience, pod, uid string) string {
	c.t.Helper()
	bound := ""
	if pod != "" {
		bound = fmt.Sprintf(`"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":%q,"uid":%q},`, pod, uid)
	}
	out := c.do("POST", "/api/v1/namespaces/coroner/serviceaccounts/"+account+"/token", fmt.Sprintf(
		`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",
		"spec":{%s"audiences":[%q],"expirationSeconds":3600}}`, bound, audience))
	var made struct{ Status struct{ Token string } }
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		c.t.Fatal(err)
	}
	return made.Status.Token
}

// resigned is a token with other claims, signed by the API server's key.
func (c *cluster) resigned(token string, change func(map[string]any)) string {
	c.t.Helper()
	parts := strings.Split(token, ".")
	data, err := base64.RawURLEncoding.DecodeString(parts[1])
	claims := map[string]any{}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		err = d.Decode(&claims)
	}
	change(claims)
	payload, err2 := json.Marshal(claims)
	key, err3 := os.ReadFile(filepath.Join(c.dir, "sa.key"))
	if err := joined(err, err2, err3); err != nil {
		c.t.Fatal(err)
	}
	block, _ := pem.Decode(key)
	private, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		c.t.Fatal(err)
	}
	text := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	if err != nil {
		c.t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// pushAs sends entries with a token and the agent's header, and returns the status.
func (s *liveServer) pushAs(t *testing.T, token, node string, entries ...ingest.Entry) int {
	t.Helper()
	for i := range entries {
		e := &entries[i]
		if e.Node == "" {
			e.Node = node
		}
		e.At, e.Clock = time.Now(), ingest.WallClock
	}
	body, err := push.Encode(entries)
	if err != nil {
		t.Fatal(err)
	}
	sender := push.Sender{Node: node, Token: func() (string, error) { return token, nil }}
	req, err := http.NewRequest(http.MethodPost, "http://"+s.daemon.Addr()+push.Path, bytes.NewReader(body))
	if err == nil {
		err = sender.Authorize(req)
	}
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	t.Logf("%d %s", res.StatusCode, bytes.TrimSpace(text))
	return res.StatusCode
}

func (s *liveServer) counted(t *testing.T, name, label string) float64 {
	t.Helper()
	all, err := s.daemon.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == name && l.GetValue() == label {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}

// With a real API server an agent speaks for the node of the pod that its token is
// bound to, and of the pods that are there, and for nothing else.
func TestAgentsProveTheirNode(t *testing.T) {
	k := newCluster(t, "that agents prove their node to a real API server")
	k.do("POST", "/api/v1/nodes", `{"metadata":{"name":"n1"}}`)
	agent1 := k.pod("coroner", "agent-1", "n1", "coroner-agent")
	agent2 := k.pod("coroner", "agent-2", "n2", "coroner-agent")
	stranger := k.pod("coroner", "stranger", "n1", "other")
	victim, own := k.pod("ci", "victim-runner-1", "n2", "default"), k.pod("ci", "own-runner-1", "n1", "default")
	way, err := gate.New(strings.TrimPrefix(k.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	defer way.Close()
	config, err := k.Kubeconfig("https://"+way.Addr, apiserver.Viewer)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shared := filepath.Join(dir, "token")
	if err := os.WriteFile(shared, []byte("shippers"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveFor(t, "--ledger="+filepath.Join(dir, "l.db"), "--kube.config="+config,
		"--push.agent-account=coroner/coroner-agent", "--push.token-file="+shared)
	defer s.stop()

	line := func() ingest.Entry {
		return ingest.Entry{Source: ingest.Kubelet, Trust: ingest.Attested, Text: "nothing of interest"}
	}
	good := k.token("coroner-agent", "coroner", "agent-1", agent1)
	wait(t, "that the pods are listed", func() bool { return s.pushAs(t, good, "n1", line()) == 204 })
	elsewhere := line()
	elsewhere.Node = "n2"
	forged := k.resigned(good, func(c map[string]any) {
		c["kubernetes.io"].(map[string]any)["node"] = map[string]any{"name": "n2"}
	})
	// as if it were signed
	forged = forged[:strings.LastIndexByte(forged, '.')] + good[strings.LastIndexByte(good, '.'):]
	for _, tt := range []struct {
		what, token, node string
		e                 ingest.Entry
		code              int
	}{
		{"its own node", good, "n1", line(), 204},
		{"another agent for its own", k.token("coroner-agent", "coroner", "agent-2", agent2), "n2", line(), 204},
		{"another node's header", good, "n2", line(), 403},
		{"another node's label", good, "n1", elsewhere, 403},
		{"no header", good, "", elsewhere, 403},
		{"another audience", k.token("coroner-agent", "vault", "agent-1", agent1), "n1", line(), 401},
		{"bound to nothing", k.token("coroner-agent", "coroner", "", ""), "n1", line(), 403},
		{"another account", k.token("other", "coroner", "stranger", stranger), "n1", line(), 403},
		{"expired", k.resigned(good, func(c map[string]any) {
			c["iat"], c["nbf"] = time.Now().Add(-2*time.Hour).Unix(), time.Now().Add(-2*time.Hour).Unix()
			c["exp"] = time.Now().Add(-time.Hour).Unix()
		}), "n1", line(), 401},
		{"a node of its own choice", forged, "n2", elsewhere, 401},
		{"the administrator's", apiserver.Admin, "n1", line(), 401},
		{"no token", "", "n1", line(), 401},
		{"a shipper's as an agent", "shippers", "n1", line(), 403},
		{
			"the API server's word", good, "n1",
			ingest.Entry{Source: ingest.Kube, Namespace: "ci", Pod: "p", Text: "x"}, 403,
		},
	} {
		if got := s.pushAs(t, tt.token, tt.node, tt.e); got != tt.code {
			t.Errorf("%s: %d, want %d", tt.what, got, tt.code)
		}
	}
	// The control: with the API server's key one can make a token that it takes.
	if got := s.pushAs(t, k.resigned(good, func(c map[string]any) { c["jti"] = "another" }), "n1", line()); got != 204 {
		t.Errorf("a token that is signed anew: %d, so that of the expired one shows nothing", got)
	}
	if n := s.counted(t, "coroner_pushes_refused_total", "node"); n != 4 {
		t.Errorf("%v refused for their node", n)
	}

	runner := func(name, uid string) ingest.Entry {
		return ingest.Entry{
			Source:    ingest.Runner,
			Namespace: "ci",
			Pod:       name,
			PodUID:    uid,
			Text:      "√ Connected to GitHub",
		}
	}
	died := func(uid string) ingest.Entry {
		const text = `I0901 12:00:00.000000 1 generic.go:358] "Generic (PLEG): container finished" podID="%s" ` +
			`containerID="%064d" exitCode=137`
		e := line()
		e.Text = fmt.Sprintf(text, uid, 7)
		return e
	}
	s.pushAs(t, good, "n1", runner("victim-runner-1", victim), died(victim))
	if n := s.counted(t, "coroner_dropped_lines_total", "other-node"); n != 2 {
		t.Errorf("%v lines about another node's pod were refused, want 2", n)
	}
	s.pushAs(t, good, "n1", runner("own-runner-1", own))
	if n := s.counted(t, "coroner_dropped_lines_total", "other-node"); n != 2 {
		t.Errorf("%v lines refused, the node's own pod's among them", n)
	}

	// While the API server is away, who is known goes on and who is not comes again.
	before := k.token("coroner-agent", "coroner", "agent-2", agent2)
	way.Shut()
	if got := s.pushAs(t, good, "n1", line()); got != 204 {
		t.Errorf("a token that was reviewed before: %d", got)
	}
	if got := s.pushAs(t, before, "n2", line()); got != 503 {
		t.Errorf("a token that nobody can review: %d", got)
	}
	way.Open()
	wait(t, "that it is reviewed then", func() bool { return s.pushAs(t, before, "n2", line()) == 204 })

	// A pod that is deleted takes its token along, as soon as the API server's own list of
	// pods has followed. Each try is another token: the answer about one is remembered.
	k.do("DELETE", "/api/v1/namespaces/coroner/pods/agent-2", `{"gracePeriodSeconds":0}`)
	tries := 0
	wait(t, "that the token of a pod that is gone is refused", func() bool {
		tries++
		late := k.resigned(before, func(c map[string]any) { c["jti"] = fmt.Sprint("late-", tries) })
		return s.pushAs(t, late, "n2", line()) == 401
	})
}

// A server without a credential believes its own machine, and others only if it was
// told to.
func TestAServerWithoutACredential(t *testing.T) {
	address := ""
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && n.IP.To4() != nil {
			address = n.IP.String()
		}
	}
	if address == "" {
		t.Skip("not shown: a push from beyond the loopback; this machine has no other address")
	}
	for _, open := range []bool{false, true} {
		args := []string{"--ledger=" + filepath.Join(t.TempDir(), "l.db"), "--web.listen-address=0.0.0.0:0"}
		if open {
			args = append(args, "--push.open")
		}
		s := serveFor(t, args...)
		_, port, err := net.SplitHostPort(s.daemon.Addr())
		if err != nil {
			t.Fatal(err)
		}
		post := func(host, path string) int {
			url := "http://" + net.JoinHostPort(host, port) + path
			res, err := http.Post(url, "application/json", strings.NewReader(`{"streams":[]}`))
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			return res.StatusCode
		}
		if got := post("127.0.0.1", push.Path); got != 204 {
			t.Errorf("open %v, from this machine: %d", open, got)
		}
		if got := post(address, push.Path); (got == 204) != open || !open && got != 403 {
			t.Errorf("open %v, from %s: %d", open, address, got)
		}
		if got := post(address, "/-/reload"); got != 403 {
			t.Errorf("open %v, a reload from %s: %d", open, address, got)
		}
		if n := s.counted(t, "coroner_pushes_refused_total", "no-credential"); (n == 1) == open {
			t.Errorf("open %v: %v counted", open, n)
		}
		s.stop()
	}
}

// The pages and the API ask for a token where there is one; probes and metrics do not, nor does what
// pages load, which says nothing of anybody and is there for the page that asks for the token, too.
func TestPagesAskForAToken(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "token")
	if err := os.WriteFile(file, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveFor(t, "--ledger="+filepath.Join(dir, "l.db"), "--web.token-file="+file)
	defer s.stop()
	for path, asks := range map[string]bool{"/": true, "/runners/x": true, "/verdicts/": true, "/docs/": true,
		"/api/v1/verdicts": true, "/api/v1/search?q=x": true, "/nothing": true, "/metrics": false,
		"/-/healthy": false, "/assets/style.css": false} {
		for _, token := range []string{"", "open", "sesame"} {
			req, err := http.NewRequest(http.MethodGet, "http://"+s.daemon.Addr()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+token)
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if out := res.StatusCode == 401; out != (asks && token != "sesame") {
				t.Errorf("%s with %q: %d", path, token, res.StatusCode)
			}
		}
	}
}

// Mistakes in the flags are told at once.
func TestAccessFlags(t *testing.T) {
	for args, says := range map[string]string{
		"--push.agent-account=coroner-agent":                   "want NAMESPACE/NAME",
		"--push.agent-account=a/b/c":                           "want NAMESPACE/NAME",
		"--push.agent-account=a/b":                             "--kube.config FILE",
		"--push.agent-account=a/b --kube.config=/nowhere":      "/nowhere",
		"--push.review=blue=x":                                 "--push.agent-account",
		"--push.agent-account=a/b --push.review=blue":          "CLUSTER=KUBECONFIG",
		"--push.agent-account=a/b --push.review=a=x,a=y":       "once for each",
		"--push.agent-account=a/b --push.review=blue=/nowhere": "/nowhere",
		"--push.client-node=cn":                                "--push.client-node",
		"--push.client-node=san":                               "client_auth_type",
		"--web.token-file=/nowhere":                            "/nowhere",
		"--web.operator-token-file=/nowhere":                   "/nowhere",
		"--push.open --kube.config=x":                          "nothing is watched",
	} {
		var out strings.Builder
		p := &program{out: &out, err: &out, now: time.Now, tty: func(any) bool { return false }}
		base := []string{"serve", "--web.listen-address=127.0.0.1:0", "--ledger=" + filepath.Join(t.TempDir(), "l.db")}
		code := p.runCommand(append(base, strings.Fields(args)...))
		if code != exitUsage || !strings.Contains(out.String(), says) {
			t.Errorf("%s: code %d, %s", args, code, out.String())
		}
	}
}

// issued is a pair of files NAME.crt and NAME.key that an authority signed, itself if
// there is none yet.
func issued(t *testing.T, dir, name string, about x509.Certificate, by *tls.Certificate) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about.SerialNumber, about.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(time.Hour)
	parent, signer := &about, crypto.Signer(key)
	if by != nil {
		parent, signer = by.Leaf, by.PrivateKey.(crypto.Signer)
	}
	der, err := x509.CreateCertificate(rand.Reader, &about, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	secret := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	name = filepath.Join(dir, name)
	err = joined(err, os.WriteFile(name+".crt", cert, 0o600), os.WriteFile(name+".key", secret, 0o600))
	pair, bad := tls.X509KeyPair(cert, secret)
	if err := joined(err, bad); err != nil {
		t.Fatal(err)
	}
	return &pair
}

// Without an API server to ask, a client certificate proves the node, over real TLS.
func TestCertificatesNameTheNode(t *testing.T) {
	dir := t.TempDir()
	authority := x509.Certificate{IsCA: true, BasicConstraintsValid: true, Subject: pkix.Name{CommonName: "ca"}}
	ca, other := issued(t, dir, "ca", authority, nil), issued(t, dir, "other", authority, nil)
	issued(t, dir, "server", x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}, ca)
	web := filepath.Join(dir, "web.yml")
	if err := os.WriteFile(web, []byte("tls_server_config: {cert_file: server.crt, key_file: server.key,\n"+
		"  client_ca_file: ca.crt, client_auth_type: RequireAndVerifyClientCert}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := serveFor(t, "--ledger="+filepath.Join(dir, "l.db"), "--web.config.file="+web, "--push.client-node=san")
	defer s.stop()
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	use := []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	node := x509.Certificate{DNSNames: []string{"n1"}, ExtKeyUsage: use}
	for what, tt := range map[string]struct {
		cert *tls.Certificate
		node string
		code int // 0: no connection
	}{
		"its own node":        {issued(t, dir, "n1", node, ca), "n1", 204},
		"another node":        {issued(t, dir, "n1", node, ca), "n2", 403},
		"as a shipper":        {issued(t, dir, "n1", node, ca), "", 401},
		"of another's making": {issued(t, dir, "n1", node, other), "n1", 0},
	} {
		body, err := push.Encode([]ingest.Entry{{Node: tt.node, Source: ingest.Kernel, Text: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest(http.MethodPost, "https://"+s.daemon.Addr()+push.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(push.AgentHeader, tt.node)
		conf := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{*tt.cert}}
		code := 0
		client := http.Client{Transport: &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true}}
		if res, err := client.Do(req); err == nil {
			res.Body.Close()
			code = res.StatusCode
		}
		if code != tt.code {
			t.Errorf("%s: %d, want %d", what, code, tt.code)
		}
	}
}
