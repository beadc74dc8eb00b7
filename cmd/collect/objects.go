package collect

import (
	"net/url"
	"strings"
	"time"
)

// object is what every object of the API has.
type object struct {
	Metadata struct {
		Name, Namespace, UID string
		Labels               map[string]string
		CreationTimestamp    time.Time
		OwnerReferences      []owner
	}
}

type owner struct{ APIVersion, Kind, Name string }

// path is where an owner in a namespace is. Kinds of Kubernetes and of
// actions-runner-controller have plurals with an s.
func (o owner) path(namespace string) string {
	root := "/apis/" + o.APIVersion
	if !strings.Contains(o.APIVersion, "/") {
		root = "/api/" + o.APIVersion
	}
	return root + "/namespaces/" + namespace + "/" + strings.ToLower(o.Kind) + "s/" + url.PathEscape(o.Name)
}

// pod is what is needed to know of one.
type pod struct {
	object
	Spec struct {
		NodeName                                        string
		Containers, InitContainers, EphemeralContainers []struct{ Name string }
	}
	Status struct {
		ContainerStatuses, InitContainerStatuses, EphemeralContainerStatuses []containerStatus
	}
}

type containerStatus struct {
	Name         string
	RestartCount int
}

// list is a list of the API.
type list[T any] struct {
	Metadata struct{ Continue string }
	Items    []T
}

// containers are the names of all containers with how often each was started again.
func (p *pod) containers() (out []containerStatus) {
	restarts := map[string]int{}
	for _, all := range [][]containerStatus{
		p.Status.InitContainerStatuses, p.Status.ContainerStatuses, p.Status.EphemeralContainerStatuses,
	} {
		for _, s := range all {
			restarts[s.Name] = s.RestartCount
		}
	}
	for _, all := range [][]struct{ Name string }{
		p.Spec.InitContainers, p.Spec.Containers, p.Spec.EphemeralContainers,
	} {
		for _, c := range all {
			out = append(out, containerStatus{c.Name, restarts[c.Name]})
		}
	}
	return out
}

// isPlain says whether a name of the API can be a part of a path: what is none of
// Kubernetes' names does not become a file.
func isPlain(name string) bool {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("-._", c)) {
			return false
		}
	}
	return name != "" && len(name) <= 253 && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-")
}
