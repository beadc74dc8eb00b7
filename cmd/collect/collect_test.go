package collect_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coroner/cmd/collect"
)

var now = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// cluster is an API of answers by path and query, and a kubeconfig for it. What it has none
// for is not found. It stands for what a real API server cannot be made to say at will: see
// TestCollect of cmd/coroner for the real one.
func cluster(t *testing.T, answers map[string]string) collect.Cluster {
	t.Helper()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		query := url(r)
		for _, key := range []string{r.URL.Path + "?" + query, r.URL.Path} {
			text, ok := answers[key]
			if code := map[string]int{"forbidden": 403, "late": 504}[text]; code > 0 {
				w.WriteHeader(code)
				_ = json.NewEncoder(w).
					Encode(map[string]string{"reason": "Timeout", "message": `pods "amber-1" not found`})
				return
			}
			if ok {
				_, _ = w.Write([]byte(text))
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"reason":"NotFound","message":"pods \\"amber-1\\" not found"}`))
	}))
	t.Cleanup(api.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(`{apiVersion: v1, kind: Config, current-context: x,
clusters: [{name: c, cluster: {server: "`+api.URL+`"}}], users: [{name: u, user: {}}],
contexts: [{name: x, context: {cluster: c, user: u, namespace: ci}}, {name: other, context: {cluster: c, user: u}}]}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	return collect.Cluster{Kubeconfig: path}
}

// url is the part of a query that an answer depends on.
func url(r *http.Request) string {
	q := r.URL.Query()
	for _, name := range []string{"sinceTime", "limitBytes", "timestamps", "limit"} {
		q.Del(name)
	}
	return q.Encode()
}

const amber = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"amber-1","namespace":"ci",
"uid":"0a0b0c0d-1111-2222-3333-444455556666","creationTimestamp":"2026-03-01T09:00:00Z",
"labels":{"actions.github.com/scale-set-name":"amber"},
"ownerReferences":[{"apiVersion":"actions.github.com/v1alpha1","kind":"EphemeralRunner","name":"amber-1"}]},
"spec":{"nodeName":"build-7","containers":[{"name":"runner"},{"name":"dind"}]},
"status":{"containerStatuses":[{"name":"runner","restartCount":1}]}}`

const logOf = "/api/v1/namespaces/ci/pods/amber-1/log?container="

func answers() map[string]string {
	return map[string]string{
		"/api/v1/namespaces/ci/pods/amber-1": amber,
		"/api/v1/namespaces/ci/events":       `{"kind":"EventList","apiVersion":"v1","items":[]}`,
		logOf + "runner":                     "2026-03-01T09:30:00Z second life\n",
		logOf + "runner&previous=true":       "2026-03-01T09:10:00Z first life\n",
		logOf + "dind":                       "forbidden",
		"/api/v1/nodes/build-7":              `{"kind":"Node","apiVersion":"v1","metadata":{"name":"build-7"}}`,
		"/api/v1/nodes/build-7/proxy/logs/":  "forbidden",
		"/api/v1/namespaces/default/events":  "late",
		"/api/v1/pods":                       `{"items":[]}`,
		"/api/v1/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Drunner-scale-set-listener": listeners,
		"/apis/actions.github.com/v1alpha1/namespaces/ci/ephemeralrunners/amber-1": `{"kind":"EphemeralRunner",
"apiVersion":"actions.github.com/v1alpha1","metadata":{"name":"amber-1","namespace":"ci"}}`,
		"/api/v1/namespaces/sys/pods/amber-listener/log?container=listener": "2026-03-01T09:00:01Z listening\n",
	}
}

const listeners = `{"items":[
{"metadata":{"name":"amber-listener","namespace":"sys","uid":"u-1","labels":{"app.kubernetes.io/component":
"runner-scale-set-listener","actions.github.com/scale-set-name":"amber"}},"spec":{"containers":[{"name":"listener"}]}},
{"metadata":{"name":"beryl-listener","namespace":"sys","uid":"u-2","labels":{"app.kubernetes.io/component":
"runner-scale-set-listener","actions.github.com/scale-set-name":"beryl"}},"spec":{"containers":[{"name":"listener"}]}},
{"metadata":{"name":"../x","namespace":"sys","uid":"u-3","labels":{}},"spec":{"containers":[{"name":"listener"}]}}]}`

// bundle collects and returns the files with their content, and the notes.
func bundle(t *testing.T, f collect.Flags, what ...string) (files map[string]string, notes []string, err error) {
	t.Helper()
	f.Output = filepath.Join(t.TempDir(), "out")
	where, err := f.Bundle(context.Background(), what, now, func(n string) { notes = append(notes, n) })
	files = map[string]string{}
	if where == "" {
		return files, notes, err
	}
	walked := filepath.WalkDir(where, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(where, path)
		files[filepath.ToSlash(name)] = string(data)
		if info, err := d.Info(); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: others may read it: %v", name, info.Mode())
		}
		return err
	})
	return files, notes, errors.Join(err, walked)
}

// Everything that can be had is in the bundle, and what cannot is one line of it each.
func TestBundle(t *testing.T) {
	at := cluster(t, answers())
	files, notes, err := bundle(t, collect.Flags{Cluster: at}, "pod/amber-1")
	if err != nil {
		t.Fatal(err)
	}
	const logs = "pods/ci_amber-1_0a0b0c0d-1111-2222-3333-444455556666/"
	for name, want := range map[string]string{
		"objects/ci_amber-1.json": amber, "events-amber-1.json": "EventList", "node-build-7.json": `"build-7"`,
		logs + "runner/1.log": "second life", logs + "runner/0.log": "first life",
		"ephemeralrunner-amber-1.json": "EphemeralRunner", "pods/sys_amber-listener_u-1/listener/0.log": "listening",
		collect.NotCollected: "the log of container dind of amber-1: you may not read it (403)\n",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s: %q, want %q", name, files[name], want)
		}
	}
	want := []string{
		"the log of container dind of amber-1: you may not read it (403)",
		"the events of the node build-7: the API server answers 504 Timeout",
		"the journal of the node build-7: you may not read it (403); by hand, in the bundle's folder: " +
			byHand(at.Kubeconfig),
	}
	if !slices.Equal(notes, want) || len(files) != 8 {
		t.Errorf("notes %q, files %d", notes, len(files))
	}
	for _, n := range notes {
		if !strings.Contains(files[collect.NotCollected], n+"\n") {
			t.Errorf("the bundle does not say %q", n)
		}
	}
}

// byHand is what a person is told to run with a kubeconfig: the whole journal of the time.
func byHand(kubeconfig string) string {
	return strings.Replace(journalByHand, "FILE", kubeconfig, 1)
}

const journalByHand = `echo | kubectl --kubeconfig 'FILE' debug node/build-7 -q -i --image=busybox ` +
	`--profile=sysadmin -- chroot /host sh -c 'read go; journalctl -o export --since "2026-03-01 08:50:00 UTC" ` +
	`--until "2026-03-01 10:00:00 UTC"' > node-build-7-journal.export`

