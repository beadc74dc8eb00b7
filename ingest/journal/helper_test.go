//go:build linux && cgo && !nojournal

package journal

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"coroner/ingest"
)

// limit is how long a test waits for what must happen.
const limit = 60 * time.Second

const (
	bootA = "0123456789abcdef0123456789abcdef"
	bootB = "fedcba9876543210fedcba9876543210"
	// strange is a machine id that is not this machine's.
	strange = "11112222333344445555666677778888"
)

// exported is a journal export of n records of a boot, one each millisecond
// from start on, the first with the number first in its text.
func exported(boot string, start time.Time, first, n int, fields ...string) string {
	var b strings.Builder
	for i := first; i < first+n; i++ {
		at := start.Add(time.Duration(i) * time.Millisecond)
		fmt.Fprintf(
			&b,
			"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\n_HOSTNAME=worker-7\n",
			at.UnixMicro(),
			(int64(i)+1)*1000,
			boot,
			strange,
		)
		for _, f := range fields {
			fmt.Fprintf(&b, "%s\n", f)
		}
		fmt.Fprintf(&b, "MESSAGE=line %d\n\n", i)
	}
	return b.String()
}

var (
	fromKernel  = []string{"_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=kernel", "SYSLOG_FACILITY=0", "PRIORITY=6"}
	fromKubelet = []string{"_TRANSPORT=stdout", "SYSLOG_IDENTIFIER=kubelet", "_SYSTEMD_UNIT=kubelet.service",
		"_COMM=kubelet", "_UID=0"}
)

// remote is the program that makes journal files of exports.
func remote(t testing.TB) string {
	t.Helper()
	const tool = "/lib/systemd/systemd-journal-remote"
	if _, err := os.Stat(tool); err != nil {
		t.Skipf("not shown without %s, which makes the journal files: %s", tool, t.Name())
	}
	return tool
}

// store makes the journal file at path of an export, or appends to it.
func store(t testing.TB, path, export string) {
	t.Helper()
	tool := remote(t)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(t.TempDir(), "x.export")
	if err := os.WriteFile(from, []byte(export), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(tool, "-o", path, from).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// run is a reader at work.
type run struct {
	t       testing.TB
	reader  *Reader
	batches chan Batch
	cancel  context.CancelFunc
	done    chan error
	all     []Batch
}

// follow starts a reader that is stopped when the test ends.
func follow(t testing.TB, c Config) *run {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &run{t: t, reader: New(c), batches: make(chan Batch), cancel: cancel, done: make(chan error, 1)}
	go func() {
		r.done <- r.reader.Run(ctx, func(b Batch) error {
			b.Entries, b.Covered = slices.Clone(b.Entries), slices.Clone(b.Covered)
			select {
			case r.batches <- b:
			case <-ctx.Done():
			}
			return nil
		})
		close(r.batches)
	}()
	t.Cleanup(func() { r.stop() })
	return r
}

// stop ends the reader and returns what Run returned.
func (r *run) stop() error {
	r.cancel()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(limit):
		r.t.Fatal("Run does not end")
		return nil
	}
}

// until collects batches until enough says so.
func (r *run) until(what string, enough func(b Batch) bool) {
	r.t.Helper()
	timeout := time.After(limit)
	for {
		select {
		case b, ok := <-r.batches:
			if !ok {
				r.t.Fatalf("the reader ended while waiting for %s: %v", what, r.stop())
			}
			r.all = append(r.all, b)
			if enough(b) {
				return
			}
		case <-timeout:
			r.t.Fatalf("%s did not come; %d batches, %d entries", what, len(r.all), len(r.entries()))
		}
	}
}

// lines collects until n records were read.
func (r *run) lines(n int) {
	r.t.Helper()
	r.until(fmt.Sprintf("%d records", n), func(Batch) bool { return r.read() >= n })
}

// text collects until an entry has the text.
func (r *run) text(text string) {
	r.t.Helper()
	r.until(fmt.Sprintf("%q", text), func(b Batch) bool {
		return slices.ContainsFunc(b.Entries, func(e ingest.Entry) bool { return e.Text == text })
	})
}

// tail collects until the journal's end was met.
func (r *run) tail() {
	r.t.Helper()
	r.until("the end of the journal", func(b Batch) bool { return b.Reached.After(b.At) })
}

func (r *run) read() (n int) {
	for _, b := range r.all {
		n += b.Lines
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

func (r *run) last() Batch { return r.all[len(r.all)-1] }

func (r *run) entries() (out []ingest.Entry) {
	for _, b := range r.all {
		for _, e := range b.Entries {
			if e.Mark == nil {
				out = append(out, e)
			}
		}
	}
	return out
}

func (r *run) gaps() (out []ingest.Entry) {
	for _, b := range r.all {
		for _, e := range b.Entries {
			if e.Mark != nil {
				out = append(out, e)
			}
		}
	}
	return out
}

// covered are the Covered marks of a source, the longest of each span.
func (r *run) covered(s ingest.Source) (out []ingest.Entry) {
	for _, b := range r.all {
		for _, e := range b.Covered {
			if e.Source != s {
				continue
			}
			if n := len(out) - 1; n >= 0 && out[n].Mark.From.Equal(e.Mark.From) {
				out[n] = e
				continue
			}
			out = append(out, e)
		}
	}
	return out
}

// inOrder says whether the entries are those of "prefix N" for N from first on,
// each once, and no others with that prefix.
func inOrder(t testing.TB, entries []ingest.Entry, prefix string, first, n int) {
	t.Helper()
	want := first
	for _, e := range entries {
		num, ok := strings.CutPrefix(e.Text, prefix+" ")
		if !ok {
			continue
		}
		if num != fmt.Sprint(want) {
			t.Fatalf("%q where number %d was due (line %d)", e.Text, want, e.Line)
		}
		want++
	}
	if want != first+n {
		t.Fatalf("%d of %d records with %q", want-first, n, prefix)
	}
}

// eventually waits until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick, timeout := time.NewTicker(10*time.Millisecond), time.After(limit)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("%s did not happen", what)
		}
	}
}

