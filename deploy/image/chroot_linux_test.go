package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coroner/ingest"
	"coroner/ingest/push"
)

// inside is a command that runs in an image's root file system.
func inside(t *testing.T, root string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("not shown: that the images run (only root may change its root)")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	return cmd
}

// Both programs start from what is in their images, the server as nobody.
func TestImagesRun(t *testing.T) {
	out := packs(t, "that the images run")
	for program, args := range map[string][]string{"coroner": {"--version"}, "coroner-agent": {"--help"}} {
		root := t.TempDir()
		unpack(t, filepath.Join(out, program+".tar"), root)
		_ = os.Chmod(filepath.Dir(root), 0o755) // nobody may pass
		_ = os.Chmod(root, 0o755)
		cmd := inside(t, root, append([]string{"/usr/bin/" + program}, args...)...)
		if program == "coroner" {
			cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
		}
		if got, err := cmd.CombinedOutput(); err != nil || len(got) == 0 {
			t.Errorf("%s: %v %s", program, err, got)
		}
	}
}

// The agent, with nothing but its image, reads values of journals however
// journald packed them.
func TestAgentImageReadsEveryCompressor(t *testing.T) {
	out := packs(t, "that the agent's image reads compressed journals")
	for name, how := range map[string]func(*testing.T, []byte) []byte{"zstd": nil, "lz4": lz4Block, "xz": xzStream} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			unpack(t, filepath.Join(out, "coroner-agent.tar"), root)
			text := journal(t, root, name, how)
			got := reads(t, root)
			if got != text {
				t.Errorf("the agent read %d characters: %s", len(got), got)
			}
		})
	}
}

const finished = `I0301 10:00:04.000000     812 generic.go:356] "Generic (PLEG): container finished" ` +
	`podID="0a0b0c0d-1111-2222-3333-444455556666" ` +
	`containerID="1111111111111111111111111111111111111111111111111111111111111111" exitCode=9 note="`

// journal puts a journal with one long line of a kubelet into root, and returns
// the line. systemd-journal-remote packs what has 512 bytes with zstd; shorter
// ones it leaves to how.
func journal(t *testing.T, root, name string, how func(*testing.T, []byte) []byte) string {
	t.Helper()
	const tool = "/lib/systemd/systemd-journal-remote"
	if _, err := os.Stat(tool); err != nil {
		t.Skipf("not shown without %s: that the agent's image reads %s", tool, name)
	}
	length := 4000
	if how != nil {
		length = 490
	}
	text := finished + strings.Repeat("x", length-len(finished)) + `"`
	dir, from := filepath.Join(root, "journal", strings.Repeat("1a", 16)), filepath.Join(t.TempDir(), "x.export")
	export := fmt.Sprintf(
		"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=1000\n_BOOT_ID=%s\n_TRANSPORT=stdout\n"+
			"SYSLOG_IDENTIFIER=kubelet\n"+
			"_SYSTEMD_UNIT=kubelet.service\n_UID=0\nMESSAGE=%s\n\n",
		time.Now().UnixMicro(),
		strings.Repeat("0f", 16),
		text,
	)
	for _, err := range []error{os.MkdirAll(dir, 0o755), os.MkdirAll(filepath.Join(root, "pods"), 0o755),
		os.WriteFile(from, []byte(export), 0o600)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "system.journal")
	cmd := exec.Command(tool, "-o", file, from)
	cmd.Env = []string{"SYSTEMD_JOURNAL_COMPACT=0"}
	if got, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	repack(t, file, []byte("MESSAGE="+text), name, how)
	return text
}

// repack packs one value of a journal file in place, and sees to it that it is
// packed. Of the file's format: flags at 12 say which packings occur; a value
// has a head of 64 bytes with its flags at 1 and its size at 8.
func repack(t *testing.T, file string, value []byte, name string, how func(*testing.T, []byte) []byte) {
	t.Helper()
	flag := map[string]byte{"xz": 1, "lz4": 2, "zstd": 4}[name]
	inFile := map[string]byte{"xz": 1, "lz4": 2, "zstd": 8}[name]
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, value)
	if how == nil {
		if at >= 0 || data[12]&inFile == 0 {
			t.Skipf("not shown: that the agent's image reads %s (systemd-journal-remote did not pack the value)", name)
		}
		return
	}
	if at < 0 {
		t.Skipf(
			"not shown: that the agent's image reads %s (systemd-journal-remote did not write the value plainly)",
			name,
		)
	}
	packed := how(t, value)
	if len(packed) >= len(value) {
		t.Fatalf("%d bytes packed are %d", len(value), len(packed))
	}
	data[12] |= inFile
	data[at-64+1] |= flag
	binary.LittleEndian.PutUint64(data[at-64+8:], uint64(64+len(packed)))
	clear(data[at : at+len(value)])
	copy(data[at:], packed)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// lz4Block packs a value that is one character over and over but for its begin
// and its last five: its size, then literals, a match, literals.
func lz4Block(_ *testing.T, value []byte) []byte {
	run := bytes.Index(value, []byte("xxx")) + 1
	match, tail := len(value)-run-5, value[len(value)-5:]
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(value)))
	length := func(out []byte, n int) []byte {
		for ; n >= 255; n -= 255 {
			out = append(out, 255)
		}
		return append(out, byte(n))
	}
	out = append(length(append(out, 0xff), run-15), value[:run]...)
	out = length(append(out, 1, 0), match-4-15)
	return append(append(out, 5<<4), tail...)
}

func xzStream(t *testing.T, value []byte) []byte {
	t.Helper()
	cmd := exec.Command("xz", "--format=xz", "--check=none", "--stdout")
	cmd.Stdin = bytes.NewReader(value)
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("not shown: that the agent's image reads xz (%v; it takes the package xz-utils)", err)
	}
	return out
}

// reads runs the image's agent over the journal in its root, and returns the
// first line of a kubelet that it sends.
func reads(t *testing.T, root string) string {
	t.Helper()
	lines := make(chan string, 100)
	receive := func(_ context.Context, entries []ingest.Entry) error {
		for _, e := range entries {
			if e.Mark == nil && e.Source == ingest.Kubelet {
				lines <- e.Text
			}
		}
		return nil
	}
	server := httptest.NewServer(push.NewHandler(push.Limits{}, nil, receive, func(string) {}))
	defer server.Close()
	var said bytes.Buffer
	cmd := inside(
		t,
		root,
		"/usr/bin/coroner-agent",
		"--node=n",
		"--journal=/journal",
		"--pods=/pods",
		"--state=/state",
		"--server.url="+server.URL,
		"--web.listen-address=127.0.0.1:0",
	)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill(); <-ended; close(ended) }()
	select {
	case line := <-lines:
		return line
	case err := <-ended:
		ended <- err
		t.Fatalf("%v\n%s", err, &said)
	case <-time.After(30 * time.Second):
		t.Errorf("nothing was sent")
	}
	return ""
}
