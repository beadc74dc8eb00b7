package deploy

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"coroner/fixtures/apiserver"
)

// resources are the kinds that a bare API server knows, as its paths have them.
var resources = map[string]string{
	"ServiceAccount": "serviceaccounts", "Service": "services", "ConfigMap": "configmaps",
	"Deployment": "deployments", "StatefulSet": "statefulsets", "DaemonSet": "daemonsets",
	"PodDisruptionBudget": "poddisruptionbudgets", "NetworkPolicy": "networkpolicies", "Role": "roles",
	"RoleBinding": "rolebindings",
	"ClusterRole": "clusterroles", "ClusterRoleBinding": "clusterrolebindings", "Job": "jobs",
}

// foreign are the kinds of the Prometheus operator and of cert-manager, which a bare
// one does not know.
var foreign = map[string]bool{
	"ServiceMonitor": true,
	"PodMonitor":     true,
	"PrometheusRule": true,
	"Issuer":         true,
	"Certificate":    true,
}

// A real API server takes every object of every value set, and knows every
// field of it.
func TestAPIServerTakesEveryObject(t *testing.T) {
	if _, _, err := apiserver.Find(); err != nil {
		t.Skipf("not shown: that a real API server takes what the chart renders (%v)", err)
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
	for _, name := range []string{"coroner", "ci", "ci-2"} {
		if _, err := s.Do(http.MethodPost, "/api/v1/namespaces", `{"metadata":{"name":"`+name+`"}}`); err != nil {
			t.Fatal(err)
		}
	}
	taken := 0
	eachSet(t, func(t *testing.T, all []thing) {
		for _, o := range all {
			if foreign[str(o, "kind")] {
				continue
			}
			body, err := json.Marshal(o)
			if err == nil {
				_, err = s.Do(http.MethodPost, pathOf(t, o)+"?dryRun=All&fieldValidation=Strict", string(body))
			}
			if err != nil {
				t.Errorf("%s: %v", nameOf(o), err)
			}
			taken++
		}
	})
	if taken < 10*len(valueSets)/2 {
		t.Errorf("only %d objects", taken)
	}
	misspelt := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","namespace":"ci"},"dat":{}}`
	if _, err := s.Do(http.MethodPost, "/api/v1/namespaces/ci/configmaps?dryRun=All&fieldValidation=Strict",
		misspelt); err == nil {
		t.Error("the server takes a field that does not exist, so this shows nothing")
	}
}

func pathOf(t *testing.T, o thing) string {
	t.Helper()
	resource, ok := resources[str(o, "kind")]
	if !ok {
		t.Fatalf("%s: a kind that this test does not know", nameOf(o))
	}
	path := "/apis/" + str(o, "apiVersion")
	if !strings.Contains(str(o, "apiVersion"), "/") {
		path = "/api/" + str(o, "apiVersion")
	}
	if !strings.HasPrefix(str(o, "kind"), "Cluster") {
		namespace := str(o, "metadata", "namespace")
		if namespace == "" {
			t.Fatalf("%s has no namespace", nameOf(o))
		}
		path += "/namespaces/" + namespace
	}
	return path + "/" + resource
}
