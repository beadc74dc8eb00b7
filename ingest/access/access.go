// Package access decides who may push, and whose node a push speaks for; who may
// read the pages and the API; and who may operate the server.
//
// Invariant: nothing that a client writes into a request makes it more trusted than
// its credential does. A header that a proxy adds only takes trust away. A server
// that has no credential at all believes this machine and nobody else.
//
// Crash behaviour: it keeps no state; files with tokens are read at each use, so
// they can be changed.
package access

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"coroner/ingest/push"
)

// Token reads a token from where it is kept.
type Token func() (string, error)

// Shared is a token that several pushers know: shippers, and agents where nothing
// proves their node; or the relays of one cluster.
type Shared struct {
	Cluster string // that whoever knows it speaks for; "" = it names none
	Token   Token
	Relay   bool // whoever knows it says what the cluster's Kubernetes API says
}

// Reviewer says whose token a request has. It returns a Denied for a token that is
// not good, a Forbidden for a good one that is no agent's, and another error when
// it cannot say now.
type Reviewer interface {
	Review(ctx context.Context, token string) (push.Identity, error)
}

// Nobody is a Reviewer that can ask nobody: agents are asked to send again later.
type Nobody struct{ Why error }

// Review says why.
func (n Nobody) Review(context.Context, string) (push.Identity, error) {
	return push.Identity{}, fmt.Errorf("the server cannot have tokens reviewed: %w", n.Why)
}

// Denied is a credential that is missing or not good.
type Denied struct{ Text string }

func (e Denied) Error() string { return e.Text }

// Forbidden is a good credential that does not allow it. Reason is what is counted.
type Forbidden struct{ Reason, Text string }

func (e Forbidden) Error() string { return e.Text }

// Door knows the credentials of a server. Its fields are set before its first use;
// it is safe for concurrent use.
type Door struct {
	Shared  []Shared            // for pushes
	Agents  map[string]Reviewer // cluster -> who reviews its agents' tokens; "" = the server's own
	SAN     bool                // a client certificate is a node's, and names it
	Cluster string              // the server's own; that of nodes with certificates
	Open    bool                // where there is no credential, everybody is believed
	Web     func() Web          // what the web configuration asks of every request; nil: nothing
	Reader  Token               // for the pages and the API; nil: none is asked for
	Operate Token               // for what changes the server; nil: see Operator
	Refused func(reason string) // counts pushes that were not let in
	Page    Page                // shows a person why no page may be read; nil: it is sent as text
}

// Page answers a browser with a text and a status, as http.Error does.
type Page func(w http.ResponseWriter, r *http.Request, text string, code int)

// Web is what a web configuration asks of every request before it gets here.
type Web struct {
	Passwords bool // a user and a password
	Certs     bool // a client certificate
}

func (d *Door) webAccess() Web {
	if d.Web == nil {
		return Web{}
	}
	return d.Web()
}

// LocalOnly says whether pushes are taken from this machine only, for want of a credential.
func (d *Door) LocalOnly() bool { return !d.Open && !d.isGuarded() }

// isGuarded says whether any credential is configured.
func (d *Door) isGuarded() bool {
	w := d.webAccess()
	return len(d.Shared)+len(d.Agents) > 0 || d.SAN || d.Reader != nil || d.Operate != nil || w.Passwords || w.Certs
}

// provesNode says whether agents of a cluster have credentials that name their node. A
// token that is no cluster's own would do for agents of all.
func (d *Door) provesNode(cluster string) bool {
	if cluster == "" {
		return len(d.Agents) > 0 || d.SAN
	}
	return d.Agents[cluster] != nil || d.SAN && cluster == d.Cluster
}

// Push lets pushes in and says in their context whose they are.
func (d *Door) Push(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := d.pusherOf(r)
		if err != nil {
			d.countRefused(refuseRequest(w, err))
			return
		}
		next.ServeHTTP(w, r.WithContext(push.WithIdentity(r.Context(), id)))
	})
}

func (d *Door) countRefused(reason string) {
	if d.Refused != nil {
		d.Refused(reason)
	}
}

