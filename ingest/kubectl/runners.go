package kubectl

import (
	"regexp"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
)

// The tables of runners and of what makes them have columns that can be empty or hold
// blanks, so a cell is what stands below its head.

// runnerKind is one kind of object whose table is read.
type runnerKind struct {
	msg   string
	heads []string // by which its table is known
	not   string   // a head that a table of another kind has beside them
	pool  func(name string) string
	key   map[string]string // head -> field
}

// runnerKinds are those of actions-runner-controller, both generations.
var runnerKinds = []runnerKind{
	{
		msg: "ephemeral runner", heads: []string{"NAME", "RUNNERID", "STATUS"}, pool: ingest.PoolOfPod,
		key: map[string]string{
			"STATUS": "phase", "RUNNERID": "runner_id", "JOBREPOSITORY": "job_repository",
			"WORKFLOWRUNID": "workflow_run_id", "JOBDISPLAYNAME": "job_display_name", "MESSAGE": "message",
		},
	},
	{
		msg: "ephemeral runner set", heads: []string{"NAME", "DESIREDREPLICAS", "CURRENTREPLICAS"},
		pool: ingest.PoolOfSet,
		key: map[string]string{
			"DESIREDREPLICAS": "wanted", "CURRENTREPLICAS": "current", "PENDING RUNNERS": "pending",
			"RUNNING RUNNERS": "running",
		},
	},
	{
		msg: "autoscaling runner set", heads: []string{"NAME", "MAXIMUM RUNNERS", "CURRENT RUNNERS"},
		pool: ingest.PoolName,
		key: map[string]string{
			"MAXIMUM RUNNERS": "max", "CURRENT RUNNERS": "current", "RUNNING RUNNERS": "running",
			"PENDING RUNNERS": "pending", "STATE": "phase",
		},
	},
	{ // a Runner
		msg: "ephemeral runner", heads: []string{"NAME", "ORGANIZATION", "REPOSITORY", "STATUS", "WF RUN"},
		pool: ingest.PoolOfPod,
		key: map[string]string{
			"STATUS": "phase", "WF REPO": "job_repository", "WF RUN": "workflow_run_id", "MESSAGE": "message",
		},
	},
	{ // a HorizontalRunnerAutoscaler, whose table does not say what it scales
		msg: "runner autoscaler", heads: []string{"NAME", "MIN", "MAX", "DESIRED", "SCHEDULE"},
		pool: func(string) string { return "" },
		key:  map[string]string{"MIN": "min", "MAX": "max", "DESIRED": "wanted"},
	},
	{ // a RunnerDeployment, whose table says only of those that are available that they are there
		msg: "ephemeral runner set", heads: []string{"NAME", "ORGANIZATION", "REPOSITORY", "DESIRED", "CURRENT"},
		pool: ingest.PoolName,
		key:  map[string]string{"DESIRED": "wanted", "CURRENT": "current", "AVAILABLE": "running", "AGE": "age"},
	},
	{ // a RunnerSet, by the printer columns of its CRD (actions.summerwind.dev_runnersets.yaml of
		// actions-runner-controller): a DaemonSet has READY beside them, and a Deployment had the
		// same in Kubernetes of before 1.15, which is older than the kind. A RunnerReplicaSet's
		// are those of a ReplicaSet, so nothing tells it from one.
		msg: "ephemeral runner set", heads: []string{"NAME", "DESIRED", "CURRENT", "UP-TO-DATE", "AVAILABLE"},
		not: "READY", pool: ingest.PoolName,
		key: map[string]string{"DESIRED": "wanted", "CURRENT": "current", "AVAILABLE": "running", "AGE": "age"},
	},
}

// head is a column's head, and where it begins.
type head struct {
	name string
	at   int
}

// headCell is a head: words with one blank between them.
var headCell = regexp.MustCompile(`\S+(?: \S+)*`)

// runnersTable is the kind whose rows follow, and its columns.
type runnersTable struct {
	kind   *runnerKind
	heads  []head
	narrow bool // one blank stands between columns, so only their order tells them apart
}

