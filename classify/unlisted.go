package classify

import (
	"regexp"

	"coroner/ingest"
	"coroner/rules"
	"coroner/rules/casefile"
	"coroner/rules/signal"
)

// A scale set can take a runner for running whose pod is gone. A table of pods shows
// that: it has others of the same set, and not this one.

// setOfRunner is the set that a runner of actions-runner-controller is of, by its name.
var setOfRunner = regexp.MustCompile(`^(.+)-runner-[0-9a-z]{5}$`)

// podTables are the sets of runners of which tables of pods were read, and a pod of each.
type podTables map[string]string

// listedBy is what kubectl's tables of pods list.
func listedBy(signals []*signal.Signal) (l podTables) {
	for _, s := range signals {
		if s.Def.Name != "kube.row" {
			continue
		}
		if m := setOfRunner.FindStringSubmatch(s.Pod); m != nil {
			if l == nil {
				l = podTables{}
			}
			l[setKey(s.Cluster, s.Namespace, m[1])] = s.Pod
		}
	}
	return l
}

func setKey(cluster, namespace, set string) string {
	return cluster + "\x00" + namespace + "\x00" + set
}

// tellMissing adds to the evidence of a runner that the scale set tells of that a table
// of pods has others of its set and not its own.
func (l podTables) tellMissing(c *casefile.Case, book *rules.Rulebook) {
	if l == nil {
		return
	}
	m := setOfRunner.FindStringSubmatch(c.Name)
	if m == nil {
		return
	}
	beside, told := l[setKey(c.Cluster, c.Namespace, m[1])], false
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
