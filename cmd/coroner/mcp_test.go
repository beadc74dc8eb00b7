package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coroner/cmd/daemon"
	"coroner/cmd/units"

	"github.com/alecthomas/kong"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

// withToken sends a reader's token.
type withToken string

// RoundTrip sends a request.
func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// An assistant reaches a server that asks for a token in both ways, with the token only.
func TestAssistants(t *testing.T) {
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("sesame\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var serve struct{ serveCmd }
	p, err := kong.New(&serve, flagVars("127.0.0.1:0"), new(daemon.Origins), units.Option())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Parse([]string{"--ledger", filepath.Join(dir, "l.db"), "--web.token-file", token}); err != nil {
		t.Fatal(err)
	}
	s, err := serve.open(zerolog.New(io.Discard), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer s.ledger.Close()
	server := httptest.NewServer(s.daemon.Mux)
	defer server.Close()

	theirs, toThem := io.Pipe()
	answers, fromThem := io.Pipe()
	var said bytes.Buffer
	done := make(chan int, 1)
	go func() {
		p := &program{in: theirs, out: fromThem, err: &said, now: time.Now, tty: func(any) bool { return false }}
		done <- p.runCommand([]string{"mcp", "--server", server.URL, "--token-file", token})
	}()
	for kind, transport := range map[string]sdk.Transport{
		"http": &sdk.StreamableClientTransport{Endpoint: server.URL + "/mcp",
			HTTPClient: &http.Client{Transport: withToken("sesame")}},
		"stdio": &sdk.IOTransport{Reader: answers, Writer: toThem},
	} {
		session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).
			Connect(t.Context(), transport, nil)
		if err != nil {
			t.Fatal(kind, err)
		}
		for tool, c := range map[string]struct {
			args any
			want string
		}{
			"describe_label": {map[string]any{"label": "node-OOM"}, "node-OOM: "},
			"list_deaths":    {map[string]any{}, "None is recorded."},
		} {
			res, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: c.args})
			if err != nil {
				t.Fatal(kind, err)
			}
			if text := res.Content[0].(*sdk.TextContent).Text; !strings.Contains(text, c.want) || res.IsError {
				t.Errorf("%s: %s: %s", kind, tool, text)
			}
		}
		if err := session.Close(); err != nil {
			t.Error(kind, err)
		}
	}
	if code := <-done; code != exitOK {
		t.Errorf("coroner mcp ended with %d when its input did: %s", code, &said)
	}
	for header, want := range map[string]int{"": http.StatusUnauthorized, "Bearer wrong": http.StatusUnauthorized} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/mcp", strings.NewReader("{}"))
		req.Header.Set("Authorization", header)
		res, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("with %q: %s", header, res.Status)
		}
	}
}
