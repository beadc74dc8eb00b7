// Package workflow knows jobs of GitHub Actions as GitHub tells of them: in an answer of its REST
// API, in a delivery of its webhook, in what somebody saved of either. It makes records of them.
//
// Invariant: a record says what GitHub said and no more; a name in it, which whoever writes a
// workflow chooses, is one short line. Jobs of GitHub's own runners make none in a delivery or a
// saved file: no runner of the reader's had them.
//
// Crash behaviour: it keeps nothing and writes nothing.
package workflow

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"coroner/ingest"
)

// Job is a job as GitHub sees it.
type Job struct {
	ID         int64     `json:"id"`
	RunID      int64     `json:"run_id"`
	Attempt    int       `json:"run_attempt"`
	Name       string    `json:"name"`
	Status     string    `json:"status"`
	Conclusion string    `json:"conclusion"`
	Runner     string    `json:"runner_name"`
	Started    time.Time `json:"started_at"`
	Completed  time.Time `json:"completed_at"`
	Commit     string    `json:"head_sha"`
	Page       string    `json:"html_url"`
	Steps      []Step    `json:"steps"`
	Created    time.Time `json:"created_at"`
	Labels     []string  `json:"labels"`
}

// Step is a step of a job.
type Step struct {
	Name       string    `json:"name"`
	Conclusion string    `json:"conclusion"`
	Completed  time.Time `json:"completed_at"`
}

// Entry is the record of what GitHub says of a job at a time.
func (j *Job) Entry(repository string, at time.Time) ingest.Entry {
	e := ingest.Entry{
		At:     at,
		Clock:  ingest.WallClock,
		Source: ingest.GitHub,
		Trust:  ingest.Attested,
		Text:   message,
		Fields: map[string]string{"msg": message},
	}
	for _, p := range []struct{ key, value string }{
		{"status", j.Status},
		{"conclusion", j.Conclusion},
		{"runner_name", j.Runner},
		{"repository", repository},
		{"run_id", decimalText(j.RunID)},
		{"job_id", decimalText(j.ID)},
		{"started_at", timestamp(j.Started)},
		{"completed_at", timestamp(j.Completed)},
		{"name", j.Name},
	} {
		addField(&e, p.key, p.value)
	}
	return e
}

// addField adds a field that has a value to a record, and to its text.
func addField(e *ingest.Entry, key, value string) {
	if v := oneLine(value); v != "" {
		e.Fields[key] = v
		e.Text += " " + key + "=" + ingest.Word(v)
	}
}

const message = "github job"

// decimalText is a number as GitHub writes it, "" for none.
func decimalText(n int64) string {
	if n <= 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// oneLine is a value on one line without control characters, short: whoever
// writes a workflow chooses its jobs' names.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > 400 {
		s = strings.ToValidUTF8(s[:400], "")
	}
	return strings.TrimSpace(s)
}
