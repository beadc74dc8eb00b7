package workflow

import (
	"errors"
	"io"
	"strings"
	"testing"

	"coroner/ingest"
)

const saved = `{"id": 41, "run_id": 7, "status": "completed", "conclusion": "failure", "name": "bake",
	"labels": ["ovens"], "created_at": "2026-10-01T09:00:00Z", "started_at": "2026-10-01T09:02:00Z",
	"completed_at": "2026-10-01T09:09:00Z", "runner_name": "ovens-1",
	"url": "https://api.github.com/repos/mills/flour/actions/jobs/41",
	"html_url": "https://github.com/mills/flour/actions/runs/7/job/41"}`

// delivered is a delivery of GitHub's webhook about that job.
const delivered = `{"action": "completed", "workflow_job": ` + saved + `, "repository": {"full_name": "mills/flour"}}`

// Jobs are read in every form in which people save what GitHub says of them.
func TestSavedJobs(t *testing.T) {
	line := strings.ReplaceAll(saved, "\n", " ")
	ofGitHub := strings.ReplaceAll(saved, `"ovens"`, `"ubuntu-24.04"`)
	for _, tt := range []struct {
		name, in string
		want     int
		err      error
	}{
		{"one", saved, 1, nil},
		{"a page", `{"total_count": 2, "jobs": [` + saved + `,` + saved + `]}`, 2, nil},
		{"pages, one after another", `{"jobs": [` + saved + `]}{"jobs": [` + saved + `]}`, 2, nil},
		{"pages in a list", `[{"jobs": [` + saved + `]}, {"jobs": [` + saved + `]}]`, 2, nil},
		{"an object a line", line + "\n" + line, 2, nil},
		{"a webhook's delivery", delivered, 1, nil},
		{"a job of GitHub's own runner", ofGitHub, 0, nil},
		{"a run without jobs", `{"total_count": 0, "jobs": []}`, 0, nil},
		{"a run", `{"id": 7, "run_number": 3, "run_url": "x", "status": "completed"}`, 0, ErrNoJob},
		{"a pod", `{"kind": "Pod", "apiVersion": "v1"}`, 0, ErrNoJob},
		{"nothing", "", 0, ErrNoJob},
		{"a list of numbers", "[1, 2]", 0, ErrNoJob},
		{"text", "run_id runner_name", 0, ErrNoJob},
	} {
		var all []ingest.Entry
		_, err := Read([]byte(tt.in), func(e ingest.Entry) bool { all = append(all, e); return true })
		if !errors.Is(err, tt.err) || len(all) != tt.want {
			t.Errorf("%s: %d jobs, %v; want %d, %v", tt.name, len(all), err, tt.want, tt.err)
		}
		for _, e := range all {
			if e.Pod != "ovens-1" || e.Fields["repository"] != "mills/flour" || e.At.IsZero() ||
				e.Fields["labels"] != "ovens" {
				t.Errorf("%s: %+v", tt.name, e)
			}
		}
	}
}

// What is cut off does not take away what stands before it.
func TestSavedJobsThatBreakOff(t *testing.T) {
	n := 0
	read, err := Read([]byte(saved+"\n"+saved[:100]), func(ingest.Entry) bool { n++; return true })
	if n != 1 || read != len(saved) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%d jobs, %d bytes of %d, %v", n, read, len(saved), err)
	}
}

// What follows the jobs is left to whoever reads text.
func TestSavedJobsBeforeSomethingElse(t *testing.T) {
	for _, rest := range []string{"\nListening for Jobs\n", "\n" + `{"kind": "Pod"}`, "\n[1, 2]"} {
		n := 0
		read, err := Read([]byte(saved+rest), func(ingest.Entry) bool { n++; return true })
		if n != 1 || read != len(saved) || err != nil {
			t.Errorf("%q: %d jobs, %d bytes of %d, %v", rest, n, read, len(saved), err)
		}
	}
}

func TestSniff(t *testing.T) {
	for in, want := range map[string]bool{
		saved:                            true,
		"\n  " + `{"jobs": [` + saved:    true,
		delivered:                        true,
		`{"kind": "Pod", "run_id": 1}`:   false,
		"run_id and runner_name, said I": false,
		"":                               false,
		`{"msg": "a job began", "run_id": "7", "job": "bake"}`: false,
	} {
		if got := Sniff([]byte(in)); got != want {
			t.Errorf("%.60q: %t", in, got)
		}
	}
}

func FuzzSaved(f *testing.F) {
	f.Add([]byte(saved))
	f.Add([]byte(`[{"jobs": [` + saved + `]}, []]`))
	f.Add([]byte(delivered))
	f.Fuzz(func(t *testing.T, data []byte) {
		Sniff(data)
		_, _ = Read(data, func(e ingest.Entry) bool {
			if e.Source != ingest.GitHub || strings.ContainsAny(e.Text, "\n\x00") {
				t.Errorf("%+v", e)
			}
			return true
		})
	})
}

// Whoever signs knows the secret, but a job's name is chosen by anybody who may write a
// workflow: it stays on its line.
func FuzzDelivery(f *testing.F) {
	f.Add(delivered)
	f.Add(`{"workflow_job": {"id": 1, "labels": ["a\nb"], "name": "\u202e\u0000"}}`)
	f.Fuzz(func(t *testing.T, body string) {
		e, ok, err := ReadDelivery([]byte(body))
		if err != nil || !ok {
			return
		}
		if strings.ContainsAny(e.Text, "\n\r\x00") || strings.ContainsAny(e.Pod, "\n\x00") {
			t.Errorf("%q %q", e.Text, e.Pod)
		}
	})
}
