package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coroner/fixtures/bench"
	"coroner/ingest/podlog"
	"coroner/rules/book"
	"coroner/rules/signal"

	"go.yaml.in/yaml/v4"
)

// Benchmarks that take minutes are asked for. They judge by CPU time: what else
// runs on the machine costs wall time only.
func wantBench(t *testing.T) {
	t.Helper()
	bench.Asked(t, "what the agent and its readers cost")
}

const rounds = 5

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// talk makes the lines of a job's runner: compilers, tests, progress, a stack
// now and then. One in twenty is one that the rulebook knows, one in fifty was
// split by the runtime.
type talk struct {
	*rand.Rand
	now time.Time
}

var everyday = []func(*talk) string{
	func(r *talk) string {
		return fmt.Sprintf(
			"[%d/4096] Compiling object src/services/%x/handlers/%x_controller.cc with -O2 -fPIC -Wall -Wextra",
			r.IntN(4096),
			r.Uint32(),
			r.Uint64(),
		)
	},
	func(r *talk) string {
		return fmt.Sprintf(
			"=== RUN   TestStorage/%x/round_trip_keeps_order (%d.%02ds)",
			r.Uint64(),
			r.IntN(9),
			r.IntN(99),
		)
	},
	func(r *talk) string {
		return fmt.Sprintf(
			"npm http fetch GET 200 https://registry.example/@scope%%2fpkg-%x %dms (cache hit)",
			r.Uint32(),
			r.IntN(900),
		)
	},
	func(r *talk) string {
		return fmt.Sprintf(
			"Get:%d http://archive.example/ubuntu noble/main amd64 lib%x-dev amd64 1.%d.%d-1ubuntu2 [%d kB]",
			r.IntN(900),
			r.Uint32(),
			r.IntN(9),
			r.IntN(30),
			r.IntN(9000),
		)
	},
	func(r *talk) string {
		return fmt.Sprintf("    at com.example.build.Worker$%d.invoke(Worker.java:%d) ~[build-%x.jar:?]", r.IntN(90),
			r.IntN(2000), r.Uint32())
	},
	func(r *talk) string {
		return fmt.Sprintf(
			`{"level":"info","msg":"request","path":"/v1/items/%x","status":200,"took_ms":%d}`,
			r.Uint64(),
			r.IntN(900),
		)
	},
}

var deaths = []string{
	"An error occurred: Runner version v2.311.0 is deprecated and cannot receive messages.",
	"Listening for Jobs", "Runner listener exit with terminated error, stop the service, no retry needed.",
}

func (r *talk) line(w *bufio.Writer, hits float64) {
	r.now = r.now.Add(time.Duration(r.IntN(200)) * time.Microsecond)
	text := everyday[r.IntN(len(everyday))](r)
	if r.Float64() < hits {
		text = deaths[r.IntN(len(deaths))]
	}
	head := r.now.UTC().Format("2006-01-02T15:04:05.000000000Z") + " stdout "
	if r.IntN(50) == 0 {
		i := r.IntN(len(text))
		fmt.Fprintf(w, "%sP %s\n%sF %s\n", head, text[:i], head, text[i:])
		return
	}
	fmt.Fprintf(w, "%sF %s\n", head, text)
}

// logs are the logs of n runners.
func logs(t *testing.T, dir string, n int, size int64) (lines int, total int64) {
	for i := range n {
		path := logOf(dir, i)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		w := bufio.NewWriter(&b)
		r := &talk{rand.New(rand.NewPCG(uint64(i), 1)), time.Now().Add(-time.Minute)}
		for int64(b.Len()) < size/int64(n) {
			r.line(w, 0.05)
			if i%16 > 0 {
				continue
			}
			w.Flush()
		}
		w.Flush()
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		lines, total = lines+bytes.Count(b.Bytes(), []byte("\n")), total+int64(b.Len())
	}
	return lines, total
}

func logOf(dir string, i int) string {
	return filepath.Join(dir, fmt.Sprintf("ci_amber-runner-%05d_00000000-1111-2222-3333-%012d/runner/0.log", i, i))
}

