package push

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"coroner/ingest"
)

// forbidden is a push in which somebody speaks for another.
type forbidden struct{ reason, text string }

func (e forbidden) Error() string { return e.text }

func wrongNode(format string, args ...any) error {
	return forbidden{"node", fmt.Sprintf(format, args...)}
}

// speaker is whose push a request is.
type speaker struct {
	Identity
	proven bool // the credential says which node or whose relay, and so which cluster too
}

// speakerOf is whose push a request is: an agent's if it has the header, which must
// agree with the credential's node where that names one.
func speakerOf(r *http.Request) (s speaker, err error) {
	s.Identity, _ = IdentityFrom(r.Context())
	s.proven = s.Node != "" || s.Relay
	said := r.Header.Values(AgentHeader)
	switch {
	case s.Relay && len(said) > 0:
		return s, wrongNode("the credential is that of a relay, which is on no node: push without the header %s",
			AgentHeader)
	case s.Relay:
		return s, nil
	case len(said) > 1:
		return s, wrongNode("the header %s is there %d times; want it once", AgentHeader, len(said))
	case len(said) == 1 && !nodeName.MatchString(said[0]):
		return s, wrongNode("the header %s names no node: %.100q; want small letters, digits, - and ., at most %d: "+
			"give the agent --node", AgentHeader, said[0], maxNodeName)
	case len(said) == 0:
		if s.proven {
			return s, wrongNode("the credential is that of the agent on node %q: want the header %s",
				s.Node, AgentHeader)
		}
		s.Agent = false
		return s, nil
	case s.proven && s.Node != said[0]:
		return s, wrongNode("the credential is that of node %q, the header %s says %q", s.Node, AgentHeader, said[0])
	}
	s.Node, s.Agent = said[0], true
	return s, nil
}

// nodeName is what Kubernetes takes for a node's name, and what agents elsewhere have to be
// called.
var nodeName = regexp.MustCompile(fmt.Sprintf(`^[a-z0-9](?:[a-z0-9.-]{0,%d}[a-z0-9])?$`, maxNodeName-2))

const maxNodeName = 253

// notRead are the names, in whatever case, of those whose word no agent reads: the API
// server's, in its objects, events and audit log, and GitHub's. Other names that nobody
// knows may be a later version's.
var notRead = []string{"kube", "github", "audit", "apiserver", "kube-apiserver", "event", "events"}

// mayRead says why an agent cannot have read anything of a source of such a name.
func mayRead(source string) error {
	if slices.Contains(notRead, strings.ToLower(strings.TrimSpace(source))) {
		return forbidden{"source", fmt.Sprintf("an agent reads nothing of the source %.100q", source)}
	}
	return nil
}

// May says why an agent cannot have read such an entry: it reads of its own node, a
// journal and pods' logs. What the API server, GitHub or coroner itself say, the
// server hears from them, or from a cluster's relay, which says nothing else.
func (id Identity) May(e *ingest.Entry) error {
	switch {
	case id.Relay && e.Source != ingest.Kube:
		return forbidden{"source", fmt.Sprintf("a relay hands on the Kubernetes API's word, not that of the source %q",
			e.Source)}
	case id.Relay && e.Mark != nil && e.Mark.Kind != ingest.Covered && e.Mark.Kind != ingest.Gap:
		return forbidden{"source", "a relay says what it has watched and what it missed, and nothing else of itself"}
	case id.Relay:
		return nil
	case e.Node != id.Node:
		return wrongNode("a stream is labelled with node %q, the push is from the agent on node %q", e.Node, id.Node)
	case e.Source == ingest.Agent && !isReached(e):
		return forbidden{"source", "an agent says of itself how far it has read and nothing else"}
	case controls(e.Source) && (e.Namespace == "" || e.Pod == ""):
		return forbidden{"source", fmt.Sprintf("an entry of the source %q names no pod that wrote it", e.Source)}
	}
	return mayRead(string(e.Source))
}

// isReached is the one thing that an agent says of itself.
func isReached(e *ingest.Entry) bool {
	return e.Mark != nil && e.Mark.Kind == ingest.Reached && e.Pod == "" && e.PodUID == ""
}

func controls(s ingest.Source) bool { return s == ingest.Controller || s == ingest.Listener }

// knownSource makes a source that nobody knows one that proves nothing.
func knownSource(s ingest.Source) ingest.Source {
	if slices.Contains(ingest.Sources, s) {
		return s
	}
	return ingest.Unknown
}
