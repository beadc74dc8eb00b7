package casefile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coroner/ingest"
)

// Undecided says of the sources that would decide something, and that the case has, why they
// do not. It is the end of a sentence, "" where none of them was read.
func Undecided(c *Case, sources []ingest.Source, f Findings) (text string) {
	var read, parts []string
	for _, s := range sources {
		switch {
		case f.Covered[s] || s == ingest.Runner && c.Log.Read:
			read = append(read, SourceNoun(s))
		case showsLines(c, s):
			parts = append(parts, SourceNoun(s))
		}
	}
	switch {
	case len(read) > 0 && len(read) == len(sources):
		return "; what was read does not decide it"
	case len(read) == 1:
		text = "; " + read[0] + " was read and does not decide it"
	case len(read) > 1:
		text = "; " + listText(read) + " were read and do not decide it"
	}
	if len(parts) > 0 {
		text += "; of " + listText(parts) + " only single lines were read"
	}
	return text
}

// listText is a, b and c.
func listText(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return strings.Join(all, "")
}

// showsLines says whether the timeline has lines of a source about the runner. What an
// event or a row of a table tells is none of the pod's object.
func showsLines(c *Case, source ingest.Source) bool {
	return slices.ContainsFunc(c.Evidence, func(e Evidence) bool {
		return e.Mine && e.Source == source && e.Def.Name != "kube.event" && e.Def.Name != "kube.row"
	})
}

// sourceNouns says what a source is called when it is missing.
var sourceNouns = []struct {
	source ingest.Source
	noun   string
}{
	{ingest.Kernel, "the kernel log of the node"},
	{ingest.Kubelet, "the kubelet's log"},
	{ingest.Containerd, "containerd's log"},
	{ingest.Runner, "the runner's own output"},
	{ingest.Kube, "the pod object"},
	{ingest.Controller, "the controller's log"},
}

// SourceNoun says what the log of a source is called.
func SourceNoun(source ingest.Source) string {
	for _, s := range sourceNouns {
		if s.source == source {
			return s.noun
		}
	}
	return string(source) + "'s log"
}

// Missing names every source that was not read over the death, and why.
func Missing(c *Case, f Findings) []string {
	out := []string{}
	for _, s := range sourceNouns {
		if f.Covered[s.source] || (s.source == ingest.Runner && c.Log.Read) {
			continue
		}
		out = append(out, s.noun+": "+whyMissing(c, s.source, f))
	}
	return out
}

func whyMissing(c *Case, source ingest.Source, f Findings) string {
	read, partly := false, ""
	for k := range c.AllCoverage() {
		if k.Source != source {
			continue
		}
		if k.Partly != "" {
			partly = k.Partly
			continue
		}
		read = true
		if k.Why != "" && nearDeath(c, k, f.Died) {
			return fmt.Sprintf("lost %s–%s (%s)", clock(k.From), clock(k.To), k.Why)
		}
	}
	single := slices.ContainsFunc(c.Evidence, func(e Evidence) bool { return e.Source == source })
	switch {
	case !read && partly != "":
		return partly + "; what is not among them proves nothing"
	case !read && single:
		return "single lines of it only; what is not among them proves nothing"
	case !read:
		return "not in what was read"
	}
	if source == ingest.Kubelet && !kubeletTells(c) {
		return "read, but it tells nothing of the pod's start, stop or end (verbosity below 2)"
	}
	if f.Died.IsZero() {
		return "read, but when the end was is not known"
	}
	if back := lookBackIn(c, source); back > lookBack {
		return fmt.Sprintf(
			"read, but not from a grace period of %d s before the death at %s on", int(back.Seconds()), clock(f.Died),
		)
	}
	return fmt.Sprintf("read, but not over the death at %s", clock(f.Died))
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "an unknown time"
	}
	return t.UTC().Format("15:04:05Z")
}
