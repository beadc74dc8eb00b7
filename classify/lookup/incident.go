package lookup

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"

	"go.yaml.in/yaml/v4"
	"golang.org/x/tools/txtar"

	"coroner/classify/ledger"
	"coroner/classify/postmortem"
	"coroner/ingest"
	"coroner/ingest/recorded"
	"coroner/rules"
)

// incident answers with a case as a file: everything that its verdict was judged
// from, and the verdict.
func (a *API) incident(w http.ResponseWriter, r *http.Request) {
	c, ok, err := a.Source.Case(r.Context(), ledger.PodOf(r.PathValue("id")))
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
		return
	case !ok || a.Gather == nil:
		fail(w, http.StatusNotFound, fmt.Errorf("no such case"))
		return
	}
	name, data, err := a.file(r.Context(), c)
	switch {
	case err != nil:
		fail(w, http.StatusInternalServerError, err)
	case data == nil:
		fail(w, http.StatusGone, fmt.Errorf("the evidence of this case is not kept any more (--retention.evidence); "+
			"its verdict is at /api/v1/runners/%s", c.UID))
	default:
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "sandbox") // a log's text is no page of ours
		w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
		_, _ = w.Write(data) // the client has gone
	}
}

// want is what an incident must come out as; fixtures reads it.
type want struct {
	Runner     string `yaml:"runner"`
	Verdict    string `yaml:"verdict"`
	Confidence string `yaml:"confidence"`
	Rule       string `yaml:"rule"`
	Initiator  string `yaml:"initiator,omitempty"`
	Exit       *int   `yaml:"exit,omitempty"`
}

// file makes the incident file of a case; nil when its evidence is gone.
func (a *API) file(ctx context.Context, c ledger.Case) (name string, data []byte, err error) {
	entries, err := a.Gather(ctx, c)
	entries = once(entries)
	if err != nil || len(entries) == 0 {
		return "", nil, err
	}
	one, err := a.one(ctx, c, true)
	if err != nil {
		return "", nil, err
	}
	var evidence bytes.Buffer
	if err := recorded.Write(&evidence, entries); err != nil {
		return "", nil, err
	}
	runner := c.UID
	if runner == "" {
		runner = c.Name
	}
	files := []txtar.File{{Name: "evidence" + recorded.Suffix, Data: evidence.Bytes()}}
	now, err := a.now(ctx, c, &one)
	if err != nil {
		return "", nil, err
	}
	if said := one.Says(); said != nil {
		wanted, err := yaml.Marshal(wanted(&said.Verdict, runner))
		if err != nil {
			return "", nil, err
		}
		files = append([]txtar.File{{Name: "want.yaml", Data: wanted}}, files...)
	}
	name = strange.ReplaceAllString(c.Name, "_") + ".txtar"
	return name, txtar.Format(&txtar.Archive{Comment: story(c, one.Says(), now, name, runner), Files: files}), nil
}

// now is what the kept evidence gives by the rulebook in force, where that is
// not what was said: some of it is swept, or the rules are others. Else nil.
func (a *API) now(ctx context.Context, c ledger.Case, r *Runner) (*rules.Verdict, error) {
	if a.Opinion == nil || r.Verdict == nil {
		return nil, nil
	}
	v, err := a.Opinion(ctx, c)
	if err != nil || v.Label == r.Verdict.Label && v.Confidence == r.Verdict.Confidence && v.Rule == r.Verdict.Rule {
		return nil, err
	}
	return v, nil
}

// once leaves out entries that are there already: what speaks of a pod and of
// its node is found twice.
func once(all []ingest.Entry) (out []ingest.Entry) {
	seen := map[string]bool{}
	for _, e := range all {
		data, _ := json.Marshal(e) // an entry came from JSON
		if !seen[string(data)] {
			seen[string(data)] = true
			out = append(out, e)
		}
	}
	return out
}

// strange is what must not stand in a file's name or a command.
var strange = regexp.MustCompile(`[^A-Za-z0-9._-]|^[.-]`)

func wanted(v *rules.Verdict, runner string) want {
	return want{runner, string(v.Label), string(v.Confidence), v.Rule, v.Initiator, v.Exit.Code}
}

func story(c ledger.Case, said *Recorded, now *rules.Verdict, name, runner string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Runner %s", postmortem.Clean(c.Namespace+"/"+c.Name))
	if c.Cluster != "" {
		fmt.Fprintf(&b, " of cluster %s", postmortem.Clean(c.Cluster))
	}
	if said != nil {
		fmt.Fprintf(&b, ": %s (%s). %s", said.Label, said.Confidence, postmortem.Clean(said.Summary))
	}
	if now != nil {
		fmt.Fprintf(&b, "\nWhat is kept of it gives %s (%s) now: part of the evidence is gone, "+
			"or the rulebook is another than then.", now.Label, now.Confidence)
	}
	fmt.Fprintf(&b, "\nWhat a coroner server kept of it; read it before you give it away, it holds log lines.\n")
	if !strange.MatchString(runner) {
		fmt.Fprintf(&b, "\n    coroner explain --runner %s %s\n", runner, name)
	}
	b.WriteString("\n")
	return b.Bytes()
}
