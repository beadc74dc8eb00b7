package deploy

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
)

// installer installs the chart in a real cluster, in which nothing runs, as far as that can be
// tried without leaving anything behind.
type installer struct {
	*apiserver.Server
	t *testing.T
}

func newInstaller(t *testing.T) *installer {
	t.Helper()
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
	t.Cleanup(s.Stop)
	k := &installer{s, t}
	k.do("/api/v1/namespaces", `{"metadata":{"name":"coroner"}}`)
	return k
}

func (k *installer) do(path, body string) {
	k.t.Helper()
	if _, err := k.Do(http.MethodPost, path, body); err != nil {
		k.t.Fatal(err)
	}
}

// install is what Helm says to who has a token, and tries to install.
func (k *installer) install(token, where string, set ...string) (string, error) {
	k.t.Helper()
	config, err := k.Kubeconfig(k.URL, token)
	if err != nil {
		k.t.Fatal(err)
	}
	args := []string{"install", "coroner", "chart/coroner", "--namespace", "coroner", "--kubeconfig", config, where}
	for _, v := range set {
		args = append(args, "--set", v)
	}
	return helm(k.t, "", args...)
}

// says checks what the notes say; what begins with ! they do not.
func (k *installer) says(name, token, where string, says []string, set ...string) {
	k.t.Helper()
	out, err := k.install(token, where, set...)
	if err != nil {
		k.t.Fatalf("%s: %v", name, err)
	}
	_, out, _ = strings.Cut(out, "NOTES:")
	for _, want := range says {
		not := strings.HasPrefix(want, "!")
		if strings.Contains(out, strings.TrimPrefix(want, "!")) == not {
			k.t.Errorf("%s: %q is not as wanted in\n%s", name, want, out)
		}
	}
}

// may gives the user of the token apiserver.Viewer a right: everything in a namespace, or,
// where none is named, to read StorageClasses.
func (k *installer) may(namespace string) {
	k.t.Helper()
	path, kind := "/apis/rbac.authorization.k8s.io/v1/namespaces/"+namespace+"/role", "Role"
	rule := `{"apiGroups":["*"],"resources":["*"],"verbs":["*"]}`
	if namespace == "" {
		path, kind = "/apis/rbac.authorization.k8s.io/v1/clusterrole", "ClusterRole"
		rule = `{"apiGroups":["storage.k8s.io"],"resources":["storageclasses"],"verbs":["get","list"]}`
	}
	k.do(path+"s", `{"metadata":{"name":"theirs"},"rules":[`+rule+`]}`)
	k.do(path+"bindings", `{"metadata":{"name":"theirs"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"`+kind+`","name":"theirs"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"viewer"}]}`)
}

const (
	server        = "--dry-run=server"
	none, nothing = "no default StorageClass", "is not there"
	nobody        = "Nobody looked whether there is a default StorageClass"
)

// What the cluster lacks is said after the install, by a real API server: a default
// StorageClass, secrets, namespaces. What is there, or is not needed, is not.
func TestNotesSayWhatIsMissing(t *testing.T) {
	k := newInstaller(t)
	notes := func(name, where string, says []string, set ...string) {
		t.Helper()
		k.says(name, apiserver.Admin, where, append(says, "!"+nobody), set...)
	}
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
	k.do("/api/v1/namespaces", `{"metadata":{"name":"arc"}}`)
	k.do("/api/v1/namespaces/coroner/secrets", `{"metadata":{"name":"shippers"}}`)
	class := func(name, mark string) {
		k.do("/apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"`+name+`","annotations":{"`+mark+`"}},`+
			`"provisioner":"example.org/none"}`)
	}
	class("quick", `storageclass.kubernetes.io/is-default-class":"false`)
	notes("a class that is not the default", server, []string{none})
	notes("that class by its name", server, []string{"!" + none, "!" + nothing},
		"server.persistence.storageClass=quick")
	class("usual", `storageclass.kubernetes.io/is-default-class":"true`)
	notes("all is there", server, []string{"!" + none, "!" + nothing},
		"pushToken.existingSecret=shippers", "apiWatch.namespaces={arc}")
	if _, err := k.Do(http.MethodDelete, "/api/v1/namespaces/arc", ""); err != nil {
		t.Fatal(err)
	}
	notes("a namespace that goes", server, []string{"Namespace arc of apiWatch.namespaces is being deleted"},
		"apiWatch.namespaces={arc}")
}

// Who may do everything in some namespaces and nothing beyond installs the chart without cluster
// roles, and reads which secret and which namespace is missing there. StorageClasses, which he
// may not read, are looked at when he says that he may; else he reads how to see them.
func TestNotesForWhoMayNotReadTheCluster(t *testing.T) {
	k := newInstaller(t)
	k.do("/api/v1/namespaces", `{"metadata":{"name":"arc"}}`)
	k.may("coroner")
	k.may("arc")
	own := []string{"tokenReview.enabled=false", "pushToken.existingSecret=shippers"}
	notes := func(name string, says []string, set ...string) {
		t.Helper()
		k.says(name, apiserver.Viewer, server, says, append(own, set...)...)
	}
	const secret, going = "Secret shippers is not there", "Namespace arc of apiWatch.namespaces is being deleted"
	notes("a secret", []string{secret, nobody, "kubectl get storageclass", "!" + none, "!Namespace"},
		"apiWatch.namespaces={arc}")
	notes("a class by its name", []string{"whether there is a StorageClass quick.", "!" + none},
		"server.persistence.storageClass=quick")
	notes("nothing is persistent", []string{secret, "!Nobody looked"}, "server.persistence.enabled=false")
	notes("switched off", []string{"!" + nothing, "!Nobody looked"}, "lookups=false")
	k.says("the cluster is not asked", apiserver.Viewer, "--dry-run=client",
		[]string{"!" + nothing, "!Nobody looked"}, own...)
	k.says("an administrator", apiserver.Admin, server, []string{secret, none, "!Nobody looked"},
		append(own, "lookups=cluster")...)
	forbidden := append(own, "lookups=cluster")
	if out, err := k.install(apiserver.Viewer, server, forbidden...); err == nil ||
		!strings.Contains(err.Error(), "storageclasses.storage.k8s.io is forbidden") {
		t.Errorf("StorageClasses that he may not read: %v\n%s", err, out)
	}
	k.may("")
	notes("he may read StorageClasses", []string{secret, none, "!Nobody looked"}, "lookups=cluster")
	k.do("/apis/storage.k8s.io/v1/storageclasses", `{"metadata":{"name":"usual","annotations":
		{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"example.org/none"}`)
	k.do("/api/v1/namespaces/coroner/secrets", `{"metadata":{"name":"shippers"}}`)
	notes("all is there", []string{"!" + none, "!" + nothing, "!Nobody looked"}, "lookups=cluster",
		"apiWatch.namespaces={arc}")
	if _, err := k.Do(http.MethodDelete, "/api/v1/namespaces/arc", ""); err != nil {
		t.Fatal(err)
	}
	notes("a namespace that goes", []string{going}, "apiWatch.namespaces={arc}")
	// No lookup makes an install fail that had succeeded without it.
	for _, lookups := range []string{"lookups=true", "lookups=false"} {
		set := append(own, lookups, "apiWatch.namespaces={gone}")
		if _, err := k.install(apiserver.Viewer, server, set...); err == nil {
			t.Errorf("%s: a Role was made in a namespace of others", lookups)
		}
	}
}
