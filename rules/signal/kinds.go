package signal

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"coroner/ingest"
	"coroner/rules/regex"

	"github.com/expr-lang/expr/types"
)

// Kind is the type of a captured value. Identity kinds are what joins a line
// to a pod; the rule author only names the kind.
type Kind string

const (
	KindString    Kind = "string"
	kindInt       Kind = "int"
	kindFloat     Kind = "float"
	kindBool      Kind = "bool" // true when the text is there and not false/0
	kindTime      Kind = "time"
	kindSeconds   Kind = "seconds"      // a duration, as seconds
	kindBytes     Kind = "bytes"        // a size with or without unit, as bytes
	kindPod       Kind = "pod"          // ns/name, or a name
	kindPods      Kind = "pods"         // a list of them, ["ns/a","ns/b"] or [ns/a ns/b]
	kindUID       Kind = "pod-uid"      // pod UID
	kindContainer Kind = "container-id" // 64 hex, with or without a scheme
	kindSandbox   Kind = "sandbox-id"   // the same, of a sandbox
	KindCgroup    Kind = "cgroup"       // a cgroup path
	KindUnit      Kind = "unit"         // a systemd unit name
	KindPID       Kind = "pid"          // a host process id
	kindRunner    Kind = "runner"       // a runner name
	kindNode      Kind = "node"         // the name of the node that a line is about, where its envelope has another
	kindPool      Kind = "pool"         // the name of a pool, of its listener or of a runner of it
	kindJob       Kind = "job-id"       // the number of a job, as the CI server or coroner has it
	kindRequest   Kind = "job-request"  // the number of a job in its pool, or its id
	kindPoolSet   Kind = "runner-set"   // the name of a set of runners, which has five letters more than its pool
)

var identityKinds = map[Kind]IDKind{
	kindPod: IDPod, kindUID: IDUID, kindContainer: IDContainer,
	kindSandbox: IDSandbox, kindRunner: IDRunner, KindPID: IDPID,
}

// namesPod says whether a value of the kind says who a line is about.
func (k Kind) namesPod() bool {
	return identityKinds[k] != 0 || k == kindPods || k == KindCgroup || k == KindUnit
}

// Cgroup is what rules see of a cgroup path or of a unit that names one.
type Cgroup struct {
	Path        string `expr:"path" json:"path"`
	PodUID      string `expr:"pod_uid" json:"pod_uid"`
	ContainerID string `expr:"container_id" json:"container_id"`
	Level       string `expr:"level" json:"level"` // whose limit it is: container, pod, qos, root, unit, other
}

// cgroupType is the same for the compiler.
var cgroupType = types.Map{
	"path": types.String, "pod_uid": types.String, "container_id": types.String, "level": types.String,
}

// kindTypes gives the expr type of each kind; it is also the list of kinds.
var kindTypes = map[Kind]types.Type{
	KindString: types.String, kindInt: types.Int, kindFloat: types.Float64,
	kindBool: types.Bool, kindTime: types.TypeOf(time.Time{}),
	kindSeconds: types.Float64, kindBytes: types.Int, kindPod: types.String,
	kindPods: types.TypeOf([]string{}), kindUID: types.String,
	kindContainer: types.String, kindSandbox: types.String,
	KindCgroup: cgroupType, KindUnit: cgroupType, KindPID: types.Int,
	kindRunner: types.String, kindPool: types.String, kindPoolSet: types.String, kindJob: types.String,
	kindNode: types.String, kindRequest: types.String,
}

// parseText turns captured text into the kind's value. Text that does not parse
// gives the zero value: a capture is data, and bad data is no data.
func (k Kind) parseText(s string) any {
	switch k {
	case kindInt, KindPID:
		return parseInt(s)
	case kindFloat:
		f, _ := strconv.ParseFloat(s, 64)
		return f
	case kindBool:
		return s != "" && s != "false" && s != "False" && s != "0"
	case kindTime:
		return parseTime(s)
	case kindSeconds:
		return parseSeconds(s)
	case kindBytes:
		return parseBytes(s)
	case kindPods:
		return parsePods(s)
	case KindCgroup, KindUnit:
		return ParseCgroup(s)
	}
	return k.textOf(s)
}

// textOf is the value of captured text where the kind is a text itself, "" elsewhere.
func (k Kind) textOf(s string) string {
	switch k {
	case kindInt, KindPID, kindFloat, kindBool, kindTime, kindSeconds, kindBytes, kindPods, KindCgroup, KindUnit:
		return ""
	case kindPod:
		return podName(s)
	case kindUID:
		return canonicalUID(s)
	case kindContainer, kindSandbox:
		return bareID(s)
	case kindPool:
		return cmp.Or(ingest.PoolOfPod(s), ingest.PoolName(s))
	case kindPoolSet:
		return ingest.PoolOfSet(s)
	case kindJob, kindRequest:
		return jobNumber(s)
	}
	return s
}

// jobPattern is a number, that of a pool before which the pool's name stands, or an id.
var jobPattern = regex.MustCompile(`^(?:(?:[0-9A-Za-z._-]+:)?[1-9][0-9]*|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$`)

// jobNumber is what a job is told apart by, "" where the text is none: controllers call one by its name.
func jobNumber(s string) string {
	if len(s) > 300 || !jobPattern.MatchString(s) {
		return ""
	}
	return s
}

