package bundle

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"coroner/ingest"
	"coroner/ingest/document"
)

// checkEntry is a yield that holds entries against what package ingest promises.
func checkEntry(t *testing.T) func(ingest.Entry) bool {
	return func(e ingest.Entry) bool {
		bad := strings.ContainsFunc(e.Text, func(r rune) bool { return unicode.IsControl(r) && r != '\t' })
		if bad || !utf8.ValidString(e.Text) || len(e.Text) > ingest.MaxText {
			t.Fatalf("bad text %q", e.Text)
		}
		return true
	}
}

const pod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"n"},"status":{"phase":"Failed",` +
	`"startTime":"2031-05-06T07:08:09Z"}}`

// outline lists entries as `doc:line source text` and marks as `doc mark kind`.
func outline(b *Bundle) (all []string) {
	for e := range b.Entries(nil) {
		if e.Mark != nil {
			all = append(all, fmt.Sprintf("%s mark %d %s", e.Doc, e.Mark.Kind, e.Pod))
			continue
		}
		all = append(all, fmt.Sprintf("%s:%d %s %s", e.Doc, e.Line, e.Source, e.Text))
	}
	return all
}

func TestObjects(t *testing.T) {
	const status = "kube pod status phase=Failed"
	var utf16le strings.Builder
	utf16le.WriteString("\xff\xfe")
	for _, u := range utf16.Encode([]rune(pod)) {
		utf16le.Write(binary.LittleEndian.AppendUint16(nil, u))
	}
	for name, c := range map[string]struct {
		file, content string
		want          []string
	}{
		"json":              {"a.json", pod, []string{"D:1 " + status, "D mark 0 p"}},
		"json without name": {"a", "\n\n" + pod, []string{"D:3 " + status, "D mark 0 p"}},
		"powershell":        {"a.json", utf16le.String(), []string{"D:1 " + status, "D mark 0 p"}},
		"yaml": {"a.yaml", "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nstatus: {phase: Failed}\n",
			[]string{"D:1 " + status, "D mark 0 p"}},
		"fenced": {"a.md", "```\n" + pod + "\n```\n", []string{"D:2 " + status, "D mark 0 p"}},
		"followed by text": {"a.txt", pod + "\nand then\nnothing\n",
			[]string{"D:1 " + status, "D mark 0 p", "D mark 2 ", "D:2  and then", "D:3  nothing"}},
		"between text": {"a.txt", "what we saw:\n\n```\nkind: Pod\napiVersion: v1\nmetadata:\n  name: p\n" +
			"status:\n  phase: Failed\n```\nand then\n{\n\"apiVersion\": \"v1\", \"kind\": \"Pod\",\n" +
			"\"metadata\": {\"name\": \"q\"},\n" +
			"\"status\": {\"phase\": \"Failed\"}\n}\nnothing\n",
			[]string{"D mark 2 ", "D:4 " + status, "D mark 0 p", "D mark 2 ", "D:12 " + status, "D mark 0 q",
				"D:1  what we saw:", "D:3  ```", "D:10  ```", "D:11  and then", "D:17  nothing"}},
		"no object between text": {"a.txt", "what we want:\nkind: Pod\nnothing\n",
			[]string{"D:1  what we want:", "D:2  kind: Pod", "D:3  nothing"}},
		"a log of objects": {"a.log", pod + "\n", []string{"D:1 " + status, "D mark 0 p", "D mark 2 "}},
	} {
		b := open(t, filepath.Join(files(t, map[string]string{c.file: c.content}), c.file))
		got := outline(b)
		for i := range got {
			got[i] = strings.Replace(got[i], c.file, "D", 1)
		}
		if d := cmp.Diff(c.want, got); d != "" || len(b.Problems()) > 0 {
			t.Errorf("%s: %s %v", name, d, b.Problems())
		}
	}
}

// TestStreamIsNoObject: what a container printed is its own, whatever it looks
// like.
// TestObjectsThatTellNothing: whoever hands in an object of another kind is told that
// nothing was read of it.
func TestObjectsThatTellNothing(t *testing.T) {
	for name, text := range map[string]string{
		"map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: m\ndata:\n  a: b\n",
		"map.json": `{"apiVersion":"v1","kind":"List","items":[` +
			`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"}}]}`,
		"pod.json": pod,
	} {
		b := open(t, filepath.Join(files(t, map[string]string{name: text}), name))
		outline(b)
		told := len(b.Problems()) == 1 && strings.Contains(fmt.Sprint(b.Problems()), "kinds that tell of no death")
		if told != (name != "pod.json") {
			t.Errorf("%s: %v", name, b.Problems())
		}
	}
}

