package rules

import (
	"cmp"
	"strings"
	"time"

	"coroner/rules/casefile"
)

// Label is a cause of death: one of Labels, or one that a rulebook adds.
type Label string

// The labels. They are public: stored in Loki labels, metrics and dashboards.
const (
	HostTeardown          Label = "host-teardown"
	CgroupOOM             Label = "cgroup-OOM"
	GuestOOM              Label = "guest-OOM"
	SIGTERMDrain          Label = "SIGTERM-drain"
	CleanHandshakeFailure Label = "clean-handshake-failure"
	ChildOOM              Label = "child-OOM"
	NodeOOM               Label = "node-OOM"
	NodeShutdown          Label = "node-shutdown"
	NodeCrash             Label = "node-crash"
	NodeLost              Label = "node-lost"
	HardwareFailure       Label = "hardware-failure"
	ForceDeleted          Label = "force-deleted"
	Evicted               Label = "evicted"
	DeadlineExceeded      Label = "deadline-exceeded"
	NetworkLoss           Label = "network-loss"
	RunnerCrash           Label = "runner-crash"
	ResourceExhaustion    Label = "resource-exhaustion"
	RegistrationFailure   Label = "registration-failure"
	RateLimited           Label = "rate-limited"
	ImagePullFailure      Label = "image-pull-failure"
	Unschedulable         Label = "unschedulable"
	SandboxFailure        Label = "sandbox-failure"
	NeverStarted          Label = "never-started"
	NeverRan              Label = "never-ran"
	WorkdirContaminated   Label = "workdir-contaminated"
	JobCancelled          Label = "job-cancelled"
	IdleRemoved           Label = "idle-removed"
	RunnerUpdated         Label = "runner-updated"
	Zombie                Label = "zombie"
	PoolBlocked           Label = "pool-blocked"
	ListenerDown          Label = "listener-down"
	Stranded              Label = "stranded"
	Completed             Label = "completed"
	Unknown               Label = "unknown"
	None                  Label = "none"
)

// Labels are the built-in ones, in the order in which people meet them. Those of a
// rulebook are its LabelOrder.
var Labels = []Label{
	HostTeardown, CgroupOOM, GuestOOM, SIGTERMDrain, CleanHandshakeFailure,
	ChildOOM, NodeOOM, NodeShutdown, NodeCrash, NodeLost, HardwareFailure, ForceDeleted, Evicted,
	DeadlineExceeded, NetworkLoss, RunnerCrash, ResourceExhaustion,
	RegistrationFailure, RateLimited, ImagePullFailure, Unschedulable,
	SandboxFailure, NeverStarted, NeverRan, WorkdirContaminated, JobCancelled,
	Zombie, Stranded, PoolBlocked, ListenerDown, IdleRemoved, RunnerUpdated, Completed, Unknown, None,
}

// Lasting says whether a label names what is wrong with something that need not be
// dead: a runner that is still running, but not working, a job that waits, a pool that makes no
// runners. It can end by itself.
func (l Label) Lasting() bool {
	return l == Zombie || l == Stranded || l == PoolBlocked || l == ListenerDown
}

// Death says whether a built-in label names a death: the others end without harm. Of
// a label that a rulebook adds the verdict knows.
func (l Label) Death() bool {
	switch l {
	case IdleRemoved, RunnerUpdated, Completed, None:
		return false
	}
	return !l.Lasting() // of what lasts nothing ended
}

// BeforeStart says whether a built-in label is of a pod that never got to run. Nothing
// ends there: such a pod waits until somebody takes it away.
func (l Label) BeforeStart() bool {
	return l == ImagePullFailure || l == Unschedulable || l == SandboxFailure || l == NeverStarted
}

// Confidence says how much a verdict can be trusted.
type Confidence string

const (
	Confirmed Confidence = "confirmed" // a decisive line from a trusted source ties the cause to this runner
	Probable  Confidence = "probable"  // the rest is ruled out under coverage, or the decisive line could be forged
	Suspected Confidence = "suspected" // best fit; gaps remain
)