func parseInt(s string) int {
	if digits, hex := strings.CutPrefix(s, "0x"); hex {
		n, _ := strconv.ParseInt(digits, 16, 64)
		return int(n)
	}
	n, _ := strconv.Atoi(s)
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }

var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02 15:04:05Z", "2006-01-02 15:04:05 -0700 MST",
	"2006-01-02 15:04:05.999999999 -0700 MST", time.RFC1123Z, time.RFC1123,
}

func parseTime(s string) time.Time {
	for _, l := range timeLayouts {
		if t, err := time.Parse(l, s); err == nil {
			return t
		}
	}
	return time.Time{}
}

func parseSeconds(s string) float64 {
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return f
	}
	d, _ := time.ParseDuration(s)
	return d.Seconds()
}

var byteUnits = map[string]int{
	"": 1, "B": 1, "k": 1e3, "K": 1 << 10, "kB": 1 << 10, "KB": 1 << 10, "Ki": 1 << 10, "KiB": 1 << 10,
	"M": 1 << 20, "MB": 1 << 20, "Mi": 1 << 20, "MiB": 1 << 20,
	"G": 1 << 30, "GB": 1 << 30, "Gi": 1 << 30, "GiB": 1 << 30, "T": 1 << 40, "Ti": 1 << 40,
}

func parseBytes(s string) int {
	i := len(s)
	for i > 0 && (s[i-1] < '0' || s[i-1] > '9') {
		i--
	}
	n, err := strconv.ParseFloat(s[:i], 64)
	unit, ok := byteUnits[strings.TrimSpace(s[i:])]
	if err != nil || !ok {
		return 0
	}
	return int(n * float64(unit))
}

func parsePods(s string) []string {
	if strings.ContainsAny(s, "\\_(\t\r\n") || s == "null" { // seldom: escapes, old names
		return parseOddPods(s)
	}
	return podList(s)
}

func parseOddPods(s string) []string {
	var out []string
	if json.Unmarshal([]byte(s), &out) == nil {
		return out
	}
	return podList(s)
}

// podList splits a list of names.
func podList(s string) []string {
	out := strings.FieldsFunc(s, func(r rune) bool { return r == '[' || r == ']' || r == '"' || r == ',' || r == ' ' })
	for i := range out {
		out[i] = podName(out[i])
	}
	return out
}

// podName gives namespace/name. Kubelets before 1.20 print name_namespace(uid).
func podName(s string) string {
	s, _, old := strings.Cut(s, "(")
	if i := strings.LastIndexByte(s, '_'); i > 0 && (old || !strings.Contains(s, "/")) {
		return s[i+1:] + "/" + s[:i]
	}
	return s
}

var (
	uidPattern = regex.MustCompile(`^(?:[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})$`)
	cgroupPod  = regex.MustCompile(
		`(?:^|[/-])pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?:[/:,]|$)`,
	)
	cgroupContainer = regex.MustCompile(
		`(?:(?:cri-containerd|crio|docker|libpod)[-:]|/(?:kata_)?|kata_overhead/)` +
			`([0-9a-f]{64}|[0-9a-f]{12})(?:\.scope)?(?:[/,:]|$)`,
	)
	allPods = regex.MustCompile(
		`kubepods(?:-burstable|-besteffort)?(?:\.slice)?$|kubepods/(?:burstable|besteffort|guaranteed)$`,
	)
	podPattern    = regex.MustCompile(`^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$`)
	unitContainer = regex.MustCompile(`^(?:cri-containerd|crio|docker|libpod)-([0-9a-f]{64}|[0-9a-f]{12})\.scope$`)
)

func canonicalUID(s string) string {
	if !uidPattern.MatchString(s) {
		return ""
	}
	return strings.ReplaceAll(s, "_", "-")
}

// bareID strips a runtime scheme: containerd://<id> gives <id>. An id has 12 to 64
// hexadecimal digits.
func bareID(s string) string {
	if i := strings.Index(s, "://"); i >= 0 {
		s = s[i+3:]
	}
	from := len(s)
	for from > max(0, len(s)-64) && hexDigit(s[from-1]) {
		from--
	}
	if len(s)-from < 12 {
		return ""
	}
	return s[from:]
}

func hexDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// ParseCgroup reads a cgroup path as the kernel prints it, or a unit name.
// The container is the first id after the pod: later ids are containers that
// a job started inside its own (docker in docker).
func ParseCgroup(path string) Cgroup {
	g := Cgroup{Path: path}
	rest := path
	var m [4]int
	if cgroupPod.Find(path, m[:]) {
		g.PodUID = strings.ReplaceAll(path[m[2]:m[3]], "_", "-")
		rest = path[m[3]:]
	}
	if g.ContainerID = cgroupContainer.Part(rest, 1); g.ContainerID == "" {
		g.ContainerID = unitContainer.Part(path, 1)
	}
	g.Level = cgroupLevel(path, g.PodUID != "", g.ContainerID != "")
	return g
}

// cgroupLevel names whose limit a cgroup is: container, pod, qos (the node's
// allocatable or one quality-of-service class), unit (a host service), root or
// other.
func cgroupLevel(path string, pod, container bool) string {
	switch {
	case path == "":
		return ""
	case container:
		return "container"
	case pod:
		return "pod"
	case allPods.MatchString(path):
		return "qos"
	case path == "/":
		return "root"
	case strings.HasPrefix(path, "/system.slice") || strings.HasPrefix(path, "/user.slice") || path == "/init.scope":
		return "unit"
	}
	return "other"
}
