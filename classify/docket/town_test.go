package docket

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"coroner/ingest"
)

// town is a cluster as its agents tell of it: runners spread over nodes, each
// with what kernel, containerd, kubelet, controller and the runner itself write
// of its life. Entry for entry it is a function of the runner's number.
type town struct {
	nodes    int
	clusters int // over which the nodes are spread; 0 = of none that has a name
}

// soul is one runner with its names.
type soul struct {
	cluster, node, pod, uid, sandbox, container string
	pid                                         int
	at                                          time.Time
}

func (t town) node(i int) string { return fmt.Sprintf("build-%04d", i%t.nodes) }

// cluster is the one of node i.
func (t town) cluster(i int) string {
	if t.clusters == 0 {
		return ""
	}
	return fmt.Sprintf("cluster-%d", i%t.nodes%t.clusters)
}

func (t town) soul(i int, at time.Time) *soul {
	sum := sha256.Sum256(fmt.Append(nil, "runner ", i))
	x := hex.EncodeToString(sum[:])
	return &soul{cluster: t.cluster(i), node: t.node(i), pod: fmt.Sprintf("pool-%d-runner-%s-%d", i%20, x[:5], i),
		uid:     x[:8] + "-" + x[8:12] + "-4" + x[13:16] + "-a" + x[17:20] + "-" + x[20:32],
		sandbox: x[32:] + x[:32], container: x[16:48] + x[48:] + x[:16], pid: 1000 + i%4_000_000, at: at}
}

func (s *soul) entry(source ingest.Source, text string) ingest.Entry {
	e := ingest.Entry{
		At:      s.at,
		Clock:   ingest.WallClock,
		Source:  source,
		Trust:   ingest.Attested,
		Cluster: s.cluster,
		Node:    s.node,
		Boot:    "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0",
		Doc:     "journal",
		Text:    text,
	}
	switch source {
	case ingest.Controller: // its log is a pod's too
		e.Node, e.Boot, e.Doc, e.Namespace, e.Pod, e.Container = "system-1", "", "arc", "arc-systems",
			"arc-controller-0", "manager"
	case ingest.Runner:
		e.Trust, e.Doc, e.Boot, e.Namespace, e.Pod, e.PodUID, e.Container = ingest.Claimed, "runner", "", "ci", s.pod,
			s.uid, "runner"
	}
	s.at = s.at.Add(3 * time.Millisecond)
	return e
}

func (s *soul) containerd(message string) ingest.Entry {
	return s.entry(ingest.Containerd, fmt.Sprintf("time=%q level=info msg=%q", s.at.Format(time.RFC3339Nano), message))
}

func (s *soul) kubelet(message string) ingest.Entry {
	return s.entry(ingest.Kubelet, "I0901 12:00:00.000000    1410 "+message)
}

// born is what is written when a runner starts: six records.
func (t town) born(i int, at time.Time) []ingest.Entry {
	s := t.soul(i, at)
	return []ingest.Entry{
		s.kubelet(fmt.Sprintf(`kubelet.go:2537] "SyncLoop ADD" source="api" pods=["ci/%s"]`, s.pod)),
		s.containerd(fmt.Sprintf(
			`RunPodSandbox for &PodSandboxMetadata{Name:%s,Uid:%s,Namespace:ci,Attempt:0,} returns sandbox id "%s"`,
			s.pod, s.uid, s.sandbox,
		)),
		s.containerd(fmt.Sprintf(
			`CreateContainer within sandbox "%s" for &ContainerMetadata{Name:runner,Attempt:0,`+
				`} returns container id "%s"`,
			s.sandbox,
			s.container,
		)),
		s.containerd(fmt.Sprintf(`StartContainer for "%s" returns successfully`, s.container)),
		s.entry(ingest.Runner, "√ Connected to GitHub"),
		s.entry(ingest.Runner, at.Format("2006-01-02 15:04:05Z")+": Running job: build"),
	}
}