// rank orders confidences, best first.
func (c Confidence) rank() int {
	switch c {
	case Confirmed:
		return 0
	case Probable:
		return 1
	}
	return 2
}

// Better says whether c is the stronger confidence.
func (c Confidence) Better(d Confidence) bool { return c.rank() < d.rank() }

// oneStepWeaker returns the confidence one step below c, or the weakest.
func (c Confidence) oneStepWeaker() Confidence {
	if c == Confirmed {
		return Probable
	}
	return Suspected
}

// Verdict is what is known about one runner's death. Its JSON form is public:
// fields are added, never renamed or removed.
type Verdict struct {
	Cluster    string     `json:"cluster,omitempty"` // of all the names here
	Runner     string     `json:"runner"`
	Namespace  string     `json:"namespace"`
	Node       string     `json:"node"`
	PodUID     string     `json:"pod_uid"`
	Pool       string     `json:"pool,omitempty"`
	Label      Label      `json:"verdict"`
	Confidence Confidence `json:"confidence"`
	Domain     string     `json:"domain"`
	Initiator  string     `json:"initiator"`
	Retry      string     `json:"retry"`
	Resource   string     `json:"resource,omitempty"` // resource-exhaustion: which one
	Rule       string     `json:"rule"`
	JudgedBy
	Revision int        `json:"revision"`
	Revises  *Revised   `json:"revises,omitempty"` // of a revision: what was said before it
	DiedAt   *time.Time `json:"died_at"`
	Exit     Exit       `json:"exit"`
	Job      Job        `json:"job"`
	Summary  string     `json:"summary"`
	Standing
	Evidence []EvidenceLine  `json:"evidence"`
	RuledOut []RuledOut      `json:"ruled_out"`
	Open     []OpenLabel     `json:"open"`
	Missing  []string        `json:"missing"`
	Coverage []casefile.Span `json:"coverage,omitempty"` // what was read around the death, and what of it was lost
	Advice   string          `json:"advice,omitempty"`   // what to do about it, one sentence
	Waits    bool            `json:"-"`                  // the pod never got to run, and nothing of it ends

	Understanding
}

// Standing says what the verdict is about and, where its label names what is wrong
// with something that lives, since when and until when that is so.
type Standing struct {
	Kind    casefile.Kind `json:"kind"`
	Attempt int           `json:"attempt,omitempty"` // which life of a container that was started again
	State   State         `json:"state,omitempty"`   // "" where it is about an end
	Since   *time.Time    `json:"since,omitempty"`   // the first sign of it
	Until   *time.Time    `json:"until,omitempty"`   // the first sign that it was over

	RunnerVerdict *RunnerVerdict `json:"runner_verdict,omitempty"` // of a job: what became of its runner
}

// RunnerVerdict names the runner that was to take a job, and the verdict on it.
type RunnerVerdict struct {
	Runner     string     `json:"runner"`
	Namespace  string     `json:"namespace"`
	PodUID     string     `json:"pod_uid"`
	Label      Label      `json:"verdict"`
	Confidence Confidence `json:"confidence"`
}

// Address is by what the runner is found: by its UID where that is known, for a name can come again.
func (r *RunnerVerdict) Address() string {
	return cmp.Or(r.PodUID, strings.TrimPrefix(r.Namespace+"/"+r.Runner, "/"))
}

// State says whether what is wrong goes on.
type State string

// The states of what lasts.
const (
	Open     State = "open"
	Resolved State = "resolved"
)

// JudgedBy is the rulebook, and what only it knows of the verdict's label.
type JudgedBy struct {
	Rulebook string `json:"rulebook"`           // its hash
	NoDeath  bool   `json:"no_death,omitempty"` // it added the label, for what ends without harm
}

// Death says whether the verdict's label names a death.
func (v *Verdict) Death() bool { return v.Label.Death() && !v.NoDeath }