// Goal: 300 MB of lines in a second of one core, which is what the agent uses.
func TestBenchPodLogs(t *testing.T) {
	wantBench(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b, err := signal.Load(fs.FS(book.Files))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2000} {
		dir := t.TempDir()
		lines, size := logs(t, dir, n, 256<<20)
		var speed []float64
		hits := 0
		for range rounds {
			var d time.Duration
			d, hits = readAll(t, dir, b, b.Next, lines)
			speed = append(speed, float64(size)/1e6/d.Seconds())
		}
		d, all := readAll(t, dir, b, nil, lines)
		if all != hits {
			t.Errorf("%d signals, %d when every line is given", hits, all)
		}
		fmt.Printf(
			"| pod logs | %4d files | %d MB | %d lines | %.1f %% hits | %4.0f MB per CPU second | every line given: "+
				"%3.0f |\n",
			n,
			size/1e6,
			lines,
			100*float64(hits)/float64(lines),
			median(speed),
			float64(size)/1e6/d.Seconds(),
		)
		f := bench.Figure{Topic: "the agent's pod logs", What: fmt.Sprintf("%d files, 5 %% hits", n),
			Unit: "MB/s of a core", Value: median(speed)}
		if n == 1 {
			f.What, f.AtLeast = "one file, 5 % hits", 300
		}
		note(t, f)
	}
}

func note(t *testing.T, figures ...bench.Figure) {
	t.Helper()
	if err := bench.Note(figures...); err != nil {
		t.Error(err)
	}
}

var errAll = errors.New("all lines were read")

// readAll reads and scans a folder of logs to its end.
func readAll(t *testing.T, dir string, b *signal.Book, next func([]byte, int) int, lines int) (used time.Duration,
	hits int) {
	begin, read := bench.CPU(), 0
	err := podlog.New(podlog.Config{Dir: dir, Node: "n", Next: next}).Run(context.Background(),
		func(batch podlog.Batch) error {
			for i := range batch.Entries {
				if batch.Entries[i].Mark == nil && len(b.Scan(&batch.Entries[i])) > 0 {
					hits++
				}
			}
			if read += batch.Lines; read >= lines {
				return errAll
			}
			return nil
		})
	if !errors.Is(err, errAll) {
		t.Fatal(err)
	}
	return bench.CPU() - begin, hits
}

// The same where all logs are open already and grow.
func TestBenchOpenLogs(t *testing.T) {
	wantBench(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	b, err := signal.Load(fs.FS(book.Files))
	if err != nil {
		t.Fatal(err)
	}
	const n = 2000
	from := t.TempDir()
	lines, size := logs(t, from, n, 256<<20)
	var speed []float64
	for range rounds {
		speed = append(speed, float64(size)/1e6/readGrowing(t, from, b, n, lines).Seconds())
	}
	fmt.Printf("| pod logs | %4d files that are open and grow | %d MB | %4.0f MB per CPU second |\n", n, size/1e6,
		median(speed))
}

// readGrowing is the time that reading what n open logs grow by takes, without
// that of writing it.
func readGrowing(t *testing.T, from string, b *signal.Book, n, lines int) (used time.Duration) {
	dir, read, began := t.TempDir(), 0, time.Duration(0)
	newFloods(t, dir, n)
	wrote := make(chan time.Duration, 1)
	err := podlog.New(podlog.Config{Dir: dir, Node: "n", Next: b.Next}).Run(context.Background(),
		func(batch podlog.Batch) error {
			for i := range batch.Entries {
				b.Scan(&batch.Entries[i])
			}
			if began == 0 && !batch.Reached.IsZero() {
				began = bench.CPU()
				go func() { wrote <- grow(t, from, dir, n) }()
			}
			if read += batch.Lines; read >= lines {
				return errAll
			}
			return nil
		})
	if !errors.Is(err, errAll) {
		t.Fatal(err)
	}
	return bench.CPU() - began - <-wrote
}

// grow appends logs to others and returns the processor time that this took.
func grow(t *testing.T, from, to string, n int) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &before)
	room := make([]byte, 1<<20) // what a writer leaves to collect the reader would pay for
	for i := range n {
		if err := appendFile(logOf(to, i), logOf(from, i), room); err != nil {
			t.Error(err)
		}
	}
	_ = syscall.Getrusage(syscall.RUSAGE_THREAD, &after)
	return time.Duration(after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano())
}

func appendFile(to, from string, room []byte) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	defer dst.Close()
	for {
		n, err := src.Read(room)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			_, err = dst.Write(room[:n])
		}
		if err != nil {
			return err
		}
	}
}