// narrowHead is a head in a line that lost its columns.
var narrowHead = regexp.MustCompile(`(?:MINIMUM|MAXIMUM|CURRENT|PENDING|RUNNING|FINISHED|DELETING) RUNNERS|\S+`)

// openTable takes a line for the head of a table of runners.
func openTable(s string) (t runnersTable, ok bool) {
	if !strings.HasPrefix(s, "NAME") {
		return t, false
	}
	names := map[string]bool{}
	for _, m := range headCell.FindAllStringIndex(s, -1) {
		t.heads = append(t.heads, head{s[m[0]:m[1]], m[0]})
	}
	if t.narrow = len(t.heads) == 1; t.narrow {
		t.heads = nil
		for _, name := range narrowHead.FindAllString(s, -1) {
			t.heads = append(t.heads, head{name: name})
		}
	}
	for _, h := range t.heads {
		names[h.name] = true
	}
	for i := range runnerKinds {
		if k := &runnerKinds[i]; allIn(k.heads, names) && !names[k.not] {
			t.kind = k
			return t, true
		}
	}
	return t, false
}

func allIn(words []string, set map[string]bool) bool {
	for _, w := range words {
		if !set[w] {
			return false
		}
	}
	return true
}

// readRow reads a row of the table.
func (t *runnersTable) readRow(s string) (f Fact, ok bool) {
	cells := t.cells(s)
	name := cells["NAME"]
	if kind, of, typed := strings.Cut(name, "/"); typed && strings.Contains(kind, "runner") {
		name = of // kubectl get of several kinds at once
	}
	if name == "" || !logtext.IsDNSName(name) || len(cells) < 3 {
		return f, false
	}
	f = Fact{msg: t.kind.msg, fields: map[string]string{}}
	for head, key := range t.kind.key {
		f.fields[key] = cells[head]
	}
	f.id.Namespace = cells["NAMESPACE"]
	if f.fields["pool"] = t.kind.pool(name); t.kind.msg == "ephemeral runner" {
		f.id.Pod = name
	}
	return f, true
}

// cells are what stands below each head, and in a table that lost its columns what stands in its
// place, where no cell is empty. A row whose first cells are not where the heads
// are is none of this table, unless it says in what state a runner is; the later ones move
// where a cell is longer than its column.
func (t *runnersTable) cells(s string) map[string]string {
	out := map[string]string{}
	if t.narrow {
		words := strings.Fields(s)
		if len(words) != len(t.heads) || t.kind.msg == "ephemeral runner" { // whose cells may have blanks
			return t.wordsOf(s)
		}
		for i, h := range t.heads {
			out[h.name] = words[i]
		}
		return out
	}
	for i, h := range t.heads {
		if h.at >= len(s) {
			break
		}
		if h.at > 0 && s[h.at-1] != ' ' {
			if i < 3 {
				return t.wordsOf(s)
			}
			break
		}
		end := len(s)
		if i+1 < len(t.heads) && t.heads[i+1].at < end && s[t.heads[i+1].at-1] == ' ' {
			end = t.heads[i+1].at
		}
		if v := strings.TrimSpace(s[h.at:end]); v != "" {
			out[h.name] = v
		}
	}
	return out
}

// runnerPhases are the states of a runner.
var runnerPhases = wordSet("Pending", "Running", "Succeeded", "Failed", "Finished", "Outdated")

// runnerName is the end of the name that actions-runner-controller gives a runner.
var runnerName = regexp.MustCompile(`-runner-[0-9a-z]{5}$`)

// wordsOf are the cells of a runner's row that is out of line: its name, and its state, which
// stands behind an address and, where it has one, the runner's number.
func (t *runnersTable) wordsOf(s string) map[string]string {
	words := strings.Fields(s)
	if len(words) < 3 || t.heads[0].name != "NAME" || !runnerName.MatchString(words[0]) ||
		!strings.Contains(words[1], "://") {
		return nil
	}
	for i, w := range words[:min(len(words), 4)] {
		if i > 1 && runnerPhases[w] {
			return map[string]string{"NAME": words[0], "STATUS": w, "MESSAGE": strings.Join(words[i+1:], " ")}
		}
	}
	return nil
}
