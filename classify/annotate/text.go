package annotate

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"coroner/classify/ledger"
	"coroner/classify/lookup"
	"coroner/classify/postmortem"
	"coroner/rules"
)

// business says whose business a domain is.
var business = map[string]string{
	"platform": "This is the business of those who run the cluster and its runners.",
	"workload": "This is the business of whoever wrote the job, or gave the runner its size.",
	"provider": "This is the business of the provider: of GitHub or GitLab, a registry or the cloud.",
	"operator": "This is the business of those who set up, drain or delete the runners.",
}

// again says whether running the job again helps.
var again = map[string]string{
	"helps":   "Running the job again helps.",
	"useless": "Running the job again ends in the same way.",
	"unknown": "Whether running the job again helps is not known.",
}

// body is the text below the title, as Markdown. Whatever a log can have written is plain there.
func body(v *rules.Verdict, page string) string {
	return paragraphs(plain(cut(oneLine(v.Summary), 1000)), business[v.Domain], again[v.Retry],
		plain(cut(oneLine(v.Advice), 1000)), facts(v), link(page))
}

// withdrawal is the text below the title where an earlier revision took a runner for dead.
func withdrawal(v *rules.Verdict, page string) string {
	return paragraphs("What was said here of this job does not hold.", plain(cut(oneLine(v.Summary), 1000)), facts(v),
		link(page))
}

// paragraphs are the texts that say something, each a paragraph.
func paragraphs(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(text string) bool { return text == "" }), "\n\n")
}

func facts(v *rules.Verdict) string {
	return fmt.Sprintf("Runner %s, node %s, %s.", plain(cut(v.Runner, 253)), plain(cut(v.Node, 253)),
		v.DiedAt.UTC().Format("2006-01-02 15:04:05 UTC"))
}

func link(page string) string {
	if page == "" {
		return ""
	}
	return "[The whole post-mortem](" + page + ")"
}

// pagePath is the permalink of a verdict, below the pages' address.
func pagePath(r *ledger.Record) string {
	v := &r.Verdict
	return lookup.PagePath(v.Kind, v.Namespace, v.About(), r.Case)
}

// oneLine is a text without control characters, on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(postmortem.Clean(s)), " ") }

// cut shortens a text to so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most-len("…")]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// plain writes every character that Markdown, HTML, GitHub or GitLab could take for more than
// itself as its number: nobody is mentioned, nothing is linked, and no line is a command. Both
// look for mentions, issues and addresses once more in what Markdown made of a comment, GitLab for
// labels, milestones and what else it has, too, so those are broken by a space without width.
func plain(s string) string {
	var b strings.Builder
	for _, r := range postmortem.Clean(s) {
		if !strings.ContainsRune("\\`*_{}[]<>()#+!|&@~:/\"'$^=%", r) {
			b.WriteRune(r)
			continue
		}
		if fmt.Fprintf(&b, "&#%d;", r); strings.ContainsRune("@#:!~%$&^", r) {
			b.WriteString("&#8203;")
		}
	}
	return b.String()
}
