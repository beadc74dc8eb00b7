// Package alike says what two ends have to share to be the same one told twice: the rule that
// decided, and the template of its line, which is the line without what differs from one time
// to the next. It is pure.
//
// Invariant: what is masked is a word or nothing, so that two lines of one template say the
// same of other things; a kind is a function of the verdict alone, and has a number that is
// never 0.
//
// Crash behaviour: it keeps no state.
package alike

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"regexp"
	"slices"
	"strings"

	"coroner/rules"
)

// Kind is what ends of one label that are alike share.
type Kind struct{ Rule, Template string }

// Of is the kind of a verdict. Of several lines that decide the template is that of the one
// that is first in the order of their texts: they come in another order where two clocks differ
// by a little.
func Of(v *rules.Verdict) Kind {
	names := namesOf(v)
	var all []string
	for _, e := range v.Evidence {
		if e.Decisive {
			all = append(all, mask(e.Text, names))
		}
	}
	if len(all) == 0 {
		return Kind{Rule: v.Rule}
	}
	return Kind{v.Rule, slices.Min(all)}
}

// Number stands for the kind where it is stored and counted. That two share one is as good as
// impossible.
func (k Kind) Number() int64 {
	sum := sha256.Sum256([]byte(k.Rule + "\x00" + k.Template))
	return max(1, int64(binary.BigEndian.Uint64(sum[:8])&math.MaxInt64))
}

// Key is the same for all ends that are alike: of one cluster, label, kind and pool. It is 32
// digits and letters, which say nothing of what is behind them.
func Key(v *rules.Verdict) string {
	kind := Of(v)
	sum := sha256.Sum256([]byte(strings.Join([]string{v.Cluster, string(v.Label), kind.Rule, kind.Template, v.Pool},
		"\x00")))
	return hex.EncodeToString(sum[:16])
}

// names are what a verdict calls its own.
type names struct {
	whole []string // words that are one of them
	parts []string // words that hold one of them
	texts []string // of several words
}

const (
	shortest = 4   // bytes of a name that is looked for within words
	longest  = 300 // bytes of a line that are its template: what is special about it stands at its beginning
	masked   = "*"
)

// namesOf are those that a line can have. A name that can be a word of the language, as the
// pool "memory", is none that is looked for, but for the runner's and the node's.
func namesOf(v *rules.Verdict) (n names) {
	for _, name := range []string{v.Runner, v.Node} {
		if name != "" {
			n.whole = append(n.whole, name)
		}
	}
	for _, name := range []string{v.Runner, v.PodUID, v.Node, v.Namespace, v.Pool, v.Cluster, v.Job.Name, v.Job.Step,
		v.Job.ID, v.Job.RunID, v.Job.Repository} {
		switch {
		case len(name) < shortest:
		case strings.Contains(name, " "):
			n.texts = append(n.texts, name)
		case strings.ContainsAny(name, "0123456789-_./"):
			n.parts = append(n.parts, name)
		}
	}
	return n
}

// has says whether a word is one of them, or holds one.
func (n names) has(word string) bool {
	return slices.Contains(n.whole, word) ||
		slices.ContainsFunc(n.parts, func(name string) bool { return strings.Contains(word, name) })
}

// aWord is what stands between spaces, quotes, brackets, commas and signs of equality.
var aWord = regexp.MustCompile("[^\\s,;=()\\[\\]{}<>\"'`|]+")

// mask is a line's template: a star stands for each word that has a digit, looks like a name
// that Kubernetes made, or is one of the verdict's own names.
func mask(text string, own names) string {
	text = strings.ToValidUTF8(text[:min(len(text), longest)], "")
	for _, name := range own.texts {
		text = strings.ReplaceAll(text, name, masked)
	}
	text = aWord.ReplaceAllStringFunc(text, func(all string) string {
		word := strings.TrimRight(all, ".:")
		if own.has(word) || differs(word) {
			return masked + all[len(word):]
		}
		return all
	})
	return strings.Join(strings.Fields(text), " ")
}

// differs says whether a word is most likely another one the next time: a number, an id, a
// time, or a name whose end Kubernetes drew.
func differs(word string) bool {
	at := strings.LastIndexByte(word, '-')
	drawn := at >= 0 && len(word)-at-1 == len("xxxxx") && strings.Trim(word[at+1:], "bcdfghjklmnpqrstvwxz") == ""
	return drawn || strings.ContainsAny(word, "0123456789")
}
