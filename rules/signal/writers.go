package signal

import (
	"path"
	"slices"
	"strings"

	"coroner/ingest"
	"coroner/ingest/logtext"
	"coroner/rules/yamlfile"
)

// An event proves what its writer can know. Anybody may use a reason: kubelet
// and Karpenter both write Evicted and mean different things.

// writer is a program that may say an event's reason, and with which type.
type writer struct {
	component string // a glob over the program's name
	kind      string // Normal or Warning, "" for any
}

// compileWriters reads `kubelet`, `Warning kubelet` and `*scheduler* | karpenter`.
func (c *compiler) compileWriters(all []yamlfile.Pair) map[string][]writer {
	if len(all) == 0 {
		return nil
	}
	out := map[string][]writer{}
	for _, p := range all {
		for alternative := range strings.SplitSeq(p.Value.Value, "|") {
			w := writer{component: strings.TrimSpace(alternative)}
			if kind, component, ok := strings.Cut(w.component, " "); ok {
				w = writer{component, kind}
			}
			if _, err := path.Match(w.component, ""); err != nil || w.component == "" {
				c.errs.Add(p.Value.Pos, "writer %q is no glob over a program's name", w.component)
			}
			out[p.Key.Value] = append(out[p.Key.Value], w)
		}
	}
	return out
}

// mayWrite says whether whoever wrote an event may say its reason. sure is false
// where the event does not name its writer, as in kubectl's table.
func (d *Def) mayWrite(e *ingest.Entry, fields logtext.Fields) (may, sure bool) {
	if d.writers == nil {
		return true, true
	}
	from, _, _ := strings.Cut(fieldOf(e, fields, "from"), ",") // old ones go on with the node
	known := d.writers[fieldOf(e, fields, "reason")]
	if known == nil {
		return true, false // nobody is known to say this and mean it
	}
	kind := fieldOf(e, fields, "type")
	may = slices.ContainsFunc(known, func(w writer) bool {
		is, _ := path.Match(w.component, from)
		return (is || from == "") && (w.kind == "" || kind == "" || w.kind == kind)
	})
	return may, from != ""
}