// Goal: nothing written costs nearly nothing.
func TestBenchIdle(t *testing.T) {
	wantBench(t)
	dir := t.TempDir()
	logs(t, dir, 2000, 2000*2000)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error)
	var reached time.Time
	go func() {
		done <- podlog.New(podlog.Config{Dir: dir, Node: "n", Next: func([]byte, int) int { return -1 }}).Run(ctx,
			func(b podlog.Batch) error {
				reached = b.Reached
				return nil
			})
	}()
	time.Sleep(6 * time.Second)
	begin, calls := bench.CPU(), switches()
	time.Sleep(10 * time.Second)
	used, calls := bench.CPU()-begin, switches()-calls
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	fmt.Printf("| pod logs | 2000 quiet files | %.2f %% of a core | %d wakeups/s | reached %s behind |\n",
		used.Seconds()*10, calls/10, time.Since(reached).Round(time.Millisecond))
	note(t, bench.Figure{Topic: "the agent's pod logs", What: "2 000 quiet files", Unit: "% of a core", AtMost: 1,
		Value: used.Seconds() * 10})
}

// switches is how often this process has slept.
func switches() int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Nvcsw
}

// Goal, as deployed: under 1 % of a core at 1 000 lines a second and 5 % at
// 10 000, under 40 MiB, and ready in under 100 ms. Beside it: mtail, which counts,
// and promtail, which ships every line.
func TestBenchAgent(t *testing.T) {
	wantBench(t)
	bin := filepath.Join(t.TempDir(), "coroner-agent")
	if out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin,
		".").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	dir := t.TempDir()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer s.Close()
	f := newFloods(t, dir, 20)
	agent := program{t: t, name: "coroner-agent", ready: "http://127.0.0.1:19096/-/ready",
		args: []string{bin, "--node=n", "--server.url=" + s.URL, "--pods=" + dir,
			"--journal=" + t.TempDir(), "--state=" + t.TempDir(), "--web.listen-address=127.0.0.1:19096",
			"--web.enable-pprof", "--log.level=warn"}}
	agent.measure(f)
	beside(t, program{t: t, name: "mtail", ready: "http://127.0.0.1:19097/metrics"}, mtailArgs)
	beside(t, program{t: t, name: "promtail", ready: "http://127.0.0.1:19098/ready"}, promtailArgs)
}

// beside measures another program that reads the same logs, where it is installed.
func beside(t *testing.T, other program, args func(t *testing.T, logs string) []string) {
	path, err := exec.LookPath(other.name)
	if err != nil {
		fmt.Println("| " + other.name + " is not installed: not compared |")
		return
	}
	dir := t.TempDir()
	f := newFloods(t, dir, 20)
	other.args = append([]string{path}, args(t, filepath.Join(dir, "*/*/*.log"))...)
	other.measure(f)
}

func mtailArgs(t *testing.T, logs string) []string {
	return []string{"--progs", filepath.Dir(written(t, "book.mtail", mtailProgram(t))), "--logs", logs, "--address",
		"127.0.0.1", "--port", "19097", "--logtostderr"}
}

// promtailArgs make promtail do what it does on every node: read the runtime's
// format and send the lines.
func promtailArgs(t *testing.T, logs string) []string {
	loki := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(loki.Close)
	return []string{
		"-config.file",
		written(
			t,
			"promtail.yaml",
			fmt.Sprintf(
				`server: {http_listen_address: 127.0.0.1, http_listen_port: 19098, grpc_listen_port: 0, log_level: warn}
positions: {filename: %s/positions.yaml}
clients: [{url: %s/loki/api/v1/push}]
scrape_configs:
- job_name: pods
  pipeline_stages: [{cri: {}}]
  static_configs: [{targets: [localhost], labels: {job: pods, __path__: %q}}]
`,
				t.TempDir(),
				loki.URL,
				logs,
			),
		),
	}
}

