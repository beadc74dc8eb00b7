package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"coroner/fixtures"
	"coroner/ingest"
	"coroner/ingest/push"

	"github.com/klauspost/compress/snappy"
)

// abused is a coroner serve of its own process, that strangers do to what they like.
type abused struct {
	t       *testing.T
	address string
	pid     int
	client  *http.Client
}

// startAbused starts the program that CORONER_BIN has, else this one.
func startAbused(t *testing.T) *abused {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the memory of a process is read from /proc")
	}
	program := "coroner"
	if dir := os.Getenv("CORONER_BIN"); dir != "" {
		program = filepath.Join(dir, "coroner")
	} else if fixtures.UnderRace {
		t.Skip("with the race detector, only the program in CORONER_BIN is measured")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.Command(program, "serve", "--web.listen-address="+address,
		"--ledger="+filepath.Join(t.TempDir(), "l.db"),
		"--settle-after=1s", "--settle-deadline=2s", "--log.level=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	s := &abused{t, address, cmd.Process.Pid, client}
	wait(t, "it is ready", func() bool {
		code, _ := s.get("/-/ready")
		return code == http.StatusOK
	})
	return s
}

// peak is the most memory that the process has taken so far, in MiB.
func (s *abused) peak() (mib int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		s.t.Fatal("it is gone: ", err)
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "VmHWM: %d", &mib); err == nil {
			return mib >> 10
		}
	}
	s.t.Fatalf("no VmHWM in %s", data)
	return 0
}

func (s *abused) get(path string) (code, size int) {
	res, err := s.client.Get("http://" + s.address + path)
	if err != nil {
		return 0, 0
	}
	defer res.Body.Close()
	n, _ := io.Copy(io.Discard, res.Body)
	return res.StatusCode, int(n)
}

func (s *abused) post(body []byte, header ...string) int {
	req, err := http.NewRequest(http.MethodPost, "http://"+s.address+push.Path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := s.client.Do(req)
	if err != nil {
		return 0
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// each does something so often, some at one time.
func each(n, together int, do func(i int)) {
	var all sync.WaitGroup
	places := make(chan struct{}, together)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			do(i)
			<-places
		})
	}
	all.Wait()
}

// slow opens connections that begin a request and do not go on, or do not read.
func (s *abused) slow(n int, text string) {
	for range n {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			return // as many as there may be
		}
		s.t.Cleanup(func() { _ = c.Close() })
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprint(c, text)
	}
}

// json is a push of one container's lines, zipped.
func jsonPush(pod string, lines ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprintf(z, `{"streams":[{"stream":{"namespace":"ci","pod":%q,"container":"runner"},"values":[`, pod)
	now := time.Now().UnixNano()
	for i, line := range lines {
		if i > 0 {
			fmt.Fprint(z, ",")
		}
		fmt.Fprintf(z, `["%d",%q]`, now+int64(i), line)
	}
	fmt.Fprint(z, "]}]}")
	_ = z.Close() // a buffer takes everything
	return b.Bytes()
}

// recognised are lines of a job that the rulebook knows.
var recognised = []string{
	"Listening for Jobs", "Successfully renew job", "Catch exception during renew runner job",
	"Runner connect error: x",
	"Step result: Succeeded", "Raising job completed event", "Catch exception during request", "cannot fork",
	"signal: killed",
	"Unhandled exception happened in worker", "No space left on device", "SSL certificate problem", "memory.peak=1",
	"memory.max=1", "Too many open files in system",
}