// Warnings says what the configuration leaves open, and what of it contradicts itself.
func (d *Door) Warnings() (out []string) {
	web := d.webAccess()
	bare := len(d.Shared)+len(d.Agents) == 0 && !d.SAN && !web.Passwords && !web.Certs
	switch {
	case bare && d.Open:
		out = append(out, "anyone who can reach this port can push as any agent (--push.open)")
	case bare:
		out = append(out, "no credential is configured: pushes are accepted from this machine only. "+
			"Give --push.agent-account, --push.token-file or client certificates (--web.config.file), "+
			"or --push.open to let anyone push who can reach the port")
	case len(d.Agents) == 0 && !d.SAN:
		out = append(out, "agents do not prove which node they run on: whoever has the credential of one "+
			"can push for every node. --push.agent-account or --push.client-node=san makes agents prove it")
	}
	if web.Passwords && (len(d.Shared)+len(d.Agents) > 0 || d.Reader != nil || d.Operate != nil) {
		out = append(out, "--web.config.file asks every request for a password, and a request cannot carry a token "+
			"too: nobody can push, read or operate with a token")
	}
	return out
}

var errForeign = Forbidden{"origin", "a page of another site asks for this: no browser may"}

// pusherOf is whose push a request is. Where several credentials are configured, each
// is for its own kind of pusher.
func (d *Door) pusherOf(r *http.Request) (push.Identity, error) {
	if Foreign(r) {
		return push.Identity{}, errForeign
	}
	agent, token := r.Header.Get(push.AgentHeader), Bearer(r)
	if d.SAN && agent != "" && certified(r) {
		return d.certifiedAgent(r, agent)
	}
	if s, ok := d.sharedToken(token); ok {
		if s.Relay {
			return push.Identity{Cluster: s.Cluster, Relay: true}, nil
		}
		if agent != "" && d.provesNode(s.Cluster) {
			return push.Identity{}, Forbidden{
				"node",
				"the shared token is for shippers, an agent proves its node: " + d.whatToSend(),
			}
		}
		return push.Identity{Cluster: s.Cluster}, nil
	}
	if len(d.Agents) > 0 && token != "" {
		return d.reviewToken(r, token)
	}
	return d.unproven(r)
}

// unproven is a push without a token or a certificate that says whose it is.
func (d *Door) unproven(r *http.Request) (id push.Identity, err error) {
	w := d.webAccess()
	switch {
	case len(d.Shared)+len(d.Agents) > 0 || d.SAN:
		return id, Denied{"the credential is missing or wrong: " + d.whatToSend()}
	case w.Passwords || w.Certs && certified(r):
		return id, nil
	case w.Certs:
		return id, Denied{"the client certificate is missing"}
	case d.Open || Local(r):
		return id, nil
	}
	return id, Forbidden{"no-credential", "this server has no credential configured, so it takes pushes from its own " +
		"machine only: give it --push.agent-account or --push.token-file, or --push.open to let everybody push"}
}

// whatToSend says what to send.
func (d *Door) whatToSend() string {
	switch {
	case len(d.Agents) > 0:
		return "send a service-account token for the audience coroner, bound to the agent's pod, as a bearer token"
	case d.SAN:
		return "connect with a client certificate that names the node"
	}
	return "send Authorization: Bearer TOKEN"
}

// reviewToken asks the API server of the cluster that the agent says it is in. One that
// lies is not known there.
func (d *Door) reviewToken(r *http.Request, token string) (push.Identity, error) {
	cluster := r.Header.Get(push.ClusterHeader)
	reviewer := d.Agents[cluster]
	if reviewer == nil {
		return push.Identity{}, Denied{fmt.Sprintf("nobody reviews tokens of the cluster %q here: "+
			"the agent's --cluster and the server's --push.review must agree", cluster)}
	}
	return reviewer.Review(r.Context(), token)
}

// sharedToken is the shared token that was sent.
func (d *Door) sharedToken(token string) (Shared, bool) {
	for _, s := range d.Shared {
		if sameToken(token, s.Token) {
			return s, true
		}
	}
	return Shared{}, false
}

// sameToken says whether a token is the one that is kept somewhere.
func sameToken(token string, kept Token) bool {
	if kept == nil || token == "" {
		return false
	}
	want, err := kept()
	got, right := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want)) // of one length, to take one time
	return err == nil && want != "" && subtle.ConstantTimeCompare(got[:], right[:]) == 1
}

