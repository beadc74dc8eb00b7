package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"regexp"
	"strings"
	"time"

	"coroner/ingest"
)

// sniffed is how far into a document Sniff looks for what only GitHub's records of jobs have.
const sniffed = 4096

// Sniff says whether the head of a document looks like jobs as GitHub's REST API or its webhook
// writes them: one, a list, a run's page, a delivery. A Kubernetes object has an apiVersion.
func Sniff(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '{' && head[0] != '[' {
		return false
	}
	head = head[:min(len(head), sniffed)]
	has := func(key string) bool { return bytes.Contains(head, []byte(`"`+key+`"`)) }
	return has("workflow_job") || has("run_id") && has("runner_name") || has("run_id") && has("run_url")
}

// ErrNoJob says that a document holds no job of GitHub's.
var ErrNoJob = errors.New("no job of GitHub's")

// Read yields a record for each job in a document that somebody saved: JSON values, one after
// another, as `gh api` prints the pages of a run's jobs, or a webhook's deliveries. Jobs of
// GitHub's own runners are left out. It ends before the first value that holds no job, and tells
// how many bytes it read. The error is ErrNoJob where that is the first value, and
// io.ErrUnexpectedEOF where the last one is cut off.
func Read(data []byte, emit func(ingest.Entry) bool) (read int, err error) {
	for in := json.NewDecoder(bytes.NewReader(data)); ; read = int(in.InputOffset()) {
		var v json.RawMessage
		err := in.Decode(&v)
		var jobs []delivery
		if err == nil {
			jobs, err = savedJobs(v)
		}
		switch {
		case err != nil && read == 0:
			return 0, ErrNoJob
		case errors.Is(err, io.ErrUnexpectedEOF):
			return read, err
		case err != nil: // the end, or something else
			return read, nil
		}
		for i := range jobs {
			if e, ok := jobs[i].entry(); ok && !emit(e) {
				return read, nil
			}
		}
	}
}

// savedJobs are the jobs of one JSON value.
func savedJobs(value json.RawMessage) (jobs []delivery, err error) {
	if value[0] == '[' {
		var several []json.RawMessage
		if err := json.Unmarshal(value, &several); err != nil {
			return nil, ErrNoJob
		}
		for _, v := range several {
			more, err := savedJobs(v)
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, more...)
		}
		return jobs, nil
	}
	var in struct {
		delivery
		Jobs *[]Job `json:"jobs"`
	}
	var one Job
	if json.Unmarshal(value, &in) != nil || json.Unmarshal(value, &one) != nil {
		return nil, ErrNoJob
	}
	switch {
	case in.Job.ID != 0:
		return []delivery{in.delivery}, nil
	case in.Jobs != nil:
		for _, j := range *in.Jobs {
			jobs = append(jobs, delivery{Job: j})
		}
		return jobs, nil
	case one.ID != 0 && one.RunID != 0:
		return []delivery{{Job: one}}, nil
	}
	return nil, ErrNoJob
}

// repositoryOf is the repository that a job's page names, "" for none.
func repositoryOf(page string) string {
	u, err := url.Parse(page)
	if err != nil {
		return ""
	}
	parts := strings.SplitN(strings.TrimPrefix(u.Path, "/"), "/", 3)
	if len(parts) < 3 || !IsRepository(parts[0]+"/"+parts[1]) {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// changed is when a job came into the state that it has.
func (j *Job) changed() time.Time {
	at := map[string]time.Time{"in_progress": j.Started, "completed": j.Completed}[j.Status]
	if at.IsZero() {
		at = j.Created
	}
	return at
}

var repository = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}$`)

// IsRepository says whether a text has the form of a repository's name, OWNER/NAME.
func IsRepository(name string) bool {
	return repository.MatchString(name) && !strings.HasSuffix(name, "/..") && !strings.HasSuffix(name, "/.")
}