// RemoveEvidence leaves the verdict without its lines, which it says. It is false where it has none.
func (v *Verdict) RemoveEvidence() bool {
	if len(v.Evidence) == 0 {
		return false
	}
	v.EvidenceOmitted += len(v.Evidence)
	v.Evidence, v.EvidenceRemoved = []EvidenceLine{}, true
	return true
}

// About is the name of what the verdict is about: a runner's or a pool's, a job's number.
func (v *Verdict) About() string {
	switch v.Kind {
	case casefile.OfPool:
		return v.Pool
	case casefile.OfJob:
		return v.Job.ID
	}
	return v.Runner
}

// Wrong says whether something is wrong: a death, or what lasts still.
func (v *Verdict) Wrong() bool { return v.Death() || v.Label.Lasting() && v.State != Resolved }

// Understanding says how much of what was read is shown and, of explain, which sees the
// whole input, how much of it was understood at all.
type Understanding struct {
	EvidenceOmitted int  `json:"evidence_omitted,omitempty"` // lines that Evidence leaves out: there were too many
	EvidenceRemoved bool `json:"evidence_removed,omitempty"` // or it was kept no longer: the runner ended well

	Understood    *bool         `json:"understood,omitempty"`     // whether the rulebook knows any line of the input
	LinesRead     int           `json:"lines_read,omitempty"`     // of the input, where the verdict explains nothing
	NotUnderstood []UnknownLine `json:"not_understood,omitempty"` // at most five, those most worth a look first
}

// UnknownLine is a line that no signal knows. It proves nothing.
type UnknownLine struct {
	At      *time.Time `json:"at"`
	Source  string     `json:"source,omitempty"`
	Node    string     `json:"node,omitempty"`
	Text    string     `json:"text"`
	Where   string     `json:"where,omitempty"` // document:line
	Because string     `json:"because"`         // why it is shown
}

// Revised is what a revision took the place of.
type Revised struct {
	Label      Label      `json:"verdict"`
	Confidence Confidence `json:"confidence"`
}

// The kinds of change that a revision is.
const (
	ChangeLabel      = "label"      // it has another label
	ChangeConfidence = "confidence" // it is no longer only suspected
	ChangeDetail     = "detail"     // anything else
)

// Change says what a revision changed, in one word; "" for a first verdict. Who
// counts the deaths of a label counts its first verdicts and the revisions that
// changed the label; who leaves the suspected out counts those that changed the
// confidence, too.
func (v *Verdict) Change() string {
	switch was := v.Revises; {
	case was == nil:
		return ""
	case was.Label != v.Label:
		return ChangeLabel
	case was.Confidence == Suspected && v.Confidence != Suspected:
		return ChangeConfidence
	}
	return ChangeDetail
}

// Exit is the exit record of the runner's container. Code is nil when none
// was published.
type Exit struct {
	Code   *int   `json:"code"`
	Reason string `json:"reason"`
	Signal int    `json:"signal"`
}

// Job is what the runner was doing.
type Job struct {
	Name       string `json:"name"`
	ID         string `json:"id"`
	RunID      string `json:"run_id"`
	Repository string `json:"repository"`
	Step       string `json:"step"`
	Claimed    bool   `json:"claimed,omitempty"` // its ids are the runner's own word, which a job can print
}

// EvidenceLine is one recognised record that speaks about the runner.
type EvidenceLine struct {
	At       *time.Time `json:"at"`
	Source   string     `json:"source"`
	Node     string     `json:"node"`
	Signal   string     `json:"signal"`
	Text     string     `json:"text"`
	Decisive bool       `json:"decisive"`
	Mine     bool       `json:"mine"`            // the line names this runner; false: it speaks about its node
	Of       string     `json:"of,omitempty"`    // where it names another pod: that one, NAMESPACE/NAME
	Where    string     `json:"where,omitempty"` // document:line
}

// RuledOut is a label that the evidence excludes, and the fact that does.
type RuledOut struct {
	Label   Label  `json:"verdict"`
	Because string `json:"because"`
}

// OpenLabel is a label that stays possible, and what would decide it.
type OpenLabel struct {
	Label Label  `json:"verdict"`
	Needs string `json:"needs"`
}