// written is the path of a file with that text.
func written(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// mtailProgram counts what matches the rulebook's patterns.
func mtailProgram(t *testing.T) string {
	var out strings.Builder
	out.WriteString("counter found by number\n")
	names, err := fs.Glob(book.Files, "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(err, "no rulebook")
	}
	n := 0
	for _, name := range names {
		data, err := fs.ReadFile(book.Files, name)
		var root yaml.Node
		if err == nil {
			err = yaml.Unmarshal(data, &root)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range patterns(&root) {
			n++
			fmt.Fprintf(
				&out,
				"/%s/ {\n  found[\"%d\"]++\n}\n",
				strings.ReplaceAll(strings.TrimPrefix(p, "^"), "/", `\/`),
				n,
			)
		}
	}
	return out.String()
}

// patterns are the values of match in a rulebook's file.
func patterns(n *yaml.Node) (all []string) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "match" {
			for _, p := range append([]*yaml.Node{c}, c.Content...) {
				expr := strings.ReplaceAll(p.Value, "\n", "") // one over several lines is joined
				if _, err := regexp.Compile(expr); err == nil && expr != "" {
					all = append(all, regexp.MustCompile(`\?P?<\w+>`).ReplaceAllString(expr, "?:"))
				}
			}
			continue
		}
		all = append(all, patterns(c)...)
	}
	return all
}

// floods are logs that grow at a pace.
type floods struct {
	files []*os.File
	talk  *talk
}

func newFloods(t *testing.T, dir string, n int) *floods {
	f := &floods{talk: &talk{Rand: rand.New(rand.NewPCG(1, 1))}}
	for i := range n {
		path := logOf(dir, i)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = file.Close() })
		f.files = append(f.files, file)
	}
	return f
}

// write writes so many lines a second, each by itself as a runtime does.
func (f *floods) write(pace int, d time.Duration) {
	const slices = 50
	ticker := time.NewTicker(time.Second / slices)
	defer ticker.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-ticker.C {
		for range pace / slices {
			var b bytes.Buffer
			w := bufio.NewWriter(&b)
			f.talk.now = time.Now()
			f.talk.line(w, 0.05)
			_ = w.Flush()
			_, _ = f.files[f.talk.IntN(len(f.files))].Write(b.Bytes())
		}
	}
}

// program is a daemon that is measured from outside.
type program struct {
	t     *testing.T
	name  string
	ready string
	args  []string
}

func (p program) measure(f *floods) {
	cmd := exec.Command(p.args[0], p.args[1:]...)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for {
		if res, err := http.Get(p.ready); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		time.Sleep(time.Millisecond)
	}
	start, startCPU := time.Since(began), spent(cmd.Process.Pid)
	time.Sleep(3 * time.Second)
	for _, pace := range []int{0, 1000, 10000} {
		f.write(max(pace, 50), 2*time.Second)
		before, at := spent(cmd.Process.Pid), time.Now()
		if pace == 0 {
			time.Sleep(10 * time.Second)
		} else {
			f.write(pace, 20*time.Second)
		}
		share := 100 * (spent(cmd.Process.Pid) - before).Seconds() / time.Since(at).Seconds()
		fmt.Printf(
			"| %-13s | ready in %3d ms (%d ms CPU) | %5d lines/s | %5.2f %% of a core | RSS %.1f MiB, at most %.1f |\n",
			p.name,
			start.Milliseconds(),
			startCPU.Milliseconds(),
			pace,
			share,
			memory(cmd.Process.Pid,
				"VmRSS"),
			memory(cmd.Process.Pid, "VmHWM"),
		)
		cost := bench.Figure{Topic: p.name, What: fmt.Sprintf("%d lines a second", pace), Unit: "% of a core",
			Value: share}
		if p.name == "coroner-agent" && pace == 1000 {
			cost.AtMost = 1.2
		}
		note(p.t, cost)
	}
	size := bench.Figure{Topic: p.name, What: "memory at most", Unit: "MiB", Value: memory(cmd.Process.Pid, "VmHWM")}
	if p.name == "coroner-agent" {
		size.AtMost = 40
	}
	note(p.t, size)
	if path := os.Getenv("CORONER_BENCH_PROFILE"); path != "" && p.name == "coroner-agent" {
		go f.write(10000, 12*time.Second)
		profile(p.t, path)
	}
}

// profile keeps a CPU profile of the agent.
func profile(t *testing.T, path string) {
	res, err := http.Get("http://127.0.0.1:19096/debug/pprof/profile?seconds=10")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err == nil {
		err = os.WriteFile(path, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// spent is the processor time of a process, in ticks of a hundredth of a second.
func spent(pid int) time.Duration {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(data), ") ")
	w := strings.Fields(rest)
	if len(w) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(w[11])
	system, _ := strconv.Atoi(w[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func memory(pid int, what string) float64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(data), what+":")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return float64(kb) / 1024
}
