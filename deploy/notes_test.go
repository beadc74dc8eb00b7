package deploy

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
)

// What the cluster lacks is said after the install, by a real API server: a default
// StorageClass, secrets, namespaces. What is there, or is not needed, is not.
func TestNotesSayWhatIsMissing(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that the chart's notes say what a real cluster lacks (%v)", err)
	}
	if _, err := helm(t, "", "version"); err != nil { // skips where there is no Helm
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s, err := apiserver.Start(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	config, err := s.Kubeconfig(s.URL, apiserver.Admin)
	if err != nil {
		t.Fatal(err)
	}
	const none, nothing = "no default StorageClass", "is not there"
	notes := func(name, where string, says []string, set ...string) {
		t.Helper()
		args := []string{"install", "coroner", "chart/coroner", "--namespace", "coroner", "--kubeconfig", config, where}
		for _, v := range set {
			args = append(args, "--set", v)
		}
		out, err := helm(t, "", args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, out, _ = strings.Cut(out, "NOTES:")
		for _, want := range says {
			not := strings.HasPrefix(want, "!")
			if strings.Contains(out, strings.TrimPrefix(want, "!")) == not {
				t.Errorf("%s: %q is not as wanted in\n%s", name, want, out)
			}
		}
	}
	do := func(path, body string) {
		t.Helper()
		if _, err := s.Do(http.MethodPost, path, body); err != nil {
			t.Fatal(err)
		}
	}
	do("/api/v1/namespaces", `{"metadata":{"name":"coroner"}}`)
	const server = "--dry-run=server"
	notes("a bare cluster", server, []string{none, "!" + nothing})
	notes("switched off", server, []string{"!" + none}, "lookups=false")
	notes("nothing is persistent", server, []string{"!" + none, "Nothing is persistent"},
		"server.persistence.enabled=false")
	notes("a volume that is there", server, []string{"!" + none}, "server.persistence.existingClaim=mine")
	notes("a class that is not there", server, []string{"StorageClass quick is not there", "!" + none},
		"server.persistence.storageClass=quick")
	notes("the cluster is not asked", "--dry-run=client", []string{"!" + none, "!" + nothing},
		"pushToken.existingSecret=shippers", "apiWatch.namespaces={arc}")
	notes("a secret and a namespace", server, []string{"Secret shippers is not there",
		"Namespace arc of apiWatch.namespaces is not there"},
		"pushToken.existingSecret=shippers", "apiWatch.namespaces={arc}")
	elsewhere := []string{"server.enabled=false", "agent.serverUrl=https://coroner.example", "cluster=east"}
	notes("a server elsewhere", server, []string{"The server is elsewhere: https://coroner.example", "!port-forward",
		"--push.review=east=KUBECONFIG", "Nothing tells it what the Kubernetes API says", "!" + none, "!in the clear"},
		elsewhere...)
	notes("a relay without its secret", server, []string{"Secret for-relay is not there", "!--push.review",
		"!Nothing tells", "Namespace arc of apiWatch.namespaces is not there"},
		append(elsewhere, "apiWatch.namespaces={arc}", "apiWatch.nodes=true", "tokenReview.enabled=false",
			"relay.token.existingSecret=for-relay")...)
	notes("in the clear", server, []string{"in the clear"}, "server.enabled=false", "agent.serverUrl=http://coroner")
	notes(
		"other clusters' secrets",
		server,
		[]string{"Secret push-east is not there", "Secret relay-west is not there"},
		"clusters[0].name=east",
		"clusters[0].pushToken.existingSecret=push-east",
		"clusters[1].name=west",
		"clusters[1].relayToken.existingSecret=relay-west",
	)
	do("/api/v1/namespaces", `{"metadata":{"name":"arc"}}`)
	do("/api/v1/namespaces/coroner/secrets", `{"metadata":{"name":"shippers"}}`)
	class := func(name, mark string) {
		do("/apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"`+name+`","annotations":{"`+mark+`"}},`+
			`"provisioner":"example.org/none"}`)
	}
	class("quick", `storageclass.kubernetes.io/is-default-class":"false`)
	notes("a class that is not the default", server, []string{none})
	notes("that class by its name", server, []string{"!" + none, "!" + nothing},
		"server.persistence.storageClass=quick")
	class("usual", `storageclass.kubernetes.io/is-default-class":"true`)
	notes("all is there", server, []string{"!" + none, "!" + nothing},
		"pushToken.existingSecret=shippers", "apiWatch.namespaces={arc}")
	if _, err := s.Do(http.MethodDelete, "/api/v1/namespaces/arc", ""); err != nil {
		t.Fatal(err)
	}
	notes("a namespace that goes", server, []string{"Namespace arc of apiWatch.namespaces is being deleted"},
		"apiWatch.namespaces={arc}")
}