func TestStreamIsNoObject(t *testing.T) {
	const dir = "n_p_aaaaaaaa-0000-4000-8000-000000000001/runner/"
	for _, name := range []string{"pods/" + dir + "0.log", "containers/p_n_runner-" + strings.Repeat("0a", 32) +
		".log"} {
		for e := range open(t, files(t, map[string]string{name: pod + "\n"})).Entries(nil) {
			if e.Source == ingest.Kube {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
	archive := files(t, map[string]string{"x.tar": packTar(dir+"0.log", pod+"\n")})
	for e := range open(t, archive).Entries(nil) {
		if e.Source == ingest.Kube || e.Doc != "root/x.tar!"+dir+"0.log" {
			t.Errorf("%+v", e)
		}
	}
}

// TestEmptyStream: a container that printed nothing is a fact, not a problem,
// in a folder as at the root of an archive.
func TestEmptyStream(t *testing.T) {
	const name = "n_p_aaaaaaaa-0000-4000-8000-000000000001/runner/0.log"
	for _, tree := range []map[string]string{{name: ""}, {"x.zip": packZip(name, "")}} {
		b := open(t, files(t, tree))
		covered := 0
		for e := range b.Entries(nil) {
			if e.Mark != nil && e.Mark.Kind == ingest.Covered && e.Mark.Lines == 0 && e.Pod == "p" &&
				e.Container == "runner" {
				covered++
			}
		}
		if covered != 1 || len(b.Problems()) > 0 || b.Documents() != 1 {
			t.Errorf("%v: covered %d, problems %v, documents %d", tree, covered, b.Problems(), b.Documents())
		}
	}
}

// TestHugeObjects: more objects than fit in memory are read as text.
func TestHugeObjects(t *testing.T) {
	list := `{"kind":"List","apiVersion":"v1","items":[` + strings.Repeat(pod+",\n", 20000/len(pod)) + pod + "]}"
	root := files(t, map[string]string{"l.json": list})
	b, err := Open([]string{filepath.Join(root, "l.json")}, Options{objects: 10000})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(outline(b)); n == 0 {
		t.Error("no entries")
	}
	same(
		t,
		"problems",
		problems(b),
		[]string{"l.json: holds more than 10000 bytes of objects and is read as text: give fewer objects a file"},
	)
}

func TestClocks(t *testing.T) {
	now := time.Date(2031, 6, 1, 0, 0, 0, 0, time.UTC)
	past, future, stored := now.AddDate(0, -1, 0), now.AddDate(9, 0, 0), now.AddDate(0, 0, -1)
	east, alsoEast, west := time.FixedZone("", 7200), time.FixedZone("x", 7200), time.FixedZone("", -3600)
	var c clocks
	if got := c.refTime(now); !got.Equal(now) {
		t.Error("nothing known", got)
	}
	c.addHints(document.Hints{}, stored, now)
	if got := c.refTime(now); !got.Equal(stored) {
		t.Error("mtime", got)
	}
	c.addHints(document.Hints{Latest: future}, stored, now)
	if got := c.refTime(now); !got.Equal(future) {
		t.Error("only the future", got)
	}
	c.addHints(document.Hints{Latest: past, Zone: east}, stored, now)
	if got := c.refTime(now); !got.Equal(past) {
		t.Error("past", got)
	}
	c.addHints(document.Hints{Zone: alsoEast}, stored, now)
	b := &Bundle{times: c}
	if b.zoneFor(document.Hints{}) == nil || b.zoneFor(document.Hints{Zone: west}) != nil {
		t.Error("one zone")
	}
	b.times.addHints(document.Hints{Zone: west}, stored, now)
	if b.zoneFor(document.Hints{}) != nil {
		t.Error("two zones")
	}
	if b.opts.Zone = west; b.zoneFor(document.Hints{Zone: east}) != west {
		t.Error("given zone")
	}
}

// TestRef: the latest time may stand at the end of a long file, or deep inside
// an object.
func TestRef(t *testing.T) {
	if got := latestIn([]byte(
		`"a": "2031-01-01T00:00:00Z", "b": "2031-01-02T00:00:00.5Z", "c": "2031-99-01T00:00:00Z"`)); got.Day() != 2 {
		t.Error(got)
	}
	long := "2031-01-01T00:00:00Z start\n" + strings.Repeat(
		"2031-01-02T00:00:00Z middle of it all\n",
		5000,
	) + "2031-03-04T05:06:07Z end\n"
	b := open(t, files(t, map[string]string{"a.txt": long, "b.json": pod}))
	if want := time.Date(2031, 5, 6, 7, 8, 9, 0, time.UTC); !b.ref.Equal(want) {
		t.Errorf("ref %v, want the object's %v", b.ref, want)
	}
	b = open(t, files(t, map[string]string{"a.txt": long}))
	if want := time.Date(2031, 3, 4, 5, 6, 7, 0, time.UTC); !b.ref.Equal(want) {
		t.Errorf("ref %v, want the end's %v", b.ref, want)
	}
	piece := "it died:\n    \"finishedAt\": \"2017-11-28T06:22:49Z\",\n\nNov 28 06:22:49 hull-3 kubelet[52]: a\n"
	b = open(t, files(t, map[string]string{"paste.txt": piece}))
	if want := time.Date(2017, 11, 28, 6, 22, 49, 0, time.UTC); !b.ref.Equal(want) {
		t.Errorf("a piece of an object: %v", b.ref)
	}
}

// An object that a job could have written is no more than a claim.
func TestObjectsInAJobsPlaceAreMixed(t *testing.T) {
	pod := []byte(
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"amber-1","namespace":"ci"},` +
			`"spec":{"containers":[{"name":"runner"}]},"status":{"phase":"Failed"}}`,
	)
	for name, want := range map[string]bool{"pod.json": false, "node/_work/pod.json": true, "_diag/pod.json": true} {
		mixed := false
		for e := range Bytes(name, pod, Options{}).Entries(nil) {
			mixed = mixed || e.Mark != nil && e.Mark.Kind == ingest.Mixed
		}
		if mixed != want {
			t.Errorf("%s: mixed %v, want %v", name, mixed, want)
		}
	}
}

// Jobs that somebody saved from GitHub are GitHub's word, unless a program's log is all that they
// are; those of GitHub's own runners are named as what they are.
func TestSavedJobs(t *testing.T) {
	const job = `{"jobs": [{"id": 41, "run_id": 7, "status": "completed", "conclusion": "failure", "labels": ["LABEL"],
		"completed_at": "2026-10-01T09:09:00Z", "runner_name": "ovens-1"}]}`
	own, theirs := strings.ReplaceAll(job, "LABEL", "ovens"), strings.ReplaceAll(job, "LABEL", "ubuntu-latest")
	for _, tt := range []struct {
		name, data string
		jobs       int
		mixed      bool
		problem    string
	}{
		{"jobs.json", own, 1, false, ""},
		{"step.log", own, 1, true, ""},
		{"jobs.json", theirs, 0, false, "jobs.json: holds jobs that GitHub's own runners do, and none of another"},
		{"jobs.json", own + own[:90], 1, false, "jobs.json: is cut off"},
		{"jobs.json", own + "\n2026-10-01 09:08:00Z: Listening for Jobs\n", 1, true, ""}, // whoever wrote it wrote both
		{"pod.json", `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "workflow_job", "labels": ` +
			`{"run_id": "7", "runner_name": "x"}}, "status": {"phase": "Failed"}}`, 0, false, ""},
	} {
		b := Bytes(tt.name, []byte(tt.data), Options{})
		jobs, mixed := 0, false
		for e := range b.Entries(nil) {
			jobs += map[bool]int{true: 1}[e.Source == ingest.GitHub && e.Trust == ingest.Attested]
			mixed = mixed || e.Mark != nil && e.Mark.Kind == ingest.Mixed
		}
		said := fmt.Sprint(b.Problems())
		if jobs != tt.jobs || mixed != tt.mixed || (tt.problem == "") != (len(b.Problems()) == 0) ||
			!strings.Contains(said, tt.problem) {
			t.Errorf("%s: %d jobs, mixed %t, problems %s; want %d, %t, %q", tt.name, jobs, mixed, said,
				tt.jobs, tt.mixed, tt.problem)
		}
	}
}
