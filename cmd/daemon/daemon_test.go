package daemon

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"coroner/rules"
	"coroner/rules/book"
	signals "coroner/rules/signal"
	"coroner/rules/yamlfile"

	"github.com/rs/zerolog"
)

func newDaemon(t testing.TB, change func(*Flags)) *Daemon {
	t.Helper()
	f := &Flags{Listen: "127.0.0.1:0", Stop: time.Minute}
	if change != nil {
		change(f)
	}
	return New(f, zerolog.Nop())
}

// request asks a handler.
func request(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.RemoteAddr, r.Host = "127.0.0.1:40000", "localhost:9095" // nothing is configured: this machine may
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// run opens and runs a daemon; the channel has Run's result.
func run(t *testing.T, d *Daemon, ctx context.Context, tasks ...func(context.Context) error) chan error {
	t.Helper()
	if err := d.Open(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx, tasks...) }()
	return ended
}

func fetch(client *http.Client, url string) (code int, body string, err error) {
	res, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// Probes, scrapers and operators find the endpoints under the names that
// Prometheus' programs have; the profiler is there only when it was asked for.
func TestEndpoints(t *testing.T) {
	d := newDaemon(t, nil)
	for _, tt := range []struct {
		ready        bool
		method, path string
		code         int
		says         string
	}{
		{false, "GET", "/-/healthy", 200, "healthy"},
		{false, "GET", "/-/ready", 503, "not ready"},
		{true, "GET", "/-/ready", 200, "ready"},
		{true, "POST", "/-/reload", 200, "reloaded"},
		{true, "GET", "/-/reload", 405, ""},
		{true, "POST", "/metrics", 405, ""},
		{true, "GET", "/metrics", 200, "coroner_config_last_reload_successful 1\n"},
		{true, "GET", "/metrics", 200, "coroner_config_last_reload_success_timestamp_seconds 1"},
		{true, "GET", "/metrics", 200, "go_goroutines "},
		{true, "GET", "/debug/pprof/", 404, ""},
		{true, "GET", "/debug/pprof/heap", 404, ""},
		{true, "GET", "/", 404, ""},
	} {
		if tt.ready {
			d.Ready()
		}
		if w := request(d.Mux, tt.method, tt.path); w.Code != tt.code || !strings.Contains(w.Body.String(), tt.says) {
			t.Errorf("%s %s, ready %v: %d %.200s", tt.method, tt.path, tt.ready, w.Code, w.Body)
		}
	}
	d.Notes = func() []string { return []string{"a namespace is not there"} }
	if w := request(d.Mux, "GET", "/-/ready"); w.Code != 200 || w.Body.String() !=
		"ready\nattention: a namespace is not there\n" {
		t.Errorf("ready, with a note: %d %s", w.Code, w.Body)
	}
	d = newDaemon(t, func(f *Flags) { f.Pprof = true })
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/goroutine?debug=1"} {
		if w := request(d.Mux, "GET", path); w.Code != 200 {
			t.Errorf("%s when it was asked for: %d", path, w.Code)
		}
	}
}