// Read lets those in who may see pages and evidence.
func (d *Door) Read(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := d.mayRead(r)
		switch {
		case err == nil:
			next.ServeHTTP(w, r)
		case d.Page != nil && browsed(r):
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.Header().Add("Vary", "Accept")
			d.Page(w, r, err.Error(), http.StatusUnauthorized)
		default:
			refuseRequest(w, err)
		}
	})
}

func (d *Door) mayRead(r *http.Request) error {
	if token := Bearer(r); d.Reader == nil || sameToken(token, d.Reader) || sameToken(token, d.Operate) {
		return nil
	}
	return Denied{"the pages and the API ask for a token: send Authorization: Bearer TOKEN (--web.token-file)"}
}

// Fetch lets those in who may read, and agents: they need the rulebook.
func (d *Door) Fetch(next http.Handler) http.Handler {
	return d.guardHandler(next, func(r *http.Request) error {
		err := d.mayRead(r)
		if err == nil {
			return nil
		}
		if _, other := d.pusherOf(r); other == nil {
			return nil
		}
		return err
	})
}

// Operator lets those in who may change the server: with the operator's token where
// there is one, else with what the web configuration asks for, else from this
// machine if nothing is configured. A page of another site never may.
func (d *Door) Operator(next http.Handler) http.Handler { return d.guardHandler(next, d.mayOperate) }

func (d *Door) mayOperate(r *http.Request) error {
	web := d.webAccess()
	switch {
	case Foreign(r):
		return errForeign
	case d.Operate != nil:
		if sameToken(Bearer(r), d.Operate) {
			return nil
		}
		return Denied{
			"this asks for the operator's token (--web.operator-token-file): send Authorization: Bearer TOKEN",
		}
	case web.Passwords || web.Certs && !d.SAN && certified(r):
		return nil
	case !d.isGuarded() && Local(r):
		return nil
	}
	return Forbidden{"operator", "only an operator may do this, and none is configured: " +
		"give the server --web.operator-token-file FILE, or send it SIGHUP to reload"}
}

func (d *Door) guardHandler(next http.Handler, may func(*http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := may(r); err != nil {
			refuseRequest(w, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// retry is after how many seconds a request may be sent again that nobody could
// judge.
const retry = 5

// refuseRequest answers who is not let in, and says what is counted.
func refuseRequest(w http.ResponseWriter, err error) (reason string) {
	var denied Denied
	var not Forbidden
	switch {
	case errors.As(err, &denied):
		w.Header().Set("WWW-Authenticate", "Bearer")
		http.Error(w, denied.Text, http.StatusUnauthorized)
		return "credential"
	case errors.As(err, &not):
		http.Error(w, not.Text, http.StatusForbidden)
		return not.Reason
	}
	w.Header().Set("Retry-After", strconv.Itoa(retry))
	http.Error(w, err.Error(), http.StatusServiceUnavailable)
	return "review"
}

// certified says whether the client showed a certificate that was verified.
func certified(r *http.Request) bool { return r.TLS != nil && len(r.TLS.VerifiedChains) > 0 }

// certifiedAgent is the agent of a node that its certificate names.
func (d *Door) certifiedAgent(r *http.Request, node string) (push.Identity, error) {
	if names := nodeNames(r); !slices.Contains(names, node) {
		return push.Identity{}, Forbidden{
			"node",
			fmt.Sprintf("the client certificate names %q, the header %s says %q: "+
				"want the node as a DNS name, as the URI node:NAME, or as the common name", names, push.AgentHeader,
				node),
		}
	}
	return push.Identity{Cluster: d.Cluster, Node: node, Agent: true}, nil
}

// nodeNames are the nodes that a client certificate is for. One that says which by
// a URI is for those only, and the common name counts where there is nothing else.
func nodeNames(r *http.Request) (names []string) {
	leaf := r.TLS.VerifiedChains[0][0]
	for _, u := range leaf.URIs {
		if u.Scheme == "node" && u.Opaque != "" {
			names = append(names, u.Opaque)
		}
	}
	switch {
	case len(names) > 0:
		return names
	case len(leaf.DNSNames) > 0:
		return leaf.DNSNames
	case leaf.Subject.CommonName != "":
		return []string{leaf.Subject.CommonName}
	}
	return nil
}
