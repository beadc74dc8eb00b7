//go:build linux && cgo && !nojournal

package journal

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeLog writes a journal export of what a busy node stores: its programs with
// the fields that journald gives each of them, and about one record in a hundred
// that the rulebook recognises.
type nodeLog struct {
	w    *bufio.Writer
	dice *rand.Rand
	at   time.Time
	mono int64
	n    int
}

// share is how much of the log a program writes.
type share struct {
	percent int
	write   func(*nodeLog)
}

var shares = []share{
	{38, (*nodeLog).kubelet}, {20, (*nodeLog).containerd}, {6, (*nodeLog).kernel}, {12, (*nodeLog).systemd},
	{8, (*nodeLog).sshd}, {5, (*nodeLog).cron}, {10, (*nodeLog).service}, {1, (*nodeLog).death},
}

// nodeExport writes n records of a boot that ends at end.
func nodeExport(w io.Writer, n int, end time.Time) error {
	l := &nodeLog{w: bufio.NewWriterSize(w, 1<<20), dice: rand.New(rand.NewPCG(7, 7))}
	const apart = 1500 * time.Microsecond
	l.at = end.Add(-time.Duration(n) * apart).UTC()
	for l.n = 0; l.n < n; l.n++ {
		step := apart/2 + time.Duration(l.dice.IntN(int(apart/time.Microsecond)))*time.Microsecond
		l.at, l.mono = l.at.Add(step), l.mono+step.Microseconds()
		fmt.Fprintf(
			l.w,
			"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=%s\n_MACHINE_ID=%s\n_HOSTNAME=worker-7\n"+
				"_RUNTIME_SCOPE=system\n",
			l.at.UnixMicro(),
			l.mono,
			bootA,
			strange,
		)
		roll := l.dice.IntN(100)
		for _, s := range shares {
			if roll -= s.percent; roll < 0 {
				s.write(l)
				break
			}
		}
		if err := l.w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return l.w.Flush()
}

// id is a container's id, one of a few hundred that live at a time.
func (l *nodeLog) id() string { return fmt.Sprintf("%064x", l.n/2000*200+l.dice.IntN(200)) }

func (l *nodeLog) pod() (name, uid string) {
	n := l.n/2000*50 + l.dice.IntN(50)
	return fmt.Sprintf("ci/pool-runner-%05d", n), fmt.Sprintf("%08x-1111-4222-8333-%012x", n, n)
}

// unit writes the fields that journald adds to what a service writes.
func (l *nodeLog) unit(name, exe, args string, pid int) {
	fmt.Fprintf(
		l.w,
		"_PID=%d\n_UID=0\n_GID=0\n_COMM=%.15s\n_EXE=%s\n_CMDLINE=%s\n_CAP_EFFECTIVE=1ffffffffff\n"+
			"_SELINUX_CONTEXT=unconfined\n"+
			"_SYSTEMD_CGROUP=/system.slice/%s.service\n_SYSTEMD_UNIT=%s.service\n_SYSTEMD_SLICE=system.slice\n"+
			"_SYSTEMD_INVOCATION_ID=%032x\n",
		pid,
		filepath.Base(exe),
		exe,
		exe+args,
		name,
		name,
		pid,
	)
}

// stdout is a line that a service printed.
func (l *nodeLog) stdout(name, exe, args string, pid int, text string) {
	l.unit(name, exe, args, pid)
	fmt.Fprintf(
		l.w,
		"_TRANSPORT=stdout\n_STREAM_ID=%032x\nPRIORITY=6\nSYSLOG_FACILITY=3\nSYSLOG_IDENTIFIER=%s\nMESSAGE=%s\n",
		pid,
		name,
		text,
	)
}

func (l *nodeLog) kubelet() {
	pod, uid := l.pod()
	where := [...]string{"prober.go:120", "kubelet.go:2405", "reconciler_common.go:251", "operation_generator.go:664",
		"pod_startup_latency_tracker.go:104"}
	text := [...]string{
		`"Probe succeeded" probeType="Readiness" pod="%s" podUID="%s" containerName="runner" probeResult="success" ` +
			`output="Get \"http://10.42.0.9:8080/ready\": 200 in 0.003 s, as every ten seconds before"`,
		`"Adding pod's volume to the desired state of world" pod="%s" podUID="%s" ` +
			`volume="kubernetes.io/projected/0123456789abcdef-kube-api-access-x7xkq" spec="kube-api-access"`,
		`"operationExecutor.VerifyControllerAttachedVolume started for volume \"kube-api-access-x7xkq\"" pod="%s" ` +
			`podUID="%s"`,
		`"MountVolume.SetUp succeeded for volume \"work\"" pod="%s" podUID="%s"`,
		`"Observed pod startup duration" pod="%s" podUID="%s" podStartSLOduration=3.146 ` +
			`podCreationTimestamp="2026-05-04 10:00:00 +0000 UTC"`,
	}
	i := l.dice.IntN(len(text))
	l.stdout(
		"kubelet",
		"/usr/bin/kubelet",
		" --config=/etc/kubernetes/kubelet.yaml --kubeconfig=/etc/kubernetes/kubelet.conf --v=2",
		812,
		l.at.Format("I0102 15:04:05.000000")+fmt.Sprintf("     812 %s] "+text[i], where[i], pod, uid),
	)
}

func (l *nodeLog) containerd() {
	_, uid := l.pod()
	text := [...]string{
		`level=info msg="Container \"%s\" of sandbox \"%s\" has a new task"`,
		`level=info msg="loading plugin \"io.containerd.ttrpc.v1.task\"..." id=%s pod=%s ` +
			`runtime=io.containerd.runc.v2 type=io.containerd.ttrpc.v1`,
		`level=info msg="ImageUpdate event name:\"sha256:%s\" labels:{key:\"io.cri-containerd.image\" value:\"%s\"}"`,
		`level=warning msg="unknown status" id=%s status="%s"`,
	}
	l.stdout(
		"containerd",
		"/usr/bin/containerd",
		"",
		640,
		"time=\""+l.at.Format(time.RFC3339Nano)+"\" "+fmt.Sprintf(text[l.dice.IntN(len(text))], l.id(), uid),
	)
}

func (l *nodeLog) kernel() {
	text := [...]string{
		"cni0: port %d(veth%08x) entered forwarding state", "eth%d: renamed from tmp%08x",
		"audit: type=1400 audit(%d.123:%d): apparmor=\"STATUS\" operation=\"profile_replace\"",
		"IPv6: ADDRCONF(NETDEV_CHANGE): veth%d: link becomes ready %08x",
		"overlayfs: fs on '/var/lib/containerd/%d/%08x' does not support file handles",
	}
	l.dmesg(fmt.Sprintf(text[l.dice.IntN(len(text))], l.dice.IntN(90), l.n))
}

func (l *nodeLog) dmesg(text string) {
	fmt.Fprintf(
		l.w,
		"_TRANSPORT=kernel\nSYSLOG_FACILITY=0\nSYSLOG_IDENTIFIER=kernel\nPRIORITY=6\n"+
			"_SOURCE_MONOTONIC_TIMESTAMP=%d\nMESSAGE=%s\n",
		l.mono-40,
		text,
	)
}

func (l *nodeLog) systemd() {
	unit, verb := "cri-containerd-"+l.id()+".scope", [...]string{"Started", "Stopping",
		"Deactivated successfully"}[l.dice.IntN(3)]
	fmt.Fprintf(
		l.w,
		"_TRANSPORT=journal\n_PID=1\n_UID=0\n_GID=0\n_COMM=systemd\n_EXE=/usr/lib/systemd/systemd\n"+
			"_CMDLINE=/sbin/init\n_CAP_EFFECTIVE=1ffffffffff\n"+
			"_SELINUX_CONTEXT=unconfined\n_SYSTEMD_CGROUP=/init.scope\n_SYSTEMD_UNIT=init.scope\n"+
			"_SYSTEMD_SLICE=-.slice\nPRIORITY=6\nSYSLOG_FACILITY=3\nSYSLOG_IDENTIFIER=systemd\n"+
			"TID=1\nCODE_FILE=src/core/job.c\nCODE_LINE=581\nCODE_FUNC=job_emit_done_message\n"+
			"MESSAGE_ID=39f53479d3a045ac8e11786248231fbf\nUNIT=%s\nINVOCATION_ID=%032x\n"+
			"JOB_ID=%d\nJOB_TYPE=start\nJOB_RESULT=done\n_SOURCE_REALTIME_TIMESTAMP=%d\nMESSAGE=%s: %s.\n",
		unit,
		l.n/7,
		l.n,
		l.at.UnixMicro()-90,
		unit,
		verb,
	)
}

// syslog is a line of a program that speaks through /dev/log.
func (l *nodeLog) syslog(name, exe string, facility int, text string) {
	pid := 10000 + l.n%20000
	l.unit(name, exe, " -D", pid)
	fmt.Fprintf(
		l.w,
		"_AUDIT_SESSION=%d\n_AUDIT_LOGINUID=0\n_TRANSPORT=syslog\nPRIORITY=6\nSYSLOG_FACILITY=%d\n"+
			"SYSLOG_IDENTIFIER=%s\nSYSLOG_PID=%d\nSYSLOG_TIMESTAMP=%s\n"+
			"_SOURCE_REALTIME_TIMESTAMP=%d\nMESSAGE=%s\n",
		l.n/100,
		facility,
		filepath.Base(exe),
		pid,
		l.at.Format("Jan _2 15:04:05 "),
		l.at.UnixMicro()-70,
		text,
	)
}

func (l *nodeLog) sshd() {
	l.syslog(
		"ssh",
		"/usr/sbin/sshd",
		10,
		fmt.Sprintf(
			"Connection closed by invalid user admin 10.0.%d.%d port %d [preauth]",
			l.dice.IntN(256),
			l.dice.IntN(256),
			1024+l.dice.IntN(60000),
		),
	)
}

func (l *nodeLog) cron() {
	l.syslog(
		"cron",
		"/usr/sbin/cron",
		9,
		fmt.Sprintf("pam_unix(cron:session): session opened for user root(uid=0) by (uid=%d)", l.dice.IntN(5)),
	)
}

func (l *nodeLog) service() {
	name := [...]string{"node_exporter", "chronyd", "NetworkManager", "dbus-daemon", "rsyslogd"}[l.dice.IntN(5)]
	l.stdout(
		name,
		"/usr/sbin/"+name,
		" --foreground",
		300+len(name),
		fmt.Sprintf(
			"<info> [%d.%04d] device (veth%08x): state change: disconnected -> prepare (reason 'none', "+
				"sys-iface-state: 'managed')",
			l.at.Unix(),
			l.n%10000,
			l.n,
		),
	)
}

// death is what the rulebook recognises.
func (l *nodeLog) death() {
	pod, uid := l.pod()
	switch id := l.id(); l.dice.IntN(3) {
	case 0:
		l.dmesg(
			"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=cri-containerd-" + id +
				".scope,mems_allowed=0-1,oom_memcg=/kubepods.slice/kubepods-pod" +
				strings.ReplaceAll(
					uid,
					"-",
					"_",
				) + ".slice,task_memcg=/kubepods.slice/kubepods-pod" + strings.ReplaceAll(
				uid,
				"-",
				"_",
			) + ".slice/cri-containerd-" + id + ".scope,task=rustc,pid=4242,uid=1001",
		)
	case 1:
		l.dmesg(
			"Memory cgroup out of memory: Killed process 4242 (cc1plus) total-vm:1400kB, anon-rss:900kB, " +
				"file-rss:0kB, shmem-rss:0kB, UID:1001 pgtables:12kB oom_score_adj:500",
		)
	default:
		l.stdout(
			"kubelet",
			"/usr/bin/kubelet",
			" --config=/etc/kubernetes/kubelet.yaml --kubeconfig=/etc/kubernetes/kubelet.conf --v=2",
			812,
			l.at.Format(
				"I0102 15:04:05.000000",
			)+fmt.Sprintf(
				`     812 kuberuntime_container.go:808] "Killing container with a grace period" pod="%s" `+
					`podUID="%s" containerName="runner" containerID="containerd://%s" gracePeriod=30`,
				pod,
				uid,
				id,
			),
		)
	}
}

// storeNode makes the journal of such a node in dir.
func storeNode(t testing.TB, dir string, n int, end time.Time) {
	t.Helper()
	cmd := exec.Command(remote(t), "-o", filepath.Join(dir, strange, "system.journal"), "-")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if err := nodeExport(in, n, end); err != nil {
		t.Error(err)
	}
	if err := in.Close(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