// abuses are what anybody who reaches the server can do.
func (s *abused) abuses() []struct {
	what string
	do   func()
} {
	bomb := snappy.Encode(nil,
		append([]byte{0x0a, 0xf8, 0xff, 0xff, 0x07}, bytes.Repeat([]byte{0x12, 0x00}, 8<<20-4)...))
	long := strings.Repeat("x", 15<<10)
	hostile := "é " + strings.Repeat(
		strings.Join(recognised, " ")+` Job failed ERROR pods "/_work/ permission denied `, 30,
	)
	zipped := []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}
	return []struct {
		what string
		do   func()
	}{
		{"push bombs", func() {
			each(40, 10, func(int) { s.post(bomb, "Content-Type", "application/x-protobuf") })
			empty := []byte(`{"streams":[` + strings.Repeat(`{},`, 2<<20) + `{}]}`)
			each(20, 10, func(int) { s.post(empty, "Content-Type", "application/json") })
		}},
		{"hostile lines", func() {
			each(12, 6, func(i int) {
				var lines []string
				for range 600 {
					lines = append(lines, hostile[:min(len(hostile), 15<<10)])
				}
				s.post(jsonPush(fmt.Sprint("evil-runner-", i), lines...), zipped...)
			})
		}},
		{"fat verdicts", func() {
			each(12, 4, func(i int) {
				var lines []string
				for k := range 40 {
					for _, w := range recognised {
						lines = append(lines, fmt.Sprint(w, " ", k, " ", long))
					}
				}
				pod := fmt.Sprint("fat-runner-", i)
				s.post(jsonPush(pod, lines...), zipped...)
				s.kubelet("fat", fmt.Sprintf(`"SyncLoop ADD" source="api" pods=["ci/%s"]`, pod))
				s.kubelet("fat", fmt.Sprintf(`"SyncLoop REMOVE" source="api" pods=["ci/%s"]`, pod))
			})
			wait(s.t, "all are judged", func() bool {
				_, size := s.get("/api/v1/verdicts?limit=1000")
				return size > 12*(64<<10)
			})
		}},
		{"split lines", func() {
			each(15, 4, func(i int) {
				var lines []string
				for range 400 {
					lines = append(lines, "2026-05-04T10:00:00.000000000Z stdout P "+long)
				}
				s.post(jsonPush(fmt.Sprint("split-", i), lines...), zipped...)
			})
		}},
		{"many streams", func() {
			each(10, 4, func(i int) {
				var b strings.Builder
				for k := range 9000 {
					fmt.Fprintf(&b,
						`{"stream":{"pod":"s-%d-%d"},"values":[["1","2026-05-04T10:00:00Z stdout P x"]]},`, i, k)
				}
				s.post([]byte(`{"streams":[`+b.String()+`{}]}`), "Content-Type", "application/json")
			})
		}},
		{"slow senders", func() {
			s.slow(300, "POST "+push.Path+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
				"Content-Length: 8000000\r\n\r\n"+strings.Repeat(" ", 100_000))
			s.slow(1500, "GET / HTTP/1.1\r\nHost: x\r\n")
		}},
		{"slow readers", func() {
			s.slow(100, "GET /api/v1/verdicts?limit=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
			s.slow(100, "GET /api/v1/search?q=fat-runner HTTP/1.1\r\nHost: x\r\n\r\n")
		}},
		{"questions", func() {
			paths := []string{
				"/api/v1/search?q=fat-runner", "/?verdict=all", "/runners/fat-runner-1", "/api/v1/verdicts?limit=1000",
			}
			each(60, 20, func(i int) { s.get(paths[i%len(paths)]) })
		}},
		{"reloads", func() {
			each(500, 50, func(int) {
				res, err := s.client.Post("http://"+s.address+"/-/reload", "", nil)
				if err == nil {
					_ = res.Body.Close()
				}
			})
		}},
	}
}

// kubelet pushes a line of a kubelet's as its node's agent does.
func (s *abused) kubelet(node, text string) int {
	now := time.Now()
	body, err := push.Encode([]ingest.Entry{{
		At: now, Clock: ingest.WallClock, Source: ingest.Kubelet, Trust: ingest.Attested, Node: node,
		Text: now.Format("I0102 15:04:05.000000") + "     812 kubelet.go:2405] " + text,
	}})
	if err != nil {
		s.t.Error(err)
	}
	return s.post(body, "Content-Type", "application/x-protobuf", push.AgentHeader, node)
}

// canary pushes a line of a node each tenth of a second, as an agent does, ten at
// least, and says how long the slowest took to be taken.
func (s *abused) canary(ctx context.Context) (slowest time.Duration) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for n := 0; n < 10 || ctx.Err() == nil; n++ {
		<-ticker.C
		text, began := fmt.Sprintf(`"SyncLoop ADD" source="api" pods=["ci/good-%d"]`, n), time.Now()
		for s.kubelet("good", text) != http.StatusNoContent && time.Since(began) < time.Minute {
			<-ticker.C // it was told to come again
		}
		slowest = max(slowest, time.Since(began))
	}
	return slowest
}

// Whatever strangers do, one after the other, the server stays within 512 MiB, takes
// what an agent sends within seconds, and answers.
func TestAbusesOneAfterTheOther(t *testing.T) {
	s := startAbused(t)
	for _, a := range s.abuses() {
		began := time.Now()
		ctx, stop := context.WithCancel(context.Background())
		slowest := make(chan time.Duration)
		go func() { slowest <- s.canary(ctx) }()
		a.do()
		stop()
		waited, peak := <-slowest, s.peak()
		t.Logf("%-13s %4.1f s, an agent waited %4.2f s at most, peak so far %d MiB", a.what,
			time.Since(began).Seconds(),
			waited.Seconds(), peak)
		if peak > 512 {
			t.Fatalf("%s: %d MiB", a.what, peak)
		}
		if waited > 5*time.Second {
			t.Errorf("%s: an agent waited %s", a.what, waited)
		}
	}
	for _, path := range []string{
		"/", "/api/v1/verdicts?limit=1000", "/api/v1/search?q=fat-runner", "/runners/fat-runner-7", "/metrics",
	} {
		began := time.Now()
		code, size := s.get(path)
		t.Logf("%s: %d, %d kB, %.2f s", path, code, size>>10, time.Since(began).Seconds())
		if code != http.StatusOK || size == 0 {
			t.Errorf("%s: %d, %d bytes", path, code, size)
		}
	}
}
