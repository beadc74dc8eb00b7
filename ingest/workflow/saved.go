package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
// GitHub's own runners are left out. After an error the jobs before it stand.
func Read(data []byte, emit func(ingest.Entry) bool) error {
	found := false
	for in := json.NewDecoder(bytes.NewReader(data)); ; {
		var v json.RawMessage
		switch err := in.Decode(&v); {
		case errors.Is(err, io.EOF) && found:
			return nil
		case err != nil && !found:
			return ErrNoJob
		case err != nil:
			return fmt.Errorf("the jobs of GitHub's in it end after %d bytes: %w", in.InputOffset(), err)
		}
		jobs, err := savedJobs(v)
		if err != nil {
			return err
		}
		found = true
		for i := range jobs {
			if e, ok := jobs[i].entry(); ok && !emit(e) {
				return nil
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

// repositoryOf is the repository that a job's address names.
func repositoryOf(page string) string {
	for _, before := range []string{"/repos/", "//"} {
		_, path, ok := strings.Cut(page, before)
		if before == "//" {
			_, path, ok = strings.Cut(path, "/")
		}
		parts := strings.SplitN(path, "/", 3)
		if ok && len(parts) == 3 && repository.MatchString(parts[0]+"/"+parts[1]) {
			return parts[0] + "/" + parts[1]
		}
	}
	return ""
}

// changed is when a job came into the state that it has.
func (j *Job) changed() time.Time {
	at := map[string]time.Time{"in_progress": j.Started, "completed": j.Completed}[j.Status]
	if at.IsZero() {
		at = j.Created
	}
	return at
}

// repository is the form of a repository's name on GitHub.
var repository = regexp.MustCompile(`^[A-Za-z0-9-]{1,100}/[A-Za-z0-9._-]{1,100}$`)
