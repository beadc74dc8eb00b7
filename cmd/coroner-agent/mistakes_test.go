package main

import (
	"os"
	"path/filepath"
	"testing"

	"coroner/cmd/daemon"
	"coroner/cmd/flagtest"
)

// started is what the agent says to a command line; "" is that it starts.
func started(args []string) string {
	var c cli
	var origins daemon.Origins
	parser, err := newParser(&c, &origins)
	if err == nil {
		_, err = parser.Parse(args)
	}
	if err == nil {
		_, _, err = c.open()
	}
	if err != nil {
		return origins.Explain(err)
	}
	return ""
}

// A value that no run could use is told by where it came from.
func TestMistakesAreToldByTheirOrigin(t *testing.T) {
	parser, err := newParser(&cli{}, &daemon.Origins{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("no key"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := flagtest.Program{Flags: parser.Model.Flags, Start: started, Dir: t.TempDir(),
		Base: func() []string { return []string{"--web.listen-address=127.0.0.1:0", "--state=" + t.TempDir()} },
		Rows: []flagtest.Row{
			{Flag: "web.listen-address", Values: []string{"nonsense"}},
			{Flag: "web.config.file", Values: []string{"/nope"}},
			{Flag: "web.operator-token-file", Values: []string{"/nope"}},
			{Flag: "server.url", Values: []string{"::", "nonsense"}},
			{Flag: "server.ca-file", Values: []string{"/nope", file}},
			{Flag: "server.cert-file", Values: []string{file}},
			{Flag: "server.cert-file", Values: []string{"/nope", file}, With: []string{"--server.key-file=" + file}},
			{Flag: "server.key-file", Values: []string{file}},
			{Flag: "server.key-file", Values: []string{"/nope"}, With: []string{"--server.cert-file=" + file}},
			{Flag: "follow", Values: []string{"["}},
			{Flag: "controller", Values: []string{"a/["}},
			{Flag: "state", Values: []string{file}},
			{Flag: "batch-interval", Values: []string{"0s"}},
			{Flag: "idle-interval", Values: []string{"0s"}},
			{Flag: "rulebook-interval", Values: []string{"0s"}},
		},
		// A journal, a folder of logs and a token may come later.
		Free: []string{"node", "cluster", "server.name", "server.token-file", "journal", "pods"}}
	for _, problem := range p.Problems() {
		t.Error(problem)
	}
}
