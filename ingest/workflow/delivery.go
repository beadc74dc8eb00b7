package workflow

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"coroner/ingest"
)

// delivery is what is read of one.
type delivery struct {
	Job        Job `json:"workflow_job"`
	Repository struct {
		Name string `json:"full_name"`
	} `json:"repository"`
}

// ReadDelivery makes a record of a delivery; ok is false for a job that no runner of one's
// own is to take.
func ReadDelivery(body []byte) (e ingest.Entry, ok bool, err error) {
	var d delivery
	if err = json.Unmarshal(body, &d); err != nil {
		return e, false, err
	}
	e, ok = d.entry()
	return e, ok, nil
}

// entry is the record of a job; ok is false for one that no runner of one's own is to take.
func (d *delivery) entry() (e ingest.Entry, ok bool) {
	j := &d.Job
	if j.ID == 0 || len(j.Labels) == 0 || isHosted(j.Labels) {
		return e, false
	}
	e = j.Entry(cmp.Or(d.Repository.Name, repositoryOf(j.Page)), j.changed())
	e.Pod = oneLine(j.Runner)
	addField(&e, "created_at", timestamp(j.Created))
	addField(&e, "labels", poolLabel(j.Labels))
	return e, true
}

// hosted are the labels of runners that GitHub itself runs.
var hosted = []string{
	"ubuntu-latest", "ubuntu-[0-9]*", "windows-latest", "windows-[0-9]*", "macos-latest*", "macos-[0-9]*",
}

// isHosted says whether a runner of GitHub's is to take a job with these labels.
func isHosted(labels []string) bool {
	own := slices.ContainsFunc(labels, func(l string) bool { return strings.EqualFold(l, "self-hosted") })
	return !own && slices.ContainsFunc(labels, func(label string) bool {
		return slices.ContainsFunc(hosted, func(glob string) bool {
			is, _ := path.Match(glob, strings.ToLower(label))
			return is
		})
	})
}

// poolLabel is the label that says which pool a job is for: the first that is not one of
// those that every runner of one's own has.
func poolLabel(labels []string) string {
	for _, l := range labels {
		switch strings.ToLower(l) {
		case "self-hosted", "linux", "windows", "macos", "x64", "arm", "arm64":
		default:
			return l
		}
	}
	return "self-hosted"
}