// lives is what a runner prints while it works: eight lines that are recognised
// and six that are its last words so far.
func (t town) lives(i int, at time.Time) []ingest.Entry {
	s := t.soul(i, at)
	var out []ingest.Entry
	for k := range 8 {
		out = append(out,
			s.entry(ingest.Runner, fmt.Sprintf("%s: Running job: build %d", at.Format("2006-01-02 15:04:05Z"), k)))
	}
	for k := range 6 {
		out = append(out,
			s.entry(ingest.Runner, fmt.Sprintf("[WORKER %s INFO JobRunner] step %d goes on", at.Format("15:04:05"), k)))
	}
	return out
}

// dies is the end of a runner: ten records, killed at its memory limit or not.
func (t town) dies(i int, at time.Time) []ingest.Entry {
	s, code := t.soul(i, at), 137
	var out []ingest.Entry
	if i%4 == 0 {
		code = 0
		out = append(out,
			s.entry(ingest.Runner, at.Format("2006-01-02 15:04:05Z")+": Job build completed with result: Succeeded"))
	} else {
		out = append(out, t.oom(s)...)
	}
	return append(out,
		s.containerd(fmt.Sprintf(
			"received exit event &TaskExit{ContainerID:%s,ID:%s,Pid:%d,ExitStatus:%d,ExitedAt:%s,}", s.container,
			s.container, s.pid, code, s.at.Format("2006-01-02 15:04:05.999999999 +0000 UTC"),
		)),
		s.kubelet(fmt.Sprintf(
			`generic.go:358] "Generic (PLEG): container finished" podID="%s" containerID="%s" exitCode=%d`, s.uid,
			s.container, code,
		)),
		s.kubelet(fmt.Sprintf(
			`kubelet.go:2569] "SyncLoop (PLEG): event for pod" pod="ci/%s" event={"ID":"%s","Type":"ContainerDied",`+
				`"Data":"%s"}`,
			s.pod,
			s.uid,
			s.container,
		)),
		s.entry(ingest.Controller,
			fmt.Sprintf("%s INFO runner pod terminated pod=%s phase=Failed exitCode=%d signal=0 reason=%s pool=p",
				s.at.Format(time.RFC3339), s.pod, code,
				map[bool]string{true: "OOMKilled", false: "Completed"}[code == 137])),
		s.kubelet(fmt.Sprintf(`kubelet.go:2547] "SyncLoop REMOVE" source="api" pods=["ci/%s"]`, s.pod)),
	)
}

// oom is what the kernel and containerd say of a kill at the limit.
func (t town) oom(s *soul) []ingest.Entry {
	cg := "/kubepods/burstable/pod" + s.uid + "/" + s.container
	return []ingest.Entry{
		s.entry(ingest.Kernel, "rustc invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=830"),
		s.entry(ingest.Kernel, "memory: usage 4194304kB, limit 4194304kB, failcnt 81"),
		s.entry(ingest.Kernel,
			fmt.Sprintf(
				"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=%s,"+
					"task_memcg=%s,task=rustc,pid=%d,uid=0",
				cg,
				cg,
				s.pid,
			)),
		s.entry(ingest.Kernel,
			fmt.Sprintf(
				"Memory cgroup out of memory: Killed process %d (rustc) total-vm:1400kB, anon-rss:900kB, "+
					"file-rss:0kB, shmem-rss:0kB, UID:1001 pgtables:12kB oom_score_adj:500",
				s.pid,
			)),
		s.containerd(fmt.Sprintf("TaskOOM event &TaskOOM{ContainerID:%s,XXX_unrecognized:[],}", s.container)),
	}
}

// marks are what an agent says of its reading with every push.
func (t town) marks(node string, since, at time.Time) []ingest.Entry {
	out := []ingest.Entry{
		{
			Node:   node,
			At:     at,
			Clock:  ingest.WallClock,
			Source: ingest.Agent,
			Trust:  ingest.Attested,
			Doc:    "journal",
			Mark:   &ingest.Mark{Kind: ingest.Reached, To: at},
		},
	}
	for _, source := range []ingest.Source{ingest.Kernel, ingest.Systemd, ingest.Containerd, ingest.Kubelet} {
		out = append(out,
			ingest.Entry{Node: node, At: at, Clock: ingest.WallClock, Source: source, Trust: ingest.Attested,
				Boot: "b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0", Doc: "journal",
				Mark: &ingest.Mark{Kind: ingest.Covered, From: since, To: at}})
	}
	return out
}