// daemon is a real journald that sees folders of its own as /run and /var/log.
type daemon struct {
	t        testing.TB
	run, log string // what it has as /run and /var/log
	conf     string
	cmd      *exec.Cmd
	socket   int
	sent     int
}

// startJournald starts one, with lines for its configuration. It needs root, since
// it gets a mount namespace, so that it disturbs no other journald.
func startJournald(t testing.TB, conf ...string) *daemon {
	t.Helper()
	const program = "/lib/systemd/systemd-journald"
	if os.Getuid() != 0 {
		t.Skipf("not shown without root, which a real journald needs: %s", t.Name())
	}
	if _, err := os.Stat(program); err != nil {
		t.Skipf("not shown without %s: %s", program, t.Name())
	}
	if out, err := exec.Command("unshare", "-m", "true").CombinedOutput(); err != nil {
		t.Skipf("not shown without mount namespaces for a journald of its own: %s: %v: %s", t.Name(), err, out)
	}
	// In memory, since journald moves its files away from nothing else; and
	// t.TempDir is too long for the path of a socket.
	root, err := os.MkdirTemp("/dev/shm", "jd")
	if err != nil {
		t.Skipf("not shown without a file system in memory at /dev/shm, which a real journald has as /run: %s: %v",
			t.Name(), err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	d := &daemon{t: t, run: filepath.Join(root, "run"), log: filepath.Join(root, "log")}
	// Every journald writes about itself to the kernel's log, for all others to read.
	d.conf = strings.Join(append([]string{"[Journal]", "RateLimitBurst=0", "ForwardToSyslog=no", "ReadKMsg=no"},
		conf...), "\n") + "\n"
	for _, dir := range []string{d.run + "/systemd/journald.conf.d", d.run + "/systemd/journal", d.run + "/log",
		d.log} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.run+"/systemd/journald.conf.d/test.conf", []byte(d.conf), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.kill)
	d.start()
	return d
}

func (d *daemon) volatile() string   { return d.run + "/log/journal" }
func (d *daemon) persistent() string { return d.log + "/journal" }

// start starts the program and waits until it takes records.
func (d *daemon) start() {
	d.t.Helper()
	script := `mount --bind "$1" /run && mount --bind "$2" /var/log && exec /lib/systemd/systemd-journald`
	d.cmd = exec.Command("unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", d.run, d.log)
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // it must not outlive a test that panics
	if err := d.cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	var err error
	if d.socket, err = syscall.Socket(syscall.AF_UNIX, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0); err != nil {
		d.t.Fatal(err)
	}
	addr := &syscall.SockaddrUnix{Name: d.run + "/systemd/journal/socket"}
	eventually(d.t, "a socket of journald", func() bool { return syscall.Connect(d.socket, addr) == nil })
}

// call asks it for something over its socket for journalctl, and waits until it
// is done.
func (d *daemon) call(method string) {
	d.t.Helper()
	var conn net.Conn
	eventually(d.t, "journald's socket for journalctl", func() (there bool) { // it opens it after the one for records
		var err error
		conn, err = net.Dial("unix", d.run+"/systemd/journal/io.systemd.journal")
		return err == nil
	})
	defer conn.Close()
	if _, err := conn.Write([]byte(`{"method":"io.systemd.Journal.` + method + `"}` + "\x00")); err != nil {
		d.t.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString(0)
	if err != nil || strings.Contains(answer, "error") {
		d.t.Fatalf("%s: %q, %v", method, answer, err)
	}
}

// kill ends it as a power loss would.
func (d *daemon) kill() {
	if d.cmd == nil || d.cmd.ProcessState != nil {
		return
	}
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait()
	_ = syscall.Close(d.socket)
	_ = os.Remove(d.run + "/systemd/journal/socket")
}

// rotate makes it begin new files.
func (d *daemon) rotate() { d.call("Rotate") }

// send gives it n records "test N" that go on where the last ones ended, as a
// process of the user uid.
func (d *daemon) send(n int, uid uint32, fields ...string) {
	d.t.Helper()
	cred := syscall.UnixCredentials(&syscall.Ucred{Pid: int32(os.Getpid()), Uid: uid, Gid: uid})
	for range n {
		text := "SYSLOG_IDENTIFIER=tester\nPRIORITY=6\n" + strings.Join(fields, "\n")
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += fmt.Sprintf("MESSAGE=test %d\n", d.sent)
		if err := syscall.Sendmsg(d.socket, []byte(text), cred, nil, 0); err != nil {
			d.t.Error(err)
			return
		}
		d.sent++
	}
}

// openFiles counts this process's descriptors of journal files and watches.
func openFiles(t testing.TB) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		name, _ := os.Readlink("/proc/self/fd/" + fd.Name())
		if strings.Contains(name, ".journal") || strings.Contains(name, "inotify") {
			n++
		}
	}
	return n
}