// Who may reload and profile: the operator's token, what the web configuration asks
// for, or this machine where nothing is configured; and no page of another site.
func TestOperators(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token := func(f *Flags) { f.Operator = file("token", "sesame\n") }
	for _, tt := range []struct {
		what   string
		flags  func(*Flags)
		header []string
		code   int
	}{
		{"nothing is configured", nil, nil, 200},
		{"another site's form", nil, []string{"Origin", "http://evil.example"}, 403},
		{"a local program's page", nil, []string{"Origin", "http://localhost:9095"}, 200},
		{"through a proxy", nil, []string{"X-Forwarded-For", "127.0.0.1"}, 403},
		{"no token", token, nil, 401},
		{"a wrong token", token, []string{"Authorization", "Bearer open"}, 401},
		{"the token", token, []string{"Authorization", "Bearer sesame"}, 200},
		{"the token, from another site", token, []string{"Authorization", "Bearer sesame", "Origin", "null"}, 403},
		{"a password", func(f *Flags) { f.WebConfig = file("users", "basic_auth_users: {a: b}\n") }, nil, 200},
		{"a password, from another site", func(f *Flags) { f.WebConfig = file("users", "basic_auth_users: {a: b}\n") },
			[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{
			"TLS alone asks for nothing",
			func(f *Flags) { f.WebConfig = file("tls", "tls_server_config: {cert_file: x}\n") }, nil, 200,
		},
		{"certificates that nobody showed", func(f *Flags) {
			f.WebConfig = file("mtls", "tls_server_config: {client_auth_type: VerifyClientCertIfGiven}\n")
		}, nil, 403},
		{"certificates that nobody verifies", func(f *Flags) {
			f.WebConfig = file("any", "tls_server_config: {client_auth_type: RequireAnyClientCert}\n")
		}, nil, 200},
	} {
		d := newDaemon(t, func(f *Flags) {
			if f.Pprof = true; tt.flags != nil {
				tt.flags(f)
			}
		})
		reloads := 0
		d.Reload = func() error { reloads++; return nil }
		w := request(d.Mux, "POST", "/-/reload", tt.header...)
		if w.Code != tt.code || (reloads == 1) != (tt.code == 200) {
			t.Errorf("%s: %d %s, %d reloads, want %d", tt.what, w.Code, w.Body, reloads, tt.code)
		}
		if w := request(d.Mux, "GET", "/debug/pprof/", tt.header...); w.Code != tt.code {
			t.Errorf("%s: a profile: %d, want %d", tt.what, w.Code, tt.code)
		}
	}
	d := newDaemon(t, func(f *Flags) { f.Operator = filepath.Join(dir, "gone") })
	if err := d.Open(); err == nil || !strings.Contains(err.Error(), "--web.operator-token-file") {
		t.Errorf("%v", err)
	}
}

// userBook is a folder of rulebook files and the rulebook in force.
type userBook struct {
	files   fstest.MapFS
	inForce atomic.Pointer[rules.Rulebook]
}

func (u *userBook) load() error {
	b, err := rules.Load(u.files)
	if err == nil {
		u.inForce.Store(b)
	}
	return err
}

const signal1 = "signals:\n  - name: user.one\n    source: runner\n    match: something of ours\n"

// A rulebook with mistakes is refused with their place, alerted on by the
// gauge, and changes nothing: the one before goes on judging and being handed out.
func TestReloadFails(t *testing.T) {
	u := &userBook{files: fstest.MapFS{"user.yaml": {Data: []byte(signal1)}}}
	if err := u.load(); err != nil {
		t.Fatal(err)
	}
	d := newDaemon(t, nil)
	d.Reload = u.load
	d.Mux.Handle("GET "+RulebookPath, Rulebook(u.inForce.Load))
	metric := func(name string) string {
		for _, line := range strings.Split(request(d.Mux, "GET", "/metrics").Body.String(), "\n") {
			if value, ok := strings.CutPrefix(line, name+" "); ok {
				return value
			}
		}
		return ""
	}
	const ok, when = "coroner_config_last_reload_successful", "coroner_config_last_reload_success_timestamp_seconds"
	before, loaded := u.inForce.Load(), metric(when)
	u.files["user.yaml"] = &fstest.MapFile{Data: []byte(signal1 + "    capture: {}\n")}
	if w := request(d.Mux, "POST", "/-/reload"); w.Code != 500 || !strings.Contains(w.Body.String(), "user.yaml:5:5") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if metric(ok) != "0" || metric(when) != loaded {
		t.Errorf("%s is %s, %s was %s and is %s", ok, metric(ok), when, loaded, metric(when))
	}
	if w := request(d.Mux, "GET", RulebookPath); u.inForce.Load() != before ||
		w.Header().Get("ETag") != `"`+before.Hash+`"` {
		t.Error("the rulebook before is not in force any more")
	}
	u.files["user.yaml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(signal1, "one", "two"))}
	if w := request(d.Mux, "POST", "/-/reload"); w.Code != 200 || metric(ok) != "1" || metric(when) == loaded {
		t.Errorf("after the mistake was mended: %d %s, %s is %s", w.Code, w.Body, ok, metric(ok))
	}
	if w := request(d.Mux, "GET", RulebookPath); w.Header().Get("ETag") == `"`+before.Hash+`"` ||
		u.inForce.Load().Signal("user.two") == nil {
		t.Error("the new rulebook is not in force")
	}
}

// An agent that has the rulebook is told so in a few bytes; one that has
// another gets the whole, and reads from it the rulebook with that very hash:
// else it would fetch it, and read its look-back again, each minute.
func TestRulebookForAgents(t *testing.T) {
	one := fstest.MapFS{
		"b.yaml": {Data: []byte("# nothing\n")}, "a.yaml": {Data: []byte("# é\r\n" + signal1)},
		"README": {Data: []byte("not a rule")},
	}
	for what, layers := range map[string][]fs.FS{
		"built in":      {book.Files},
		"extended":      {book.Files, one},
		"several times": {one, fstest.MapFS{"a.yaml": {Data: []byte(signal1)}}, one},
		"empty":         {one, fstest.MapFS{"a.yaml": {}}},
		"no newline":    {fstest.MapFS{"a.yaml": {Data: []byte("signals: []")}}},
	} {
		b, err := rules.Load(layers...)
		if err != nil {
			t.Fatal(err)
		}
		h := Rulebook(func() *rules.Rulebook { return b })
		w := request(h, "GET", RulebookPath)
		tag := w.Header().Get("ETag")
		if w.Code != 200 || tag != `"`+b.Hash+`"` || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
			t.Errorf("%s: %d %v", what, w.Code, w.Header())
		}
		got, err := yamlfile.SplitSource(w.Body.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		again, err := signals.Load(got...)
		if err != nil {
			t.Fatal(err)
		}
		if again.Hash != b.Hash || len(again.Signals) != len(b.Signals) || len(got) != len(layers) {
			t.Errorf("%s: the agent has %s with %d signals in %d layers, the server %s with %d", what, again.Hash,
				len(again.Signals), len(got), b.Hash, len(b.Signals))
		}
		if w := request(h, "GET", RulebookPath, "If-None-Match", tag); w.Code != 304 || w.Body.Len() != 0 ||
			w.Header().Get("ETag") != tag {
			t.Errorf("%s: an agent that has it gets %d and %d bytes", what, w.Code, w.Body.Len())
		}
		for _, other := range []string{`"other"`, b.Hash, ""} {
			if w := request(h, "GET", RulebookPath, "If-None-Match", other); w.Code != 200 {
				t.Errorf("%s: an agent that has %q gets %d", what, other, w.Code)
			}
		}
	}
}

// A stop lets the requests under way have their answer, takes no new ones, ends
// the tasks, and is no error.
func TestGracefulStop(t *testing.T) {
	d := newDaemon(t, nil)
	in, out, stopped := make(chan struct{}), make(chan struct{}), make(chan struct{})
	d.Mux.HandleFunc("GET /slow", func(w http.ResponseWriter, _ *http.Request) {
		close(in)
		<-out
		_, _ = io.WriteString(w, "done")
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := run(t, d, ctx, func(ctx context.Context) error {
		d.Ready()
		<-ctx.Done()
		close(stopped)
		return nil
	})
	url := "http://" + d.Addr()
	type answer struct {
		code int
		body string
		err  error
	}
	slow := make(chan answer, 1)
	go func() {
		code, body, err := fetch(&http.Client{Transport: &http.Transport{}}, url+"/slow")
		slow <- answer{code, body, err}
	}()
	<-in
	cancel()
	<-stopped
	select {
	case err := <-ended:
		t.Errorf("it ended with a request under way: %v", err)
	default:
	}
	close(out)
	if got := <-slow; got != (answer{200, "done", nil}) {
		t.Errorf("the request under way got %+v", got)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	d.Ready() // a task that was slow to start
	if w := request(d.Mux, "GET", "/-/ready"); w.Code != 503 {
		t.Errorf("it is ready after its end: %d", w.Code)
	}
	if c, err := net.Dial("tcp", d.Addr()); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}

// A client that does not let go holds up the stop no longer than was said.
func TestStopTimeout(t *testing.T) {
	d := newDaemon(t, func(f *Flags) { f.Stop = 50 * time.Millisecond })
	in, out := make(chan struct{}), make(chan struct{})
	defer close(out)
	d.Mux.HandleFunc("GET /hang", func(http.ResponseWriter, *http.Request) {
		close(in)
		<-out
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := run(t, d, ctx)
	go func() { _, _, _ = fetch(&http.Client{Transport: &http.Transport{}}, "http://"+d.Addr()+"/hang") }()
	<-in
	cancel()
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// A task that fails ends the others and the program, with its error.
func TestATaskThatFails(t *testing.T) {
	d := newDaemon(t, nil)
	broken := errors.New("broken")
	other := make(chan struct{})
	err := <-run(t, d, t.Context(), func(context.Context) error { return broken }, func(ctx context.Context) error {
		<-ctx.Done()
		close(other)
		return nil
	})
	<-other
	if err != broken {
		t.Errorf("%v", err)
	}
	if _, _, err := fetch(http.DefaultClient, "http://"+d.Addr()+"/-/healthy"); err == nil {
		t.Error("it still serves")
	}
}

// SIGHUP reloads the rulebook and a mistake in it does not end the program;
// SIGTERM does, without an error.
func TestSignals(t *testing.T) {
	guard := make(chan os.Signal, 1) // a signal that nobody waits for would end the test
	signal.Notify(guard, syscall.SIGHUP, syscall.SIGTERM)
	defer signal.Stop(guard)
	d := newDaemon(t, nil)
	reloads := make(chan struct{}, 1000)
	d.Reload = func() error {
		reloads <- struct{}{}
		return errors.New("mistake")
	}
	started := make(chan struct{})
	ended := run(t, d, t.Context(), func(ctx context.Context) error {
		close(started)
		<-ctx.Done()
		return nil
	})
	<-started
	send := func(s syscall.Signal) {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	for got := 0; got < 2; {
		send(syscall.SIGHUP)
		select {
		case <-reloads:
			got++
		case err := <-ended:
			t.Fatalf("SIGHUP ended it: %v", err)
		case <-guard: // it may not listen for signals yet
		}
	}
	send(syscall.SIGTERM)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// A port that is taken, or an address that is none, is told at the start, by the
// flag that is wrong, before anything runs.
func TestOpenFails(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for what, tt := range map[string]struct {
		change func(*Flags)
		says   []string
	}{
		"taken": {
			func(f *Flags) { f.Listen = taken.Addr().String() },
			[]string{"--web.listen-address " + taken.Addr().String(), "address already in use"},
		},
		"no address": {func(f *Flags) { f.Listen = "9095" }, []string{"--web.listen-address 9095", "missing port"}},
		"no such file": {
			func(f *Flags) { f.WebConfig = filepath.Join(dir, "gone") },
			[]string{"--web.config.file " + filepath.Join(dir, "gone"), "no such file"},
		},
		"misspelt": {
			func(f *Flags) { f.WebConfig = file("misspelt.yaml", "tls_server_confg: {}\n") },
			[]string{"--web.config.file", "tls_server_confg"},
		},
		"no certificate": {
			func(f *Flags) { f.WebConfig = file("cert.yaml", "tls_server_config: {cert_file: x, key_file: y}\n") },
			[]string{"--web.config.file", "no such file"},
		},
	} {
		d := newDaemon(t, tt.change)
		err := d.Open()
		for _, want := range tt.says {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want …%s…", what, err, want)
			}
		}
	}
}

// The endpoints are behind TLS, and a password, when the web configuration says so.
func TestWebConfig(t *testing.T) {
	dir := t.TempDir()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter:     time.Now().Add(time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err1 := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	private, err2 := x509.MarshalPKCS8PrivateKey(key)
	pair := func(name, kind string, der []byte) error {
		return os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
	}
	// The hash is of the password "secret".
	conf := "tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n" +
		"basic_auth_users: {scraper: $2a$04$KzQhe1u4ex9Ykz6EJ45yXeAikR6Ed7FViFDxHD/uq10H1wElgtsSi}\n"
	err = errors.Join(err1, err2, pair("cert.pem", "CERTIFICATE", cert), pair("key.pem", "PRIVATE KEY", private),
		os.WriteFile(filepath.Join(dir, "web.yaml"), []byte(conf), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	d := New(&Flags{Listen: "127.0.0.1:0", Stop: time.Minute, WebConfig: filepath.Join(dir, "web.yaml")},
		zerolog.New(&log))
	ctx, cancel := context.WithCancel(t.Context())
	ended := run(t, d, ctx)
	roots := x509.NewCertPool()
	parsed, _ := x509.ParseCertificate(cert)
	roots.AddCert(parsed)
	client := &http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true},
	}
	for user, want := range map[string]int{"": 401, "scraper:wrong@": 401, "scraper:secret@": 200} {
		if code, body, err := fetch(client, "https://"+user+d.Addr()+"/-/healthy"); code != want || err != nil {
			t.Errorf("%s: %d %s %v, want %d", user, code, body, err, want)
		}
	}
	if code, _, _ := fetch(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
		"http://"+d.Addr()+"/-/healthy"); code == 200 {
		t.Error("it answers without TLS")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if text := log.String(); !strings.HasPrefix(text, `{"level":"warn",`) ||
		!strings.Contains(text, `"message":"http: TLS handshake error`) {
		t.Errorf("what the server says of a client is not in the program's log: %q", text)
	}
}

// A token that is changed in its file is the new one from the next use on.
func TestToken(t *testing.T) {
	if Token("") != nil {
		t.Error("no file gives a token")
	}
	path := filepath.Join(t.TempDir(), "token")
	token := Token(path)
	if _, err := token(); err == nil || !strings.HasPrefix(err.Error(), "token file: ") ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for text, want := range map[string]string{"one": "one", "two\n": "two", " three \r\n": "three", "": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := token(); got != want || err != nil {
			t.Errorf("%q: %q %v", text, got, err)
		}
	}
}

// The log has the level and the form that were asked for, also for what the
// HTTP server says.
func TestLogger(t *testing.T) {
	for _, tt := range []struct {
		level, format string
		terminal      bool
		want          []string
		server        bool
	}{
		{"info", "json", false, []string{`"level":"info"`, `"message":"told"`, `"time":"`}, true},
		{"info", "json", true, []string{`"level":"info"`}, true},
		{"info", "auto", false, []string{`"level":"info"`}, true},
		{"info", "auto", true, []string{"INF", "told"}, true},
		{"warn", "json", false, nil, true},
		{"error", "json", false, nil, false},
		{"debug", "console", false, []string{"INF told"}, true},
	} {
		var out bytes.Buffer
		f := &Flags{LogLevel: tt.level, LogFormat: tt.format}
		log := f.Logger(&out, tt.terminal)
		log.Info().Msg("told")
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s %s: %q", tt.level, tt.format, out.String())
			}
		}
		if tt.want == nil && out.Len() > 0 || strings.Contains(out.String(), "\x1b") && !tt.terminal {
			t.Errorf("%s %s: %q", tt.level, tt.format, out.String())
		}
		server := New(f, log).warnings()
		if server.Enabled(t.Context(), slog.LevelInfo) || server.Enabled(t.Context(), slog.LevelWarn) != tt.server {
			t.Errorf("%s: the HTTP server's warnings are there: %v", tt.level, !tt.server)
		}
	}
}

// A size reads as people read one on a terminal, and is a number for programs. What only looks
// like one stays as it is.
func TestSizesInTheLog(t *testing.T) {
	for format, wants := range map[string][]string{
		"console": {`bytes="512 MiB"`, `body_bytes="1.5 GiB"`, "megabytes=512", "number=536870912", "bytes_in=2048"},
		"json":    {`"bytes":536870912`, `"body_bytes":1610612736`},
	} {
		var out bytes.Buffer
		f := &Flags{LogLevel: "info", LogFormat: format}
		log := f.Logger(&out, false)
		log.Info().Int64("bytes", 512<<20).Int("body_bytes", 3<<29).Int("megabytes", 512).Int("number", 512<<20).
			Int("bytes_in", 2048).Msg("told")
		for _, want := range wants {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %s in %s", format, want, out.String())
			}
		}
		out.Reset()
		log.Info().Str("bytes", "many").Msg("told")
		if !strings.Contains(out.String(), "many") {
			t.Errorf("%s: %s", format, out.String())
		}
	}
}

// A program that cannot do without something is not ready while that is away, and who asks
// learns no more of it.
func TestReadyOnlyWithWhatItNeeds(t *testing.T) {
	d := newDaemon(t, nil)
	d.Ready()
	away := errors.New("postgres://db.example/coroner is away")
	for _, is := range []error{nil, away, nil} {
		d.Check = func(context.Context) error { return is }
		w := request(d.Mux, "GET", "/-/ready")
		if ok := w.Code == 200; ok != (is == nil) || strings.Contains(w.Body.String(), "db.example") {
			t.Errorf("%v: %d %s", is, w.Code, w.Body)
		}
	}
}