// A kubelet that knows no queries answers with the page of a folder: that is no journal. A
// line that only holds such words is.
func TestListingIsNoJournal(t *testing.T) {
	const path = "/api/v1/nodes/build-7/proxy/logs/"
	for answer, want := range map[string]bool{
		"<!doctype html>\n<meta name=\"viewport\">\n<pre>\n<a href=\"journal/\">": false,
		"<pre>\n<a href=\"pods/\">pods/</a>\n</pre>\n":                            false,
		"Mar 01 09:30:00 build-7 kubelet[7]: <pre> <!doctype html>\n":             true,
		"-- No entries --\n": true,
		"":                   true,
	} {
		all := answers()
		all[path] = answer
		at := cluster(t, all)
		files, notes, err := bundle(t, collect.Flags{Cluster: at}, "amber-1")
		_, has := files["node-build-7-journal.log"]
		told := strings.Contains(strings.Join(notes, "\n"),
			"enableSystemLogQuery is off); by hand, in the bundle's folder: "+byHand(at.Kubeconfig))
		if err != nil || has != want || told == want {
			t.Errorf("%q: saved %v, told %v: %v", answer, has, told, err)
		}
	}
}

// A shell takes the command as it is meant, whatever the kubeconfig's context is called: kubectl
// has each word whole, and what it prints is in the bundle's file.
func TestJournalByHandInAShell(t *testing.T) {
	at, bin, dir := cluster(t, answers()), t.TempDir(), t.TempDir()
	config, err := os.ReadFile(at.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	const odd = `it's $(id); "x"`
	named := strings.ReplaceAll(string(config), "current-context: x", "current-context: none")
	named = strings.Replace(named, "{name: x, context:", "{name: '"+strings.ReplaceAll(odd, "'", "''")+"', context:", 1)
	at.Kubeconfig, at.Context = filepath.Join(bin, "config"), odd
	script := "#!/bin/sh\nread go && printf '[%s]\\n' \"$@\"\n"
	err = errors.Join(os.WriteFile(at.Kubeconfig, []byte(named), 0o600),
		os.WriteFile(filepath.Join(bin, "kubectl"), []byte(script), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	_, notes, err := bundle(t, collect.Flags{Cluster: at}, "amber-1")
	_, command, ok := strings.Cut(strings.Join(notes, "\n"), "in the bundle's folder: ")
	if err != nil || !ok {
		t.Fatalf("%v %q", err, notes)
	}
	shell := exec.Command("sh", "-c", command)
	shell.Dir, shell.Env = dir, append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := os.ReadFile(filepath.Join(dir, "node-build-7-journal.export"))
	for _, want := range []string{"[" + odd + "]\n[debug]\n[node/build-7]\n", "[--]\n[chroot]\n[/host]\n[sh]\n[-c]\n" +
		`[read go; journalctl -o export --since "2026-03-01 08:50:00 UTC" --until "2026-03-01 10:00:00 UTC"]`} {
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("kubectl has\n%s, want %s: %v", got, want, err)
		}
	}
}

// Of a pod that is gone its traces are taken; what is of nobody is not found.
func TestGone(t *testing.T) {
	gone := answers()
	delete(gone, "/api/v1/namespaces/ci/pods/amber-1")
	files, _, err := bundle(t, collect.Flags{Cluster: cluster(t, gone)}, "amber-1")
	if err != nil || files["ephemeralrunner-amber-1.json"] == "" {
		t.Errorf("%v %v", err, files)
	}
	_, notes, err := bundle(t, collect.Flags{Cluster: cluster(t, gone)}, "cedar-1")
	if err == nil || !strings.Contains(err.Error(), "cedar-1 not found") || collect.IsUsage(err) {
		t.Errorf("%v %q", err, notes)
	}
	gone["/api/v1/namespaces/ci/pods/amber-1"] = "forbidden"
	if _, _, err := bundle(t, collect.Flags{Cluster: cluster(t, gone)}, "amber-1"); err == nil ||
		!strings.Contains(err.Error(), "the pod ci/amber-1: you may not read it (403)") {
		t.Error(err)
	}
}

// Without a name all runners are taken, and no listener for one; with -A wherever they are.
func TestAll(t *testing.T) {
	all := answers()
	all["/api/v1/namespaces/ci/pods?labelSelector=actions.github.com%2Fscale-set-name"] = `{"items":[` + amber + `]}`
	all["/api/v1/namespaces/ci/pods"] = `{"items":[]}`
	files, _, err := bundle(t, collect.Flags{Cluster: cluster(t, all)})
	if err != nil || files["objects/ci_amber-1.json"] == "" {
		t.Errorf("%v %v", err, files)
	}
	all["/api/v1/pods?fieldSelector=metadata.name%3Damber-1"] = `{"items":[` + amber + `]}`
	everywhere := collect.Where{AllNamespaces: true}
	files, _, err = bundle(t, collect.Flags{Cluster: cluster(t, all), Where: everywhere}, "amber-1")
	if err != nil || files["objects/ci_amber-1.json"] == "" {
		t.Errorf("%v %v", err, files)
	}
	if _, _, err := bundle(t, collect.Flags{Cluster: cluster(t, all), Where: everywhere}); err == nil ||
		!strings.Contains(err.Error(), "not found") {
		t.Error(err)
	}
}

// Wrong flags are told before anything is asked, and nothing is overwritten.
func TestUsage(t *testing.T) {
	c := cluster(t, nil)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x.tar.gz"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		flags collect.Flags
		what  []string
	}{
		{collect.Flags{Cluster: c}, []string{"a", "b"}},
		{collect.Flags{Cluster: c}, []string{"../../etc"}},
		{collect.Flags{Cluster: c}, []string{"a/../b"}},
		{collect.Flags{Cluster: c, Where: collect.Where{Namespace: "ci", AllNamespaces: true}}, nil},
		{collect.Flags{Cluster: c, Where: collect.Where{Namespace: "ci"}}, []string{"qa/amber-1"}},
		{collect.Flags{Cluster: c, Output: full}, []string{"amber-1"}},
		{collect.Flags{Cluster: c, Output: filepath.Join(full, "x.tar.gz")}, []string{"amber-1"}},
		{collect.Flags{Cluster: collect.Cluster{Kubeconfig: filepath.Join(full, "none")}}, []string{"amber-1"}},
		{collect.Flags{Cluster: collect.Cluster{Kubeconfig: c.Kubeconfig, Context: "z"}}, []string{"amber-1"}},
	} {
		_, err := tt.flags.Bundle(context.Background(), tt.what, now, func(string) {})
		if !collect.IsUsage(err) {
			t.Errorf("%+v %v: %v", tt.flags, tt.what, err)
		}
	}
}
