package classify

import (
	"regexp"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A scale set can take a runner for running whose pod is gone. A table of pods shows
// that: it has others of the same set, and not this one. And a table of a whole cluster has
// pods that are no runners at all: what became of those is no death of a runner.

// setOfRunner is the set that a runner of actions-runner-controller is of, by its name.
var setOfRunner = regexp.MustCompile(`^(.+)-runner-[0-9a-z]{5}$`)

// gitlabsPod is how GitLab Runner names the pod of a job.
var gitlabsPod = regexp.MustCompile(`^runner-.+-project-\d+-concurrent-`)

// maybeRunner is what the name of a pod that runs jobs has in it with some CI system.
var maybeRunner = regexp.MustCompile(`(?i)runner|agent|build|worker|executor|job|step|task|jnlp|ci-|-ci`)

// podTables is what kubectl's tables of pods list.
type podTables struct {
	sets   map[string]string // the sets of runners, and a pod of each
	living map[string]bool   // the namespaces in which a runner runs, of each cluster; false: one that is not well
}

// listedBy is what kubectl's tables of pods list.
func listedBy(signals []*signal.Signal) (l podTables) {
	for _, s := range signals {
		if s.Def.Name != "kube.row" {
			continue
		}
		m := setOfRunner.FindStringSubmatch(s.Pod)
		if m != nil {
			if l.sets == nil {
				l.sets = map[string]string{}
			}
			l.sets[setKey(s.Cluster, s.Namespace, m[1])] = s.Pod
		}
		if (m != nil || gitlabsPod.MatchString(s.Pod)) && s.Namespace != "" {
			if l.living == nil {
				l.living = map[string]bool{}
			}
			k := setKey(s.Cluster, s.Namespace, "")
			well, seen := l.living[k]
			l.living[k] = s.Str("status") == "Running" && (well || !seen)
		}
	}
	return l
}

// isStranger says whether a case is of a pod that a table shows beside runners, in a namespace where
// none of them is, whose name is not one that a runner has; and all runners of the table run.
func (l podTables) isStranger(c *casefile.Case) bool {
	if len(l.living) == 0 || c.Namespace == "" || maybeRunner.MatchString(c.Name) ||
		maybeRunner.MatchString(c.Namespace) {
		return false
	}
	for k, well := range l.living {
		if !well || k == setKey(c.Cluster, c.Namespace, "") {
			return false
		}
	}
	for i := range c.Evidence {
		if c.Evidence[i].Mine && c.Evidence[i].Def.Name != "kube.row" {
			return false
		}
	}
	return len(c.Evidence) > 0
}

func setKey(cluster, namespace, set string) string {
	return cluster + "\x00" + namespace + "\x00" + set
}

// tellMissing adds to the evidence of a runner that the scale set tells of that a table
// of pods has others of its set and not its own.
func (l podTables) tellMissing(c *casefile.Case, book *rules.Rulebook) {
	if l.sets == nil {
		return
	}
	m := setOfRunner.FindStringSubmatch(c.Name)
	if m == nil {
		return
	}
	beside, told := l.sets[setKey(c.Cluster, c.Namespace, m[1])], false
	for i := range c.Evidence {
		switch c.Evidence[i].Def.Name {
		case "kube.row":
			return
		case "kube.ephemeral-runner":
			told = true
		}
	}
	if beside == "" || !told {
		return
	}
	e := ingest.Entry{
		Source: ingest.Kube, Cluster: c.Cluster, Namespace: c.Namespace, Pod: c.Name,
		Fields: map[string]string{"msg": "pod unlisted", "beside": beside}, Text: "pod unlisted beside=" + beside,
	}
	for _, s := range book.Scan(&e) {
		c.Evidence = append(c.Evidence, casefile.Evidence{Signal: &s, Mine: true})
	}
}
